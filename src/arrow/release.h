#ifndef DLX_SRC_ARROW_RELEASE_H_
#define DLX_SRC_ARROW_RELEASE_H_

#include "dlx/arrow.h"

namespace dlx::arrow {

/// The struct in another that is released.
inline ArrowSchema* releasable(ArrowSchema* schema) noexcept { return schema; }
inline ArrowArray* releasable(ArrowArray* array) noexcept { return array; }
inline ArrowArray* releasable(ArrowDeviceArray* array) noexcept { return &array->array; }

/// Holds an ArrowSchema, ArrowArray or ArrowDeviceArray, and releases it unless it was moved out.
template <typename Struct>
class Released {
 public:
  Released() = default;
  ~Released() {
    auto* held = releasable(&struct_);
    if (held->release != nullptr) held->release(held);
  }
  Released(const Released&) = delete;
  Released& operator=(const Released&) = delete;

  Struct* get() noexcept { return &struct_; }
  /// Moves the struct out.
  Struct take() noexcept {
    Struct taken = struct_;
    releasable(&struct_)->release = nullptr;
    return taken;
  }

 private:
  Struct struct_{};
};

}  // namespace dlx::arrow

#endif  // DLX_SRC_ARROW_RELEASE_H_
