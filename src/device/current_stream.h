#ifndef DLX_SRC_DEVICE_CURRENT_STREAM_H_
#define DLX_SRC_DEVICE_CURRENT_STREAM_H_

#include "src/device/backend.h"

namespace dlx {

/// The device type whose streams work on memory of `device_type`: managed and pinned memory has no
/// streams of its own type.
int32_t stream_family(int32_t device_type) noexcept;

/// The calling thread's current stream of a device: the one set by set_current_stream(); else the
/// current stream of the library whose exchange table this thread last imported from; else the
/// default stream.
StreamHandle current_stream(const Backend& backend, int32_t device_type, int32_t id) noexcept;

/// The stream that set_current_stream() set on this thread; false if there is none.
bool chosen_stream(int32_t device_type, int32_t id, StreamHandle* out) noexcept;

/// Throws Error(UNSUPPORTED) if the thread has set streams of too many devices.
void set_current_stream(int32_t device_type, int32_t id, StreamHandle stream);
void reset_current_stream(int32_t device_type, int32_t id) noexcept;

/// DLPackExchangeAPI::current_work_stream.
using WorkStreamFn = int (*)(DLDeviceType device_type, int32_t device_id, void** out_stream);

/// Stores the function of the table that this thread last imported from; NULL removes it.
void follow_work_stream(WorkStreamFn function) noexcept;

/// A stream handle in the array API's numbering: CUDA's NULL is the legacy default stream, 1.
inline StreamHandle number_of_handle(const Backend& backend, const void* handle) noexcept {
  const auto number = static_cast<StreamHandle>(reinterpret_cast<intptr_t>(handle));
  return number == 0 ? backend.default_stream() : number;
}

}  // namespace dlx

#endif  // DLX_SRC_DEVICE_CURRENT_STREAM_H_
