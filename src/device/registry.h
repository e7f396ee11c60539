// Device types: their backends, names, default allocators and streams.
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

/// The backend of a kDL* device type; NULL if there is none.
Backend* find_backend(int32_t device_type) noexcept;

/// Why there is no device of that type, as text; "" if there is one. Static.
const char* backend_reason(int32_t device_type) noexcept;
/// Why a particular device is missing; other devices of that type may exist. Static.
const char* absence_reason(int32_t device_type) noexcept;

/// Lists the device types that have a name or a backend, in ascending order; registered types
/// without a name come last. Writes at most `capacity` of them and returns their total number.
int32_t list_device_types(int32_t* out, int32_t capacity) noexcept;

/// Replaces the id 255 on CUDA and ROCm (torch's "cuda" without an index) by the calling thread's
/// current device.
DLDevice resolve_device(DLDevice device);

/// Whether DLPack, or its main branch, names that device type.
bool device_known(int32_t device_type) noexcept;

/// The backend of a device. Throws Error(UNAVAILABLE), with the device and the reason, if the
/// device does not exist.
Backend& require_device(int32_t device_type, int32_t device_id);

/// The device whose streams order the work on a tensor's memory. `backend` is NULL if there is
/// none: on the CPU, without a backend, and for pinned or managed memory of a driver that is not
/// initialised.
struct Worker {
  Backend* backend;
  int32_t id;  ///< the ordinal, also for memory whose DLPack id is always 0
};
Worker find_worker(const DLTensor& tensor);

/// The device of the memory at an address; the CPU if no initialised driver knows the address.
PointerInfo locate_pointer(const void* pointer);

/// True if the CPU can access memory of that device type directly.
inline bool cpu_reachable(int32_t device_type) noexcept {
  return device_type == kDLCPU || device_type == kDLCUDAHost || device_type == kDLROCMHost;
}

/// True if the DLPack id of that memory is 0 for every device.
inline bool id_is_zero(int32_t device_type) noexcept {
  return cpu_reachable(device_type) || device_type == kDLCUDAManaged;
}

/// True if `data` is an address on that device type; false if it is a handle.
inline bool data_is_address(int32_t device_type) noexcept {
  return device_type != kDLOpenCL && device_type != kDLVulkan && device_type != kDLMetal &&
         device_type != kDLWebGPU;
}

/// The name of a device, as dlx_device_name writes it.
struct DeviceText {
  char text[48];
};
DeviceText device_text(int32_t device_type, int32_t device_id) noexcept;
/// As dlx_device_parse. Throws Error(INVALID_ARGUMENT).
DLDevice parse_device(const char* name);

/// The process's default allocator for a device type; false if it is the backend's own.
bool default_allocator(int32_t device_type, dlx_allocator* out) noexcept;
/// NULL restores the backend's own. Throws Error(UNSUPPORTED).
void set_default_allocator(int32_t device_type, const dlx_allocator* allocator);

/// Throws Error(INVALID_ARGUMENT) unless `stream` is -1 or a number that the array API allows for
/// that device type. Does not call the driver.
void check_stream(int32_t device_type, int64_t stream);
/// As check_stream(), for a stream that runs work or is waited for: -1 is not allowed.
void check_work_stream(int32_t device_type, int64_t stream);

}  // namespace dlx

#endif  // DLX_SRC_DEVICE_REGISTRY_H_
