/* Few items against long rows: n x C to C x n ("out", deinterleaving) and back ("in", interleaving), and
 * many small matrices. What is contiguous is read and written linearly; the order changes in local
 * memory, or in registers for 3 and 4 bytes. */
#include "src/gpu/common.h"

/* A block of local memory of 8 KiB and a little more. */
#define BLOCK_WORDS 2080
#define PASSES 9 /* of 256 work items through such a block */
/* Where neighbours in dst are an even number of words apart, one word in 32 is left out, against bank
 * conflicts: `gap` is 5, or else 31. */
#define SPREAD(word) ((word) + ((word) >> gap))
#define SPREAD_WORDS (BLOCK_WORDS + BLOCK_WORDS / 32 + 2)
#define PLAIN(word) (word)

/* The item at byte `at` of the block, or a word of it if it has more bytes. */
#define GET_ITEM(SIZE, WORD, at)                                                               \
  (SIZE == 1   ? (dlx_uint32)GET(unsigned char, block, WORD((at) >> 2) * 4 + ((at) & 3))       \
   : SIZE == 2 ? (dlx_uint32)GET(unsigned short, block, WORD((at) >> 2) * 2 + ((at) >> 1 & 1)) \
               : GET(dlx_uint32, block, WORD((at) >> 2)))

/* Loads the words that have some of the bytes [low, high), counted from p, into the block. Byte 0 of
 * the block is the first byte of the word of `origin`, a position that is counted likewise. */
#define LOAD_BLOCK(p, origin, low, high)                                                \
  {                                                                                     \
    GLOBAL const char *at_ = (p) + (origin);                                            \
    at_ -= (dlx_uint64)at_ & 3;                                                         \
    const int low_ = (int)((p) + (low) - at_), high_ = (int)((p) + (high) - at_);       \
    dlx_uint32 v_[PASSES];                                                              \
    _Pragma("unroll") for (int k_ = 0; k_ < PASSES; ++k_) {                             \
      const int n_ = 4 * (id + 256 * k_);                                               \
      if (n_ + 4 > low_ && n_ < high_) v_[k_] = LOAD(dlx_uint32, at_ + n_);             \
    }                                                                                   \
    _Pragma("unroll") for (int k_ = 0; k_ < PASSES; ++k_) {                             \
      const int n_ = 4 * (id + 256 * k_);                                               \
      if (n_ + 4 > low_ && n_ < high_) PUT(dlx_uint32, block, SPREAD(n_ >> 2), v_[k_]); \
    }                                                                                   \
  }

/* Axis 0: the n items, dense in dst; axis 1: the C items, dense in src. A group takes dst_tile of the n
 * items, in rows of store_words words; each row begins at a sector of its own, as in dlx_turn_*.
 * src_tile, a power of two, work items take a row. */
#define FEW_OUT(SIZE)                                                                            \
  KERNEL void dlx_few_out_##SIZE(GLOBAL char *dst, GLOBAL const char *src,                       \
                                 dlx_strided_copy what) {                                        \
    LOCAL_ARRAY dlx_uint32 block[SPREAD_WORDS];                                                  \
    dlx_what a = WHAT(what);                                                                     \
    const int id = (int)LOCAL_ID(), C = (int)a->src_run, n = (int)a->dst_run;                    \
    const int gap = (C & 1) != 0 ? 31 : 5;                                                       \
    const dlx_uint32 outer = divide(GROUP_ID(), a->by_dst_tiles);                                \
    /* In bytes of dst: the part of a row. */                                                    \
    const int first = (int)((GROUP_ID() - outer * a->dst_tiles) * a->dst_tile) * SIZE - 32;      \
    const int past = first + 32 + (int)a->dst_tile * SIZE;                                       \
    dlx_int64 from = a->src, to = a->dst;                                                        \
    walk(a, 2, a->outer_axes, outer, &from, &to);                                                \
    const dlx_int64 origin = (dlx_int64)first * C;                                               \
    const int odd = (int)((dlx_uint64)(src + from + origin) & 3);                                \
    LOAD_BLOCK(src + from, origin, (first < 0 ? 0 : (dlx_int64)first * C),                       \
               (dlx_int64)(past < n * SIZE ? past : n * SIZE) * C);                              \
    BARRIER();                                                                                   \
    const dlx_int64 dst_row = (int)a->dst_step[1];                                               \
    const int w = id & (int)(a->src_tile - 1), rows = 256 / (int)a->src_tile;                    \
    _Pragma("nounroll") for (int r = id / (int)a->src_tile; r < C; r += rows) {                  \
      GLOBAL char *out = dst + to + r * dst_row + first + 32;                                    \
      _Pragma("unroll 2") for (int p = w; p < (int)a->store_words; p += 256) {                   \
        const int position = 4 * p - (int)((dlx_uint64)out & 31);                                \
        const int item = position + 32; /* its byte, counted from `first` */                     \
        dlx_uint32 value = 0;                                                                    \
        if (SIZE >= 4) {                                                                         \
          value =                                                                                \
              GET_ITEM(SIZE, SPREAD, (item & ~(SIZE - 1)) * C + r * SIZE + (item & (SIZE - 1))); \
        } else {                                                                                 \
          _Pragma("unroll") for (int i = 0; i < 4; i += SIZE) {                                  \
            value |= GET_ITEM(SIZE, SPREAD, odd + (item + i) * C + r * SIZE) << (8 * i);         \
          }                                                                                      \
        }                                                                                        \
        store_within(out + position, value, first + item, n * SIZE, SIZE);                       \
      }                                                                                          \
    }                                                                                            \
  }

FEW_OUT(1)
FEW_OUT(2)
FEW_OUT(4)
FEW_OUT(8)

/* Axis 0: the C items, dense in dst; axis 1: the n items, dense in src. A group writes dst_tile bytes of
 * the contiguous dst run, from a sector on. It reads load_words words of each of the C rows, which have
 * `pitch` bytes in local memory, by src_tile work items. by_unit: division by an item of dst, C items of src. */
#define FEW_IN(SIZE)                                                                               \
  KERNEL void dlx_few_in_##SIZE(GLOBAL char *dst, GLOBAL const char *src, dlx_strided_copy what) { \
    LOCAL_ARRAY dlx_uint32 block[BLOCK_WORDS + 1];                                                 \
    dlx_what a = WHAT(what);                                                                       \
    const int id = (int)LOCAL_ID(), C = (int)a->src_run, n = (int)a->dst_run;                      \
    const dlx_uint32 outer = divide(GROUP_ID(), a->by_dst_tiles);                                  \
    dlx_int64 from = a->src, to = a->dst;                                                          \
    walk(a, 2, a->outer_axes, outer, &from, &to);                                                  \
    GLOBAL char *out = dst + to;                                                                   \
    const int low =                                                                                \
        (int)((GROUP_ID() - outer * a->dst_tiles) * a->dst_tile) - (int)((dlx_uint64)out & 31);    \
    const int n0 = low < 0 ? 0 : (int)divide((dlx_uint32)low, a->by_unit);                         \
    const int pitch = (int)a->pitch;                                                               \
    const dlx_int64 src_row = (int)a->src_step[0];                                                 \
    GLOBAL const char *in = src + from + (dlx_int64)n0 * SIZE;                                     \
    const int w = id & (int)(a->src_tile - 1), rows = 256 / (int)a->src_tile;                      \
    _Pragma("unroll 4") for (int r = id / (int)a->src_tile; r < C; r += rows) {                    \
      for (int p = w; p < (int)a->load_words; p += (int)a->src_tile) {                             \
        const int left = (n - n0) * SIZE - 4 * p;                                                  \
        if (left <= 0) break;                                                                      \
        GLOBAL const char *at = in + r * src_row + 4 * p;                                          \
        PUT(dlx_uint32, block, (r * pitch >> 2) + p,                                               \
            SIZE >= 4 ? LOAD(dlx_uint32, at) : bytes_at(at, left));                                \
      }                                                                                            \
    }                                                                                              \
    BARRIER();                                                                                     \
    const int all = n * C * SIZE, start = n0 * C * SIZE;                                           \
    _Pragma("unroll 2") for (int w = id; 4 * w < (int)a->dst_tile; w += 256) {                     \
      const int at = low + 4 * w; /* in the run */                                                 \
      if (at >= all) break;                                                                        \
      if (at + 4 <= 0) continue;                                                                   \
      /* The word may begin before the run: then its first item is the run's. */                   \
      const dlx_uint32 item = (dlx_uint32)((at < 0 ? 0 : at) - start) / SIZE;                      \
      int i = (int)divide(item, a->by_src_tiles), c = (int)item - i * C;                           \
      dlx_uint32 value = 0;                                                                        \
      if (SIZE >= 4) {                                                                             \
        value = GET_ITEM(SIZE, PLAIN, c * pitch + i * SIZE + (at - start) % SIZE);                 \
      } else {                                                                                     \
        _Pragma("unroll") for (int b = 0; b < 4; b += SIZE) {                                      \
          if (at + b < 0) continue;                                                                \
          value |= GET_ITEM(SIZE, PLAIN, c * pitch + i * SIZE) << (8 * b);                         \
          if (++c == C) {                                                                          \
            c = 0;                                                                                 \
            ++i;                                                                                   \
          }                                                                                        \
        }                                                                                          \
      }                                                                                            \
      store_within(out + at, value, at, all, SIZE);                                                \
    }                                                                                              \
  }

FEW_IN(1)
FEW_IN(2)
FEW_IN(4)
FEW_IN(8)

/* Axis 0: the B items of a row of dst; axis 1: the A items of a row of src; the matrices follow each other on
 * both sides. A group takes src_tile of src_run matrices. by_unit: division by a matrix's items. */
#define SMALL(SIZE)                                                                               \
  KERNEL void dlx_small_##SIZE(GLOBAL char *dst, GLOBAL const char *src, dlx_strided_copy what) { \
    LOCAL_ARRAY dlx_uint32 block[SPREAD_WORDS];                                                   \
    dlx_what a = WHAT(what);                                                                      \
    const int id = (int)LOCAL_ID(), B = (int)a->extent[0], A = (int)a->extent[1];                 \
    const int gap = (A & 1) != 0 ? 31 : 5;                                                        \
    const dlx_uint32 m = GROUP_ID() * a->src_tile;                                                \
    const int matrices = (int)least(a->src_tile, a->src_run - m), items = A * B;                  \
    const int bytes = matrices * items * SIZE;                                                    \
    GLOBAL const char *in = src + a->src + (dlx_int64)m * items * SIZE;                           \
    GLOBAL char *out = dst + a->dst + (dlx_int64)m * items * SIZE;                                \
    const int odd = SIZE < 4 ? (int)((dlx_uint64)in & 3) : 0;                                     \
    LOAD_BLOCK(in, 0, 0, bytes);                                                                  \
    BARRIER();                                                                                    \
    const int skip = SIZE < 4 ? (int)((dlx_uint64)out & 3) : 0;                                   \
    _Pragma("unroll 2") for (int at = 4 * id - skip; at < bytes; at += 1024) {                    \
      const dlx_uint32 item = (dlx_uint32)(at < 0 ? 0 : at) / SIZE;                               \
      const dlx_uint32 g = divide(item, a->by_unit);                                              \
      const dlx_uint32 in_matrix = item - g * (dlx_uint32)items;                                  \
      int row = (int)by_extent(a, 0, in_matrix), b = (int)in_matrix - row * B;                    \
      int place = (int)g * items + b * A + row;                                                   \
      dlx_uint32 value = 0;                                                                       \
      if (SIZE >= 4) {                                                                            \
        value = GET_ITEM(SIZE, SPREAD, place * SIZE + (at & (SIZE - 1)));                         \
      } else {                                                                                    \
        _Pragma("unroll") for (int i = 0; i < 4; i += SIZE) {                                     \
          if (at + i < 0 || at + i >= bytes) continue;                                            \
          value |= GET_ITEM(SIZE, SPREAD, odd + place * SIZE) << (8 * i);                         \
          place += A;                                                                             \
          if (++b == B) {                                                                         \
            b = 0;                                                                                \
            place -= items - 1;                                                                   \
            if (++row == A) {                                                                     \
              row = 0;                                                                            \
              place += items - A;                                                                 \
            }                                                                                     \
          }                                                                                       \
        }                                                                                         \
      }                                                                                           \
      store_within(out + at, value, at, bytes, SIZE);                                             \
    }                                                                                             \
  }

SMALL(1)
SMALL(2)
SMALL(4)
SMALL(8)

/* ---- 3 and 4 bytes, in registers ------------------------------------------------------------------- */

/* Each work item takes 4 pixels of C bytes. Axes as above, n in axis 0 (planes) or 1 (pixels). Rows of
 * planes and of pixels begin at words. */
/* C words with the bytes of 4 pixels, to C words with 4 bytes of each plane; and back. */
INLINE void part_pixels(dlx_uint32 *x, const int C) {
  if (C == 4) {
    turn_words(x, 1);
  } else {
    const dlx_uint32 r = pick(pick(x[0], x[1], 0x0630), x[2], 0x5210);
    const dlx_uint32 g = pick(pick(x[0], x[1], 0x0741), x[2], 0x6210);
    const dlx_uint32 b = pick(pick(x[0], x[1], 0x0052), x[2], 0x7410);
    x[0] = r;
    x[1] = g;
    x[2] = b;
  }
}

INLINE void join_pixels(dlx_uint32 *x, const int C) {
  if (C == 4) {
    turn_words(x, 1);
  } else {
    const dlx_uint32 low = pick(pick(x[0], x[1], 0x1040), x[2], 0x3410);
    const dlx_uint32 middle = pick(pick(x[0], x[1], 0x6205), x[2], 0x3250);
    const dlx_uint32 high = pick(pick(x[0], x[1], 0x0730), x[2], 0x7216);
    x[0] = low;
    x[1] = middle;
    x[2] = high;
  }
}

/* The quad of this work item: its pixels at `at` of their row, of which `left` are left; from here on of `outer`. */
#define FIND_QUAD()                                                                     \
  const dlx_uint32 quad = GROUP_ID() * a->group_size + LOCAL_ID();                      \
  if (quad >= a->count) return;                                                         \
  const dlx_uint32 outer = divide(quad, a->by_dst_tiles);                               \
  const int at = (int)(4 * (quad - outer * a->dst_tiles)), left = (int)a->dst_run - at; \
  dlx_int64 from = a->src, to = a->dst;                                                 \
  walk(a, 2, a->outer_axes, outer, &from, &to)

#define PLANES(C)                                                                               \
  KERNEL void dlx_planes_##C(GLOBAL char *dst, GLOBAL const char *src, dlx_strided_copy what) { \
    dlx_what a = WHAT(what);                                                                    \
    FIND_QUAD();                                                                                \
    GLOBAL const char *in = AHEAD(const char, src + from, at, C);                               \
    GLOBAL char *out = dst + to + at;                                                           \
    const int plane = (int)a->dst_step[1];                                                      \
    dlx_uint32 x[C];                                                                            \
    if (left >= 4) {                                                                            \
      _Pragma("unroll") for (int k = 0; k < C; ++k) x[k] = LOAD(dlx_uint32, in + 4 * k);        \
      part_pixels(x, C);                                                                        \
      _Pragma("unroll") for (int k = 0; k < C; ++k)                                             \
          STORE(dlx_uint32, AHEAD(char, out, k, plane), x[k]);                                  \
    } else {                                                                                    \
      _Pragma("unroll") for (int k = 0; k < C; ++k) x[k] =                                      \
          4 * k < C * left ? LOAD(dlx_uint32, in + 4 * k) : 0;                                  \
      part_pixels(x, C);                                                                        \
      _Pragma("unroll") for (int k = 0; k < C; ++k)                                             \
          store_some(AHEAD(char, out, k, plane), x[k], 0, left);                                \
    }                                                                                           \
  }

#define PIXELS(C)                                                                               \
  KERNEL void dlx_pixels_##C(GLOBAL char *dst, GLOBAL const char *src, dlx_strided_copy what) { \
    dlx_what a = WHAT(what);                                                                    \
    FIND_QUAD();                                                                                \
    GLOBAL const char *in = src + from + at;                                                    \
    GLOBAL char *out = AHEAD(char, dst + to, at, C);                                            \
    const int plane = (int)a->src_step[0];                                                      \
    dlx_uint32 x[C];                                                                            \
    _Pragma("unroll") for (int k = 0; k < C; ++k) x[k] =                                        \
        LOAD(dlx_uint32, AHEAD(const char, in, k, plane));                                      \
    join_pixels(x, C);                                                                          \
    if (left >= 4) {                                                                            \
      _Pragma("unroll") for (int k = 0; k < C; ++k) STORE(dlx_uint32, out + 4 * k, x[k]);       \
    } else {                                                                                    \
      _Pragma("unroll") for (int k = 0; k < C; ++k)                                             \
          store_some(out + 4 * k, x[k], 0, left * C - 4 * k);                                   \
    }                                                                                           \
  }

PLANES(3)
PLANES(4)
PIXELS(3)
PIXELS(4)
