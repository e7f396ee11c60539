#ifndef DLX_SRC_ARROW_EVENT_H_
#define DLX_SRC_ARROW_EVENT_H_

#include "src/device/backend.h"
#include "src/tensor/tensor.h"

namespace dlx::arrow {

/// The sync_event of a device array that goes out: a pointer to the driver's event, which has to
/// stay until the array is released.
class SyncEvent {
 public:
  SyncEvent() = default;
  ~SyncEvent();
  SyncEvent(const SyncEvent&) = delete;
  SyncEvent& operator=(const SyncEvent&) = delete;

  /// An event behind what makes the data ready. None where nobody has to wait: on the CPU, for a
  /// device that this machine does not have or that has no streams, for an empty tensor. Where the
  /// driver has no events that others could wait for, the host waits. Throws Error(UNSUPPORTED)
  /// where the current stream is being captured.
  void record(Tensor* tensor);
  /// NULL if there is none.
  void* pointer() noexcept { return native_ == nullptr ? nullptr : &native_; }

 private:
  Backend* backend_ = nullptr;
  int32_t id_ = 0;
  EventHandle event_ = nullptr;
  void* native_ = nullptr;
};

/// The sync_event of a device array that comes in. Both throw Error(UNSUPPORTED) where nothing can
/// wait.

/// Before the CPU reads pinned memory: waits on the host.
void wait_on_host(void* sync_event, const DLDevice& device);
/// The tensor is ready behind the event.
void follow_event(void* sync_event, Tensor* tensor);

}  // namespace dlx::arrow

#endif  // DLX_SRC_ARROW_EVENT_H_
