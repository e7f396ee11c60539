#ifndef DLX_SRC_COPY_WAYS_REPEAT_H_
#define DLX_SRC_COPY_WAYS_REPEAT_H_

#include "src/copy/kernels/kernels.h"
#include "src/copy/plan/plan.h"

namespace dlx {

constexpr int64_t kRunsCached = 128 << 10;  ///< bytes of runs that are arranged at once [note 81]

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

/// The longest run that can be streamed again and again.
constexpr int64_t kLongestRepeated = 1024;  // bytes [note 81]

/// Streams `bytes` of dst that repeat `run` bytes. `run` is at most kLongestRepeated. The caller
/// fences.
void stream_repeated(const Kernels& kernels, char* dst, int64_t bytes, const char* run,
                     int64_t run_bytes) noexcept;

/// Copies the run at dst to the other places of an axis. If `streamed`, and if there are no gaps
/// between places, they are streamed, and the caller fences.
void repeat(const Kernels& kernels, char* dst, int64_t run, const CopyAxis& axis,
            bool streamed) noexcept;

}  // namespace dlx

#endif  // DLX_SRC_COPY_WAYS_REPEAT_H_
