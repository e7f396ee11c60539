#ifndef DLX_SRC_GPU_KERNEL_CHOICE_H_
#define DLX_SRC_GPU_KERNEL_CHOICE_H_

#include <cstdint>

#include "src/copy/plan/plan.h"
#include "src/gpu/launch.h"

namespace dlx::gpu {

/// The largest power of two, 16 at most, that divides every address, step and item of a plan.
uint32_t common_word(const CopyPlan& plan, uint64_t dst_base, uint64_t src_base) noexcept;

/// Chooses a kernel for a plan that one launch can do, and tells it what to do.
void choose_kernel(const CopyPlan& plan, uint64_t dst_base, uint64_t src_base, const Limits& limits,
                   Launch* out) noexcept;

/// 1 <= d <= 2^31.
dlx_divisor divisor(uint32_t d) noexcept;

/// Fills in a launch of groups along one axis.
void set_groups(uint32_t groups, const Limits& limits, Launch* out) noexcept;

/// Chooses tiles where they beat words on their own. False: they do not. `word` is the common word;
/// `out->copy` describes the plan.
bool use_tiles(const CopyPlan& plan, uint32_t word, const Limits& limits, Launch* out) noexcept;

/// The kernels, in the order of their names.
enum Kernel : int32_t {
  kElements1,
  kElements2,
  kElements4,
  kElements8,
  kElements16,
  kTiles1,
  kTiles2,
  kTiles4,
  kKernels
};

}  // namespace dlx::gpu

#endif  // DLX_SRC_GPU_KERNEL_CHOICE_H_
