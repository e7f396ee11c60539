#ifndef DLX_SRC_DEVICE_REGISTRY_H_
#define DLX_SRC_DEVICE_REGISTRY_H_

#include <cstddef>
#include <cstdint>

#include "dlx/dlx.h"
#include "src/device/backend.h"

namespace dlx {

inline DLDevice make_device(int32_t type, int32_t id) noexcept {
  return {static_cast<DLDeviceType>(type), id};
}
/// The kDL* number.
inline int32_t type_of(const DLDevice& device) noexcept {
  return static_cast<int32_t>(device.device_type);
}
constexpr DLDevice kCpu = {kDLCPU, 0};

/// Backend of a kDL* device type, or NULL if dlx has none.
Backend* find_backend(int32_t device_type) noexcept;

/// Why there is no device of that type, in words; "" if there is one. Static.
const char* backend_reason(int32_t device_type) noexcept;
/// Why a certain device of that type is not here, of which there may be others.
const char* absence_reason(int32_t device_type) noexcept;

/// The device types that have a name or a backend, in ascending order but for the registered ones
/// that have no name, which come last. Writes at most `capacity`, returns how many there are.
int32_t list_device_types(int32_t* out, int32_t capacity) noexcept;

/// The device that a producer or a consumer means: an id of 255 on CUDA and ROCm is torch's "cuda"
/// without an index, the calling thread's current device.
DLDevice resolve_device(DLDevice device) noexcept;

/// A device type that DLPack (or its main branch) names.
bool device_known(int32_t device_type) noexcept;

/// The backend of an existing device; throws Error(UNAVAILABLE) naming device and reason.
Backend& require_device(int32_t device_type, int32_t device_id);

/// The device whose streams order work on a tensor's memory. `backend` is NULL where there is none:
/// on the CPU, on devices without backend, in pinned or managed memory of a driver that nobody
/// uses.
struct Worker {
  Backend* backend;
  int32_t id;  ///< its real ordinal, also where DLPack has 0
};
Worker find_worker(const DLTensor& tensor) noexcept;

/// Where the memory at an address lives; the CPU, where no driver in use knows it.
PointerInfo locate_pointer(const void* pointer) noexcept;

/// True if the CPU may read and write memory of that device type where it lies.
inline bool cpu_reachable(int32_t device_type) noexcept {
  return device_type == kDLCPU || device_type == kDLCUDAHost || device_type == kDLROCMHost;
}

/// Whether DLPack gives that memory the device id 0, whatever device it belongs to.
inline bool id_is_zero(int32_t device_type) noexcept {
  return cpu_reachable(device_type) || device_type == kDLCUDAManaged;
}

/// Whether a kDL* device's `data` is an address, so that offsets can be added to it.
inline bool data_is_address(int32_t device_type) noexcept {
  return device_type != kDLOpenCL && device_type != kDLVulkan && device_type != kDLMetal &&
         device_type != kDLWebGPU;
}

/// Names of devices, as dlx_device_name and dlx_device_parse document them.
struct DeviceText {
  char text[48];
};
DeviceText device_text(int32_t device_type, int32_t device_id) noexcept;
/// Throws Error(INVALID_ARGUMENT).
DLDevice parse_device(const char* name);

/// The process's default allocator for a device type: false if it is the backend's own.
bool default_allocator(int32_t device_type, dlx_allocator* out) noexcept;
/// NULL restores the backend's own. Throws Error(INVALID_ARGUMENT, UNSUPPORTED).
void set_default_allocator(int32_t device_type, const dlx_allocator* allocator);

/// Throws Error(INVALID_ARGUMENT) unless `stream` is -1 or a number that the array API allows for
/// that device type (None never gets here). Asks no driver.
void check_stream(int32_t device_type, int64_t stream);
/// The same for a stream that work is given to or waited for, which -1 is not.
void check_work_stream(int32_t device_type, int64_t stream);

}  // namespace dlx

#endif  // DLX_SRC_DEVICE_REGISTRY_H_
