/**
 * The DLPack 1.3 ABI: dlx's own declaration of its structs and constants.
 *
 * If an official <dlpack/dlpack.h> (any release from 0.2 to 1.x) was included before, or is on the
 * include path, this file uses it and adds only the names that it lacks. Otherwise this file
 * declares everything with the official names and the official include guard, so an official header
 * that is included later adds nothing.
 *
 * Optional macros, to define before this file is included:
 *
 * - DLX_DLPACK_OWN: ignore an official header on the include path. For builds that must not depend
 *   on installed headers, such as the build of libdlx.
 * - DLX_DLPACK_NO_ENUMERATORS: add no kDL* constants to an official header. For a snapshot between
 *   two releases that has more constants than its version number implies: a second definition would
 *   not compile.
 *
 * Releases 0.2 and 0.3 call the member `device` of DLTensor `ctx`; the layout is the same.
 */
#ifndef DLX_DLPACK_H_
#define DLX_DLPACK_H_

#if !defined(DLPACK_DLPACK_H_) && !defined(DLX_DLPACK_OWN) && defined(__has_include)
#if __has_include(<dlpack/dlpack.h>)
#include <dlpack/dlpack.h>
#endif
#endif

#include <stddef.h>
#include <stdint.h>

#ifndef DLPACK_DLPACK_H_
#define DLPACK_DLPACK_H_
#define DLX_DLPACK_FOUND 0
#ifdef __cplusplus
#define DLPACK_EXTERN_C extern "C"
#else
#define DLPACK_EXTERN_C
#endif
#define DLPACK_DLL
#endif

/**
 * The release of the official header as 100 * major + minor; 0 if there is none.
 *
 * DLPACK_VERSION was octal up to 0.5 (040 is 0.4), then decimal (60 is 0.6); 1.0 replaced it by two
 * numbers.
 */
#ifndef DLX_DLPACK_FOUND
#if defined(DLPACK_MAJOR_VERSION) && DLPACK_MAJOR_VERSION < 2
#define DLX_DLPACK_FOUND (100 * DLPACK_MAJOR_VERSION + DLPACK_MINOR_VERSION)
#elif defined(DLPACK_MAJOR_VERSION)
#error "dlx needs DLPack 1: include a dlx header first, with DLX_DLPACK_OWN defined"
#elif !defined(DLPACK_VERSION)
#error "dlx needs DLPack 0.2 to 1.x: the header included before has no version number"
#elif DLPACK_VERSION < 60
#define DLX_DLPACK_FOUND (DLPACK_VERSION / 8)
#else
#define DLX_DLPACK_FOUND (DLPACK_VERSION / 10)
#endif
#endif

/** The DLPack version that dlx implements, with any header. */
#define DLX_DLPACK_MAJOR_VERSION 1
#define DLX_DLPACK_MINOR_VERSION 3

#ifdef __cplusplus
extern "C" {
#endif

#if DLX_DLPACK_FOUND == 0

/** Kind of memory that holds a tensor. Four bytes wide. */
#ifdef __cplusplus
typedef enum : int32_t {
#else
typedef enum {
#endif
  kDLCPU = 1,          /**< ordinary host memory */
  kDLCUDA = 2,         /**< memory of an NVIDIA GPU */
  kDLCUDAHost = 3,     /**< host memory pinned by CUDA */
  kDLOpenCL = 4,       /**< OpenCL; `data` is a cl_mem or an SVM/USM address */
  kDLVulkan = 7,       /**< Vulkan buffer */
  kDLMetal = 8,        /**< Metal; `data` is a buffer object, not an address */
  kDLVPI = 9,          /**< Verilog simulator */
  kDLROCM = 10,        /**< memory of an AMD GPU */
  kDLROCMHost = 11,    /**< host memory pinned by ROCm */
  kDLExtDev = 12,      /**< private to the producer: its meaning is unknown to others */
  kDLCUDAManaged = 13, /**< CUDA managed memory, accessible to host and GPU */
  kDLOneAPI = 14,      /**< oneAPI unified shared memory */
  kDLWebGPU = 15,      /**< WebGPU buffer */
  kDLHexagon = 16,     /**< Qualcomm Hexagon DSP */
  kDLMAIA = 17,        /**< Microsoft MAIA */
  kDLTrn = 18          /**< AWS Trainium */
} DLDeviceType;

/** One device: its kind, and its number among the devices of that kind. */
typedef struct {
  DLDeviceType device_type;
  int32_t device_id; /**< 0 for host, pinned and managed memory */
} DLDevice;

/** Meaning of the bits of an element: values of DLDataType.code. */
typedef enum {
  kDLInt = 0U,          /**< signed integer */
  kDLUInt = 1U,         /**< unsigned integer */
  kDLFloat = 2U,        /**< IEEE 754 binary */
  kDLOpaqueHandle = 3U, /**< a handle that producer and consumer agree on */
  kDLBfloat = 4U,       /**< bfloat16 */
  kDLComplex = 5U,      /**< real, then imaginary part; `bits` counts both */
  kDLBool = 6U,         /**< one byte, 0 or 1 */
  /* 8 bits; named by the widths of exponent (e) and mantissa (m). */
  kDLFloat8_e3m4 = 7U,
  kDLFloat8_e4m3 = 8U,
  kDLFloat8_e4m3b11fnuz = 9U,
  kDLFloat8_e4m3fn = 10U,
  kDLFloat8_e4m3fnuz = 11U,
  kDLFloat8_e5m2 = 12U,
  kDLFloat8_e5m2fnuz = 13U,
  kDLFloat8_e8m0fnu = 14U,
  /* `bits` is always 6. */
  kDLFloat6_e2m3fn = 15U,
  kDLFloat6_e3m2fn = 16U,
  /* `bits` is always 4. */
  kDLFloat4_e2m1fn = 17U
} DLDataTypeCode;

/**
 * Type of one element: `lanes` values of `bits` bits. Native byte order.
 *
 * Values smaller than a byte are packed without gaps, the first in the lowest bits, unless
 * DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED is set.
 */
typedef struct {
  uint8_t code; /**< a DLDataTypeCode */
  uint8_t bits;
  uint16_t lanes; /**< 1 unless the element is a short vector */
} DLDataType;

/** A strided array in memory that it does not own. */
typedef struct {
  void *data; /**< address or handle; the first element is `byte_offset` bytes further */
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape;   /**< `ndim` extents; may be NULL if `ndim` is 0 */
  int64_t *strides; /**< in elements, not bytes; NULL means row-major (not allowed since 1.2) */
  uint64_t byte_offset;
} DLTensor;

/** A tensor and its deleter: the struct exchanged before 1.0. */
typedef struct DLManagedTensor {
  DLTensor dl_tensor;
  void *manager_ctx; /**< the producer's own; may be NULL */
  /** Call it once when done, unless NULL. It frees the struct too. */
  void (*deleter)(struct DLManagedTensor *self);
} DLManagedTensor;

#elif !defined(DLX_DLPACK_NO_ENUMERATORS) /* names added by releases after the official header */

#if DLX_DLPACK_FOUND < 102
enum dlx_since_1_2 { kDLTrn = 18 };
#endif
#if DLX_DLPACK_FOUND < 100 || \
    (DLX_DLPACK_FOUND == 100 && !defined(DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED))
enum dlx_since_1_1 {
  kDLFloat8_e3m4 = 7U,
  kDLFloat8_e4m3 = 8U,
  kDLFloat8_e4m3b11fnuz = 9U,
  kDLFloat8_e4m3fn = 10U,
  kDLFloat8_e4m3fnuz = 11U,
  kDLFloat8_e5m2 = 12U,
  kDLFloat8_e5m2fnuz = 13U,
  kDLFloat8_e8m0fnu = 14U,
  kDLFloat6_e2m3fn = 15U,
  kDLFloat6_e3m2fn = 16U,
  kDLFloat4_e2m1fn = 17U
};
#endif
/* MAIA was added a few days before IS_COPIED, both long after the version became 1.0. */
#if DLX_DLPACK_FOUND < 100 || (DLX_DLPACK_FOUND == 100 && !defined(DLPACK_FLAG_BITMASK_IS_COPIED))
enum dlx_since_1_0 { kDLMAIA = 17 };
#endif
#if DLX_DLPACK_FOUND < 8
enum dlx_since_0_8 { kDLBool = 6U };
#endif
/* DLPACK_ABI_VERSION marks the snapshots of 0.7 whose version was still 60. */
#if DLX_DLPACK_FOUND < 7 && !defined(DLPACK_ABI_VERSION)
enum dlx_since_0_7 { kDLOneAPI = 14, kDLWebGPU = 15, kDLHexagon = 16 };
#endif
#if DLX_DLPACK_FOUND < 6
enum dlx_since_0_6 { kDLROCMHost = 11, kDLCUDAManaged = 13 };
#endif
#if DLX_DLPACK_FOUND < 5
enum dlx_since_0_5 { kDLCUDA = 2, kDLCUDAHost = 3 };
#endif
#if DLX_DLPACK_FOUND < 4
enum dlx_since_0_4 { kDLOpaqueHandle = 3U, kDLComplex = 5U };
#endif
#if DLX_DLPACK_FOUND < 2 /* the header of 0.2 has version 0.1 */
enum dlx_since_0_2 { kDLVulkan = 7, kDLExtDev = 12, kDLBfloat = 4U };
#endif

#endif /* the names by release */

#if DLX_DLPACK_FOUND > 0 && DLX_DLPACK_FOUND < 4
typedef DLContext DLDevice;
#endif

#ifndef DLPACK_FLAG_BITMASK_READ_ONLY
/** Flag: the consumer must not write to the data. */
#define DLPACK_FLAG_BITMASK_READ_ONLY (1UL << 0UL)
#endif
#ifndef DLPACK_FLAG_BITMASK_IS_COPIED
/** Flag: the data was copied for this export; only the consumer uses it. */
#define DLPACK_FLAG_BITMASK_IS_COPIED (1UL << 1UL)
#endif
#ifndef DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED
/** Flag: each value smaller than a byte occupies a whole byte. */
#define DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED (1UL << 2UL)
#endif

#if DLX_DLPACK_FOUND < 100

#define DLPACK_MAJOR_VERSION 1
#define DLPACK_MINOR_VERSION 3

/** Major: layout of the structs. Minor: the constants that may occur in them. */
typedef struct {
  uint32_t major;
  uint32_t minor;
} DLPackVersion;

/**
 * A tensor with its version, flags and deleter: the struct exchanged since 1.0.
 *
 * Every major version keeps the layout of the members up to `flags`. If the major version is
 * unknown, call `deleter` and read nothing else.
 */
typedef struct DLManagedTensorVersioned {
  DLPackVersion version;
  void *manager_ctx; /**< the producer's own; may be NULL */
  /** Call it once when done, unless NULL. It frees the struct too. */
  void (*deleter)(struct DLManagedTensorVersioned *self);
  uint64_t flags; /**< DLPACK_FLAG_BITMASK_* */
  DLTensor dl_tensor;
} DLManagedTensorVersioned;

#elif DLX_DLPACK_FOUND < 102 /* C had the struct tag only */
typedef struct DLManagedTensorVersioned DLManagedTensorVersioned;
#endif

#if DLX_DLPACK_FOUND < 102

/*
 * The table of C functions that a Python type's `__dlpack_c_exchange_api__` holds. The caller of
 * each function holds the GIL. A function throws no C++ exception; it returns 0 on success, and -1
 * on failure with a Python exception set. No function waits for a stream.
 */

/**
 * Make a new tensor of the dtype, shape and device of `prototype`. On failure, the function calls
 * `SetError` once, with the name of a Python exception and a message.
 */
typedef int (*DLPackManagedTensorAllocator)(DLTensor *prototype, DLManagedTensorVersioned **out,
                                            void *error_ctx,
                                            void (*SetError)(void *error_ctx, const char *kind,
                                                             const char *message));

/** Export an object of exactly the type that has the table; the caller owns `*out`. */
typedef int (*DLPackManagedTensorFromPyObjectNoSync)(void *py_object,
                                                     DLManagedTensorVersioned **out);

/** Describe an object in `*out` without owning it: valid until control returns to Python. */
typedef int (*DLPackDLTensorFromPyObjectNoSync)(void *py_object, DLTensor *out);

/** Get the stream that the producer currently uses; NULL for the CPU. */
typedef int (*DLPackCurrentWorkStream)(DLDeviceType device_type, int32_t device_id,
                                       void **out_current_stream);

/** Wrap a tensor, which is consumed, in a new Python object of the producer's type. */
typedef int (*DLPackManagedTensorToPyObjectNoSync)(DLManagedTensorVersioned *tensor,
                                                   void **out_py_object);

/** The part of the table that every major version keeps. */
typedef struct DLPackExchangeAPIHeader {
  DLPackVersion version;
  struct DLPackExchangeAPIHeader *prev_api; /**< the table of an older major version, or NULL */
} DLPackExchangeAPIHeader;

/** The table; it lives until the process ends. */
typedef struct DLPackExchangeAPI {
  DLPackExchangeAPIHeader header;
  DLPackManagedTensorAllocator managed_tensor_allocator;
  DLPackManagedTensorFromPyObjectNoSync managed_tensor_from_py_object_no_sync;
  DLPackManagedTensorToPyObjectNoSync managed_tensor_to_py_object_no_sync;
  DLPackDLTensorFromPyObjectNoSync dltensor_from_py_object_no_sync; /**< may be NULL */
  DLPackCurrentWorkStream current_work_stream;
} DLPackExchangeAPI;

#endif /* DLX_DLPACK_FOUND < 102 */

/*
 * On DLPack's main branch, in no release yet. The prefix DLX_ avoids a collision with a later
 * official header that defines kDLTPU, kDLTPUHost, kDLAscend and kDLBcomplex.
 */
enum dlx_device_type {
  DLX_DEVICE_TPU = 19,      /**< memory of a Google TPU */
  DLX_DEVICE_TPU_HOST = 20, /**< host memory pinned for a TPU */
  DLX_DEVICE_ASCEND = 21    /**< Huawei Ascend NPU */
};
enum dlx_dtype_code {
  DLX_DTYPE_BCOMPLEX = 18 /**< two bfloat16: real, then imaginary part */
};

#ifdef __cplusplus
}
#endif

#endif /* DLX_DLPACK_H_ */
