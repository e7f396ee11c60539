// Kernels for AVX-512, with 256-bit registers, of which AVX-512 has twice as many. Only streamed
// lines are assembled in 512 bits; elsewhere joining four parts costs more than it saves. The
// target is switched on here and nowhere else, after the includes.
//
// With DLX_AVX512_BY_AVX2, for tests, the same kernels run on processors with AVX2 only: plain C++
// replaces the instructions of AVX-512.

#include "src/copy/kernels/kernels.h"
#include "src/copy/kernels/lines.h"

#if defined(__x86_64__)

#include <immintrin.h>

#if defined(__clang__) && defined(DLX_AVX512_BY_AVX2)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#elif defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512vl,avx512dq"))), \
                             apply_to = function)
#elif defined(DLX_AVX512_BY_AVX2)
#pragma GCC push_options
#pragma GCC target("avx2")
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq")
#endif

namespace dlx {
namespace {

#include "src/copy/kernels/x86.inc"

typedef unsigned char Bytes64 __attribute__((vector_size(64)));

#if defined(DLX_AVX512_BY_AVX2)

__attribute__((always_inline)) inline void stream_vector(char* dst, Bytes64 value) {
  Bytes32 half[2];
  __builtin_memcpy(half, &value, sizeof value);
  stream_vector(dst, half[0]);
  stream_vector(dst + 32, half[1]);
}

__attribute__((always_inline)) inline void stream_line(char* dst, const char* src) {
  Bytes64 value;
  __builtin_memcpy(&value, src, sizeof value);
  stream_vector(dst, value);
}

__attribute__((always_inline)) inline Bytes64 join_line(Bytes16 a, Bytes16 b, Bytes16 c,
                                                        Bytes16 d) {
  const Bytes16 parts[] = {a, b, c, d};
  Bytes64 value;
  __builtin_memcpy(&value, parts, sizeof value);
  return value;
}
#define DLX_JOIN_LINE(A, B, C, D) join_line((Bytes16)(A), (Bytes16)(B), (Bytes16)(C), (Bytes16)(D))

template <class V>
__attribute__((always_inline)) inline void store_masked(char* dst, V value, unsigned mask) {
  for (int i = 0; i < static_cast<int>(sizeof value); ++i) {
    if ((mask >> i & 1) != 0) dst[i] = static_cast<char>(value[i]);
  }
}
#define DLX_STORE_MASKED(BYTES, TO, VALUE, MASK) store_masked(TO, VALUE, MASK)

#else

// not covered from here: instructions of AVX-512; other processors test the other branch
__attribute__((always_inline)) inline void stream_line(char* dst, const char* src) {
  _mm512_stream_si512(reinterpret_cast<__m512i*>(dst), _mm512_loadu_si512(src));
}

// Joins four parts of 16 bytes to a line, in registers.
#define DLX_JOIN_LINE(A, B, C, D)                                                                \
  _mm512_inserti32x4(_mm512_inserti32x4(_mm512_inserti32x4(_mm512_castsi128_si512((__m128i)(A)), \
                                                           (__m128i)(B), 1),                     \
                                        (__m128i)(C), 2),                                        \
                     (__m128i)(D), 3)

__attribute__((always_inline)) inline void stream_vector(char* dst, Bytes64 value) {
  _mm512_stream_si512(reinterpret_cast<__m512i*>(dst), (__m512i)value);
}

#define DLX_STORE_MASKED(BYTES, TO, VALUE, MASK) DLX_STORE_MASKED_##BYTES(TO, VALUE, MASK)
#define DLX_STORE_MASKED_16(TO, VALUE, MASK) \
  _mm_mask_storeu_epi8(TO, (__mmask16)(MASK), (__m128i)(VALUE))
#define DLX_STORE_MASKED_32(TO, VALUE, MASK) _mm256_mask_storeu_epi8(TO, (MASK), (__m256i)(VALUE))
// covered again

#endif

// Bytes of the largest items whose transposition gains by weaving. A line takes one store.
constexpr int kLargestWoven = 8;

#include "src/copy/kernels/kernels.inc"

}  // namespace

const Kernels kKernelsAvx512 = DLX_KERNELS("avx512");

}  // namespace dlx

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#endif  // __x86_64__
