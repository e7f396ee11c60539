#ifndef DLX_SRC_DEVICE_REGISTRY_H_
#define DLX_SRC_DEVICE_REGISTRY_H_

#include <cstddef>
#include <cstdint>

#include "dlx/dlx.h"
#include "src/device/backend.h"

namespace dlx {

/// Backend of a kDL* device type, or NULL if dlx has none.
Backend* find_backend(int32_t device_type) noexcept;

/// Why there is no device of that type, in words; "" if there is one. Static.
const char* backend_reason(int32_t device_type) noexcept;

/// A device type that DLPack (or its main branch) names.
bool device_known(int32_t device_type) noexcept;

/// The backend of an existing device; throws Error(UNAVAILABLE) naming device and reason.
Backend& require_device(int32_t device_type, int32_t device_id);

/// True if the CPU may read and write memory of that device type where it lies.
inline bool cpu_reachable(int32_t device_type) noexcept {
  return device_type == kDLCPU || device_type == kDLCUDAHost || device_type == kDLROCMHost;
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

/// Throws Error(INVALID_ARGUMENT) unless `stream` is a number that the array API allows for that
/// device type (None never gets here), and Error(UNSUPPORTED) if dlx cannot order work on it.
void check_stream(int32_t device_type, int64_t stream);

}  // namespace dlx

#endif  // DLX_SRC_DEVICE_REGISTRY_H_
