#include "src/system/cpu.h"

#if defined(__x86_64__) && defined(__APPLE__)
#include <sys/sysctl.h>
#elif defined(__x86_64__)
#include <cpuid.h>
#endif

namespace dlx::sys {

#if defined(__x86_64__) && defined(__APPLE__)

// XCR0 does not show AVX-512 before a thread has used it, so the system is asked.
CpuFeatures cpu_features() noexcept {
  const auto has = [](const char* name) {
    int value = 0;
    size_t size = sizeof value;
    return sysctlbyname(name, &value, &size, nullptr, 0) == 0 && value != 0;
  };
  const bool avx2 = has("hw.optional.avx2_0");
  return {avx2, avx2 && has("hw.optional.avx512f") && has("hw.optional.avx512bw") &&
                    has("hw.optional.avx512vl") && has("hw.optional.avx512dq")};
}

#elif defined(__x86_64__)

// Bits: Intel's Software Developer's Manual, volume 1, chapters 14 and 15, and volume 2, CPUID.
CpuFeatures cpu_features() noexcept {
  constexpr unsigned kSavesByXsave = 1U << 27;
  constexpr unsigned kAvx2 = 1U << 5;
  constexpr unsigned kAvx512 = 1U << 16 | 1U << 17 | 1U << 30 | 1U << 31;  // F, DQ, BW, VL
  constexpr unsigned kSavesAvx = 0x6;
  constexpr unsigned kSavesAvx512 = 0xe6;
  unsigned a = 0, b = 0, c = 0, d = 0;
  // not covered: a processor without AVX
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & kSavesByXsave) == 0) {
    return {};  // not covered: a processor without AVX
  }
  unsigned saves = 0, ignored = 0;
  __asm__("xgetbv" : "=a"(saves), "=d"(ignored) : "c"(0));
  if ((saves & kSavesAvx) != kSavesAvx) return {};  // not covered: a system without AVX
  // not covered: the same
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0)
    return {};  // not covered: a processor without AVX2
  const bool avx2 = (b & kAvx2) != 0;
  // not covered from here: the answers are those of one processor
  return {avx2, avx2 && (saves & kSavesAvx512) == kSavesAvx512 && (b & kAvx512) == kAvx512};
  // covered again
}

#else

CpuFeatures cpu_features() noexcept { return {}; }

#endif

}  // namespace dlx::sys
