/* Items near each other in src, by a fixed pattern: every second, third or fourth item, rows backwards,
 * pixels backwards, or without or in another order of their channels. A work item makes PER items
 * that follow each other in dst, from words of src that it reads whole, in registers.
 *
 * The dst run has dst_run bytes and dst_tiles chunks of PER items, and begins at a multiple of 16 (of
 * 4 for items of 3 bytes). Axis 0 counts the items of a row. count: chunks in all. */
#include "src/gpu/common.h"

/* Where byte n of a chunk lies, counted from the first byte that it needs. */
#define PLACE(n, SIZE, STEP, ACROSS, BACK) \
  (BACK + (n) / SIZE * (STEP) + (n) % SIZE * (ACROSS))

/* Item n of SIZE bytes begins n * STEP bytes after item 0 in src; ACROSS, 1 or -1, is the step of its
 * bytes. BACK bytes before item 0 begins what a chunk needs: USED bytes. */
#define PATTERN(name, SIZE, PER, STEP, ACROSS, BACK, USED)                                       \
  KERNEL void dlx_pattern_##name(GLOBAL char *dst, GLOBAL const char *src,                       \
                                 dlx_strided_copy what) {                                        \
    enum { BYTES = PER * SIZE, WORDS = (USED + 3) / 4 };                                         \
    dlx_what a = WHAT(what);                                                                     \
    const dlx_uint32 chunk = GROUP_ID() * a->group_size + LOCAL_ID();                            \
    if (chunk >= a->count) return;                                                               \
    dlx_int64 from = a->src, to = a->dst;                                                        \
    const dlx_uint32 run = divide(chunk, a->by_dst_tiles);                                       \
    walk(a, a->dst_axes + a->src_axes, a->outer_axes, run, &from, &to);                        \
    const dlx_uint32 at = (chunk - run * a->dst_tiles) * PER; /* item of the run */              \
    const dlx_uint32 row = by_extent(a, 0, at), i = at - row * a->extent[0];                     \
    GLOBAL char *out = dst + to + (dlx_int64)at * SIZE;                                          \
    if (i + PER <= a->extent[0]) {                                                               \
      GLOBAL const char *in =                                                                    \
          src + from + walk_src(a, 1, a->dst_axes, row) + (dlx_int64)(int)i * STEP - BACK;       \
      const int odd = (int)((dlx_uint64)in & 3);                                                 \
      dlx_uint32 x[WORDS + 1];                                                                   \
      _Pragma("unroll") for (int k = 0; k < WORDS; ++k) {                                        \
        x[k] = 4 * k < odd + USED ? LOAD(dlx_uint32, in - odd + 4 * k) : 0;                      \
      }                                                                                          \
      x[WORDS] = 4 * WORDS < odd + USED ? LOAD(dlx_uint32, in - odd + 4 * WORDS) : 0;            \
      _Pragma("unroll") for (int k = 0; k < WORDS; ++k) x[k] = funnel(x[k], x[k + 1], 8 * odd);  \
      dlx_uint32 value[BYTES / 4];                                                               \
      _Pragma("unroll") for (int k = 0; k < BYTES / 4; ++k) {                                    \
        value[k] = x[PLACE(4 * k, SIZE, STEP, ACROSS, BACK) / 4];                                \
        _Pragma("unroll") for (int b = 0; b < 4; ++b) {                                          \
          const int p = PLACE(4 * k + b, SIZE, STEP, ACROSS, BACK);                              \
          const dlx_uint32 which = (dlx_uint32)(4 + p % 4) << (4 * b) | (0x3210u & ~(15u << (4 * b))); \
          value[k] = pick(value[k], x[p / 4], which);                                            \
        }                                                                                        \
      }                                                                                          \
      if (BYTES == 16) {                                                                         \
        STORE(dlx_uint128, out, four_words(value));                                              \
      } else {                                                                                   \
        _Pragma("unroll") for (int k = 0; k < BYTES / 4; ++k) {                                  \
          STORE(dlx_uint32, out + 4 * k, value[k]);                                              \
        }                                                                                        \
      }                                                                                          \
    } else {                                                                                     \
      for (int n = 0; n < PER && (at + n) * SIZE < a->dst_run; ++n) {                            \
        const dlx_uint32 r = by_extent(a, 0, at + n), c = at + n - r * a->extent[0];             \
        GLOBAL const char *in =                                                                  \
            src + from + walk_src(a, 1, a->dst_axes, r) + (dlx_int64)(int)c * (STEP);            \
        for (int b = 0; b < SIZE; ++b) {                                                         \
          STORE(unsigned char, out + n * SIZE + b, LOAD(unsigned char, in + b * (ACROSS)));      \
        }                                                                                        \
      }                                                                                          \
    }                                                                                            \
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
