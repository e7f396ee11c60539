#ifndef DLX_SRC_DRIVER_CUDA_H_
#define DLX_SRC_DRIVER_CUDA_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "src/driver/library.h"

/// dlx's own declaration of the part of the CUDA driver API that it uses. Functions are looked up
/// at run time (cuda.inc). tests/src/driver compares every declaration with NVIDIA's cuda.h.
namespace dlx::cuda {

using Result = int;
using Device = int;
using DevicePointer = unsigned long long;
using Context = struct ContextObject*;
using Stream = struct StreamObject*;
using Event = struct EventObject*;
using Module = struct ModuleObject*;
using Function = struct FunctionObject*;
using Pool = struct PoolObject*;

struct Uuid {
  unsigned char bytes[16];
};

struct PoolProperties {
  int allocation_type;
  int handle_types;
  int location_type;
  int location_id;
  void* security_attributes;
  size_t max_size;
  unsigned short usage;
  unsigned char reserved[54];
};

/// Constants of the driver API; the comment gives the vendor's name.
enum : Result {
  kSuccess = 0,                  // CUDA_SUCCESS
  kOutOfMemory = 2,              // CUDA_ERROR_OUT_OF_MEMORY
  kNotInitialized = 3,           // CUDA_ERROR_NOT_INITIALIZED
  kDeinitialized = 4,            // CUDA_ERROR_DEINITIALIZED
  kStubLibrary = 34,             // CUDA_ERROR_STUB_LIBRARY
  kNoDevice = 100,               // CUDA_ERROR_NO_DEVICE
  kInvalidImage = 200,           // CUDA_ERROR_INVALID_IMAGE
  kInvalidContext = 201,         // CUDA_ERROR_INVALID_CONTEXT
  kNoBinaryForGpu = 209,         // CUDA_ERROR_NO_BINARY_FOR_GPU
  kInvalidPtx = 218,             // CUDA_ERROR_INVALID_PTX
  kJitCompilerNotFound = 221,    // CUDA_ERROR_JIT_COMPILER_NOT_FOUND
  kUnsupportedPtxVersion = 222,  // CUDA_ERROR_UNSUPPORTED_PTX_VERSION
  kJitDisabled = 223,            // CUDA_ERROR_JIT_COMPILATION_DISABLED
  kNotReady = 600,               // CUDA_ERROR_NOT_READY
  kCaptureImplicit = 906,        // CUDA_ERROR_STREAM_CAPTURE_IMPLICIT
};

enum : int {
  kMaxThreadsPerBlock = 1,        // CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK
  kMaxGridX = 5,                  // CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X
  kMultiprocessorCount = 16,      // CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
  kCapabilityMajor = 75,          // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
  kCapabilityMinor = 76,          // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR
  kConcurrentManagedAccess = 89,  // CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS
  kMemoryPoolsSupported = 115,    // CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED
};

enum : int {
  kPointerMemoryType = 2,     // CU_POINTER_ATTRIBUTE_MEMORY_TYPE
  kPointerIsManaged = 8,      // CU_POINTER_ATTRIBUTE_IS_MANAGED
  kPointerDeviceOrdinal = 9,  // CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
};

enum : unsigned {
  kMemoryHost = 1,    // CU_MEMORYTYPE_HOST
  kMemoryDevice = 2,  // CU_MEMORYTYPE_DEVICE
};

enum : unsigned {
  kEventDisableTiming = 2,  // CU_EVENT_DISABLE_TIMING
  kStreamNonBlocking = 1,   // CU_STREAM_NON_BLOCKING
  kHostPortable = 1,        // CU_MEMHOSTALLOC_PORTABLE
  kAttachGlobal = 1,        // CU_MEM_ATTACH_GLOBAL
};

enum : int {
  kCaptureNone = 0,           // CU_STREAM_CAPTURE_STATUS_NONE
  kCaptureModeRelaxed = 2,    // CU_STREAM_CAPTURE_MODE_RELAXED
  kAllocationPinned = 1,      // CU_MEM_ALLOCATION_TYPE_PINNED
  kLocationDevice = 1,        // CU_MEM_LOCATION_TYPE_DEVICE
  kPoolReleaseThreshold = 4,  // CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
};

/// The oldest driver that dlx uses, as cuDriverGetVersion returns it: 1000 * major + 10 * minor.
constexpr int kOldestVersion = 11040;

/// The driver's functions, with the names of cuda.inc.
struct Functions {
#define DLX_DRIVER_FUNCTION(name, symbol, need, ...) \
  DriverFunction<__VA_ARGS__> name{#symbol, nullptr};
#include "src/driver/cuda.inc"
#undef DLX_DRIVER_FUNCTION

  /// All rows, for DriverLibrary::resolve().
  std::vector<DriverSymbol> symbols() {
    return {
#define DLX_DRIVER_FUNCTION(name, symbol, need, ...) {#symbol, DriverNeed::need, &name.call},
#include "src/driver/cuda.inc"
#undef DLX_DRIVER_FUNCTION
    };
  }
};

}  // namespace dlx::cuda

#endif  // DLX_SRC_DRIVER_CUDA_H_
