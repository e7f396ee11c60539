/* The macros that the kernels are written with, for each compiler:
 *   OpenCL C 1.2, by an OpenCL driver;
 *   OpenCL C 1.2 ahead of time (DLX_AHEAD_OF_TIME) for nvptx and amdgcn, without a library;
 *   HIP C++ (hiprtc), without HIP's headers;
 *   C++ on the host (DLX_ON_HOST), by a test that defines the macros and counts. */
#ifndef DLX_SRC_GPU_PRELUDE_H_
#define DLX_SRC_GPU_PRELUDE_H_

#include "src/gpu/strided_copy.h"

#if !defined(DLX_ON_HOST)

#if defined(__OPENCL_C_VERSION__)
#define KERNEL __kernel
#define INLINE static inline __attribute__((always_inline, unused))
#define GLOBAL __global
#define LOCAL __local
#define LOCAL_ARRAY __local
typedef ulong dlx_uint64;
typedef uint4 dlx_uint128;
#else
#define KERNEL extern "C" __attribute__((global))
#define INLINE static inline __attribute__((always_inline, unused, device))
#define GLOBAL
#define LOCAL
#define LOCAL_ARRAY __attribute__((shared))
typedef unsigned long long dlx_uint64;
typedef dlx_uint32 dlx_uint128 __attribute__((ext_vector_type(4)));
#endif

#if defined(__OPENCL_C_VERSION__) && !defined(DLX_AHEAD_OF_TIME)
#define GROUP_ID() ((dlx_uint32)get_group_id(0))
#define LOCAL_ID() ((dlx_uint32)get_local_id(0))
#define BARRIER() barrier(CLK_LOCAL_MEM_FENCE)
#elif defined(__NVPTX__)
#define GROUP_ID() ((dlx_uint32)__nvvm_read_ptx_sreg_ctaid_x())
#define LOCAL_ID() ((dlx_uint32)__nvvm_read_ptx_sreg_tid_x())
#define BARRIER() __syncthreads()
#else
#define GROUP_ID() ((dlx_uint32)__builtin_amdgcn_workgroup_id_x())
#define LOCAL_ID() ((dlx_uint32)__builtin_amdgcn_workitem_id_x())
#define BARRIER()                                          \
  do {                                                     \
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"); \
    __builtin_amdgcn_s_barrier();                          \
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup"); \
  } while (0)
#endif

/* Every access to global and to local memory; a local array is indexed in units of the type. */
#define LOAD(type, address) (*(GLOBAL const type *)(address))
#define STORE(type, address, value) (*(GLOBAL type *)(address) = (value))
#define GET(type, array, index) (((LOCAL const type *)(array))[index])
#define PUT(type, array, index, value) (((LOCAL type *)(array))[index] = (value))

/* The address of a kernel's third argument. On AMD, where arguments lie in constant memory after
 * two addresses, indexing a copy of the argument would put it into scratch memory. */
#if defined(__AMDGCN__)
#if defined(__OPENCL_C_VERSION__)
typedef __constant const dlx_strided_copy *dlx_what;
typedef __constant const char *dlx_arguments;
#else
typedef const dlx_strided_copy *dlx_what;
typedef const char __attribute__((address_space(4))) * dlx_arguments;
#endif
#define WHAT(argument) \
  ((void)(argument),   \
   (dlx_what)((dlx_arguments)__builtin_amdgcn_kernarg_segment_ptr() + sizeof(void *) * 2))
#else
typedef const dlx_strided_copy *dlx_what;
#define WHAT(argument) (&(argument))
#endif

#endif /* DLX_ON_HOST */

#endif /* DLX_SRC_GPU_PRELUDE_H_ */
