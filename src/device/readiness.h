#ifndef DLX_SRC_DEVICE_READINESS_H_
#define DLX_SRC_DEVICE_READINESS_H_

#include <atomic>

#include "src/device/backend.h"

namespace dlx {

/// What whoever uses the data of one storage waits for, shared by all views of it. Never a stream:
/// handles change their meaning with context and thread, and foreign streams may be gone by the
/// time.
///
/// - Nothing is noted: the data is behind the default stream of its device, where imports asked
///   their producers to make it safe.
/// - An event: the data is ready after it. Copies that only read the data note theirs, too, or what
///   comes next would be written under their eyes.
/// - A capture: the data is made by a graph that was being captured; inside that capture the order
///   is the graph's own.
///
/// Any thread may call anything. Errors: DRIVER, and UNSUPPORTED where a stream that is being
/// captured would have to wait for work outside its graph (the capture is not touched then).
class Readiness {
 public:
  Readiness() = default;
  ~Readiness() {
    if (!is_behind_default()) replace(kAny, nullptr);
  }
  Readiness(const Readiness&) = delete;
  Readiness& operator=(const Readiness&) = delete;

  /// What was noted last, by its number; 0: nothing.
  using Note = uint64_t;

  /// Work given to `stream` of device `id` from now on finds the data ready, which is of device
  /// `home`. Returns what it comes after.
  Note order(Backend& backend, int32_t home, int32_t id, StreamHandle stream);
  /// The work that `stream` of device `id` has now uses the data, which is of device `home`: it
  /// writes it (or is what makes it ready), or reads it. It comes after `seen`; where other threads
  /// have noted something since, the stream waits for that as well.
  void used(Backend& backend, int32_t home, int32_t id, StreamHandle stream, Note seen);
  /// Waits on the host until the data is ready.
  void wait_on_host(Backend& backend, int32_t id);
  /// True if nothing is noted.
  bool is_behind_default() const noexcept {
    return pending_.load(std::memory_order_acquire) == nullptr;
  }

 private:
  static constexpr Note kAny = UINT64_MAX;
  struct Pending;
  class Hold;
  Hold hold() const noexcept;
  bool replace(Note seen, Pending* pending) noexcept;

  std::atomic<Pending*> pending_{nullptr};
};

/// Work given to `stream` from now on starts after the work that `other` has now. Throws
/// UNSUPPORTED, before either is touched, where one of them is being captured: nothing enters or
/// leaves a graph.
void follow_stream(Backend& backend, int32_t id, StreamHandle stream, int32_t other_id,
                   StreamHandle other);

/// Keeps something alive until the work that `stream` has now is done: then calls release(object),
/// from whatever thread gives dlx work for that backend, or waits for it, next. Takes nothing over
/// if it throws.
void hold_while_working(Backend& backend, int32_t id, StreamHandle stream, void (*release)(void*),
                        void* object);

/// Releases what is held by work that is done: all of it, or what can be had for a few questions.
/// Throws nothing, but what is released may end the thread: see release() of a tensor.
void release_all_held(Backend& backend);
void release_some_held(Backend& backend);

}  // namespace dlx

#endif  // DLX_SRC_DEVICE_READINESS_H_
