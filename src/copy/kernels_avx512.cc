// Kernels for AVX-512, with 256-bit registers: twice as many of them. Only lines that are written
// past the caches are put together in 512 bits; elsewhere joining four pieces costs more than it
// saves. The target is switched on here and nowhere else, after the includes.

#include "src/copy/kernels.h"
#include "src/copy/lines.h"

#if defined(__x86_64__)

#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512vl,avx512dq"))), \
                             apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq")
#endif

namespace dlx {
namespace {

#include "src/copy/kernels_x86.inc"

__attribute__((always_inline)) inline void stream_line(char* dst, const char* src) {
  _mm512_stream_si512(reinterpret_cast<__m512i*>(dst), _mm512_loadu_si512(src));
}

// Lines that never were in memory: four pieces of 16 bytes joined.
#define DLX_JOIN_LINE(A, B, C, D)                                                                \
  _mm512_inserti32x4(_mm512_inserti32x4(_mm512_inserti32x4(_mm512_castsi128_si512((__m128i)(A)), \
                                                           (__m128i)(B), 1),                     \
                                        (__m128i)(C), 2),                                        \
                     (__m128i)(D), 3)

typedef unsigned char Bytes64 __attribute__((vector_size(64)));

__attribute__((always_inline)) inline void stream_vector(char* dst, Bytes64 value) {
  _mm512_stream_si512(reinterpret_cast<__m512i*>(dst), (__m512i)value);
}

#define DLX_STORE_MASKED(BYTES, TO, VALUE, MASK) DLX_STORE_MASKED_##BYTES(TO, VALUE, MASK)
#define DLX_STORE_MASKED_16(TO, VALUE, MASK) \
  _mm_mask_storeu_epi8(TO, (__mmask16)(MASK), (__m128i)(VALUE))
#define DLX_STORE_MASKED_32(TO, VALUE, MASK) _mm256_mask_storeu_epi8(TO, (MASK), (__m256i)(VALUE))

// Bytes of the largest items whose transposition gains by weaving: a line leaves in one store.
constexpr int kLargestWoven = 8;

#include "src/copy/kernels.inc"

}  // namespace

const Kernels kKernelsAvx512 = DLX_KERNELS("avx512");

}  // namespace dlx

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#endif  // __x86_64__
