/* What the strided-copy kernels are told. Shared by the kernels (OpenCL C 1.2, HIP), by the host code that
 * fills it, and by the fake drivers of the tests, which carry it out on the host. */
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

#define DLX_STRIDED_COPY_AXES 8

/* Division of n < 2^31 by a number: (high 32 bits of n * magic, plus n) >> shift. */
typedef struct dlx_divisor {
  dlx_uint32 magic;
  dlx_uint32 shift;
} dlx_divisor;

/* For every index i with 0 <= i[k] < extent[k], k < axes: `item` bytes go from src + sum(i[k] * src_step[k])
 * to dst + sum(i[k] * dst_step[k]). Whatever a kernel does with the other fields, this is its outcome.
 * Extents and steps fit in 31 bits and a sign. */
typedef struct dlx_strided_copy {
  dlx_int64
      dst; /* bytes from the kernel's first argument to the first item; the sum of offset and address */
  dlx_int64 src; /* the same for its second argument */
  dlx_int64 extent[DLX_STRIDED_COPY_AXES];
  dlx_int64 dst_step[DLX_STRIDED_COPY_AXES]; /* bytes */
  dlx_int64 src_step[DLX_STRIDED_COPY_AXES]; /* bytes */
  dlx_uint32 axes;
  dlx_uint32 item; /* bytes */

  /* How the work is shared out. */
  dlx_divisor by_extent[DLX_STRIDED_COPY_AXES];
  dlx_uint32 group_size; /* work items a group */

  /* dlx_elements_*: a work item moves words, counted through all items in the order of the axes. */
  dlx_uint32 count; /* words in all */
  dlx_uint32 words; /* words an item */
  dlx_divisor by_words;

  /* dlx_tiles_*: a work group moves a tile, through local memory. The dst run are items that follow
   * each other in dst, the src run items that do so in src; a tile is a part of one by a part of the
   * other. The axes stand in this order: the outer ones, those of the src run, those of the dst run. */
  dlx_uint32 outer_axes, src_axes, dst_axes;
  dlx_uint32 mode; /* DLX_TILES_* */
  dlx_uint32
      unit; /* bytes of what the runs are made of: the item, or where that is long a part of it */
  dlx_uint32 src_run, src_tile, src_tiles; /* units in all, units a tile, tiles */
  dlx_uint32 dst_run, dst_tile, dst_tiles;
  dlx_divisor by_src_tiles, by_dst_tiles;
  int src_unit_step;     /* bytes from one unit of the src run to the next in src */
  int dst_unit_step;     /* bytes from one unit of the dst run to the next in dst */
  dlx_uint32 load_words; /* words of a row that is loaded, at most */
  dlx_divisor by_load_words;
  dlx_uint32 pitch; /* bytes from one loaded row to the next in local memory, but for the skew */
  dlx_uint32 skew;  /* bytes more after every fourth (items of 1 byte) or second row (2 bytes) */
  dlx_uint32 store_words; /* words of a row that is stored, at most */
  dlx_divisor by_store_words;
  /* A stored row is counted in granules of 1, 2 or 4 bytes. Granule c of unit i of block j of row q
   * lies in local memory at q * row_step + j * block_step + i * unit_step + c granules, from the
   * lowest; a block has block_units units, or there is but one if that is 0. */
  dlx_uint32 granules; /* a unit */
  dlx_divisor by_granules;
  dlx_uint32 block_units;
  dlx_divisor by_block_units;
  int row_step, block_step, unit_step;
  dlx_int64 src_low, src_high; /* bytes of src that exist: as src from the first item */
} dlx_strided_copy;

/* Of the tile, nothing but one stretch of src is loaded, as it is. Otherwise a row for each unit of the
 * dst run. */
#define DLX_TILES_WINDOW 1
/* A row for each unit of the src run: it goes to dst as it is. */
#define DLX_TILES_STRAIGHT 2
/* Stored rows follow each other in dst and are one. */
#define DLX_TILES_MERGED 4

/* Words of local memory for a tile. */
#define DLX_TILE_WORDS 2176
/* Rows that a tile has at most where a run has several axes. */
#define DLX_TILE_ROWS 128

#endif /* DLX_SRC_GPU_STRIDED_COPY_H_ */
