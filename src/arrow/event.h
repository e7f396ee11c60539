// The sync_event of Arrow device arrays, on export and import.
#ifndef DLX_SRC_ARROW_EVENT_H_
#define DLX_SRC_ARROW_EVENT_H_

#include "src/device/backend.h"
#include "src/tensor/tensor.h"

namespace dlx::arrow {

/// The sync_event of an exported device array: owns the driver's event until the array is released.
class SyncEvent {
 public:
  SyncEvent() = default;
  ~SyncEvent();
  SyncEvent(const SyncEvent&) = delete;
  SyncEvent& operator=(const SyncEvent&) = delete;

  /// Records an event after which the data is ready. Records none if the consumer need not wait: on
  /// the CPU, on a missing device or one without streams, and for an empty tensor. Waits on the
  /// host if the driver has no event for other libraries. Throws Error(UNSUPPORTED) if the current
  /// stream is being captured.
  void record(Tensor* tensor);
  /// The value of sync_event: a pointer to the driver's event; NULL if there is none.
  void* pointer() noexcept { return native_ == nullptr ? nullptr : &native_; }

 private:
  Backend* backend_ = nullptr;
  int32_t id_ = 0;
  EventHandle event_ = nullptr;
  void* native_ = nullptr;
};

// The sync_event of an imported device array. Both functions throw Error(UNSUPPORTED) if dlx cannot
// make the device wait.

/// Waits on the host for the event, before the CPU reads pinned memory.
void wait_on_host(void* sync_event, const DLDevice& device);
/// Makes later users of the tensor wait for the event.
void follow_event(void* sync_event, Tensor* tensor);

}  // namespace dlx::arrow

#endif  // DLX_SRC_ARROW_EVENT_H_
