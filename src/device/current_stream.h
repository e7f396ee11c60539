#ifndef DLX_SRC_DEVICE_CURRENT_STREAM_H_
#define DLX_SRC_DEVICE_CURRENT_STREAM_H_

#include "src/device/backend.h"

namespace dlx {

/// The device type whose streams work on memory of that type: managed and pinned memory has none of
/// its own.
int32_t stream_family(int32_t device_type) noexcept;

/// The calling thread's current stream of a device, in this order: what the user said; what the
/// library says whose exchange table was last imported from on this thread; the default stream.
StreamHandle current_stream(const Backend& backend, int32_t device_type, int32_t id) noexcept;

/// What set_current_stream() said on this thread; false: nothing.
bool chosen_stream(int32_t device_type, int32_t id, StreamHandle* out) noexcept;

/// Throws Error(UNSUPPORTED) if the thread has set streams of too many devices.
void set_current_stream(int32_t device_type, int32_t id, StreamHandle stream);
void reset_current_stream(int32_t device_type, int32_t id) noexcept;

/// DLPackExchangeAPI::current_work_stream.
using WorkStreamFn = int (*)(DLDeviceType device_type, int32_t device_id, void** out_stream);

/// Remembers the table that this thread imported from last; NULL forgets it.
void follow_work_stream(WorkStreamFn function) noexcept;

/// A stream handle as the array API numbers it: CUDA's NULL is its legacy default stream, 1.
inline StreamHandle number_of_handle(const Backend& backend, const void* handle) noexcept {
  const auto number = static_cast<StreamHandle>(reinterpret_cast<intptr_t>(handle));
  return number == 0 ? backend.default_stream() : number;
}

}  // namespace dlx

#endif  // DLX_SRC_DEVICE_CURRENT_STREAM_H_
