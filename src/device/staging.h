#ifndef DLX_SRC_DEVICE_STAGING_H_
#define DLX_SRC_DEVICE_STAGING_H_

#include <cstddef>
#include <exception>

#include "src/base/error.h"
#include "src/device/backend.h"

namespace dlx {

/// Pinned memory, and what the device's last use of it waits for; NULL: nothing.
struct StagedMemory {
  char* data;
  int32_t id;
  EventHandle event;
};

/// Pinned host memory between pageable memory and a device; a few are kept for each backend,
/// because pinning memory costs a millisecond.
class StagingBuffer {
 public:
  /// Large enough for a transfer at full speed, small enough to overlap with packing.
  static constexpr int64_t kBytes = int64_t{4} << 20;

  /// For work of a stream: unless in_use_until() follows, the memory rests only after the stream is
  /// done. Waits until the device is done with the one that has been resting longest, if all are in
  /// use. Throws std::bad_alloc or Error(DRIVER).
  StagingBuffer(Backend& backend, int32_t id, StreamHandle stream);
  ~StagingBuffer();
  StagingBuffer(const StagingBuffer&) = delete;
  StagingBuffer& operator=(const StagingBuffer&) = delete;

  char* data() const noexcept { return memory_.data; }

  /// The device uses the memory until `event`, which it takes over.
  void in_use_until(EventHandle event) noexcept;
  /// Waits for that event, on the host.
  void wait();

 private:
  Backend& backend_;
  StagedMemory memory_;
  StreamHandle stream_;
  bool in_open_use_ = true;
};

/// Waits for the work that `stream` has now, or for the one queue of a device without streams.
inline void wait_for_stream(Backend& backend, int32_t id, StreamHandle stream) {
  if (backend.has_streams()) {
    backend.synchronize_stream(id, stream);
  } else {
    backend.synchronize(id);
  }
}

/// Waits for the work of a stream where an error ends the scope: nothing else would keep the memory
/// that it uses. Not for what is being captured, which belongs to its graph.
class WaitOnError {
 public:
  WaitOnError(Backend* backend, int32_t id, StreamHandle stream) noexcept
      : backend_(backend), id_(id), stream_(stream), errors_(std::uncaught_exceptions()) {}
  ~WaitOnError() {
    if (backend_ == nullptr || std::uncaught_exceptions() == errors_) return;
    try {
      if (!backend_->capture(id_, stream_).capturing) wait_for_stream(*backend_, id_, stream_);
    } catch (...) {
      // The context is lost, and its work with it.
    }
  }
  WaitOnError(const WaitOnError&) = delete;
  WaitOnError& operator=(const WaitOnError&) = delete;

 private:
  Backend* backend_;  ///< NULL: there is no work
  int32_t id_;
  StreamHandle stream_;
  int errors_;
};

}  // namespace dlx

#endif  // DLX_SRC_DEVICE_STAGING_H_
