#ifndef DLX_SRC_COPY_REPETITION_H_
#define DLX_SRC_COPY_REPETITION_H_

#include "src/copy/plan/plan.h"

namespace dlx {

constexpr int64_t kRunsCached = 256 << 10;  ///< bytes of runs that are arranged once, to be copied

/// Where one run of dst comes again and again.
struct Repetition {
  int axis = -1;    ///< the outermost along which it does; -1: none
  int64_t run = 0;  ///< bytes

  bool exists() const noexcept { return axis >= 0; }
  /// Whether no cache holds a run.
  bool is_large() const noexcept { return run > kRunsCached; }
};

/// A run that is one item is repeated by kernels, if there are some for its size, or long ones if
/// dst may stay in the caches. `streamed`: repetitions go past the caches.
Repetition repetition_of(const CopyPlan& plan, bool streamed) noexcept;

}  // namespace dlx

#endif  // DLX_SRC_COPY_REPETITION_H_
