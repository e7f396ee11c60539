// Pinned host memory for transfers, and waiting for the transfers that use it.
#ifndef DLX_SRC_DEVICE_STAGING_H_
#define DLX_SRC_DEVICE_STAGING_H_

#include <cstddef>
#include <exception>

#include "src/base/error.h"
#include "src/device/backend.h"

namespace dlx {

/// Blocks of pinned memory of one size, of which a transfer may have so many at a time.
struct StagingBlocks {
  int64_t bytes;
  int kept;
};

/// How a transfer is cut into parts, and how many threads take them.
///
/// On an H100 (docs/benchmarks/gpu.md) blocks that all threads pack together reached 17 GB/s to the device with
/// 2 MiB, 21 with 4, 48 with 8 and 42 with 16, transposed 13, 23, 33 and 20: shorter ones cost more to start and to end
/// than to pack. A thread that packs blocks of its own, at 9 GB/s, starts nothing: 2 MiB take it 0.2 ms, many
/// times the driver's calls for a block.
class TransferParts {
 public:
  static constexpr int64_t kTogether = int64_t{8} << 20;
  static constexpr int64_t kOfThread = int64_t{2} << 20;
  static constexpr int kMostThreads = 32;
  /// So many blocks are kept: packing, transfer and unpacking overlap.
  static constexpr int kKept = 3;
  /// Of each thread: one that is packed, one that is transferred.
  static constexpr int kKeptForThread = 2;

  /// For `size` bytes by up to `most_threads` threads with parts of their own; 1: all parts by all threads.
  TransferParts(int64_t size, int64_t most_threads) noexcept;

  int threads() const noexcept { return threads_; }
  const StagingBlocks& blocks() const noexcept { return blocks_; }
  /// The most bytes of the next part. The first ones are small, so that the link starts at once, and the last
  /// ones too, so that the threads end together.
  int64_t next() const noexcept;
  /// The next part has so many.
  void take(int64_t bytes) noexcept;

 private:
  int64_t left_;
  int threads_;
  StagingBlocks blocks_;
  int64_t first_;
  int64_t taken_ = 0;  // parts
};

/// A block of pinned memory.
struct StagedMemory {
  char* data;
  int32_t id;
  EventHandle event;  ///< after the device's last use; NULL: the memory is not in use
};

/// Pinned host memory for transfers between pageable memory and a device. A few blocks are kept for
/// each backend and size, because pinning memory takes a millisecond.
class StagingBuffer {
 public:
  /// Without threads that have blocks of their own.
  static constexpr StagingBlocks kBlocks = {TransferParts::kTogether, TransferParts::kKept};

  /// Takes a block for work on `stream`. If `kept` blocks are in use, waits for the one that was
  /// returned first. The destructor waits for the stream unless in_use_until() was called. Throws
  /// std::bad_alloc or Error(DRIVER).
  StagingBuffer(Backend& backend, int32_t id, StreamHandle stream,
                const StagingBlocks& blocks = kBlocks);
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
  StagingBlocks blocks_;
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
