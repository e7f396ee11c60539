#ifndef DLX_SRC_DRIVER_OPENCL_H_
#define DLX_SRC_DRIVER_OPENCL_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "src/driver/library.h"

/// dlx's own declaration of the part of OpenCL 1.2 that it uses. Functions are looked up at run
/// time (opencl.inc). tests/src/driver compares every declaration with Khronos' headers.
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
using Notify = void (*)();  ///< dlx always passes NULL

/// Constants of OpenCL; the comment gives the name in CL/cl.h.
enum : int64_t {
  kSuccess = 0,                       // CL_SUCCESS
  kDeviceNotFound = -1,               // CL_DEVICE_NOT_FOUND
  kCompilerNotAvailable = -3,         // CL_COMPILER_NOT_AVAILABLE
  kMemObjectAllocationFailure = -4,   // CL_MEM_OBJECT_ALLOCATION_FAILURE
  kOutOfResources = -5,               // CL_OUT_OF_RESOURCES
  kOutOfHostMemory = -6,              // CL_OUT_OF_HOST_MEMORY
  kBuildProgramFailure = -11,         // CL_BUILD_PROGRAM_FAILURE
  kInvalidMemObject = -38,            // CL_INVALID_MEM_OBJECT
  kInvalidBufferSize = -61,           // CL_INVALID_BUFFER_SIZE
  kPlatformVersion = 0x0901,          // CL_PLATFORM_VERSION
  kPlatformName = 0x0902,             // CL_PLATFORM_NAME
  kDeviceTypeAll = 0xFFFFFFFF,        // CL_DEVICE_TYPE_ALL
  kDeviceMaxComputeUnits = 0x1002,    // CL_DEVICE_MAX_COMPUTE_UNITS
  kDeviceMaxWorkGroupSize = 0x1004,   // CL_DEVICE_MAX_WORK_GROUP_SIZE
  kDeviceMaxMemAllocSize = 0x1010,    // CL_DEVICE_MAX_MEM_ALLOC_SIZE
  kDeviceGlobalMemSize = 0x101F,      // CL_DEVICE_GLOBAL_MEM_SIZE
  kDeviceLocalMemSize = 0x1023,       // CL_DEVICE_LOCAL_MEM_SIZE
  kDeviceEndianLittle = 0x1026,       // CL_DEVICE_ENDIAN_LITTLE
  kDeviceAvailable = 0x1027,          // CL_DEVICE_AVAILABLE
  kDeviceCompilerAvailable = 0x1028,  // CL_DEVICE_COMPILER_AVAILABLE
  kDeviceName = 0x102B,               // CL_DEVICE_NAME
  kDeviceVendor = 0x102C,             // CL_DEVICE_VENDOR
  kDriverVersion = 0x102D,            // CL_DRIVER_VERSION
  kDeviceVersion = 0x102F,            // CL_DEVICE_VERSION
  kDeviceHostUnifiedMemory = 0x1035,  // CL_DEVICE_HOST_UNIFIED_MEMORY
  kContextDevices = 0x1081,           // CL_CONTEXT_DEVICES
  kContextPlatform = 0x1084,          // CL_CONTEXT_PLATFORM
  kMemReadWrite = 1,                  // CL_MEM_READ_WRITE
  kMemUseHostPtr = 8,                 // CL_MEM_USE_HOST_PTR
  kMemSize = 0x1102,                  // CL_MEM_SIZE
  kMemContext = 0x1106,               // CL_MEM_CONTEXT
  kProgramBuildLog = 0x1183,          // CL_PROGRAM_BUILD_LOG
  kKernelWorkGroupSize = 0x11B0,      // CL_KERNEL_WORK_GROUP_SIZE
  kEventExecutionStatus = 0x11D3,     // CL_EVENT_COMMAND_EXECUTION_STATUS
  kComplete = 0,                      // CL_COMPLETE
};

/// OpenCL's functions, with the names of opencl.inc.
struct Functions {
#define DLX_DRIVER_FUNCTION(name, symbol, need, ...) \
  DriverFunction<__VA_ARGS__> name{#symbol, nullptr};
#include "src/driver/opencl.inc"
#undef DLX_DRIVER_FUNCTION

  /// All rows, for DriverLibrary::resolve().
  std::vector<DriverSymbol> symbols() {
    return {
#define DLX_DRIVER_FUNCTION(name, symbol, need, ...) {#symbol, DriverNeed::need, &name.call},
#include "src/driver/opencl.inc"
#undef DLX_DRIVER_FUNCTION
    };
  }
};

/// OpenCL's functions, looked up on the first call. NULL if the library cannot be used; `reason`
/// (if not NULL) is then a static text. Thread-safe.
const Functions* functions(const char** reason);

/// "CL_OUT_OF_RESOURCES"; "unknown" for an unknown code.
const char* error_name(Result code) noexcept;

}  // namespace dlx::opencl

#endif  // DLX_SRC_DRIVER_OPENCL_H_
