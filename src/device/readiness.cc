#include "src/device/readiness.h"

#include <mutex>
#include <vector>

#include "src/base/error.h"

namespace dlx {

/// Counted, so that one thread may wait for it while another replaces it.
struct Readiness::Pending {
  Backend* backend;
  int32_t id;
  EventHandle event;  ///< NULL: captured
  uint64_t capture;
  int references;  ///< guarded by pending_mutex
};

namespace {

// Both guard a few instructions, never a call that waits.
std::mutex pending_mutex;
std::mutex held_mutex;

struct Held {
  Backend* backend;
  int32_t id;
  EventHandle event;
  void (*release)(void*);
  void* object;
};

/// Never destroyed: what is held at exit is leaked, for the driver may be gone.
std::vector<Held>& held() {
  static auto* list = new std::vector<Held>;
  return *list;
}

[[noreturn]] void fail_captured(const char* what) {
  fail(DLX_ERROR_UNSUPPORTED,
       "`stream` is being captured into a graph, and %s: do this before the capture begins", what);
}

/// Before `stream` is asked for an event: one that is recorded in a capture is part of its graph, and no
/// event at all can be recorded on a default stream that blocks one (capture() throws then).
void require_recordable(Backend& backend, int32_t id, StreamHandle stream) {
  if (!backend.capture(id, stream).capturing) return;
  fail_captured("nothing outside of the graph can wait for it");
}

/// `stream` is not captured, `other` can be recorded.
void follow(Backend& backend, int32_t id, StreamHandle stream, int32_t other_id,
            StreamHandle other) {
  const EventHandle event = backend.record(other_id, other);
  try {
    backend.wait(id, stream, event);
  } catch (...) {
    backend.release_event(other_id, event);
    throw;
  }
  backend.release_event(other_id, event);
}

/// Behind the work of the default stream; the caller owns the event.
EventHandle record_default(Backend& backend, int32_t id) {
  return backend.record(id, backend.default_stream());
}

/// An event that has just been recorded is seldom done, even if there was nothing to do: so the stream
/// is asked.
bool default_is_idle(Backend& backend, int32_t id) {
  const StreamHandle stream = backend.default_stream();
  if (backend.capture(id, stream).capturing) return false;
  return backend.is_idle(id, stream);
}

}  // namespace

/// One reference to the pending event.
class Readiness::Hold {
 public:
  explicit Hold(Pending* pending) noexcept : pending_(pending) {}
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  ~Hold() {
    if (pending_ == nullptr) return;
    {
      const std::lock_guard<std::mutex> lock(pending_mutex);
      if (--pending_->references > 0) return;
    }
    if (pending_->event != nullptr) pending_->backend->release_event(pending_->id, pending_->event);
    delete pending_;
  }
  Pending* get() const noexcept { return pending_; }
  Pending* operator->() const noexcept { return pending_; }

 private:
  Pending* pending_;
};

Readiness::Hold Readiness::hold() const noexcept {
  if (is_behind_default()) return Hold(nullptr);
  const std::lock_guard<std::mutex> lock(pending_mutex);
  Pending* pending = pending_.load(std::memory_order_relaxed);
  if (pending != nullptr) ++pending->references;
  return Hold(pending);
}

/// Takes over the one reference of `pending`.
void Readiness::replace(Pending* pending) noexcept {
  const Hold old([&] {
    const std::lock_guard<std::mutex> lock(pending_mutex);
    return pending_.exchange(pending, std::memory_order_acq_rel);
  }());
}

/// Forgets an event that is known to be done, unless another has taken its place.
void Readiness::drop(const Pending* done) noexcept {
  Pending* old = nullptr;
  {
    const std::lock_guard<std::mutex> lock(pending_mutex);
    if (pending_.load(std::memory_order_relaxed) != done) return;
    old = pending_.exchange(nullptr, std::memory_order_acq_rel);
  }
  const Hold released(old);
}

void Readiness::order(Backend& backend, int32_t id, StreamHandle stream) {
  if (!backend.has_streams()) return;  // one queue, in order
  const Hold pending = hold();
  const bool behind_default = pending.get() == nullptr || pending->event == nullptr;
  if (behind_default && stream == backend.default_stream() && pending.get() == nullptr) return;
  const CaptureInfo capture = backend.capture(id, stream);
  if (capture.capturing) {
    if (pending.get() != nullptr && pending->event == nullptr && pending->capture == capture.id) {
      return;
    }
    const bool done = behind_default ? default_is_idle(backend, id)
                                     : pending->backend->is_done(pending->id, pending->event);
    if (!done) fail_captured("the tensor's data is not ready yet");
    return;
  }
  if (!behind_default && pending->backend == &backend) {
    backend.wait(id, stream, pending->event);
    return;
  }
  if (!behind_default) {
    pending->backend->wait_on_host(pending->id, pending->event);
    return;
  }
  if (stream == backend.default_stream()) return;
  require_recordable(backend, id, backend.default_stream());
  follow(backend, id, stream, id, backend.default_stream());
}

void Readiness::written(Backend& backend, int32_t id, StreamHandle stream) {
  if (!backend.has_streams()) return;
  const CaptureInfo capture = backend.capture(id, stream);
  if (!capture.capturing && stream == backend.default_stream()) {
    if (!is_behind_default()) replace(nullptr);
    return;
  }
  auto* pending = new Pending{&backend, id, nullptr, capture.id, 1};
  if (!capture.capturing) {
    try {
      pending->event = backend.record(id, stream);
    } catch (...) {
      delete pending;
      throw;
    }
  }
  replace(pending);
}

void Readiness::wait_on_host(Backend& backend, int32_t id) {
  const Hold pending = hold();
  if (pending.get() == nullptr || pending->event == nullptr) {
    require_recordable(backend, id, backend.default_stream());
    const EventHandle event = record_default(backend, id);
    try {
      backend.wait_on_host(id, event);
    } catch (...) {
      backend.release_event(id, event);
      throw;
    }
    backend.release_event(id, event);
    return;
  }
  pending->backend->wait_on_host(pending->id, pending->event);
  drop(pending.get());
}

void follow_stream(Backend& backend, int32_t id, StreamHandle stream, int32_t other_id,
                   StreamHandle other) {
  require_recordable(backend, other_id, other);
  if (!backend.capture(id, stream).capturing) return follow(backend, id, stream, other_id, other);
  if (!backend.is_idle(other_id, other)) fail_captured("the other stream has work to do outside");
}

void hold_until(Backend& backend, int32_t id, EventHandle event, void (*release)(void*),
                void* object) {
  const std::lock_guard<std::mutex> lock(held_mutex);
  held().push_back({&backend, id, event, release, object});
}

void release_held(Backend& backend) noexcept {
  // One at a time, outside the lock: a release may end in foreign code that calls dlx again.
  for (;;) {
    Held found{};
    {
      const std::lock_guard<std::mutex> lock(held_mutex);
      std::vector<Held>& list = held();
      for (size_t i = 0; i < list.size() && found.backend == nullptr; ++i) {
        if (list[i].backend != &backend) continue;
        try {
          if (!backend.is_done(list[i].id, list[i].event)) continue;
        } catch (const Error&) {
          continue;  // a broken or forked driver: better leaked than freed too early
        }
        found = list[i];
        list[i] = list.back();
        list.pop_back();
      }
    }
    if (found.backend == nullptr) return;
    backend.release_event(found.id, found.event);
    found.release(found.object);
  }
}

}  // namespace dlx
