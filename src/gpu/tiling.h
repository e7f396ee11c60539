#ifndef DLX_SRC_GPU_TILING_H_
#define DLX_SRC_GPU_TILING_H_

#include <cstdint>

#include "src/copy/plan.h"
#include "src/gpu/launch.h"

namespace dlx::gpu {

/// The largest power of two, 16 at most, that divides every address, step and item of a plan.
uint32_t common_word(const CopyPlan& plan, uint64_t dst_base, uint64_t src_base) noexcept;

/// Chooses a kernel for a plan that one launch can do, and tells it what to do.
void choose_kernel(const CopyPlan& plan, uint64_t dst_base, uint64_t src_base, const Limits& limits,
                   Launch* out) noexcept;

}  // namespace dlx::gpu

#endif  // DLX_SRC_GPU_TILING_H_
