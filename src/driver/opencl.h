#ifndef DLX_SRC_DRIVER_OPENCL_H_
#define DLX_SRC_DRIVER_OPENCL_H_

#include <cstddef>
#include <cstdint>

#include "src/driver/library.h"

/// The ABI of OpenCL 1.2 as far as dlx uses it, in our own words. The functions are looked up at run
/// time (opencl.inc); tests/src/driver compares all of it with Khronos' headers.
namespace dlx::opencl {

using Result = int32_t;
using Uint = uint32_t;
using Bits = uint64_t;
using Platform = struct PlatformObject*;
using Device = struct DeviceObject*;
using Context = struct ContextObject*;
using Queue = struct QueueObject*;
using Memory = struct MemoryObject*;
using Event = struct EventObject*;
using Program = struct ProgramObject*;
using Kernel = struct KernelObject*;
using Notify = void (*)();  ///< dlx hands in NULL only

/// The constants of CL/cl.h that dlx uses: X(name here, name there, value).
#define DLX_OPENCL_CONSTANTS(X)                                         \
  X(kSuccess, CL_SUCCESS, 0)                                            \
  X(kDeviceNotFound, CL_DEVICE_NOT_FOUND, -1)                           \
  X(kMemObjectAllocationFailure, CL_MEM_OBJECT_ALLOCATION_FAILURE, -4)  \
  X(kOutOfResources, CL_OUT_OF_RESOURCES, -5)                           \
  X(kOutOfHostMemory, CL_OUT_OF_HOST_MEMORY, -6)                        \
  X(kInvalidMemObject, CL_INVALID_MEM_OBJECT, -38)                      \
  X(kInvalidBufferSize, CL_INVALID_BUFFER_SIZE, -61)                    \
  X(kPlatformVersion, CL_PLATFORM_VERSION, 0x0901)                      \
  X(kPlatformName, CL_PLATFORM_NAME, 0x0902)                            \
  X(kDeviceTypeAll, CL_DEVICE_TYPE_ALL, 0xFFFFFFFF)                     \
  X(kDeviceMaxComputeUnits, CL_DEVICE_MAX_COMPUTE_UNITS, 0x1002)        \
  X(kDeviceMaxWorkGroupSize, CL_DEVICE_MAX_WORK_GROUP_SIZE, 0x1004)     \
  X(kDeviceMaxMemAllocSize, CL_DEVICE_MAX_MEM_ALLOC_SIZE, 0x1010)       \
  X(kDeviceGlobalMemSize, CL_DEVICE_GLOBAL_MEM_SIZE, 0x101F)            \
  X(kDeviceLocalMemSize, CL_DEVICE_LOCAL_MEM_SIZE, 0x1023)              \
  X(kDeviceEndianLittle, CL_DEVICE_ENDIAN_LITTLE, 0x1026)               \
  X(kDeviceAvailable, CL_DEVICE_AVAILABLE, 0x1027)                      \
  X(kDeviceCompilerAvailable, CL_DEVICE_COMPILER_AVAILABLE, 0x1028)     \
  X(kDeviceName, CL_DEVICE_NAME, 0x102B)                                \
  X(kDeviceVendor, CL_DEVICE_VENDOR, 0x102C)                            \
  X(kDriverVersion, CL_DRIVER_VERSION, 0x102D)                          \
  X(kDeviceVersion, CL_DEVICE_VERSION, 0x102F)                          \
  X(kDeviceHostUnifiedMemory, CL_DEVICE_HOST_UNIFIED_MEMORY, 0x1035)    \
  X(kContextDevices, CL_CONTEXT_DEVICES, 0x1081)                        \
  X(kContextPlatform, CL_CONTEXT_PLATFORM, 0x1084)                      \
  X(kMemReadWrite, CL_MEM_READ_WRITE, 1)                                \
  X(kMemUseHostPtr, CL_MEM_USE_HOST_PTR, 8)                             \
  X(kMemSize, CL_MEM_SIZE, 0x1102)                                      \
  X(kMemContext, CL_MEM_CONTEXT, 0x1106)                                \
  X(kProgramBuildLog, CL_PROGRAM_BUILD_LOG, 0x1183)                     \
  X(kKernelWorkGroupSize, CL_KERNEL_WORK_GROUP_SIZE, 0x11B0)            \
  X(kEventExecutionStatus, CL_EVENT_COMMAND_EXECUTION_STATUS, 0x11D3)   \
  X(kComplete, CL_COMPLETE, 0)

enum : int64_t {
#define DLX_OPENCL_CONSTANT(name, official, value) name = (value),
  DLX_OPENCL_CONSTANTS(DLX_OPENCL_CONSTANT)
#undef DLX_OPENCL_CONSTANT
};

/// The functions, by the names of opencl.inc.
struct Functions {
#define DLX_DRIVER_FUNCTION(name, symbol, need, ...) \
  DriverFunction<__VA_ARGS__> name{#symbol, nullptr};
#include "src/driver/opencl.inc"
#undef DLX_DRIVER_FUNCTION
};

/// The library with its functions, looked up once; NULL if it cannot be used, and then `reason` (if
/// not NULL) says why in words that stay. Thread-safe.
const Functions* functions(const char** reason);

/// "CL_OUT_OF_RESOURCES"; "unknown" for a code that is not OpenCL's.
const char* error_name(Result code) noexcept;

}  // namespace dlx::opencl

#endif  // DLX_SRC_DRIVER_OPENCL_H_
