#ifndef DLX_SRC_GPU_KERNELS_H_
#define DLX_SRC_GPU_KERNELS_H_

#include <cstdint>

namespace dlx::gpu {

/// The kernels and their families. Drivers load a family at a time, when it is needed first.

/// In the order of preference; the last one takes every plan.
enum Family : int32_t { kTurn, kFew, kPattern, kRows, kTiles, kElements, kFamilies };

enum Kernel : int32_t {
#define KERNEL(family, kernel, name) kernel,
#include "src/gpu/kernels.inc"
#undef KERNEL
  kKernels
};

/// "turn"
const char* family_name(int32_t family) noexcept;
Family family_of(int32_t kernel) noexcept;

/// "dlx_turn_1"; kernels of a family follow each other.
int32_t kernel_count() noexcept;
const char* kernel_name(int32_t kernel) noexcept;

}  // namespace dlx::gpu

#endif  // DLX_SRC_GPU_KERNELS_H_
