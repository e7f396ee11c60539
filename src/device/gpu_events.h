#ifndef DLX_SRC_DEVICE_GPU_EVENTS_H_
#define DLX_SRC_DEVICE_GPU_EVENTS_H_

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "src/device/gpu_driver.h"

namespace dlx {

/// A driver's event; what an EventHandle of a GPU points to.
struct GpuEvent {
  void* native;
  GpuPlace place;                   ///< its device's primary context
  GpuEvent* next;                   ///< in the queue of the events that can be recorded again
  std::atomic<intptr_t> stream{0};  ///< that it was recorded on last
};

/// The events of one device. All are in its primary context, which stays: another one may be
/// destroyed while its events are still asked for. None is ever destroyed: they are recorded again
/// once they are done.
class GpuEvents {
 public:
  /// An event behind the work of a stream at `place`.
  GpuEvent* record(GpuDriver& driver, const GpuPlace& place, StreamHandle stream);
  void release(GpuEvent* event) noexcept;
  /// Waits on the host for all that was recorded, released or not.
  void wait_for_all(GpuDriver& driver);

 private:
  GpuEvent* record_here(GpuDriver& driver, const GpuPlace& place, StreamHandle stream);
  GpuEvent* record_elsewhere(GpuDriver& driver, const GpuPlace& place, StreamHandle stream);
  GpuEvent* acquire(GpuDriver& driver, const GpuPlace& place);
  GpuEvent* take_free(GpuDriver& driver) noexcept;
  void put_free(GpuEvent* event) noexcept;

  std::mutex mutex_;
  std::vector<GpuEvent*> all_;      ///< only grows
  GpuEvent* first_free_ = nullptr;  ///< released the longest ago
  GpuEvent* last_free_ = nullptr;
};

}  // namespace dlx

#endif  // DLX_SRC_DEVICE_GPU_EVENTS_H_
