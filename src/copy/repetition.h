#ifndef DLX_SRC_COPY_REPETITION_H_
#define DLX_SRC_COPY_REPETITION_H_

#include "src/copy/plan/plan.h"

namespace dlx {

constexpr int64_t kRunsCached = 256 << 10;  ///< bytes of runs that are arranged at once [note 80]

/// The axis along which a run of dst repeats.
struct Repetition {
  int axis = -1;    ///< the outermost such axis; -1: none
  int64_t run = 0;  ///< bytes

  bool exists() const noexcept { return axis >= 0; }
  /// Whether a run is larger than any cache.
  bool is_large() const noexcept { return run > kRunsCached; }
};

/// Finds the repetition of a plan. A run of one item does not count if kernels repeat it: an item
/// with kernels for its size, or a long one. `streamed`: repetitions are streamed.
Repetition repetition_of(const CopyPlan& plan, bool streamed) noexcept;

}  // namespace dlx

#endif  // DLX_SRC_COPY_REPETITION_H_
