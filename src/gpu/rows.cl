/* Rows: items of many bytes, which are contiguous on both sides, into runs of dst. A work item makes
 * chunks of 16 bytes, which begin at multiples of 16 in dst.
 *
 * The dst run has dst_run bytes and dst_tiles chunks, and consists of items. count: chunks in all. */
#include "src/gpu/common.h"

#define CHUNKS 2 /* a work item */

/* 16 bytes at any multiple of the word. */
INLINE dlx_uint128 bytes16_at(GLOBAL const char *p) {
  const int odd = (int)((dlx_uint64)p & 3);
  const dlx_uint32 w0 = LOAD(dlx_uint32, p - odd), w1 = LOAD(dlx_uint32, p - odd + 4);
  const dlx_uint32 w2 = LOAD(dlx_uint32, p - odd + 8), w3 = LOAD(dlx_uint32, p - odd + 12);
  const dlx_uint32 w4 = odd != 0 ? LOAD(dlx_uint32, p - odd + 16) : w0;
  const dlx_uint32 value[] = {funnel(w0, w1, 8 * odd), funnel(w1, w2, 8 * odd),
                              funnel(w2, w3, 8 * odd), funnel(w3, w4, 8 * odd)};
  return four_words(value);
}

/* ALIGNED: items, and addresses and steps on both sides, are multiples of 16 bytes. Otherwise items have
 * at least 4 bytes. */
#define ROWS(name, ALIGNED)                                                                 \
  KERNEL void dlx_##name(GLOBAL char *dst, GLOBAL const char *src, dlx_strided_copy what) { \
    dlx_what a = WHAT(what);                                                                \
    const dlx_uint32 first = GROUP_ID() * a->group_size * CHUNKS + LOCAL_ID();              \
    _Pragma("unroll") for (int j = 0; j < CHUNKS; ++j) {                                    \
      const dlx_uint32 chunk = first + j * a->group_size;                                   \
      if (chunk >= a->count) break;                                                         \
      dlx_int64 from = a->src, to = a->dst;                                                 \
      const dlx_uint32 run = divide(chunk, a->by_dst_tiles);                                \
      walk(a, a->dst_axes, a->outer_axes, run, &from, &to);                                 \
      GLOBAL char *out = dst + to;                                                          \
      const int odd = ALIGNED ? 0 : (int)((dlx_uint64)out & 15);                            \
      const int at = (int)(chunk - run * a->dst_tiles) * 16 - odd;                          \
      const int begin = at < 0 ? 0 : at;                                                    \
      const int end = at + 16 < (int)a->dst_run ? at + 16 : (int)a->dst_run;                \
      if (begin >= end) continue;                                                           \
      dlx_uint32 item = divide((dlx_uint32)begin, a->by_unit);                              \
      int left = (int)((item + 1) * a->item) - begin; /* of the item */                     \
      GLOBAL const char *in =                                                               \
          src + walk_src(a, from, 0, a->dst_axes, item) + ((int)a->item - left);            \
      if (ALIGNED) {                                                                        \
        STORE(dlx_uint128, out + at, LOAD(dlx_uint128, in));                                \
      } else if (end - begin == 16 && left >= 16) {                                         \
        STORE(dlx_uint128, out + at, bytes16_at(in));                                       \
      } else {                                                                              \
        /* Word by word; a word has parts of two items at most. */                          \
        _Pragma("nounroll") for (int w = at; w < end; w += 4) {                             \
          const int low = begin - w < 0 ? 0 : begin - w; /* of its bytes */                 \
          const int high = end - w < 4 ? end - w : 4;                                       \
          if (low >= 4) continue;                                                           \
          int need = high - low;                                                            \
          dlx_uint32 value = bytes_at(in, left < need ? left : need);                       \
          if (left <= need) {                                                               \
            const int have = left;                                                          \
            ++item;                                                                         \
            left = (int)a->item;                                                            \
            if (item * a->item < a->dst_run) {                                              \
              in = src + walk_src(a, from, 0, a->dst_axes, item);                           \
              if (have < need) {                                                            \
                value = (value & ((1u << (8 * have)) - 1)) | bytes_at(in, need - have)      \
                                                                 << (8 * have);             \
                in += need - have;                                                          \
                left -= need - have;                                                        \
              }                                                                             \
            }                                                                               \
          } else {                                                                          \
            in += need;                                                                     \
            left -= need;                                                                   \
          }                                                                                 \
          if (high - low == 4) {                                                            \
            STORE(dlx_uint32, out + w, value);                                              \
          } else {                                                                          \
            store_some(out + w, value << (8 * low), low, high);                             \
          }                                                                                 \
        }                                                                                   \
      }                                                                                     \
    }                                                                                       \
  }

ROWS(rows, 0)
ROWS(rows_16, 1)
