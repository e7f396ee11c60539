#include "src/device/gpu_events.h"

#include <algorithm>
#include <memory>

#include "src/base/error.h"

namespace dlx {

/// The event that was released first, if the work before it is done; NULL: none is.
GpuEvent* GpuEvents::take_free(GpuDriver& driver) noexcept {
  std::lock_guard<std::mutex> lock(mutex_);
  GpuEvent* event = first_free_;
  if (event == nullptr) return nullptr;
  try {
    // wait_for_all() counts on it that no event is recorded again while its work goes on.
    if (!driver.is_done(event->native)) return nullptr;
  } catch (const Error&) {
    // Earlier work failed; recording will say so.
  }
  first_free_ = event->next;
  if (first_free_ == nullptr) last_free_ = nullptr;
  return event;
}

GpuEvent* GpuEvents::acquire(GpuDriver& driver, const GpuPlace& place) {
  if (place.primary) {
    if (GpuEvent* event = take_free(driver)) return event;
  }
  auto event = std::make_unique<GpuEvent>(GpuEvent{nullptr, place, nullptr});
  std::vector<GpuEvent*>& all = place.primary ? pooled_ : foreign_;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    all.reserve(all.size() + 1);
  }
  event->native = driver.create_event();
  std::lock_guard<std::mutex> lock(mutex_);
  try {
    all.push_back(event.get());
  } catch (...) {  // another thread took the room
    driver.destroy_event(event->native);
    throw;
  }
  return event.release();
}

GpuEvent* GpuEvents::record(GpuDriver& driver, const GpuPlace& place, StreamHandle stream) {
  GpuScope scope(driver, place);
  GpuEvent* event = acquire(driver, place);
  try {
    driver.record(event->native, stream);
  } catch (...) {
    release(driver, event);
    throw;
  }
  return event;
}

void GpuEvents::release(GpuDriver& driver, GpuEvent* event) noexcept {
  if (event->place.primary) {
    std::lock_guard<std::mutex> lock(mutex_);
    event->next = nullptr;
    (last_free_ == nullptr ? first_free_ : last_free_->next) = event;
    last_free_ = event;
    return;
  }
  {
    std::lock_guard<std::mutex> lock(mutex_);
    foreign_.erase(std::find(foreign_.begin(), foreign_.end(), event));
  }
  try {
    GpuScope scope(driver, event->place);
    driver.destroy_event(event->native);
  } catch (const Error&) {
    // The context is gone, and the event with it.
  }
  delete event;
}

void GpuEvents::wait_for_all(GpuDriver& driver) {
  // By number: the vector may move, its events stay.
  for (size_t k = 0;; ++k) {
    GpuEvent* event = nullptr;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (k == pooled_.size()) break;
      event = pooled_[k];
    }
    GpuScope scope(driver, event->place);
    driver.synchronize_event(event->native);
  }
  // These must not be destroyed meanwhile.
  std::lock_guard<std::mutex> lock(mutex_);
  for (GpuEvent* event : foreign_) {
    GpuScope scope(driver, event->place);
    driver.synchronize_event(event->native);
  }
}

}  // namespace dlx
