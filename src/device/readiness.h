// Orders work on streams: which pending work the data of a storage waits for, and what must stay
// alive until it is done.
#ifndef DLX_SRC_DEVICE_READINESS_H_
#define DLX_SRC_DEVICE_READINESS_H_

#include <atomic>

#include "src/device/backend.h"

namespace dlx {

/// The pending work that the data of one storage waits for; all views share it. It is recorded as
/// one of:
///
/// - Nothing: the data is ready after all work on the default stream of its device. Imports ask the
///   producer for this.
/// - An event: the data is ready after the event. A copy that only reads the data records an event
///   too, so that later writes wait for the read.
/// - A capture: a graph that was being captured makes the data. Within that capture, the graph
///   defines the order.
///
/// It never records a stream: the meaning of a handle depends on context and thread, and a foreign
/// stream may be destroyed meanwhile.
///
/// Any thread may call any function. Errors: DRIVER; UNSUPPORTED if a stream that is being captured
/// would have to wait for work outside its graph (the capture stays intact).
class Readiness {
 public:
  Readiness() = default;
  ~Readiness() {
    if (!is_behind_default()) replace(kAny, nullptr);
  }
  Readiness(const Readiness&) = delete;
  Readiness& operator=(const Readiness&) = delete;

  /// Number of the last recorded work; 0 if there is none.
  using Note = uint64_t;

  /// Makes later work on `stream` of device `id` wait until the data, on device `home`, is ready.
  /// Returns what the stream now waits for.
  Note begin_use(Backend& backend, int32_t home, int32_t id, StreamHandle stream);
  /// Records that the work submitted to `stream` of device `id` so far reads or writes the data, on
  /// device `home`. `seen` is the result of begin_use(); if another thread has recorded work since,
  /// the stream also waits for that.
  void end_use(Backend& backend, int32_t home, int32_t id, StreamHandle stream, Note seen);
  /// Waits on the host until the data is ready.
  void wait_on_host(Backend& backend, int32_t id);
  /// True if no work is recorded.
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

/// Makes later work on `stream` start after all work submitted to `other` so far. Throws
/// UNSUPPORTED, without touching either stream, if a graph would depend on work outside it, or the
/// reverse.
void follow_stream(Backend& backend, int32_t id, StreamHandle stream, int32_t other_id,
                   StreamHandle other);

/// Keeps `object` alive until all work submitted to `stream` so far is done. After that, the next
/// thread that submits work to that backend, or waits for it, calls release(object). If this
/// function throws, the caller still owns `object`.
void hold_while_working(Backend& backend, int32_t id, StreamHandle stream, void (*release)(void*),
                        void* object);

/// Release the objects whose work is done: all of them, or those that a few queries find. They
/// throw no Error, but a deleter may end the thread: see release() of a tensor.
void release_all_held(Backend& backend);
void release_some_held(Backend& backend);

}  // namespace dlx

#endif  // DLX_SRC_DEVICE_READINESS_H_
