#include "src/copy/kernels/kernels.h"

#include <cstdlib>
#include <cstring>

#include "src/system/cpu.h"

namespace dlx {

const Kernels* kernels_named(const char* name) noexcept {
#if defined(__x86_64__)
  static const sys::CpuFeatures features = sys::cpu_features();
#if defined(DLX_AVX512_BY_AVX2)
  const bool has_avx512 = features.avx2;
#else
  const bool has_avx512 = features.avx512;
#endif
  // not covered from here: what the processor has is always the same
  if (std::strcmp(name, "avx512") == 0) return has_avx512 ? &kKernelsAvx512 : nullptr;
  if (std::strcmp(name, "avx2") == 0) return features.avx2 ? &kKernelsAvx2 : nullptr;
  // covered again
#endif
  return std::strcmp(name, kKernelsBase.name) == 0 ? &kKernelsBase : nullptr;
}

namespace {

const Kernels& choose() noexcept {
  const char* const wanted = std::getenv("DLX_ISA");
  const char* const names[] = {wanted != nullptr ? wanted : "", "avx512", "avx2"};
  // not covered from here: ends only on x86-64 without AVX2, or elsewhere
  for (const char* name : names) {
    if (const Kernels* const found = kernels_named(name)) return *found;
  }
  return kKernelsBase;
  // covered again
}

}  // namespace

const Kernels& kernels() noexcept {
  static const Kernels& chosen = choose();
  return chosen;
}

}  // namespace dlx
