/* What the kernels share. */
#ifndef DLX_SRC_GPU_COMMON_H_
#define DLX_SRC_GPU_COMMON_H_

#include "src/gpu/prelude.h"

/* n / d, for n < 2^31. */
INLINE dlx_uint32 divide(dlx_uint32 n, dlx_divisor d) {
  return ((dlx_uint32)((dlx_uint64)n * d.magic >> 32) + n) >> d.shift;
}

/* n / extent[k], for n < 2^31. */
INLINE dlx_uint32 by_extent(dlx_what a, dlx_uint32 k, dlx_uint32 n) {
  return ((dlx_uint32)((dlx_uint64)n * a->magic[k] >> 32) + n) >> a->shift[k];
}

INLINE dlx_uint32 least(dlx_uint32 a, dlx_uint32 b) { return a < b ? a : b; }

/* The low 32 bits of hi:lo >> bits. */
INLINE dlx_uint32 funnel(dlx_uint32 lo, dlx_uint32 hi, int bits) {
  return (dlx_uint32)(((dlx_uint64)hi << 32 | lo) >> bits);
}

/* A word of bytes of a (0 to 3) and b (4 to 7), which the digits of `which` name, the lowest byte last. */
INLINE dlx_uint32 pick(dlx_uint32 a, dlx_uint32 b, dlx_uint32 which) {
#if defined(__NVPTX__)
  return __nvvm_prmt(a, b, which);
#elif defined(__AMDGCN__)
  return __builtin_amdgcn_perm(
      b, a, (which & 7) | (which & 0x70) << 4 | (which & 0x700) << 8 | (which & 0x7000) << 12);
#else
  dlx_uint32 value = 0;
  _Pragma("unroll") for (int k = 0; k < 4; ++k) {
    const dlx_uint32 n = which >> (4 * k) & 7;
    value |= ((n < 4 ? a : b) >> (8 * (n & 3)) & 0xffu) << (8 * k);
  }
  return value;
#endif
}

INLINE dlx_uint128 four_words(const dlx_uint32 *v) {
  dlx_uint128 all;
  all.x = v[0];
  all.y = v[1];
  all.z = v[2];
  all.w = v[3];
  return all;
}

/* Turns 4x4 bytes, or 2x2 units of 2 bytes: word k of the result has the k-th unit of each word. */
INLINE void turn_words(dlx_uint32 *x, const int unit) {
  if (unit == 1) {
    const dlx_uint32 low0 = pick(x[0], x[1], 0x5140), low1 = pick(x[2], x[3], 0x5140);
    const dlx_uint32 high0 = pick(x[0], x[1], 0x7362), high1 = pick(x[2], x[3], 0x7362);
    x[0] = pick(low0, low1, 0x5410);
    x[1] = pick(low0, low1, 0x7632);
    x[2] = pick(high0, high1, 0x5410);
    x[3] = pick(high0, high1, 0x7632);
  } else {
    const dlx_uint32 low = pick(x[0], x[1], 0x5410);
    x[1] = pick(x[0], x[1], 0x7632);
    x[0] = low;
  }
}

/* sum + n * step, and the same for addresses. */
#if defined(__NVPTX__) && defined(__OPENCL_C_VERSION__)
/* One instruction; the compiler makes up to five of a product of 64 bits. */
INLINE dlx_int64 plus(dlx_int64 sum, int n, int step) {
  __asm__("mad.wide.s32 %0, %1, %2, %3;" : "=l"(sum) : "r"(n), "r"(step), "l"(sum));
  return sum;
}
#define AHEAD(type, base, n, step) ((GLOBAL type *)plus((dlx_int64)(base), n, step))
#else
INLINE dlx_int64 plus(dlx_int64 sum, int n, int step) { return sum + (dlx_int64)n * step; }
#define AHEAD(type, base, n, step) ((base) + (dlx_int64)(n) * (step))
#endif

/* Up to 4 bytes at any address. Reads the words that have some of the first n bytes; what is beyond
 * those n bytes in the result means nothing. */
INLINE dlx_uint32 bytes_at(GLOBAL const char *p, int n) {
  const int odd = (int)((dlx_uint64)p & 3);
  const dlx_uint32 low = LOAD(dlx_uint32, p - odd);
  const dlx_uint32 high = odd + (n < 4 ? n : 4) > 4 ? LOAD(dlx_uint32, p - odd + 4) : 0;
  return funnel(low, high, 8 * odd);
}

/* Stores those bytes of a word at p that are within [low, high), counted from p. */
INLINE void store_some(GLOBAL char *p, dlx_uint32 value, int low, int high) {
  _Pragma("unroll") for (int k = 0; k < 4; ++k) {
    if (k >= low && k < high) STORE(unsigned char, p + k, (unsigned char)(value >> (8 * k)));
  }
}

/* Stores a word at p, which begins at byte `at` of a run of `end` bytes: what of it is within the run. Only
 * words of items of 1 and 2 bytes may be so in part. */
INLINE void store_within(GLOBAL char *p, dlx_uint32 value, int at, int end, const int size) {
  if (at >= 0 && at + 4 <= end) {
    STORE(dlx_uint32, p, value);
  } else if (size < 4) {
    store_some(p, value, -at, end - at);
  }
}

/* Adds the offsets of the index'th item of some axes, the fastest first. */
INLINE void walk(dlx_what a, dlx_uint32 first, dlx_uint32 count, dlx_uint32 index, dlx_int64 *from,
                 dlx_int64 *to) {
  if (count == 0) return;
  const dlx_uint32 last = first + count - 1;
  _Pragma("nounroll") for (dlx_uint32 k = first; k < last; ++k) {
    const dlx_uint32 outer = by_extent(a, k, index);
    const dlx_int64 i = (int)(index - outer * a->extent[k]);
    *from += i * a->src_step[k];
    *to += i * a->dst_step[k];
    index = outer;
  }
  *from += (dlx_int64)(int)index * a->src_step[last];
  *to += (dlx_int64)(int)index * a->dst_step[last];
}

/* The same for src alone, to `from`, and for axes `first` to `axes`, whose steps have 32 bits. Most plans have few: the
 * first ones are unrolled, so that what is needed of them are constants of the launch. */
#define UNROLLED_AXES 6
INLINE dlx_int64 walk_src(dlx_what a, dlx_int64 from, const dlx_uint32 first, dlx_uint32 axes,
                          dlx_uint32 index) {
  if (first > 0 && axes <= first) return from;
  dlx_uint32 k = first;
  _Pragma("unroll") for (dlx_uint32 u = first; u < UNROLLED_AXES; ++u) {
    if (u + 1 >= axes) break;
    const dlx_uint32 outer = by_extent(a, u, index);
    from = plus(from, (int)(index - outer * a->extent[u]), (int)a->src_step[u]);
    index = outer;
    k = u + 1;
  }
  _Pragma("nounroll") for (; k + 1 < axes; ++k) {
    const dlx_uint32 outer = by_extent(a, k, index);
    from = plus(from, (int)(index - outer * a->extent[k]), (int)a->src_step[k]);
    index = outer;
  }
  return plus(from, (int)index, (int)a->src_step[k]);
}

#endif /* DLX_SRC_GPU_COMMON_H_ */
