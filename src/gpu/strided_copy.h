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
} dlx_strided_copy;

#endif /* DLX_SRC_GPU_STRIDED_COPY_H_ */
