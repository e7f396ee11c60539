#ifndef DLX_SRC_DRIVER_HIP_H_
#define DLX_SRC_DRIVER_HIP_H_

#include <cstddef>
#include <cstdint>

/// HIP's ABI (ROCm 5.1 and later) as far as dlx uses it, in our own words. The functions are looked
/// up at run time (hip.inc); tests/src/driver compares all of it with AMD's hip_runtime_api.h.
namespace dlx::hip {

using Result = int;
using Stream = struct StreamObject*;
using Event = struct EventObject*;
using Module = struct ModuleObject*;
using Function = struct FunctionObject*;
using Pool = struct PoolObject*;

struct Uuid {
  unsigned char bytes[16];
};

/// The same for all versions; 64 bytes behind the attributes have other names.
struct PoolProperties {
  int allocation_type;
  int handle_types;
  int location_type;
  int location_id;
  void* security_attributes;
  unsigned char reserved[64];
};

/// The same for all versions; what the numbers of `type` mean differs.
struct PointerAttributes {
  int type;
  int device;
  void* device_pointer;
  void* host_pointer;
  int is_managed;
  unsigned flags;
};

/// What hipGetDeviceProperties writes in ROCm 5, of which only one field is read. Longer than any
/// version's struct.
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

enum : Result {
  kSuccess = 0,               // hipSuccess
  kInvalidValue = 1,          // hipErrorInvalidValue
  kOutOfMemory = 2,           // hipErrorOutOfMemory
  kNotInitialized = 3,        // hipErrorNotInitialized
  kDeinitialized = 4,         // hipErrorDeinitialized
  kNoDevice = 100,            // hipErrorNoDevice
  kInvalidDevice = 101,       // hipErrorInvalidDevice
  kInvalidImage = 200,        // hipErrorInvalidImage
  kNoBinaryForGpu = 209,      // hipErrorNoBinaryForGpu
  kInvalidKernelFile = 218,   // hipErrorInvalidKernelFile
  kNotReady = 600,            // hipErrorNotReady
  kPeerAlreadyEnabled = 704,  // hipErrorPeerAccessAlreadyEnabled
};

enum : int {
  kIntegrated = 16,            // hipDeviceAttributeIntegrated
  kMaxGridX = 29,              // hipDeviceAttributeMaxGridDimX
  kMaxGridY = 30,              // hipDeviceAttributeMaxGridDimY
  kMaxGridZ = 31,              // hipDeviceAttributeMaxGridDimZ
  kMaxThreadsPerBlock = 56,    // hipDeviceAttributeMaxThreadsPerBlock
  kMultiprocessorCount = 63,   // hipDeviceAttributeMultiprocessorCount
  kMemoryPoolsSupported = 88,  // hipDeviceAttributeMemoryPoolsSupported
};

/// PointerAttributes::type. Other numbers, and 0 from ROCm 6 on, are memory that HIP does not know.
enum : int {
  kHostInRocm5 = 0,    // hipMemoryTypeHost
  kDeviceInRocm5 = 1,  // hipMemoryTypeDevice
  kHost = 1,           // hipMemoryTypeHost
  kDevice = 2,         // hipMemoryTypeDevice
};

enum : unsigned {
  kEventDisableTiming = 2,  // hipEventDisableTiming
  kStreamNonBlocking = 1,   // hipStreamNonBlocking
  kHostPortable = 1,        // hipHostMallocPortable
};

enum : int {
  kCaptureNone = 0,           // hipStreamCaptureStatusNone
  kCaptureModeRelaxed = 2,    // hipStreamCaptureModeRelaxed
  kAllocationPinned = 1,      // hipMemAllocationTypePinned
  kLocationDevice = 1,        // hipMemLocationTypeDevice
  kPoolReleaseThreshold = 4,  // hipMemPoolAttrReleaseThreshold
};

/// HSA_STATUS_SUCCESS and HSA_SYSTEM_INFO_VERSION_MAJOR of hsa.h; the value is a uint16_t.
constexpr int kHsaSuccess = 0;
constexpr int kHsaVersionMajor = 0;

/// The oldest runtime that is used, as hipRuntimeGetVersion tells it: 10^7 * major + 10^5 * minor.
constexpr int kOldestVersion = 50100000;

/// HIP's functions, by the names of hip.inc; NULL where an optional one is missing.
struct Functions {
#define DLX_DRIVER_FUNCTION(name, symbol, need, ...) \
  using name##_type = __VA_ARGS__;                   \
  name##_type* name;
#include "src/driver/hip.inc"
#undef DLX_DRIVER_FUNCTION
};

using Program = struct ProgramObject*;

/// hiprtc's functions, by the names of hiprtc.inc. They return 0 for success.
struct CompilerFunctions {
#define DLX_DRIVER_FUNCTION(name, symbol, need, ...) \
  using name##_type = __VA_ARGS__;                   \
  name##_type* name;
#include "src/driver/hiprtc.inc"
#undef DLX_DRIVER_FUNCTION
};

}  // namespace dlx::hip

#endif  // DLX_SRC_DRIVER_HIP_H_
