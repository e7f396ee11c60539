/* Each word of dst on its own. The last resort, and the best way for items that lie far from each other
 * in src along every run of dst, or that repeat. */
#include "src/gpu/common.h"

/* 16 bytes of items. */
INLINE dlx_uint128 together_4(const dlx_uint32 *v) { return four_words(v); }

INLINE dlx_uint128 together_1(const dlx_uint32 *v) {
  dlx_uint32 words[4];
  _Pragma("unroll") for (int k = 0; k < 4; ++k) {
    words[k] =
        pick(pick(v[4 * k], v[4 * k + 1], 0x40), pick(v[4 * k + 2], v[4 * k + 3], 0x40), 0x5410);
  }
  return four_words(words);
}

INLINE dlx_uint128 together_2(const dlx_uint32 *v) {
  dlx_uint32 words[4];
  _Pragma("unroll") for (int k = 0; k < 4; ++k) { words[k] = pick(v[2 * k], v[2 * k + 1], 0x5410); }
  return four_words(words);
}

INLINE dlx_uint128 together_8(const dlx_uint64 *v) {
  dlx_uint128 all;
  all.x = (dlx_uint32)v[0];
  all.y = (dlx_uint32)(v[0] >> 32);
  all.z = (dlx_uint32)v[1];
  all.w = (dlx_uint32)(v[1] >> 32);
  return all;
}

/* ---- into runs of dst ------------------------------------------------------------------------------ */

/* A work item makes 16 bytes of dst, which begin at a multiple of 16: PER items that follow each other.
 * The dst run has dst_run items and dst_tiles chunks. count: chunks in all. */
#define ELEMENTS(SIZE, T, HELD)                                                                   \
  KERNEL void dlx_elements_##SIZE(GLOBAL char *dst, GLOBAL const char *src,                       \
                                  dlx_strided_copy what) {                                        \
    enum { PER = 16 / SIZE };                                                                     \
    dlx_what a = WHAT(what);                                                                      \
    const dlx_uint32 chunk = GROUP_ID() * a->group_size + LOCAL_ID();                             \
    if (chunk >= a->count) return;                                                                \
    dlx_int64 from = a->src, to = a->dst;                                                         \
    const dlx_uint32 run = divide(chunk, a->by_dst_tiles);                                        \
    walk(a, a->dst_axes, a->outer_axes, run, &from, &to);                                         \
    GLOBAL char *out = dst + to;                                                                  \
    const int odd = (int)((dlx_uint32)(dlx_uint64)out / SIZE & (PER - 1));                        \
    const int at = (int)(chunk - run * a->dst_tiles) * PER - odd, n = (int)a->dst_run;            \
    const int begin = at < 0 ? 0 : at;                                                            \
    if (begin >= n) return;                                                                       \
    GLOBAL const char *in;                                                                        \
    const int step = (int)a->src_step[0];                                                         \
    const dlx_uint32 row = by_extent(a, 0, (dlx_uint32)begin);                                    \
    const int i = begin - (int)(row * a->extent[0]);                                              \
    HELD v[PER];                                                                                  \
    if (at >= 0 && i + PER <= (int)a->extent[0]) { /* the whole chunk, of one row */              \
      in = AHEAD(const char, src + walk_src(a, from, 1, a->dst_axes, row), i, step);              \
      if (step == 0) {                                                                            \
        const HELD value = LOAD(T, in);                                                           \
        _Pragma("unroll") for (int j = 0; j < PER; ++j) v[j] = value;                             \
      } else {                                                                                    \
        _Pragma("unroll") for (int j = 0; j < PER; ++j) v[j] = LOAD(T, in + (dlx_int64)j * step); \
      }                                                                                           \
      STORE(dlx_uint128, AHEAD(char, out, at, SIZE), together_##SIZE(v));                         \
    } else if (SIZE >= 4) {                                                                       \
      _Pragma("unroll") for (int j = 0; j < PER; ++j) {                                           \
        if (at + j >= 0 && at + j < n) {                                                          \
          v[j] = LOAD(T, src + walk_src(a, from, 0, a->dst_axes, (dlx_uint32)(at + j)));          \
        }                                                                                         \
      }                                                                                           \
      if (at >= 0 && at + PER <= n) {                                                             \
        STORE(dlx_uint128, out + (dlx_int64)at * SIZE, together_##SIZE(v));                       \
      } else {                                                                                    \
        _Pragma("unroll") for (int j = 0; j < PER; ++j) {                                         \
          if (at + j >= 0 && at + j < n) STORE(T, out + (dlx_int64)(at + j) * SIZE, (T)v[j]);     \
        }                                                                                         \
      }                                                                                           \
    } else { /* word by word */                                                                   \
      _Pragma("nounroll") for (int w = at; w < at + PER; w += 4 / SIZE) {                         \
        dlx_uint32 value = 0;                                                                     \
        _Pragma("unroll") for (int j = 0; j < 4 / SIZE; ++j) {                                    \
          if (w + j < 0 || w + j >= n) continue;                                                  \
          const T one = LOAD(T, src + walk_src(a, from, 0, a->dst_axes, (dlx_uint32)(w + j)));    \
          value |= (dlx_uint32)one << (8 * SIZE * j & 31);                                        \
        }                                                                                         \
        GLOBAL char *p = out + (dlx_int64)w * SIZE;                                               \
        store_within(p, value, w *SIZE, n *SIZE, SIZE);                                           \
      }                                                                                           \
    }                                                                                             \
  }

ELEMENTS(1, unsigned char, dlx_uint32)
ELEMENTS(2, unsigned short, dlx_uint32)
ELEMENTS(4, dlx_uint32, dlx_uint32)
ELEMENTS(8, dlx_uint64, dlx_uint64)

/* ---- anywhere -------------------------------------------------------------------------------------- */

/* Words that a work item copies: it loads all of them before it stores the first. */
#define IN_FLIGHT 4

/* An item is a word; steps have 64 bits. count: words in all. All axes are outer ones. */
#define SCATTER(SIZE, T)                                                           \
  KERNEL void dlx_scatter_##SIZE(GLOBAL char *dst, GLOBAL const char *src,         \
                                 dlx_strided_copy what) {                          \
    dlx_what a = WHAT(what);                                                       \
    const dlx_uint32 first = GROUP_ID() * a->group_size * IN_FLIGHT + LOCAL_ID();  \
    dlx_uint32 rest[IN_FLIGHT];                                                    \
    dlx_int64 from[IN_FLIGHT], to[IN_FLIGHT];                                      \
    T value[IN_FLIGHT];                                                            \
    _Pragma("unroll") for (int j = 0; j < IN_FLIGHT; ++j) {                        \
      rest[j] = first + j * a->group_size;                                         \
      from[j] = a->src;                                                            \
      to[j] = a->dst;                                                              \
    }                                                                              \
    _Pragma("nounroll") for (dlx_uint32 k = 0; k < a->axes; ++k) {                 \
      const dlx_int64 src_step = a->src_step[k], dst_step = a->dst_step[k];        \
      _Pragma("unroll") for (int j = 0; j < IN_FLIGHT; ++j) {                      \
        const dlx_uint32 outer = by_extent(a, k, rest[j]);                         \
        const dlx_int64 i = (dlx_int64)(rest[j] - outer * a->extent[k]);           \
        rest[j] = outer;                                                           \
        from[j] += i * src_step;                                                   \
        to[j] += i * dst_step;                                                     \
      }                                                                            \
    }                                                                              \
    _Pragma("unroll") for (int j = 0; j < IN_FLIGHT; ++j) {                        \
      if (first + j * a->group_size < a->count) value[j] = LOAD(T, src + from[j]); \
    }                                                                              \
    _Pragma("unroll") for (int j = 0; j < IN_FLIGHT; ++j) {                        \
      if (first + j * a->group_size < a->count) STORE(T, dst + to[j], value[j]);   \
    }                                                                              \
  }

SCATTER(1, unsigned char)
SCATTER(2, unsigned short)
SCATTER(4, dlx_uint32)
SCATTER(8, dlx_uint64)
SCATTER(16, dlx_uint128)
