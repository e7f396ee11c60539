// Kernels for AVX2. The target is switched on here and nowhere else, after the includes.

#include "src/copy/kernels/kernels.h"
#include "src/copy/kernels/lines.h"

#if defined(__x86_64__)

#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2")
#endif

namespace dlx {
namespace {

#include "src/copy/kernels/x86.inc"

__attribute__((always_inline)) inline void stream_line(char* dst, const char* src) {
  const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(src));
  const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(src + 32));
  stream_vector(dst, (Bytes32)low);
  stream_vector(dst + 32, (Bytes32)high);
}

// Bytes of the largest items whose transposition gains by weaving. A line takes two stores, so less
// room is left for other stores.
constexpr int kLargestWoven = 2;

#include "src/copy/kernels/kernels.inc"

}  // namespace

const Kernels kKernelsAvx2 = DLX_KERNELS("avx2");

}  // namespace dlx

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#endif  // __x86_64__
