#ifndef DLX_SRC_GPU_KERNEL_CHOICE_H_
#define DLX_SRC_GPU_KERNEL_CHOICE_H_

#include <cstdint>

#include "src/copy/plan/plan.h"
#include "src/gpu/launch.h"
#include "src/gpu/strided_copy.h"

namespace dlx::gpu {

/// Chooses the kernel of one launch, and fills in its arguments. docs/devices-internals.md lists
/// the kernels.

/// The kernels, in the order of kernel_name().
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

/// Chooses a kernel for a plan that fits one launch, and fills in the launch.
void choose_kernel(const CopyPlan& plan, uint64_t dst_base, uint64_t src_base, const Limits& limits,
                   Launch* out) noexcept;

/// The common word: the largest power of two, at most 16, that divides every address, step and item
/// of a plan.
uint32_t common_word(const CopyPlan& plan, uint64_t dst_base, uint64_t src_base) noexcept;

/// Division by `d` for the kernels; 1 <= d <= 2^31.
dlx_divisor divisor(uint32_t d) noexcept;

/// Fills in the group sizes of a launch with `groups` groups along one axis.
void set_groups(uint32_t groups, const Limits& limits, Launch* out) noexcept;

}  // namespace dlx::gpu

#endif  // DLX_SRC_GPU_KERNEL_CHOICE_H_
