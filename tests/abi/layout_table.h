// The table that layout_ours.cc and layout_official.cc compare: one row for each size, offset,
// member type, function type and constant of DLPack. Types are compared by their mangled names.
//
// Each of the two includes its own dlpack.h and expands the rows whose names it declares.
#ifndef DLX_TESTS_ABI_LAYOUT_TABLE_H_
#define DLX_TESTS_ABI_LAYOUT_TABLE_H_

#include <cstddef>
#include <type_traits>
#include <typeinfo>
#include <vector>

struct LayoutRow {
  const char* name;
  long long value;   // size, offset or constant
  const char* type;  // mangled
};

std::vector<LayoutRow> layout_ours();

#define TYPE(T) {#T, static_cast<long long>(sizeof(T)), typeid(T).name()}
#define ALIGN(T) {"align " #T, static_cast<long long>(alignof(T)), ""}
#define MEMBER(T, member) \
  {#T "." #member, static_cast<long long>(offsetof(T, member)), typeid(decltype(T::member)).name()}
#define STRUCT(T) TYPE(T), ALIGN(T)
#define ENUMERATOR(E) {#E, static_cast<long long>(E), ""}
#define MACRO(M) {#M, static_cast<long long>(M), typeid(M).name()}
#define UNDERLYING(T) {"underlying " #T, 0, typeid(std::underlying_type<T>::type).name()}

// Release 0.6, the oldest release that is compared.
#define LAYOUT_ROWS_0_6                                                                           \
  TYPE(DLDeviceType), TYPE(DLDataTypeCode), STRUCT(DLDevice), MEMBER(DLDevice, device_type),      \
      MEMBER(DLDevice, device_id), STRUCT(DLDataType), MEMBER(DLDataType, code),                  \
      MEMBER(DLDataType, bits), MEMBER(DLDataType, lanes), STRUCT(DLTensor),                      \
      MEMBER(DLTensor, data), MEMBER(DLTensor, device), MEMBER(DLTensor, ndim),                   \
      MEMBER(DLTensor, dtype), MEMBER(DLTensor, shape), MEMBER(DLTensor, strides),                \
      MEMBER(DLTensor, byte_offset), STRUCT(DLManagedTensor), MEMBER(DLManagedTensor, dl_tensor), \
      MEMBER(DLManagedTensor, manager_ctx), MEMBER(DLManagedTensor, deleter), ENUMERATOR(kDLCPU), \
      ENUMERATOR(kDLCUDA), ENUMERATOR(kDLCUDAHost), ENUMERATOR(kDLOpenCL), ENUMERATOR(kDLVulkan), \
      ENUMERATOR(kDLMetal), ENUMERATOR(kDLVPI), ENUMERATOR(kDLROCM), ENUMERATOR(kDLROCMHost),     \
      ENUMERATOR(kDLExtDev), ENUMERATOR(kDLCUDAManaged), ENUMERATOR(kDLInt), ENUMERATOR(kDLUInt), \
      ENUMERATOR(kDLFloat), ENUMERATOR(kDLOpaqueHandle), ENUMERATOR(kDLBfloat),                   \
      ENUMERATOR(kDLComplex)

// Added by releases 0.7 to 1.3.
#define LAYOUT_ROWS_1_3                                                                           \
  UNDERLYING(DLDeviceType), UNDERLYING(DLDataTypeCode), STRUCT(DLPackVersion),                    \
      MEMBER(DLPackVersion, major), MEMBER(DLPackVersion, minor),                                 \
      STRUCT(DLManagedTensorVersioned), MEMBER(DLManagedTensorVersioned, version),                \
      MEMBER(DLManagedTensorVersioned, manager_ctx), MEMBER(DLManagedTensorVersioned, deleter),   \
      MEMBER(DLManagedTensorVersioned, flags), MEMBER(DLManagedTensorVersioned, dl_tensor),       \
      TYPE(DLPackManagedTensorAllocator), TYPE(DLPackManagedTensorFromPyObjectNoSync),            \
      TYPE(DLPackManagedTensorToPyObjectNoSync), TYPE(DLPackDLTensorFromPyObjectNoSync),          \
      TYPE(DLPackCurrentWorkStream), STRUCT(DLPackExchangeAPIHeader),                             \
      MEMBER(DLPackExchangeAPIHeader, version), MEMBER(DLPackExchangeAPIHeader, prev_api),        \
      STRUCT(DLPackExchangeAPI), MEMBER(DLPackExchangeAPI, header),                               \
      MEMBER(DLPackExchangeAPI, managed_tensor_allocator),                                        \
      MEMBER(DLPackExchangeAPI, managed_tensor_from_py_object_no_sync),                           \
      MEMBER(DLPackExchangeAPI, managed_tensor_to_py_object_no_sync),                             \
      MEMBER(DLPackExchangeAPI, dltensor_from_py_object_no_sync),                                 \
      MEMBER(DLPackExchangeAPI, current_work_stream), MACRO(DLPACK_MAJOR_VERSION),                \
      MACRO(DLPACK_FLAG_BITMASK_READ_ONLY), MACRO(DLPACK_FLAG_BITMASK_IS_COPIED),                 \
      MACRO(DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED), ENUMERATOR(kDLOneAPI),                   \
      ENUMERATOR(kDLWebGPU), ENUMERATOR(kDLHexagon), ENUMERATOR(kDLMAIA), ENUMERATOR(kDLTrn),     \
      ENUMERATOR(kDLBool), ENUMERATOR(kDLFloat8_e3m4), ENUMERATOR(kDLFloat8_e4m3),                \
      ENUMERATOR(kDLFloat8_e4m3b11fnuz), ENUMERATOR(kDLFloat8_e4m3fn),                            \
      ENUMERATOR(kDLFloat8_e4m3fnuz), ENUMERATOR(kDLFloat8_e5m2), ENUMERATOR(kDLFloat8_e5m2fnuz), \
      ENUMERATOR(kDLFloat8_e8m0fnu), ENUMERATOR(kDLFloat6_e2m3fn), ENUMERATOR(kDLFloat6_e3m2fn),  \
      ENUMERATOR(kDLFloat4_e2m1fn)

#endif  // DLX_TESTS_ABI_LAYOUT_TABLE_H_
