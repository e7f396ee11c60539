// Why a device lacks families of kernels.
#ifndef DLX_SRC_DEVICE_MISSING_KERNELS_H_
#define DLX_SRC_DEVICE_MISSING_KERNELS_H_

#include <cstdint>
#include <string>

#include "src/gpu/kernels.h"

namespace dlx {

class MissingKernels {
 public:
  void add(int32_t family, const std::string& why) {
    if (why == last_) {  // usually all families fail alike
      text_.insert(text_.size() - last_.size() - 2, std::string(", ") + gpu::family_name(family));
      return;
    }
    text_ += std::string(text_.empty() ? "" : "; ") + gpu::family_name(family) + ": " + why;
    last_ = why;
  }

  /// "turn, few: REASON; rows: OTHER REASON"; "" if none is missing.
  const std::string& text() const noexcept { return text_; }

 private:
  std::string text_;
  std::string last_;
};

}  // namespace dlx

#endif  // DLX_SRC_DEVICE_MISSING_KERNELS_H_
