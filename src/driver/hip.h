#ifndef DLX_SRC_DRIVER_HIP_H_
#define DLX_SRC_DRIVER_HIP_H_

#include <cstddef>
#include <cstdint>

#include "src/driver/cuda.h"
#include "src/driver/library.h"

/// HIP's ABI (ROCm 5.2 and later) as far as dlx uses it, in our own words. The functions are looked
/// up at run time (hip.inc); tests/src/driver compares all of it with AMD's hip_runtime_api.h.
namespace dlx::hip {

// Types and numbers that HIP took over from CUDA.
using cuda::Event;
using cuda::Function;
using cuda::Module;
using cuda::Pool;
using cuda::PoolProperties;  // 64 bytes at its end have other names, and are 0
using cuda::Result;
using cuda::Stream;
using cuda::Uuid;

using DevicePointer = void*;

/// The same for all versions; what the numbers of `type` mean differs.
struct PointerAttributes {
  int type;
  int device;
  void* device_pointer;
  void* host_pointer;
  int is_managed;
  unsigned flags;
};

/// What hipGetDeviceProperties writes in ROCm 5, of which only one field is read; with room to
/// spare.
struct Properties5 {
  unsigned char before[396];
  char architecture[256];
  unsigned char after[1024];
};
/// What hipGetDevicePropertiesR0600 writes.
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
  kMaxGridY = 30,                // hipDeviceAttributeMaxGridDimY
  kMaxGridZ = 31,                // hipDeviceAttributeMaxGridDimZ
  kMaxThreadsPerBlock = 56,      // hipDeviceAttributeMaxThreadsPerBlock
  kMultiprocessorCount = 63,     // hipDeviceAttributeMultiprocessorCount
  kMemoryPoolsSupported = 88,    // hipDeviceAttributeMemoryPoolsSupported
};

/// PointerAttributes::type: hipMemoryTypeHost and hipMemoryTypeDevice. Other numbers, and 0 from
/// ROCm 6 on, are memory that HIP does not know.
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

/// The oldest runtime that is used, as hipRuntimeGetVersion tells it: 10^7 * major + 10^5 * minor.
constexpr int kOldestVersion = 50200000;
/// The oldest one whose default stream tells whether it may be used while others are captured.
constexpr int kDefaultStreamTells = 50500000;
/// The oldest one whose events ask the stream that they were recorded on.
constexpr int kEventsAskStreams = 60200000;

/// HIP's functions, by the names of hip.inc.
struct Functions {
#define DLX_DRIVER_FUNCTION(name, symbol, need, ...) \
  DriverFunction<__VA_ARGS__> name{#symbol, nullptr};
#include "src/driver/hip.inc"
#undef DLX_DRIVER_FUNCTION
};

using Program = struct ProgramObject*;

/// hiprtc's functions, by the names of hiprtc.inc. They return 0 for success.
struct CompilerFunctions {
#define DLX_DRIVER_FUNCTION(name, symbol, need, ...) \
  DriverFunction<__VA_ARGS__> name{#symbol, nullptr};
#include "src/driver/hiprtc.inc"
#undef DLX_DRIVER_FUNCTION
};

}  // namespace dlx::hip

#endif  // DLX_SRC_DRIVER_HIP_H_
