/* The argument of the strided-copy kernels. Used by the kernels (OpenCL C 1.2, HIP), by the host
 * code that fills it in, and by the fake drivers of the tests, which copy on the host. */
#ifndef DLX_SRC_GPU_STRIDED_COPY_H_
#define DLX_SRC_GPU_STRIDED_COPY_H_

#if defined(__OPENCL_C_VERSION__)
typedef long dlx_int64;
typedef uint dlx_uint32;
#elif defined(__HIP__)
typedef long long dlx_int64;
typedef unsigned int dlx_uint32;
#else
#include <stdint.h>
typedef int64_t dlx_int64;
typedef uint32_t dlx_uint32;
#endif

/* As many as 2^31 items can have, and one for the words of an item. */
#define DLX_STRIDED_COPY_AXES 32

/* Division of n < 2^31 by a number: (high 32 bits of n * magic, plus n) >> shift. */
typedef struct dlx_divisor {
  dlx_uint32 magic;
  dlx_uint32 shift;
} dlx_divisor;

/* For every index i with 0 <= i[k] < extent[k], k < axes: copies `item` bytes from
 * src + sum(i[k] * src_step[k]) to dst + sum(i[k] * dst_step[k]). The other fields do not change
 * this result.
 * Extents have 31 bits. Steps of more than 31 bits and a sign are only taken by dlx_scatter_* and, of
 * outer axes, by the others but dlx_tiles_*.
 *
 * OpenCL guarantees 1024 bytes for all arguments of a kernel. */
typedef struct dlx_strided_copy {
  dlx_int64
      dst; /* bytes from the kernel's first argument to the first item: the sum of offset and address */
  dlx_int64 src;                             /* the same for its second argument */
  dlx_int64 dst_step[DLX_STRIDED_COPY_AXES]; /* bytes */
  dlx_int64 src_step[DLX_STRIDED_COPY_AXES]; /* bytes */
  dlx_uint32 extent[DLX_STRIDED_COPY_AXES];
  dlx_uint32 magic[DLX_STRIDED_COPY_AXES]; /* of the extent as a divisor */
  unsigned char shift[DLX_STRIDED_COPY_AXES];
  dlx_uint32 axes;
  dlx_uint32 item; /* bytes */

  /* How work items share the copy.
   *
   * The axes come in three parts, each with its fastest axis first: the dst run, whose items follow
   * each other in dst; the src run, whose items follow each other in src; the outer axes.
   * dlx_tiles_* has them the other way round: outer axes, src run, dst run, the slowest first. */
  dlx_uint32 outer_axes, src_axes, dst_axes;
  dlx_uint32 group_size; /* work items a group */
  dlx_uint32 count;      /* what is numbered: words (dlx_scatter_*), chunks of dst, or groups */

  /* A run is divided into tiles; dlx_turn_* and dlx_few_* count items here. Where kernels number
   * chunks of dst, a dst run has dst_tiles of them and dst_run items or bytes. */
  dlx_uint32 src_run, src_tile, src_tiles; /* units in all, units a tile, tiles */
  dlx_uint32 dst_run, dst_tile, dst_tiles;
  dlx_divisor by_src_tiles, by_dst_tiles;
  int src_unit_step;     /* bytes from one unit of the src run to the next in src */
  int dst_unit_step;     /* bytes from one unit of the dst run to the next in dst */
  dlx_uint32 load_words; /* words of a row that is loaded, at most */
  dlx_divisor by_load_words;
  dlx_uint32 pitch; /* bytes from one loaded row to the next in local memory, without the skew */
  dlx_uint32 store_words; /* words of a row that is stored, at most */
  dlx_divisor by_store_words;
  dlx_divisor by_unit; /* division by what a kernel's comment says */

  /* dlx_tiles_*: a work group copies a tile through local memory. The dst run consists of items
   * that follow each other in dst, the src run of items that follow each other in src; a tile is a
   * part of one by a part of the other. Order of the axes: outer ones, src run, dst run. */
  dlx_uint32 mode; /* DLX_TILES_* */
  dlx_uint32
      unit; /* bytes of a unit, which the runs consist of: the item, or a part of a long item */
  dlx_uint32 skew; /* bytes added after every fourth (items of 1 byte) or second row (2 bytes) */
  /* A stored row consists of granules of 1, 2 or 4 bytes. Granule c of unit i of block j of row q
   * lies in local memory at q * row_step + j * block_step + i * unit_step + c granules, counted from
   * the lowest. A block has block_units units; 0: the row is one block. */
  dlx_uint32 granules; /* a unit */
  dlx_divisor by_granules;
  dlx_uint32 block_units;
  dlx_divisor by_block_units;
  int row_step, block_step, unit_step;
  dlx_int64 src_low, src_high; /* bounds of the readable bytes of src, counted like src */
} dlx_strided_copy;

/* Loads one contiguous part of src for the tile. Otherwise loads a row for each unit of the dst
 * run. */
#define DLX_TILES_WINDOW 1
/* Loads a row for each unit of the src run, which goes to dst unchanged. */
#define DLX_TILES_STRAIGHT 2
/* Stores rows that follow each other in dst as one row. */
#define DLX_TILES_MERGED 4

/* Words of local memory for a tile. */
#define DLX_TILE_WORDS 2176
/* Most rows of a tile whose run has several axes. */
#define DLX_TILE_ROWS 128

#endif /* DLX_SRC_GPU_STRIDED_COPY_H_ */
