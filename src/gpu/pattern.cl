/* Items near each other in src, by a fixed pattern: every second, third or fourth item, rows backwards,
 * pixels backwards, or without or in another order of their channels. A work item makes PER items
 * that follow each other in dst, from words of src that it reads whole, in registers.
 *
 * The dst run has dst_run bytes and dst_tiles chunks of PER items, and begins at a multiple of 16 (of
 * 4 for items of 3 bytes). Axis 0 counts the items of a row. count: chunks in all. */
#include "src/gpu/common.h"

/* make_*(x, odd, out): the words of a chunk, from the words x of src, in which what the chunk needs begins
 * `odd` bytes after x[0]. Bytes are picked where they lie: shifting the words first would cost as much again. */
#define MAKE(name) INLINE void make_##name(const dlx_uint32 *x, dlx_uint32 odd, dlx_uint32 *out)

MAKE(1_every2) {
  dlx_uint32 second[5]; /* every second byte */
  _Pragma("unroll") for (int k = 0; k < 5; ++k) {
    second[k] = pick(x[2 * k], k < 4 ? x[2 * k + 1] : 0, 0x6420 + (odd & 1) * 0x1111);
  }
  _Pragma("unroll") for (int k = 0; k < 4; ++k) {
    out[k] = funnel(second[k], second[k + 1], (int)(odd >> 1) * 8);
  }
}

MAKE(1_every3) {
  /* Every third byte, from byte 0, 1 or 2 on; from byte 3 on, one less. */
  const dlx_uint32 two = odd == 1 ? 0x0741 : odd == 2 ? 0x0052 : 0x0630;
  const dlx_uint32 third = odd == 1 ? 0x6210 : odd == 2 ? 0x7410 : 0x5210;
  dlx_uint32 part[5];
  _Pragma("unroll") for (int k = 0; k < 4; ++k) {
    part[k] = pick(pick(x[3 * k], x[3 * k + 1], two), x[3 * k + 2], third);
  }
  part[4] = x[12];
  _Pragma("unroll") for (int k = 0; k < 4; ++k) {
    out[k] = funnel(part[k], part[k + 1], odd == 3 ? 8 : 0);
  }
}

MAKE(1_every4) {
  const dlx_uint32 two = 0x40 + odd * 0x11;
  _Pragma("unroll") for (int k = 0; k < 4; ++k) {
    out[k] = pick(pick(x[4 * k], x[4 * k + 1], two), pick(x[4 * k + 2], x[4 * k + 3], two), 0x5410);
  }
}

MAKE(1_back) {
  _Pragma("unroll") for (int k = 0; k < 4; ++k) {
    out[k] = pick(x[3 - k], x[4 - k], 0x0123 + odd * 0x1111);
  }
}

/* Items of 2 bytes are aligned: odd is 0 or 2. */
MAKE(2_every2) {
  _Pragma("unroll") for (int k = 0; k < 4; ++k) {
    out[k] = pick(x[2 * k], x[2 * k + 1], 0x5410 + odd * 0x1111);
  }
}

MAKE(2_every3) {
  const dlx_uint32 first = odd != 0 ? 0x5432 : 0x5410, second = odd != 0 ? 0x54 : 0x32;
  _Pragma("unroll") for (int k = 0; k < 4; ++k) {
    out[k] = pick(x[3 * k], pick(x[3 * k + 1], x[3 * k + 2], second), first);
  }
}

MAKE(2_back) {
  _Pragma("unroll") for (int k = 0; k < 4; ++k) {
    out[k] = pick(x[3 - k], x[4 - k], 0x1032 + odd * 0x1111);
  }
}

/* Four pixels, from words of them: y[k] has bytes 4 * k and on. */
#define SHIFTED(y, count) \
  dlx_uint32 y[count];    \
  _Pragma("unroll") for (int k = 0; k < count; ++k) { y[k] = funnel(x[k], x[k + 1], (int)odd * 8); }

MAKE(3_back) {
  SHIFTED(y, 3)
  out[0] = pick(y[2], y[1], 0x6321);
  out[1] = pick(pick(y[1], y[2], 0x0043), y[0], 0x3710);
  out[2] = pick(y[1], y[0], 0x6541);
}

MAKE(3_of4) {
  SHIFTED(y, 4)
  out[0] = pick(y[0], y[1], 0x4210);
  out[1] = pick(y[1], y[2], 0x5421);
  out[2] = pick(y[2], y[3], 0x6542);
}

MAKE(3_turned) {
  SHIFTED(y, 3)
  out[0] = pick(y[0], y[1], 0x5012);
  out[1] = pick(pick(y[1], y[0], 0x3070), y[2], 0x3410);
  out[2] = pick(y[1], y[2], 0x5672);
}

/* Item n of SIZE bytes begins n * STEP bytes after item 0 in src; ACROSS, 1 or -1, is the step of its
 * bytes. BACK bytes before item 0 begins what a chunk needs: USED bytes. */
#define PATTERN(name, SIZE, PER, STEP, ACROSS, BACK, USED)                                   \
  KERNEL void dlx_pattern_##name(GLOBAL char *dst, GLOBAL const char *src,                   \
                                 dlx_strided_copy what) {                                    \
    enum { BYTES = PER * SIZE, WORDS = (USED + 3) / 4 };                                     \
    dlx_what a = WHAT(what);                                                                 \
    const dlx_uint32 chunk = GROUP_ID() * a->group_size + LOCAL_ID();                        \
    if (chunk >= a->count) return;                                                           \
    dlx_int64 from = a->src, to = a->dst;                                                    \
    const dlx_uint32 run = divide(chunk, a->by_dst_tiles);                                   \
    walk(a, a->dst_axes + a->src_axes, a->outer_axes, run, &from, &to);                      \
    const dlx_uint32 at = (chunk - run * a->dst_tiles) * PER; /* item of the run */          \
    const dlx_uint32 row = by_extent(a, 0, at), i = at - row * a->extent[0];                 \
    GLOBAL char *out = AHEAD(char, dst + to, (int)at, SIZE);                                 \
    if (i + PER <= a->extent[0]) {                                                           \
      GLOBAL const char *in = src + walk_src(a, from, 1, a->dst_axes, row) - BACK;           \
      in = AHEAD(const char, in, (int)i, STEP);                                              \
      const dlx_uint32 odd = (dlx_uint32)(dlx_uint64)in & 3;                                 \
      dlx_uint32 x[WORDS + 1];                                                               \
      in -= odd;                                                                             \
      _Pragma("unroll") for (int k = 0; k < WORDS; ++k) x[k] = LOAD(dlx_uint32, in + 4 * k); \
      x[WORDS] = 4 * WORDS < odd + USED ? LOAD(dlx_uint32, in + 4 * WORDS) : x[0];           \
      dlx_uint32 value[BYTES / 4];                                                           \
      make_##name(x, odd, value);                                                            \
      if (BYTES == 16) {                                                                     \
        STORE(dlx_uint128, out, four_words(value));                                          \
      } else {                                                                               \
        _Pragma("unroll") for (int k = 0; k < BYTES / 4; ++k) {                              \
          STORE(dlx_uint32, out + 4 * k, value[k]);                                          \
        }                                                                                    \
      }                                                                                      \
    } else {                                                                                 \
      for (int n = 0; n < PER && (at + n) * SIZE < a->dst_run; ++n) {                        \
        const dlx_uint32 r = by_extent(a, 0, at + n), c = at + n - r * a->extent[0];         \
        GLOBAL const char *in =                                                              \
            src + walk_src(a, from, 1, a->dst_axes, r) + (dlx_int64)(int)c * (STEP);         \
        for (int b = 0; b < SIZE; ++b) {                                                     \
          STORE(unsigned char, out + n * SIZE + b, LOAD(unsigned char, in + b * (ACROSS)));  \
        }                                                                                    \
      }                                                                                      \
    }                                                                                        \
  }

PATTERN(1_every2, 1, 16, 2, 1, 0, 31)
PATTERN(1_every3, 1, 16, 3, 1, 0, 46)
PATTERN(1_every4, 1, 16, 4, 1, 0, 61)
PATTERN(1_back, 1, 16, -1, 1, 15, 16)
PATTERN(2_every2, 2, 8, 4, 1, 0, 30)
PATTERN(2_every3, 2, 8, 6, 1, 0, 44)
PATTERN(2_back, 2, 8, -2, 1, 14, 16)
PATTERN(3_back, 3, 4, -3, 1, 9, 12)
PATTERN(3_of4, 3, 4, 4, 1, 0, 15)
PATTERN(3_turned, 3, 4, 3, -1, 2, 12)
