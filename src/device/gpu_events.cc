#include "src/device/gpu_events.h"

#include <memory>

namespace dlx {

namespace {

/// Number of released events to query before creating a new one.
constexpr int kMaxQueries = 4;

bool is_done(GpuDriver& driver, const GpuEvent& event) noexcept {
  try {
    return driver.is_done(event.native, event.stream);
  } catch (...) {
    return true;  // earlier work failed; record() will report it
  }
}

}  // namespace

void GpuEvents::put_free(GpuEvent* event) noexcept {
  event->next = nullptr;
  (last_free_ == nullptr ? first_free_ : last_free_->next) = event;
  last_free_ = event;
}

/// Takes a released event whose work is done, the oldest first; NULL if none was found.
/// wait_for_all() requires that no event is recorded again while its work is pending.
GpuEvent* GpuEvents::take_free(GpuDriver& driver) noexcept {
  std::lock_guard<std::mutex> lock(mutex_);
  for (int k = 0; k < kMaxQueries && first_free_ != nullptr; ++k) {
    GpuEvent* event = first_free_;
    first_free_ = event->next;
    if (first_free_ == nullptr) last_free_ = nullptr;
    if (is_done(driver, *event)) return event;
    put_free(event);
  }
  return nullptr;
}

GpuEvent* GpuEvents::acquire(GpuDriver& driver, const GpuPlace& place) {
  if (GpuEvent* event = take_free(driver)) return event;
  auto event = std::unique_ptr<GpuEvent>(new GpuEvent{nullptr, place, nullptr});
  event->native = driver.create_event();
  try {
    std::lock_guard<std::mutex> lock(mutex_);
    all_.push_back(event.get());
  } catch (...) {
    driver.destroy_event(event->native);
    throw;
  }
  return event.release();
}

GpuEvent* GpuEvents::record_here(GpuDriver& driver, const GpuPlace& place, StreamHandle stream) {
  GpuScope scope(driver, place);
  GpuEvent* event = acquire(driver, place);
  try {
    event->stream = static_cast<intptr_t>(stream);
    driver.record(event->native, stream);
  } catch (...) {
    release(event);
    throw;
  }
  return event;
}

namespace {

/// Destroys an event and a stream at the end of the scope.
class ScopedHandles {
 public:
  ScopedHandles(GpuDriver& driver, const GpuPlace& place) : driver_(driver), place_(place) {}
  ScopedHandles(const ScopedHandles&) = delete;
  ScopedHandles& operator=(const ScopedHandles&) = delete;
  ~ScopedHandles() {
    try {
      GpuScope scope(driver_, place_);
      if (event != nullptr) driver_.destroy_event(event);
      if (stream != 0) driver_.destroy_stream(stream);
    } catch (...) {
      // The driver has shut down.
    }
  }

  void* event = nullptr;
  StreamHandle stream = 0;

 private:
  GpuDriver& driver_;
  GpuPlace place_;
};

}  // namespace

/// Records the event on a temporary stream in the primary context, which waits for `stream`. The
/// temporary stream and the event between the streams are destroyed at once; the driver keeps them
/// until their work is done.
GpuEvent* GpuEvents::record_elsewhere(GpuDriver& driver, const GpuPlace& place,
                                      StreamHandle stream) {
  const GpuPlace primary = driver.primary(place.id);
  ScopedHandles there(driver, place), here(driver, primary);
  {
    GpuScope scope(driver, place);
    there.event = driver.create_event();
    driver.record(there.event, stream);
  }
  {
    GpuScope scope(driver, primary);
    here.stream = driver.create_stream();
    driver.wait(here.stream, there.event);
  }
  return record_here(driver, primary, here.stream);
}

GpuEvent* GpuEvents::record(GpuDriver& driver, const GpuPlace& place, StreamHandle stream) {
  return place.primary ? record_here(driver, place, stream)
                       : record_elsewhere(driver, place, stream);
}

void GpuEvents::release(GpuEvent* event) noexcept {
  std::lock_guard<std::mutex> lock(mutex_);
  put_free(event);
}

void GpuEvents::wait_for_all(GpuDriver& driver) {
  // By index, because the vector may grow meanwhile.
  for (size_t k = 0;; ++k) {
    GpuEvent* event = nullptr;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (k == all_.size()) return;
      event = all_[k];
    }
    // not covered: the counters see the end of the block here
    GpuScope scope(driver, event->place);
    driver.synchronize_event(event->native, event->stream);
  }
}

}  // namespace dlx
