#include "src/device/gpu_events.h"

#include <algorithm>
#include <memory>

namespace dlx {

namespace {

/// Released events that are looked at before a new one is made.
constexpr int kLooks = 4;

bool is_done(GpuDriver& driver, const GpuEvent& event) noexcept {
  try {
    return driver.is_done(event.native);
  } catch (...) {
    return true;  // earlier work failed; recording will say so
  }
}

}  // namespace

void GpuEvents::put_free(GpuEvent* event) noexcept {
  event->next = nullptr;
  (last_free_ == nullptr ? first_free_ : last_free_->next) = event;
  last_free_ = event;
}

/// A released event whose work is done, the oldest first; NULL: none was found. wait_for_all()
/// counts on it that no event is recorded again while its work goes on.
GpuEvent* GpuEvents::take_free(GpuDriver& driver) noexcept {
  std::lock_guard<std::mutex> lock(mutex_);
  for (int k = 0; k < kLooks && first_free_ != nullptr; ++k) {
    GpuEvent* event = first_free_;
    first_free_ = event->next;
    if (first_free_ == nullptr) last_free_ = nullptr;
    if (is_done(driver, *event)) return event;
    put_free(event);
  }
  return nullptr;
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
    put_free(event);
    return;
  }
  {
    std::lock_guard<std::mutex> lock(mutex_);
    foreign_.erase(std::find(foreign_.begin(), foreign_.end(), event));
  }
  try {
    GpuScope scope(driver, event->place);
    driver.destroy_event(event->native);
  } catch (...) {
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
