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
  /// Each thread packs blocks of its own. Small, so that the first transfer begins soon; large enough that
  /// the driver's calls for a block cost little.
  static constexpr int64_t kBytes = int64_t{2} << 20;

  /// So many blocks are kept: packing, transfer and unpacking overlap.
  static constexpr int kKept = 3;
  /// A transfer by several threads keeps so many for each: one that is packed, one that is transferred.
  static constexpr int kKeptForThread = 2;
  static constexpr int kMostThreads = 32;

  /// Takes a block for work on `stream`. If `kept` blocks are in use, waits for the one that was
  /// returned first. The destructor waits for the stream unless in_use_until() was called. Throws
  /// std::bad_alloc or Error(DRIVER).
  StagingBuffer(Backend& backend, int32_t id, StreamHandle stream, int kept = kKept);
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
  int kept_;
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
