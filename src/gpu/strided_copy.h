/* What the strided-copy kernels are told. Shared by the kernels (OpenCL C 1.2, HIP), by the host code that
 * fills it, and by the fake drivers of the tests, which carry it out on the host. */
#ifndef DLX_SRC_GPU_STRIDED_COPY_H_
#define DLX_SRC_GPU_STRIDED_COPY_H_

#if defined(__OPENCL_VERSION__)
typedef long dlx_int64;
typedef uint dlx_uint32;
#else
#include <stdint.h>
typedef int64_t dlx_int64;
typedef uint32_t dlx_uint32;
#endif

#define DLX_STRIDED_COPY_AXES 8

/* For every index i with 0 <= i[k] < extent[k], k < axes: `item` bytes go from src + sum(i[k] * src_step[k])
 * to dst + sum(i[k] * dst_step[k]). Whatever a kernel does with the other fields, this is its outcome. */
typedef struct dlx_strided_copy {
  dlx_int64 dst; /* bytes from the kernel's first argument to the first item; the sum of offset and address */
  dlx_int64 src; /* the same for its second argument */
  dlx_int64 extent[DLX_STRIDED_COPY_AXES];
  dlx_int64 dst_step[DLX_STRIDED_COPY_AXES]; /* bytes */
  dlx_int64 src_step[DLX_STRIDED_COPY_AXES]; /* bytes */
  dlx_uint32 axes;
  dlx_uint32 item; /* bytes */
} dlx_strided_copy;

#endif /* DLX_SRC_GPU_STRIDED_COPY_H_ */
