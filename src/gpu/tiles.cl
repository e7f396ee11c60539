/* Tiles of any shape, for items that no other kernel with local memory takes: a work group copies a
 * tile so that both sides are read and written in runs. */
#include "src/gpu/common.h"

/* The offset in bytes of the index'th item of some axes, of which the last is the fastest. */
INLINE dlx_int64 offset_of(dlx_what a, dlx_uint32 first, dlx_uint32 count, dlx_uint32 index,
                           const int of_dst) {
  dlx_int64 offset = 0;
  if (count == 0) return 0;
  for (dlx_uint32 k = first + count - 1; k > first; --k) {
    const dlx_uint32 outer = by_extent(a, k, index);
    offset += (dlx_int64)(index - outer * a->extent[k]) *
              (int)(of_dst ? a->dst_step[k] : a->src_step[k]);
    index = outer;
  }
  return offset + (dlx_int64)index * (int)(of_dst ? a->dst_step[first] : a->src_step[first]);
}

/* Bytes below the first of n positions if the step is negative. */
INLINE int below(int step, dlx_uint32 n) { return step < 0 ? -step * (int)(n - 1) : 0; }
INLINE dlx_uint32 span(int step, dlx_uint32 n) { return (step < 0 ? -step : step) * (n - 1); }

/* Reads up to 4 bytes at any address within [low, high): by two aligned words if the address is odd. */
INLINE dlx_uint32 load_bytes(GLOBAL const char *src, dlx_int64 at, dlx_uint32 n, dlx_int64 low,
                             dlx_int64 high) {
  const dlx_uint32 odd = (dlx_uint32)((dlx_uint64)(src + at) & 3);
  if (n >= 4 && odd == 0) return LOAD(dlx_uint32, src + at);
  if (n >= 4 && at - odd >= low && at - odd + 8 <= high) {
    return funnel(LOAD(dlx_uint32, src + at - odd), LOAD(dlx_uint32, src + at - odd + 4), 8 * odd);
  }
  dlx_uint32 value = 0;
  for (dlx_uint32 k = 0; k < n && k < 4; ++k) {
    value |= (dlx_uint32)LOAD(unsigned char, src + at + k) << (8 * k);
  }
  return value;
}

/* A granule of local memory. */
INLINE dlx_uint32 granule_at(LOCAL const dlx_uint32 *tile, int at, const int granule) {
  return granule == 1 ? ((LOCAL const unsigned char *)tile)[at]
                      : ((LOCAL const unsigned short *)tile)[at >> 1];
}

/* Words that a work item loads before it stores the first to local memory. */
#define MOST_LOADS 4

INLINE void move_tile(GLOBAL char *dst, GLOBAL const char *src, dlx_what a, LOCAL dlx_uint32 *tile,
                      LOCAL dlx_int64 *load_row, LOCAL dlx_int64 *store_row, const int granule) {
  const dlx_uint32 id = LOCAL_ID();
  const bool window = (a->mode & DLX_TILES_WINDOW) != 0;
  const bool straight = (a->mode & DLX_TILES_STRAIGHT) != 0;
  const bool merged = (a->mode & DLX_TILES_MERGED) != 0;
  const dlx_uint32 src_axis = a->outer_axes, dst_axis = src_axis + a->src_axes;
  const dlx_uint32 unit = a->unit;

  /* The tile: its first unit on both sides, and its numbers of units. */
  dlx_int64 from = a->src, to = a->dst;
  dlx_uint32 rest = GROUP_ID();
  dlx_uint32 next = divide(rest, a->by_dst_tiles);
  const dlx_uint32 dst_first = (rest - next * a->dst_tiles) * a->dst_tile;
  rest = next;
  next = divide(rest, a->by_src_tiles);
  const dlx_uint32 src_first = (rest - next * a->src_tiles) * a->src_tile;
  from += offset_of(a, 0, src_axis, next, 0);
  to += offset_of(a, 0, src_axis, next, 1) + (dlx_int64)dst_first * a->dst_unit_step;
  const dlx_uint32 dst_units = least(a->dst_tile, a->dst_run - dst_first);
  const dlx_uint32 src_units = least(a->src_tile, a->src_run - src_first);

  /* Stored rows: blocks of units. */
  const dlx_uint32 rows = merged ? 1 : src_units;
  const dlx_uint32 block_units = a->block_units != 0 ? a->block_units : dst_units;
  const dlx_uint32 blocks = merged                ? src_units
                            : a->block_units != 0 ? divide(dst_units, a->by_block_units)
                                                  : 1;
  const int lowest =
      below(a->row_step, rows) + below(a->block_step, blocks) + below(a->unit_step, block_units);

  /* Loaded rows: contiguous parts of src. */
  dlx_uint32 loads, load_units, load_axis = dst_axis, load_axes = a->dst_axes,
                                load_first = dst_first;
  dlx_uint32 load_bytes_each;
  if (straight) {
    loads = src_units;
    load_axis = src_axis;
    load_axes = a->src_axes;
    load_first = src_first;
    load_units = dst_units;
    from += (dlx_int64)dst_first * unit;
  } else {
    const int step = a->src_unit_step;
    loads = window ? 1 : dst_units;
    load_units = src_units;
    from += (dlx_int64)src_first * step;
    if (window) {
      from -= lowest;
    } else if (step < 0) {
      from += (dlx_int64)(src_units - 1) * step;
    }
    if (load_axes == 0) from += (dlx_int64)dst_first * unit;
  }
  load_bytes_each = window ? unit + span(a->row_step, rows) + span(a->block_step, blocks) +
                                 span(a->unit_step, block_units)
                           : load_units * unit;

  /* The starts of rows: a table if a multiplication is not enough. */
  const dlx_int64 load_step = load_axes == 1 ? a->src_step[load_axis] : 0;
  const dlx_int64 store_step = a->src_axes == 1 ? a->dst_step[src_axis] : 0;
  if (load_axes == 1) {
    from += (dlx_int64)load_first * (int)load_step;
  } else if (window) {
    from += offset_of(a, load_axis, load_axes, load_first, 0);
  }
  if (a->src_axes == 1) to += (dlx_int64)src_first * (int)store_step;
  const bool load_table = load_axes > 1 && !window, store_table = a->src_axes > 1;
  if (load_table) {
    for (dlx_uint32 r = id; r < loads; r += a->group_size) {
      load_row[r] = offset_of(a, load_axis, load_axes, load_first + r, 0);
    }
  }
  if (store_table) {
    for (dlx_uint32 q = id; q < rows; q += a->group_size) {
      store_row[q] = offset_of(a, src_axis, a->src_axes, src_first + q, 1);
    }
  }
  if (load_table || store_table) BARRIER();

  const dlx_uint32 skew_shift = granule == 1 ? 2 : 1;
  const int unit_gap = a->src_unit_step < 0 ? -a->src_unit_step : a->src_unit_step;
  const bool dense = granule != 4 || window || straight || (dlx_uint32)unit_gap == unit;
  const int in_flight = MOST_LOADS;
  const dlx_uint32 load_slots = loads * a->load_words;
  for (dlx_uint32 slot = id; slot < load_slots; slot += in_flight * a->group_size) {
    dlx_uint32 value[MOST_LOADS], place[MOST_LOADS];
    _Pragma("unroll") for (int j = 0; j < in_flight; ++j) {
      const dlx_uint32 i = slot + j * a->group_size;
      const dlx_uint32 r = divide(i, a->by_load_words);
      const dlx_uint32 c = i - r * a->load_words;
      place[j] = DLX_TILE_WORDS;
      if (i < load_slots && 4 * c < load_bytes_each) {
        dlx_int64 at = from + (load_table ? load_row[r] : (dlx_int64)r * (int)load_step);
        if (dense) {
          at += 4 * c;
        } else {
          const dlx_uint32 n = divide(c, a->by_granules);
          at += (dlx_int64)n * unit_gap + 4 * (c - n * a->granules);
        }
        place[j] = (r * a->pitch + (granule == 4 ? 0 : (r >> skew_shift) * a->skew)) / 4 + c;
        value[j] = granule == 4
                       ? LOAD(dlx_uint32, src + at)
                       : load_bytes(src, at, load_bytes_each - 4 * c, a->src_low, a->src_high);
      }
    }
    _Pragma("unroll") for (int j = 0; j < in_flight; ++j) {
      if (place[j] < DLX_TILE_WORDS) tile[place[j]] = value[j];
    }
  }
  BARRIER();

  const dlx_uint32 store_bytes_each = (merged ? src_units * dst_units : dst_units) * unit;
  const dlx_uint32 store_slots = rows * a->store_words;
  for (dlx_uint32 slot = id; slot < store_slots; slot += a->group_size) {
    const dlx_uint32 q = divide(slot, a->by_store_words);
    const int j = (int)(slot - q * a->store_words);
    const dlx_int64 row = to + (store_table ? store_row[q] : (dlx_int64)q * (int)store_step);
    const int odd = granule == 4 ? 0 : (int)((dlx_uint64)(dst + row) & 3);
    const int first = 4 * j - odd; /* bytes into the row, at a word of dst */
    const int begin = first < 0 ? 0 : first;
    const int end = (int)least((dlx_uint32)(first + 4), store_bytes_each);
    if (begin >= end) continue;

    const dlx_uint32 n = (dlx_uint32)begin / granule;
    dlx_uint32 i = a->granules == 1 ? n : divide(n, a->by_granules);
    dlx_uint32 c = n - i * a->granules;
    const dlx_uint32 in_row = i;
    dlx_uint32 block = 0;
    if (a->block_units != 0) {
      block = divide(i, a->by_block_units);
      i -= block * a->block_units;
    }
    const int base = lowest + (int)q * a->row_step;
    int at = base + (int)block * a->block_step + (int)i * a->unit_step + (int)c * granule;
    if (granule == 4) {
      const dlx_int64 offset = (dlx_uint32)a->dst_unit_step == unit
                                   ? 4 * j
                                   : (dlx_int64)in_row * a->dst_unit_step + 4 * c;
      STORE(dlx_uint32, dst + row + offset, tile[at / 4]);
      continue;
    }
    at += (int)((i >> skew_shift) * a->skew);
    dlx_uint32 value = 0;
    if (end - begin == 4 && a->granules == 1 && a->block_units == 0 && (a->skew == 0 || odd == 0)) {
      _Pragma("unroll") for (int k = 0; k < 4; k += granule) {
        value |= granule_at(tile, at, granule) << (8 * k);
        at += a->unit_step;
      }
    } else {
      for (int k = begin; k < end; k += granule) {
        value |= granule_at(tile, at, granule) << (8 * (k - first));
        at += granule;
        if (++c == a->granules) {
          c = 0;
          if (++i == a->block_units) {
            i = 0;
            ++block;
          }
          at = base + (int)block * a->block_step + (int)i * a->unit_step +
               (int)((i >> skew_shift) * a->skew);
        }
      }
    }
    if (end - begin == 4) {
      STORE(dlx_uint32, dst + row + first, value);
    } else {
      for (int k = begin; k < end; ++k) {
        STORE(unsigned char, dst + row + k, (unsigned char)(value >> (8 * (k - first))));
      }
    }
  }
}

/* All addresses and units are multiples of the granule, at most 4 bytes. */
#define TILES(granule)                                                       \
  KERNEL void dlx_tiles_##granule(GLOBAL char *dst, GLOBAL const char *src,  \
                                  dlx_strided_copy what) {                   \
    LOCAL_ARRAY dlx_uint32 tile[DLX_TILE_WORDS];                             \
    LOCAL_ARRAY dlx_int64 load_row[DLX_TILE_ROWS], store_row[DLX_TILE_ROWS]; \
    move_tile(dst, src, WHAT(what), tile, load_row, store_row, granule);     \
  }

TILES(1)
TILES(2)
TILES(4)
