// Kernels that every processor of the architecture can run: SSE2 on x86-64, NEON on aarch64, plain
// vector extensions elsewhere.

#include "src/copy/kernels/kernels.h"
#include "src/copy/kernels/lines.h"

#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

namespace dlx {
namespace {

#define DLX_VECTOR 16

typedef unsigned char Bytes16 __attribute__((vector_size(16)));

#if defined(__ARM_NEON)

constexpr bool kCanShuffle = true;

inline Bytes16 shuffle_bytes(Bytes16 value, Bytes16 pick) {
  return (Bytes16)vqtbl1q_u8((uint8x16_t)value, (uint8x16_t)pick);
}

#else

constexpr bool kCanShuffle = false;  // SSE2 has no byte permutation

// not covered: never called, but kernels that ask kCanShuffle name it
inline Bytes16 shuffle_bytes(Bytes16 value, Bytes16) { return value; }

#endif

inline void stream_vector(char* dst, Bytes16 value) {
#if defined(__SSE2__)
  _mm_stream_si128(reinterpret_cast<__m128i*>(dst), (__m128i)value);
#else
  __builtin_memcpy(dst, &value, 16);
#endif
}

inline void stream_line(char* dst, const char* src) {
#if defined(__SSE2__)
  for (int i = 0; i < 64; i += 16) {
    Bytes16 value;
    __builtin_memcpy(&value, src + i, 16);
    stream_vector(dst + i, value);
  }
#else
  __builtin_memcpy(dst, src, 64);
#endif
}

inline void stream_fence() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

// Nothing is woven: boxes take what tiles would weave.
constexpr int kLargestWoven = 0;

#include "src/copy/kernels/kernels.inc"

}  // namespace

template <int W>
void spread_items(char* dst, int64_t du, int64_t dv, const char* src, int64_t su, int64_t sv,
                  int64_t nu, int64_t nv) {
  spread_rows<W>(dst, du, dv, src, su, sv, nu, nv);
}

namespace {

template <int W, int N>
DLX_INLINE void spread_n(char* dst, int64_t du, int64_t dv, const char* src, int64_t su, int64_t sv,
                         int64_t nv) {
  DLX_ALIGN_LOOP;  // as in move_one_by_one [note 8]
  for (; nv > 0; --nv, dst += dv, src += sv) {
    DLX_UNROLL for (int u = 0; u < N; ++u) move_item<W>(dst + u * du, src + u * su);
  }
}

}  // namespace

template <int W>
void spread_few(char* dst, int64_t du, int64_t dv, const char* src, int64_t su, int64_t sv,
                int64_t nu, int64_t nv) {
  switch (nu) {
    case 2: return spread_n<W, 2>(dst, du, dv, src, su, sv, nv);
    case 3: return spread_n<W, 3>(dst, du, dv, src, su, sv, nv);
    case 4: return spread_n<W, 4>(dst, du, dv, src, su, sv, nv);
    case 5: return spread_n<W, 5>(dst, du, dv, src, su, sv, nv);
    case 6: return spread_n<W, 6>(dst, du, dv, src, su, sv, nv);
    case 7: return spread_n<W, 7>(dst, du, dv, src, su, sv, nv);
    default: return spread_n<W, 8>(dst, du, dv, src, su, sv, nv);
  }
}

#define DLX_FOR_ALL_SETS(KERNEL, W)                                                       \
  template void KERNEL<W>(char* dst, int64_t du, int64_t dv, const char* src, int64_t su, \
                          int64_t sv, int64_t nu, int64_t nv)
DLX_FOR_ALL_SETS(spread_items, 1);
DLX_FOR_ALL_SETS(spread_items, 2);
DLX_FOR_ALL_SETS(spread_items, 4);
DLX_FOR_ALL_SETS(spread_items, 8);
DLX_FOR_ALL_SETS(spread_few, 1);
DLX_FOR_ALL_SETS(spread_few, 2);
DLX_FOR_ALL_SETS(spread_few, 4);
DLX_FOR_ALL_SETS(spread_few, 8);
DLX_FOR_ALL_SETS(spread_few, 16);

#if defined(__SSE2__)
const Kernels kKernelsBase = DLX_KERNELS("sse2");
#elif defined(__ARM_NEON)
const Kernels kKernelsBase = DLX_KERNELS("neon");
#else
const Kernels kKernelsBase = DLX_KERNELS("generic");
#endif

}  // namespace dlx
