#include "src/gpu/kernels.h"

namespace dlx::gpu {
namespace {

constexpr struct {
  Family family;
  const char* name;
} kList[] = {
#define KERNEL(family, kernel, name) {family, "dlx_" #name},
#include "src/gpu/kernels.inc"
#undef KERNEL
};

constexpr const char* kFamilyNames[kFamilies] = {"turn", "few",   "pattern",
                                                 "rows", "tiles", "elements"};

}  // namespace

const char* family_name(int32_t family) noexcept { return kFamilyNames[family]; }

Family family_of(int32_t kernel) noexcept { return kList[kernel].family; }

int32_t kernel_count() noexcept { return kKernels; }

const char* kernel_name(int32_t kernel) noexcept { return kList[kernel].name; }

}  // namespace dlx::gpu
