// Pinned host memory for transfers, and waiting for the transfers that use it.
#ifndef DLX_SRC_DEVICE_STAGING_H_
#define DLX_SRC_DEVICE_STAGING_H_

#include <cstddef>
#include <exception>

#include "src/base/error.h"
#include "src/device/backend.h"

namespace dlx {

/// A block of pinned memory.
struct StagedMemory {
  char* data;
  int32_t id;
  EventHandle event;  ///< after the device's last use; NULL: the memory is not in use
};

/// Pinned host memory for transfers between pageable memory and a device. A few blocks are kept for
/// each backend, because pinning memory takes a millisecond.
class StagingBuffer {
 public:
  /// Large enough that the start and end of the parallel packing of a block cost little (on an H100, 20 GB/s
  /// with blocks of 4 MiB, 48 with 8), small enough to overlap transfers with packing.
  static constexpr int64_t kBytes = int64_t{8} << 20;

  /// Takes a block for work on `stream`. If all blocks are in use, waits for the one that was
  /// returned first. The destructor waits for the stream unless in_use_until() was called. Throws
  /// std::bad_alloc or Error(DRIVER).
  StagingBuffer(Backend& backend, int32_t id, StreamHandle stream);
  ~StagingBuffer();
  StagingBuffer(const StagingBuffer&) = delete;
  StagingBuffer& operator=(const StagingBuffer&) = delete;

  char* data() const noexcept { return memory_.data; }

  /// Declares that the device uses the memory until `event`, which is consumed.
  void in_use_until(EventHandle event) noexcept;
  /// Waits on the host for that event.
  void wait();

 private:
  Backend& backend_;
  StagedMemory memory_;
  StreamHandle stream_;
  bool in_open_use_ = true;
};

/// Waits on the host for all work on `stream`, or on the queue of a device without streams.
inline void wait_for_stream(Backend& backend, int32_t id, StreamHandle stream) {
  if (backend.has_streams()) {
    backend.synchronize_stream(id, stream);
  } else {
    backend.synchronize(id);
  }
}

/// If an exception ends the scope, waits for the work of a stream, because nothing else keeps its
/// memory alive. Does not wait for a stream that is being captured.
class WaitOnError {
 public:
  WaitOnError(Backend* backend, int32_t id, StreamHandle stream) noexcept
      : backend_(backend), id_(id), stream_(stream), errors_(std::uncaught_exceptions()) {}
  ~WaitOnError() {
    if (backend_ == nullptr || std::uncaught_exceptions() == errors_) return;
    try {
      if (!backend_->capture(id_, stream_).capturing) wait_for_stream(*backend_, id_, stream_);
    } catch (...) {
      // The context is lost, including its work.
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
