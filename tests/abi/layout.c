/*
 * The DLPack 1.3 ABI: every size, offset and constant, checked by the compiler.
 *
 * Compiles as C99, C11 and C++11, with or without an official header. There is nothing to run: if
 * it compiles, it has passed.
 */
#include <stddef.h>
#include <stdint.h>

#include "dlx/dlpack.h"

#if defined(__cplusplus)
#define CHECK(condition) static_assert(condition, #condition)
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define CHECK(condition) _Static_assert(condition, #condition)
#else
#define CHECK(condition) extern char checked[(condition) ? 1 : -1]
#endif

#define SIZE(type, value) CHECK(sizeof(type) == (value))
#define OFFSET(type, member, value) CHECK(offsetof(type, member) == (value))
#define WIDTH(type, member, value) CHECK(sizeof(((type *)0)->member) == (value))
#define CONSTANT(name, value) CHECK((long)(name) == (value))

/* ---- structs ---- */

SIZE(DLDataType, 4);
OFFSET(DLDataType, code, 0);
OFFSET(DLDataType, bits, 1);
OFFSET(DLDataType, lanes, 2);
WIDTH(DLDataType, code, 1);
WIDTH(DLDataType, bits, 1);
WIDTH(DLDataType, lanes, 2);

SIZE(DLDeviceType, 4);
SIZE(DLDataTypeCode, 4);

SIZE(DLDevice, 8);
OFFSET(DLDevice, device_type, 0);
OFFSET(DLDevice, device_id, 4);

SIZE(DLPackVersion, 8);
OFFSET(DLPackVersion, major, 0);
OFFSET(DLPackVersion, minor, 4);

OFFSET(DLTensor, data, 0);
WIDTH(DLTensor, ndim, 4);
WIDTH(DLTensor, byte_offset, 8);
CHECK(sizeof(*((DLTensor *)0)->shape) == 8);
CHECK(sizeof(*((DLTensor *)0)->strides) == 8);
OFFSET(DLManagedTensor, dl_tensor, 0);
OFFSET(DLManagedTensorVersioned, version, 0);
OFFSET(DLManagedTensorVersioned, manager_ctx, 8);
WIDTH(DLManagedTensorVersioned, flags, 8);
OFFSET(DLPackExchangeAPIHeader, version, 0);
OFFSET(DLPackExchangeAPIHeader, prev_api, 8);
OFFSET(DLPackExchangeAPI, header, 0);

#if UINTPTR_MAX == 0xffffffffffffffffu
SIZE(DLTensor, 48);
OFFSET(DLTensor, device, 8);
OFFSET(DLTensor, ndim, 16);
OFFSET(DLTensor, dtype, 20);
OFFSET(DLTensor, shape, 24);
OFFSET(DLTensor, strides, 32);
OFFSET(DLTensor, byte_offset, 40);

SIZE(DLManagedTensor, 64);
OFFSET(DLManagedTensor, manager_ctx, 48);
OFFSET(DLManagedTensor, deleter, 56);

SIZE(DLManagedTensorVersioned, 80);
OFFSET(DLManagedTensorVersioned, deleter, 16);
OFFSET(DLManagedTensorVersioned, flags, 24);
OFFSET(DLManagedTensorVersioned, dl_tensor, 32);

SIZE(DLPackExchangeAPIHeader, 16);
SIZE(DLPackExchangeAPI, 56);
OFFSET(DLPackExchangeAPI, managed_tensor_allocator, 16);
OFFSET(DLPackExchangeAPI, managed_tensor_from_py_object_no_sync, 24);
OFFSET(DLPackExchangeAPI, managed_tensor_to_py_object_no_sync, 32);
OFFSET(DLPackExchangeAPI, dltensor_from_py_object_no_sync, 40);
OFFSET(DLPackExchangeAPI, current_work_stream, 48);
#endif

/* ---- constants ---- */

#ifndef DLX_DLPACK_NO_ENUMERATORS
CONSTANT(kDLCPU, 1);
CONSTANT(kDLCUDA, 2);
CONSTANT(kDLCUDAHost, 3);
CONSTANT(kDLOpenCL, 4);
CONSTANT(kDLVulkan, 7);
CONSTANT(kDLMetal, 8);
CONSTANT(kDLVPI, 9);
CONSTANT(kDLROCM, 10);
CONSTANT(kDLROCMHost, 11);
CONSTANT(kDLExtDev, 12);
CONSTANT(kDLCUDAManaged, 13);
CONSTANT(kDLOneAPI, 14);
CONSTANT(kDLWebGPU, 15);
CONSTANT(kDLHexagon, 16);
CONSTANT(kDLMAIA, 17);
CONSTANT(kDLTrn, 18);

CONSTANT(kDLInt, 0);
CONSTANT(kDLUInt, 1);
CONSTANT(kDLFloat, 2);
CONSTANT(kDLOpaqueHandle, 3);
CONSTANT(kDLBfloat, 4);
CONSTANT(kDLComplex, 5);
CONSTANT(kDLBool, 6);
CONSTANT(kDLFloat8_e3m4, 7);
CONSTANT(kDLFloat8_e4m3, 8);
CONSTANT(kDLFloat8_e4m3b11fnuz, 9);
CONSTANT(kDLFloat8_e4m3fn, 10);
CONSTANT(kDLFloat8_e4m3fnuz, 11);
CONSTANT(kDLFloat8_e5m2, 12);
CONSTANT(kDLFloat8_e5m2fnuz, 13);
CONSTANT(kDLFloat8_e8m0fnu, 14);
CONSTANT(kDLFloat6_e2m3fn, 15);
CONSTANT(kDLFloat6_e3m2fn, 16);
CONSTANT(kDLFloat4_e2m1fn, 17);
#endif

CONSTANT(DLX_DEVICE_TPU, 19);
CONSTANT(DLX_DEVICE_TPU_HOST, 20);
CONSTANT(DLX_DEVICE_ASCEND, 21);
CONSTANT(DLX_DTYPE_BCOMPLEX, 18);

CONSTANT(DLPACK_FLAG_BITMASK_READ_ONLY, 1);
CONSTANT(DLPACK_FLAG_BITMASK_IS_COPIED, 2);
CONSTANT(DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED, 4);

CONSTANT(DLPACK_MAJOR_VERSION, 1);
CONSTANT(DLX_DLPACK_MAJOR_VERSION, 1);
CONSTANT(DLX_DLPACK_MINOR_VERSION, 3);
#if DLX_DLPACK_FOUND < 100
CONSTANT(DLPACK_MINOR_VERSION, 3);
#endif
