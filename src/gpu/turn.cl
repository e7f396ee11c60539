/* Transpositions: a tile of fixed shape goes through local memory. src and dst are dense along
 * different runs; a tile is TA items of the src run by TB items of the dst run.
 *
 * Skewed kernels (SK > 0): if rows of dst do not begin at sectors of 32 bytes, each row of a tile begins
 * its stores at a sector of its own, so the tile loads up to SK items more before its first one. No
 * sector of dst is written by two groups.
 * TABLE: the runs have several axes, and the starts of rows come from a table in local memory. */
#include "src/gpu/common.h"

/* The tile of this group: its first items, and the offsets of its outer axes. */
#define FIND_TILE(TA, TB, SK)                                               \
  const int id = (int)LOCAL_ID(), A = (int)a->src_run, B = (int)a->dst_run; \
  const dlx_uint32 strip = divide(GROUP_ID(), a->by_src_tiles);             \
  const dlx_uint32 outer = divide(strip, a->by_dst_tiles);                  \
  const int a0 = (int)(GROUP_ID() - strip * a->src_tiles) * (TA);           \
  const int b0 = (int)(strip - outer * a->dst_tiles) * (TB) - (SK);         \
  dlx_int64 from = a->src, to = a->dst;                                     \
  walk(a, a->dst_axes + a->src_axes, a->outer_axes, outer, &from, &to)

/* Where the rows of a tile begin: in src the items b0 and on of the dst run, in dst the items a0 and on
 * of the src run. */
#define FILL_TABLE(ROWS, TA)                                                               \
  for (int r = id; r < (ROWS) + (TA); r += 256) {                                          \
    const bool of_src = r < (ROWS);                                                        \
    const int n = of_src ? b0 + r : a0 + r - (ROWS);                                       \
    dlx_int64 in_src = 0, in_dst = 0;                                                      \
    if (n >= 0 && n < (of_src ? B : A)) {                                                  \
      walk(a, of_src ? 0 : a->dst_axes, of_src ? a->dst_axes : a->src_axes, (dlx_uint32)n, \
           &in_src, &in_dst);                                                              \
    }                                                                                      \
    PUT(dlx_int64, row, r, of_src ? in_src : in_dst);                                      \
  }                                                                                        \
  BARRIER()

/* ---- items of 4, 8 and 16 bytes: as such --------------------------------------------------------- */

/* Whether the k-th load of a work item is of a row of the tile. */
#define HAS_ROW(k) ((k + 1) * LOAD_ROWS <= ROWS || lb + k * LOAD_ROWS < ROWS)

/* What a work item loads and stores of a tile that is whole (WHOLE), or of one at an edge. */
#define LOAD_TILE(T, WHOLE)                                                                    \
  _Pragma("unroll") for (int k = 0; k < LOADS; ++k) {                                          \
    const int b = b0 + lb + k * LOAD_ROWS;                                                     \
    if (!HAS_ROW(k) || !(WHOLE || (b >= 0 && b < B))) continue;                                \
    v[k] = LOAD(                                                                               \
        T, in + (TABLED ? GET(dlx_int64, row, lb + k * LOAD_ROWS) : k * LOAD_ROWS * src_row)); \
  }

#define STORE_TILE(T, WHOLE)                                                                      \
  _Pragma("unroll") for (int k = 0; k < STORES; ++k) {                                            \
    GLOBAL char *at = out + (TABLED ? GET(dlx_int64, row, ROWS + sa + k * STORE_ROWS)             \
                                    : k * STORE_ROWS * dst_row);                                  \
    const int b = SKEW ? sb - (int)((dlx_uint32)(dlx_uint64)at / SIZE & (SKEW - 1)) : sb;         \
    if (WHOLE || (a0 + sa + k * STORE_ROWS < A && b0 + SKEW + b >= 0 && b0 + SKEW + b < B)) {     \
      STORE(T, AHEAD(char, at, b, unit), GET(T, tile, (SKEW + b) * PITCH + sa + k * STORE_ROWS)); \
    }                                                                                             \
  }

/* Without skew, items of dst may have gaps. */
#define TURN(name, T, TA, TB, SK, TABLE)                                                         \
  KERNEL void dlx_turn_##name(GLOBAL char *dst, GLOBAL const char *src, dlx_strided_copy what) { \
    enum {                                                                                       \
      SIZE = sizeof(T),                                                                          \
      TABLED = TABLE,                                                                            \
      SKEW = SK,                                                                                 \
      PITCH = TA + 1,                                                                            \
      ROWS = TB + SK,                                                                            \
      LOAD_ROWS = 256 / TA,                                                                      \
      LOADS = (ROWS + LOAD_ROWS - 1) / LOAD_ROWS,                                                \
      STORE_ROWS = 256 / TB,                                                                     \
      STORES = TA / STORE_ROWS                                                                   \
    };                                                                                           \
    LOCAL_ARRAY T tile[ROWS * PITCH];                                                            \
    LOCAL_ARRAY dlx_int64 row[TABLE ? ROWS + TA : 1];                                            \
    dlx_what a = WHAT(what);                                                                     \
    FIND_TILE(TA, TB, SK);                                                                       \
    if (TABLE) {                                                                                 \
      FILL_TABLE(ROWS, TA);                                                                      \
    }                                                                                            \
    const int la = id % TA, lb = id / TA;                                                        \
    const bool full = a0 + TA <= A && b0 >= 0 && b0 + ROWS <= B;                                 \
    const dlx_int64 src_row = (int)a->src_step[0];                                               \
    GLOBAL const char *in = AHEAD(const char, src + from, a0 + la, a->src_unit_step);            \
    if (!TABLE) in = AHEAD(const char, in, b0 + lb, (int)src_row);                               \
    T v[LOADS];                                                                                  \
    if (full) {                                                                                  \
      LOAD_TILE(T, 1)                                                                            \
    } else if (a0 + la < A) {                                                                    \
      LOAD_TILE(T, 0)                                                                            \
    }                                                                                            \
    _Pragma("unroll") for (int k = 0; k < LOADS; ++k) {                                          \
      if (HAS_ROW(k)) PUT(T, tile, (lb + k * LOAD_ROWS) * PITCH + la, v[k]);                     \
    }                                                                                            \
    BARRIER();                                                                                   \
    const int sb = id % TB, sa = id / TB;                                                        \
    const dlx_int64 dst_row = (int)a->dst_step[a->dst_axes];                                     \
    const int unit = SK ? SIZE : a->dst_unit_step;                                               \
    GLOBAL char *out = AHEAD(char, dst + to, b0 + SK, unit);                                     \
    if (!TABLE) out = AHEAD(char, out, a0 + sa, (int)dst_row);                                   \
    if (full) {                                                                                  \
      STORE_TILE(T, 1)                                                                           \
    } else {                                                                                     \
      STORE_TILE(T, 0)                                                                           \
    }                                                                                            \
  }

TURN(4, dlx_uint32, 64, 64, 8, 0)
TURN(4_even, dlx_uint32, 64, 64, 0, 0)
TURN(4_table, dlx_uint32, 64, 64, 8, 1)
TURN(8, dlx_uint64, 32, 32, 4, 0)
TURN(8_even, dlx_uint64, 32, 32, 0, 0)
TURN(8_table, dlx_uint64, 32, 32, 4, 1)
TURN(16, dlx_uint128, 16, 32, 2, 0)
TURN(16_even, dlx_uint128, 16, 16, 0, 0)
TURN(16_table, dlx_uint128, 16, 32, 2, 1)

/* ---- items of 1 and 2 bytes: as words, turned in registers ---------------------------------------- */

/* Loads a batch of words, and those behind them: of a tile that is whole (WHOLE), or of one at an edge. Rows of
 * src that are 8 * Q apart begin equally far behind a word. */
#define LOAD_SMALL(WHOLE)                                                            \
  _Pragma("unroll") for (int k = 0; k < BATCH; ++k) {                                \
    _Pragma("unroll") for (int i = 0; i < Q; ++i) {                                  \
      const int r = ((batch + k) * 8 + warp) * Q + i;                                \
      GLOBAL const char *at =                                                        \
          TABLED ? in + GET(dlx_int64, row, r) : line[i] + k * 8 * Q * src_row;      \
      if (TABLED) odd[k][i] = SK ? (int)((dlx_uint64)at & 3) : 0;                    \
      if (TABLED) at -= odd[k][i];                                                   \
      const bool some = WHOLE || (left > 0 && b0 + r >= 0 && b0 + r < B);            \
      x[k][i] = some ? LOAD(dlx_uint32, at) : 0;                                     \
      if (!SK) continue;                                                             \
      const bool next = WHOLE || (some && ODD_OF(k, i) + (left < 4 ? left : 4) > 4); \
      y[k][i] = next ? LOAD(dlx_uint32, at + 4) : 0;                                 \
    }                                                                                \
  }
#define ODD_OF(k, i) odd[TABLED ? k : 0][i]

/* The same for stores. Rows of dst that are 4 * STORE_ROWS apart begin equally far behind a sector. */
#define STORE_SMALL(WHOLE)                                                               \
  _Pragma("unroll") for (int k = 0; k < STORES; ++k) {                                   \
    const int r = first + k * STORE_ROWS, near = TABLED ? 0 : k % 4;                     \
    GLOBAL char *at =                                                                    \
        out + (TABLED ? GET(dlx_int64, row, ROWS + r) : near * STORE_ROWS * dst_row);    \
    const int position = 4 * word - (SK ? (int)((dlx_uint64)at & 31) : 0);               \
    const int place = base + ((position + SK) >> 2) + k * (STORE_ROWS / Q) * PITCH;      \
    dlx_uint32 value = GET(dlx_uint32, tile, place);                                     \
    if (SK) value = funnel(value, GET(dlx_uint32, tile, place + 1), 8 * (position & 3)); \
    at += position;                                                                      \
    if (!TABLED) at += (k - near) * STORE_ROWS * dst_row;                                \
    if (WHOLE) {                                                                         \
      STORE(dlx_uint32, at, value);                                                      \
    } else if (a0 + r < A) {                                                             \
      store_within(at, value, b0 *SIZE + SK + position, B * SIZE, SIZE);                 \
    }                                                                                    \
  }

/* BYTES of a row of dst are stored. ODD: rows of src and of dst begin at any multiple of the item;
 * otherwise rows of src at words, and rows of dst at sectors. */
#define TURN_SMALL(name, ITEM, BYTES, ODD, TABLE)                                                  \
  KERNEL void dlx_turn_##name(GLOBAL char *dst, GLOBAL const char *src, dlx_strided_copy what) {   \
    enum {                                                                                         \
      SIZE = ITEM,                                                                                 \
      TABLED = TABLE,                                                                              \
      Q = 4 / SIZE,                                                                                \
      SK = ODD ? 32 : 0,                                                                           \
      TA = 32 * Q,                                                                                 \
      TB = BYTES / SIZE,                                                                           \
      ROWS = (BYTES + SK) / SIZE,                                                                  \
      WORDS = (BYTES + SK) / 4,                                                                    \
      PITCH = WORDS | 1,                                                                           \
      LOADS = ROWS / (8 * Q),                                                                      \
      BATCH = TABLE && Q == 4 ? 2 : LOADS,                                                         \
      LANES = BYTES / 4 > 16 ? 32 : 16,                                                            \
      GAP =                                                                                        \
          32 - LANES, /* between the lines that a warp stores at a time, against bank conflicts */ \
      STORE_ROWS = 256 / LANES,                                                                    \
      STORES = TA / STORE_ROWS                                                                     \
    };                                                                                             \
    LOCAL_ARRAY dlx_uint32 tile[TA * PITCH + Q * GAP + 1];                                         \
    LOCAL_ARRAY dlx_int64 row[TABLE ? ROWS + TA : 1];                                              \
    dlx_what a = WHAT(what);                                                                       \
    FIND_TILE(TA, TB, SK / SIZE);                                                                  \
    if (TABLE) {                                                                                   \
      FILL_TABLE(ROWS, TA);                                                                        \
    }                                                                                              \
    const int lane = id % 32, warp = id / 32;                                                      \
    const bool full = a0 + TA + (ODD ? Q : 0) <= A && b0 >= 0 && b0 + ROWS <= B;                   \
    const dlx_int64 src_row = (int)a->src_step[0];                                                 \
    GLOBAL const char *in = src + from + a0 * SIZE + lane * 4;                                     \
    const int left = (A - a0) * SIZE - lane * 4;                                                   \
    if (!TABLE) in = AHEAD(const char, in, b0 + warp * Q, (int)src_row);                           \
    _Pragma("nounroll") for (int batch = 0; batch < LOADS; batch += BATCH) {                       \
      dlx_uint32 x[BATCH][Q], y[BATCH][Q];                                                         \
      GLOBAL const char *line[Q];                                                                  \
      int odd[BATCH][Q];                                                                           \
      _Pragma("unroll") for (int i = 0; i < Q; ++i) {                                              \
        line[i] = in + i * src_row;                                                                \
        odd[0][i] = ODD ? (int)((dlx_uint64)line[i] & 3) : 0;                                      \
        line[i] -= odd[0][i];                                                                      \
      }                                                                                            \
      if (full) {                                                                                  \
        LOAD_SMALL(1)                                                                              \
      } else {                                                                                     \
        LOAD_SMALL(0)                                                                              \
      }                                                                                            \
      _Pragma("unroll") for (int k = 0; k < BATCH; ++k) {                                          \
        if (ODD) {                                                                                 \
          _Pragma("unroll") for (int i = 0; i < Q; ++i) {                                          \
            x[k][i] = funnel(x[k][i], y[k][i], 8 * ODD_OF(k, i));                                  \
          }                                                                                        \
        }                                                                                          \
        turn_words(x[k], SIZE);                                                                    \
        _Pragma("unroll") for (int i = 0; i < Q; ++i) {                                            \
          PUT(dlx_uint32, tile, (i * 32 + lane) * PITCH + i * GAP + (batch + k) * 8 + warp,        \
              x[k][i]);                                                                            \
        }                                                                                          \
      }                                                                                            \
      if (!TABLE) in += BATCH * 8 * Q * src_row;                                                   \
    }                                                                                              \
    BARRIER();                                                                                     \
    const int word = id % LANES, first = id / LANES;                                               \
    if (word >= BYTES / 4) return;                                                                 \
    const int base = (first % Q * 32 + first / Q) * PITCH + first % Q * GAP;                       \
    const dlx_int64 dst_row = (int)a->dst_step[a->dst_axes];                                       \
    GLOBAL char *out = dst + to + (dlx_int64)b0 * SIZE + SK;                                       \
    if (!TABLE) out = AHEAD(char, out, a0 + first, (int)dst_row);                                  \
    if (full) {                                                                                    \
      STORE_SMALL(1)                                                                               \
    } else {                                                                                       \
      STORE_SMALL(0)                                                                               \
    }                                                                                              \
  }

TURN_SMALL(1, 1, 96, 1, 0)
TURN_SMALL(1_even, 1, 128, 0, 0)
TURN_SMALL(1_narrow, 1, 64, 0, 0)
TURN_SMALL(1_table, 1, 96, 1, 1)
TURN_SMALL(2, 2, 96, 1, 0)
TURN_SMALL(2_even, 2, 128, 0, 0)
TURN_SMALL(2_table, 2, 96, 1, 1)
