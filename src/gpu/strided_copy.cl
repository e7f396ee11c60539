/* Strided copies: dlx_strided_copy says what each kernel does. The arguments of all are
 * (dst, src, what), by one axis of work groups. OpenCL C 1.2 that is HIP C++ too: see prelude.h. */
#include "src/gpu/strided_copy.h"
#include "src/gpu/prelude.h"

/* n / d, for n < 2^31. */
INLINE dlx_uint32 divide(dlx_uint32 n, dlx_divisor d) {
  return ((dlx_uint32)((dlx_uint64)n * d.magic >> 32) + n) >> d.shift;
}

/* ---- elements: each word on its own ------------------------------------------------------------ */

/* Words that a work item moves: all are on their way before the first arrives. */
#define IN_FLIGHT 4

/* A word is what every address and every item is a multiple of. Neighbours in a group move
 * neighbouring words of dst. */
#define ELEMENTS(bytes, word)                                                                   \
  KERNEL void dlx_elements_##bytes(GLOBAL char *dst, GLOBAL const char *src, dlx_strided_copy a) { \
    const dlx_uint32 first = GROUP_ID() * a.group_size * IN_FLIGHT + LOCAL_ID();                \
    dlx_uint32 rest[IN_FLIGHT];                                                                 \
    dlx_int64 from[IN_FLIGHT], to[IN_FLIGHT];                                                   \
    word value[IN_FLIGHT];                                                                      \
    _Pragma("unroll") for (int j = 0; j < IN_FLIGHT; ++j) {                                     \
      const dlx_uint32 n = first + j * a.group_size;                                            \
      rest[j] = divide(n, a.by_words);                                                          \
      const dlx_uint32 offset = (n - rest[j] * a.words) * bytes;                                \
      from[j] = a.src + offset;                                                                 \
      to[j] = a.dst + offset;                                                                   \
    }                                                                                           \
    _Pragma("nounroll") for (int k = (int)a.axes - 1; k >= 0; --k) {                            \
      const dlx_divisor by = a.by_extent[k];                                                    \
      const dlx_uint32 extent = (dlx_uint32)a.extent[k];                                        \
      const int dst_step = (int)a.dst_step[k], src_step = (int)a.src_step[k];                   \
      _Pragma("unroll") for (int j = 0; j < IN_FLIGHT; ++j) {                                   \
        const dlx_uint32 outer = divide(rest[j], by);                                           \
        const int i = (int)(rest[j] - outer * extent);                                          \
        rest[j] = outer;                                                                        \
        from[j] += (dlx_int64)i * src_step;                                                     \
        to[j] += (dlx_int64)i * dst_step;                                                       \
      }                                                                                         \
    }                                                                                           \
    _Pragma("unroll") for (int j = 0; j < IN_FLIGHT; ++j) {                                     \
      if (first + j * a.group_size < a.count) value[j] = *(GLOBAL const word *)(src + from[j]); \
    }                                                                                           \
    _Pragma("unroll") for (int j = 0; j < IN_FLIGHT; ++j) {                                     \
      if (first + j * a.group_size < a.count) *(GLOBAL word *)(dst + to[j]) = value[j];         \
    }                                                                                           \
  }

ELEMENTS(1, unsigned char)
ELEMENTS(2, unsigned short)
ELEMENTS(4, dlx_uint32)
ELEMENTS(8, dlx_uint64)
ELEMENTS(16, dlx_uint128)
