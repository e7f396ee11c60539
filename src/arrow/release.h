// Ownership of Arrow's structs.
#ifndef DLX_SRC_ARROW_RELEASE_H_
#define DLX_SRC_ARROW_RELEASE_H_

#include "dlx/arrow.h"
#include "src/base/foreign.h"

struct ArrowArrayStream;  // array_stream.h

namespace dlx::arrow {

/// The struct with the `release` callback: the argument itself, or the array inside it.
inline ArrowSchema* releasable(ArrowSchema* schema) noexcept { return schema; }
inline ArrowArray* releasable(ArrowArray* array) noexcept { return array; }
inline ArrowArrayStream* releasable(ArrowArrayStream* stream) noexcept { return stream; }
inline ArrowArray* releasable(ArrowDeviceArray* array) noexcept { return &array->array; }

/// Owns one of Arrow's structs, and releases it unless it was moved out.
template <typename Struct>
class Released {
 public:
  Released() = default;
  /// Moves a struct in.
  explicit Released(Struct* from) noexcept : struct_(*from) { releasable(from)->release = nullptr; }
  /// Not noexcept, because a producer's release may end the thread.
  ~Released() noexcept(false) {
    auto* held = releasable(&struct_);
    if (held->release != nullptr) call_foreign(held->release, held);
  }
  Released(const Released&) = delete;
  Released& operator=(const Released&) = delete;

  Struct* get() noexcept { return &struct_; }
  const Struct& held() const noexcept { return struct_; }
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
