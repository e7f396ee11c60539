#include "src/device/readiness.h"

#include <algorithm>
#include <climits>
#include <list>
#include <memory>
#include <mutex>
#include <new>

#include "src/base/error.h"
#include "src/base/foreign.h"
#include "src/system/system.h"

namespace dlx {

/// Reference-counted, so that one thread can wait for it while another replaces it.
struct Readiness::Pending {
  Backend* backend;
  int32_t id;
  EventHandle event;  ///< NULL: the work is in a capture
  uint64_t capture;
  int references;  ///< guarded by pending_mutex
  Note number;     ///< unique
};

namespace {

// dlx calls no function that may wait while it holds one of these mutexes.
std::mutex pending_mutex;
uint64_t last_number = 0;  ///< guarded by pending_mutex
std::mutex held_mutex;

/// Makes both mutexes usable in a forked child, which may release tensors: another thread of the
/// parent could have held them.
void survive_forks() {
  static const bool registered = sys::at_fork(
      [] {
        pending_mutex.lock();
        held_mutex.lock();
      },
      [] {
        held_mutex.unlock();
        pending_mutex.unlock();
      },
      [] {
        held_mutex.unlock();
        pending_mutex.unlock();
      });
  (void)registered;
}

struct Held {
  Backend* backend;
  int32_t id;
  EventHandle event;
  void (*release)(void*);
  void* object;
};

/// Number of pending objects that release_some_held() queries. Querying all of them would make the
/// cost of many small copies in a row quadratic.
constexpr int kMaxQueries = 4;

/// Never destroyed: at exit the driver may be gone, so held objects are leaked. Allocates nothing,
/// because it is called when memory is exhausted.
std::list<Held>& held() noexcept {
  alignas(std::list<Held>) static unsigned char place[sizeof(std::list<Held>)];
  static auto* list = new (place) std::list<Held>;
  return *list;
}

[[noreturn]] void fail_captured(const char* what) {
  fail(DLX_ERROR_UNSUPPORTED,
       "`stream` is being captured into a graph, and %s: do this before the capture begins", what);
}

/// Call this before an event is recorded on `stream`: an event that is recorded in a capture
/// belongs to the graph. capture() throws if the stream is a default stream that a capture blocks.
void require_recordable(Backend& backend, int32_t id, StreamHandle stream) {
  if (!backend.capture(id, stream).capturing) return;
  fail_captured("work outside the graph cannot wait for it");
}

/// Requires that `stream` is not captured, and that an event can be recorded on `other`.
void follow(Backend& backend, int32_t id, StreamHandle stream, int32_t other_id,
            StreamHandle other) {
  const ScopedEvent event(backend, other_id, other);
  backend.wait(id, stream, event.get());
}

/// Queries the stream, because a new event is rarely done at once, even on an idle stream.
bool default_is_idle(Backend& backend, int32_t id) {
  const StreamHandle stream = backend.default_stream();
  if (backend.capture(id, stream).capturing) return false;
  return backend.is_idle(id, stream);
}

}  // namespace

/// A reference to a Pending.
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

/// Replaces the recorded work if it is still `seen`, and consumes the reference to `pending`.
/// False: another thread has recorded work since.
bool Readiness::replace(Note seen, Pending* pending) noexcept {
  Pending* old = nullptr;
  {
    const std::lock_guard<std::mutex> lock(pending_mutex);
    old = pending_.load(std::memory_order_relaxed);
    if (seen != kAny && seen != (old == nullptr ? 0 : old->number)) return false;
    if (pending != nullptr) pending->number = ++last_number;
    pending_.store(pending, std::memory_order_release);
  }
  // not covered: the counters see the end of the block here
  const Hold released(old);
  return true;
}

Readiness::Note Readiness::begin_use(Backend& backend, int32_t home, int32_t id,
                                     StreamHandle stream) {
  if (!backend.has_streams()) return 0;  // one queue, in order
  const Hold pending = hold();
  const Note seen = pending.get() == nullptr ? 0 : pending->number;
  const bool behind_default = pending.get() == nullptr || pending->event == nullptr;
  if (behind_default && id == home && stream == backend.default_stream()) return seen;
  const CaptureInfo capture = backend.capture(id, stream);
  if (capture.capturing) {
    const bool same_graph =
        pending.get() != nullptr && pending->event == nullptr && pending->capture == capture.id;
    if (same_graph) return seen;
    const bool done = behind_default ? default_is_idle(backend, home)
                                     : backend.is_done(pending->id, pending->event);
    if (!done) fail_captured("the tensor's data is not ready yet");
  } else if (behind_default) {
    require_recordable(backend, home, backend.default_stream());
    follow(backend, id, stream, home, backend.default_stream());
  } else {
    backend.wait(id, stream, pending->event);
  }
  return seen;
}

void Readiness::end_use(Backend& backend, int32_t home, int32_t id, StreamHandle stream,
                        Note seen) {
  if (!backend.has_streams()) return;
  const bool by_default = id == home && stream == backend.default_stream();
  if (by_default && is_behind_default()) return;
  const CaptureInfo capture = backend.capture(id, stream);
  for (;; seen = begin_use(backend, home, id, stream)) {
    std::unique_ptr<Pending> pending;
    if (capture.capturing || !by_default) {
      survive_forks();
      pending.reset(new Pending{&backend, id, nullptr, capture.id, 1, 0});
      if (!capture.capturing) pending->event = backend.record(id, stream);
    }
    Pending* const note = pending.release();
    if (replace(seen, note)) return;
    const Hold released(note);
  }
}

void Readiness::wait_on_host(Backend& backend, int32_t id) {
  const Hold pending = hold();
  if (pending.get() == nullptr || pending->event == nullptr) {
    require_recordable(backend, id, backend.default_stream());
    const ScopedEvent event(backend, id, backend.default_stream());
    backend.wait_on_host(id, event.get());
    return;
  }
  backend.wait_on_host(pending->id, pending->event);
  replace(pending->number, nullptr);
}

void follow_stream(Backend& backend, int32_t id, StreamHandle stream, int32_t other_id,
                   StreamHandle other) {
  require_recordable(backend, other_id, other);
  if (!backend.capture(id, stream).capturing) return follow(backend, id, stream, other_id, other);
  if (!backend.is_idle(other_id, other))
    fail_captured("the other stream has pending work outside the graph");
}

void hold_while_working(Backend& backend, int32_t id, StreamHandle stream, void (*release)(void*),
                        void* object) {
  survive_forks();
  std::list<Held> one;
  one.push_back({&backend, id, nullptr, release, object});
  one.front().event = backend.record(id, stream);
  const std::lock_guard<std::mutex> lock(held_mutex);
  held().splice(held().end(), one);
}

namespace {

/// Removes and returns the oldest held object of a backend; empty if there is none.
std::list<Held> take_held(const Backend& backend) noexcept {
  std::list<Held> one;
  const std::lock_guard<std::mutex> lock(held_mutex);
  std::list<Held>& all = held();
  const auto first = std::find_if(all.begin(), all.end(),
                                  [&](const Held& each) { return each.backend == &backend; });
  if (first != all.end()) one.splice(one.end(), all, first);
  return one;
}

bool is_done(const Held& each) noexcept {
  try {
    return each.backend->is_done(each.id, each.event);
  } catch (...) {
    return false;  // the driver is broken or forked: leak the object
  }
}

/// Objects whose work is pending. They are held again at the end of the scope, also if a foreign
/// deleter ends the thread.
struct Busy {
  std::list<Held> list;
  ~Busy() {
    const std::lock_guard<std::mutex> lock(held_mutex);
    held().splice(held().end(), list);
  }
};

void release_held(Backend& backend, int max_queries) {
  Busy busy;
  while (max_queries > 0) {
    // Without the lock: a query or a release may run foreign code, which may call dlx or wait for a
    // lock.
    std::list<Held> one = take_held(backend);
    if (one.empty()) break;
    const Held& each = one.front();
    if (is_done(each)) {
      backend.release_event(each.id, each.event);
      call_foreign(each.release, each.object);
    } else {
      busy.list.splice(busy.list.end(), one);
      --max_queries;
    }
  }
}

}  // namespace

void release_all_held(Backend& backend) { release_held(backend, INT_MAX); }

void release_some_held(Backend& backend) { release_held(backend, kMaxQueries); }

}  // namespace dlx
