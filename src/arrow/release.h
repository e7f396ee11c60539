#ifndef DLX_SRC_ARROW_RELEASE_H_
#define DLX_SRC_ARROW_RELEASE_H_

#include "dlx/arrow.h"

namespace dlx::arrow {

/// Holds an ArrowSchema or ArrowArray, and releases it unless it was moved out.
template <typename Struct>
class Released {
 public:
  Released() = default;
  ~Released() {
    if (struct_.release != nullptr) struct_.release(&struct_);
  }
  Released(const Released&) = delete;
  Released& operator=(const Released&) = delete;

  Struct* get() noexcept { return &struct_; }
  /// Moves the struct out.
  Struct take() noexcept {
    Struct taken = struct_;
    struct_.release = nullptr;
    return taken;
  }

 private:
  Struct struct_{};
};

}  // namespace dlx::arrow

#endif  // DLX_SRC_ARROW_RELEASE_H_
