#ifndef DLX_SRC_DEVICE_GPU_EVENTS_H_
#define DLX_SRC_DEVICE_GPU_EVENTS_H_

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "src/device/gpu_driver.h"

namespace dlx {

/// A driver's event. The EventHandle of a GPU backend points to one.
struct GpuEvent {
  void* native;
  GpuPlace place;                   ///< the primary context of its device
  GpuEvent* next;                   ///< the next released event
  std::atomic<intptr_t> stream{0};  ///< the stream of the last record()
};

/// The events of one device. All are in its primary context, because any other context may be
/// destroyed while its events are in use. Events are never destroyed; they are recorded again once
/// they are done.
class GpuEvents {
 public:
  /// Records an event after all work submitted to a stream at `place` so far.
  GpuEvent* record(GpuDriver& driver, const GpuPlace& place, StreamHandle stream);
  void release(GpuEvent* event) noexcept;
  /// Waits on the host for all recorded events, also those that were released.
  void wait_for_all(GpuDriver& driver);

 private:
  GpuEvent* record_here(GpuDriver& driver, const GpuPlace& place, StreamHandle stream);
  GpuEvent* record_elsewhere(GpuDriver& driver, const GpuPlace& place, StreamHandle stream);
  GpuEvent* acquire(GpuDriver& driver, const GpuPlace& place);
  GpuEvent* take_free(GpuDriver& driver) noexcept;
  void put_free(GpuEvent* event) noexcept;

  std::mutex mutex_;
  std::vector<GpuEvent*> all_;      ///< only grows
  GpuEvent* first_free_ = nullptr;  ///< released first
  GpuEvent* last_free_ = nullptr;
};

}  // namespace dlx

#endif  // DLX_SRC_DEVICE_GPU_EVENTS_H_
