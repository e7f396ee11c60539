// Compiled, not run: our declarations of HIP against AMD's headers.
#define __HIP_PLATFORM_AMD__ 1
#define __HIP_PLATFORM_HCC__ 1  // the same, for ROCm 5
#define _Bool bool

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <utility>

// Included as C, because the C++ headers overload some functions by templates, which decltype
// rejects.
#pragma push_macro("__cplusplus")
#undef __cplusplus
#include <hip/hip_runtime_api.h>
#include <hip/hiprtc.h>
#pragma pop_macro("__cplusplus")

#include "src/driver/hip.h"
#include "tests/src/driver/abi.h"

using namespace dlx::hip;

// Every version lacks some of the optional functions: they follow below.
#define CHECK_kRequired(symbol, ...) \
  static_assert(same_call<__VA_ARGS__, decltype(::symbol)>, #symbol);
#define CHECK_kOptional(symbol, ...)
#define DLX_DRIVER_FUNCTION(name, symbol, need, ...) CHECK_##need(symbol, __VA_ARGS__)
#include "src/driver/hip.inc"
#include "src/driver/hiprtc.inc"
#undef DLX_DRIVER_FUNCTION

#define SAME_NUMBER(ours, theirs) static_assert(static_cast<int>(ours) == static_cast<int>(theirs));
#include "numbers.inc"

SAME_LAYOUT(Uuid, hipUUID);
SAME_LAYOUT(PoolProperties, hipMemPoolProps);
SAME_FIELD(PoolProperties, allocation_type, hipMemPoolProps, allocType);
SAME_FIELD(PoolProperties, handle_types, hipMemPoolProps, handleTypes);
SAME_FIELD(PoolProperties, location_type, hipMemPoolProps, location.type);
SAME_FIELD(PoolProperties, location_id, hipMemPoolProps, location.id);
SAME_LAYOUT(PointerAttributes, hipPointerAttribute_t);
SAME_FIELD(PointerAttributes, device, hipPointerAttribute_t, device);
SAME_FIELD(PointerAttributes, host_pointer, hipPointerAttribute_t, hostPointer);
SAME_FIELD(PointerAttributes, is_managed, hipPointerAttribute_t, isManaged);

#ifdef hipGetDeviceProperties  // ROCm 6: a macro that stands for the newer function
SAME_FIELD(PointerAttributes, type, hipPointerAttribute_t, type);
SAME_NUMBER(kHost, hipMemoryTypeHost)
SAME_NUMBER(kDevice, hipMemoryTypeDevice)
SAME_FIELD(Properties6, architecture, hipDeviceProp_t, gcnArchName);
static_assert(sizeof(Properties6) >= sizeof(hipDeviceProp_t));
static_assert(same_call<int(Properties6*, int), decltype(::hipGetDevicePropertiesR0600)>);
static_assert(same_call<int(Stream, int*), decltype(::hipStreamGetDevice)>);
#else
SAME_FIELD(PointerAttributes, type, hipPointerAttribute_t, memoryType);
SAME_NUMBER(kHostInRocm5, hipMemoryTypeHost)
SAME_NUMBER(kDeviceInRocm5, hipMemoryTypeDevice)
SAME_FIELD(Properties5, architecture, hipDeviceProp_t, gcnArchName);
static_assert(sizeof(Properties5) >= sizeof(hipDeviceProp_t));
static_assert(same_call<int(Properties5*, int), decltype(::hipGetDeviceProperties)>);
#endif
