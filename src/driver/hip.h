#ifndef DLX_SRC_DRIVER_HIP_H_
#define DLX_SRC_DRIVER_HIP_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "src/driver/cuda.h"
#include "src/driver/library.h"

/// dlx's own declaration of the part of HIP (ROCm 5.2 and later) that it uses. Functions are looked
/// up at run time (hip.inc). tests/src/driver compares every declaration with AMD's
/// hip_runtime_api.h.
namespace dlx::hip {

// Types and constants that are the same in HIP and CUDA.
using cuda::Event;
using cuda::Function;
using cuda::Module;
using cuda::Pool;
using cuda::PoolProperties;  // the last 64 bytes have other names; they are 0
using cuda::Result;
using cuda::Stream;
using cuda::Uuid;

using DevicePointer = void*;

/// The layout is the same in all versions; the values of `type` differ.
struct PointerAttributes {
  int type;
  int device;
  void* device_pointer;
  void* host_pointer;
  int is_managed;
  unsigned flags;
};

/// The struct that hipGetDeviceProperties writes in ROCm 5. dlx reads only one field; `after` is
/// larger than needed.
struct Properties5 {
  unsigned char before[396];
  char architecture[256];
  unsigned char after[1024];
};
/// The struct that hipGetDevicePropertiesR0600 writes.
struct Properties6 {
  unsigned char before[1160];
  char architecture[256];
  unsigned char after[1024];
};

using cuda::kDeinitialized;   // hipErrorDeinitialized
using cuda::kInvalidImage;    // hipErrorInvalidImage
using cuda::kNoBinaryForGpu;  // hipErrorNoBinaryForGpu
using cuda::kNoDevice;        // hipErrorNoDevice
using cuda::kNotInitialized;  // hipErrorNotInitialized
using cuda::kNotReady;        // hipErrorNotReady
using cuda::kOutOfMemory;     // hipErrorOutOfMemory
using cuda::kSuccess;         // hipSuccess

enum : Result {
  kInvalidDevice = 101,       // hipErrorInvalidDevice
  kInvalidKernelFile = 218,   // hipErrorInvalidKernelFile
  kContextIsDestroyed = 709,  // hipErrorContextIsDestroyed
};

enum : int {
  kConcurrentManagedAccess = 9,  // hipDeviceAttributeConcurrentManagedAccess
  kMaxGridX = 29,                // hipDeviceAttributeMaxGridDimX
  kMaxThreadsPerBlock = 56,      // hipDeviceAttributeMaxThreadsPerBlock
  kMultiprocessorCount = 63,     // hipDeviceAttributeMultiprocessorCount
  kMemoryPoolsSupported = 88,    // hipDeviceAttributeMemoryPoolsSupported
};

/// PointerAttributes::type: hipMemoryTypeHost and hipMemoryTypeDevice. Any other value, and 0 from
/// ROCm 6 on, means memory that HIP does not know.
enum : int {
  kHostInRocm5 = 0,
  kDeviceInRocm5 = 1,
  kHost = 1,
  kDevice = 2,
};

using cuda::kAllocationPinned;      // hipMemAllocationTypePinned
using cuda::kCaptureModeRelaxed;    // hipStreamCaptureModeRelaxed
using cuda::kCaptureNone;           // hipStreamCaptureStatusNone
using cuda::kEventDisableTiming;    // hipEventDisableTiming
using cuda::kHostPortable;          // hipHostMallocPortable
using cuda::kLocationDevice;        // hipMemLocationTypeDevice
using cuda::kPoolReleaseThreshold;  // hipMemPoolAttrReleaseThreshold
using cuda::kStreamNonBlocking;     // hipStreamNonBlocking

/// HSA_STATUS_SUCCESS and HSA_SYSTEM_INFO_VERSION_MAJOR of hsa.h; the value is a uint16_t.
constexpr int kHsaSuccess = 0;
constexpr int kHsaVersionMajor = 0;

/// The oldest runtime that dlx uses, as hipRuntimeGetVersion returns it: 10^7 * major + 10^5 *
/// minor.
constexpr int kOldestVersion = 50200000;
/// The oldest runtime that can report the capture status of the default stream.
constexpr int kDefaultStreamHasStatus = 50500000;
/// The oldest runtime whose event queries also query the stream of the event.
constexpr int kEventsQueryStreams = 60200000;

/// HIP's functions, with the names of hip.inc.
struct Functions {
#define DLX_DRIVER_FUNCTION(name, symbol, need, ...) \
  DriverFunction<__VA_ARGS__> name{#symbol, nullptr};
#include "src/driver/hip.inc"
#undef DLX_DRIVER_FUNCTION

  /// All rows, for DriverLibrary::resolve().
  std::vector<DriverSymbol> symbols() {
    return {
#define DLX_DRIVER_FUNCTION(name, symbol, need, ...) {#symbol, DriverNeed::need, &name.call},
#include "src/driver/hip.inc"
#undef DLX_DRIVER_FUNCTION
    };
  }
};

using Program = struct ProgramObject*;

/// hiprtc's functions, with the names of hiprtc.inc. They return 0 for success.
struct CompilerFunctions {
#define DLX_DRIVER_FUNCTION(name, symbol, need, ...) \
  DriverFunction<__VA_ARGS__> name{#symbol, nullptr};
#include "src/driver/hiprtc.inc"
#undef DLX_DRIVER_FUNCTION

  /// All rows, for DriverLibrary::resolve().
  std::vector<DriverSymbol> symbols() {
    return {
#define DLX_DRIVER_FUNCTION(name, symbol, need, ...) {#symbol, DriverNeed::need, &name.call},
#include "src/driver/hiprtc.inc"
#undef DLX_DRIVER_FUNCTION
    };
  }
};

}  // namespace dlx::hip

#endif  // DLX_SRC_DRIVER_HIP_H_
