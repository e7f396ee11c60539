#ifndef DLX_SRC_DEVICE_REGISTERED_H_
#define DLX_SRC_DEVICE_REGISTERED_H_

#include "src/device/backend.h"

namespace dlx {

/// Adds a vendor's backend: see dlx_register_backend. Throws Error(INVALID_ARGUMENT, UNSUPPORTED).
void register_backend(int32_t device_type, const dlx_backend& functions);

/// The backend registered for a device type, or NULL.
Backend* find_registered(int32_t device_type) noexcept;

/// The device type of the index-th registered backend; 0 beyond the last.
int32_t registered_type(int32_t index) noexcept;

}  // namespace dlx

#endif  // DLX_SRC_DEVICE_REGISTERED_H_
