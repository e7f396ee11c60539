#include "src/copy/kernels/kernels.h"

#include <cstdlib>
#include <cstring>

namespace dlx {

const Kernels* kernels_named(const char* name) noexcept {
#if defined(__x86_64__)
  if (std::strcmp(name, "avx512") == 0) {
#if defined(DLX_AVX512_BY_AVX2)
    const bool has = __builtin_cpu_supports("avx2");
#else
    const bool has = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                     __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
#endif
    return has ? &kKernelsAvx512 : nullptr;
  }
  if (std::strcmp(name, "avx2") == 0) {
    return __builtin_cpu_supports("avx2") ? &kKernelsAvx2 : nullptr;
  }
#endif
  return std::strcmp(name, kKernelsBase.name) == 0 ? &kKernelsBase : nullptr;
}

namespace {

const Kernels& choose() noexcept {
  const char* const wanted = std::getenv("DLX_ISA");
  const char* const names[] = {wanted != nullptr ? wanted : "", "avx512", "avx2"};
  for (const char* name : names) {
    if (const Kernels* const found = kernels_named(name)) return *found;
  }
  return kKernelsBase;
}

}  // namespace

const Kernels& kernels() noexcept {
  static const Kernels& chosen = choose();
  return chosen;
}

}  // namespace dlx
