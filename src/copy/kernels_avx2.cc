// Kernels for AVX2. The target is switched on here and nowhere else, after the includes.

#include "src/copy/kernels.h"

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

#define DLX_VECTOR 32
#define DLX_JOIN(LOW, HIGH) \
  _mm256_inserti128_si256(_mm256_castsi128_si256((__m128i)(LOW)), (__m128i)(HIGH), 1)

#define DLX_LOWER(VALUE) _mm256_castsi256_si128((__m256i)(VALUE))
#define DLX_UPPER(VALUE) _mm256_extracti128_si256((__m256i)(VALUE), 1)

typedef unsigned char Bytes16 __attribute__((vector_size(16)));
typedef unsigned char Bytes32 __attribute__((vector_size(32)));

constexpr bool kCanShuffle = true;

__attribute__((always_inline)) inline Bytes16 shuffle_bytes(Bytes16 value, Bytes16 pick) {
  return (Bytes16)_mm_shuffle_epi8((__m128i)value, (__m128i)pick);
}

__attribute__((always_inline)) inline Bytes32 shuffle_bytes(Bytes32 value, Bytes32 pick) {
  return (Bytes32)_mm256_shuffle_epi8((__m256i)value, (__m256i)pick);
}

__attribute__((always_inline)) inline void stream_line(char* dst, const char* src) {
  const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(src));
  const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(src + 32));
  _mm256_stream_si256(reinterpret_cast<__m256i*>(dst), low);
  _mm256_stream_si256(reinterpret_cast<__m256i*>(dst + 32), high);
}

__attribute__((always_inline)) inline void stream_fence() { _mm_sfence(); }

#include "src/copy/kernels.inc"

}  // namespace

const Kernels kKernelsAvx2 = DLX_KERNELS("avx2");

}  // namespace dlx

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#endif  // __x86_64__
