#ifndef DLX_SRC_GPU_TILE_CHOICE_H_
#define DLX_SRC_GPU_TILE_CHOICE_H_

#include <cstdint>

#include "src/copy/plan/plan.h"
#include "src/gpu/launch.h"

namespace dlx::gpu {

/// Chooses tiles for copies through local memory, if they are faster than single words; false if
/// they are not. `word` is the common word; `out->copy` already describes the plan.
bool choose_tiles(const CopyPlan& plan, uint32_t word, const Limits& limits, Launch* out) noexcept;

}  // namespace dlx::gpu

#endif  // DLX_SRC_GPU_TILE_CHOICE_H_
