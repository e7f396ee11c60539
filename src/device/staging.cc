#include "src/device/staging.h"

#include <algorithm>
#include <deque>
#include <mutex>
#include <new>

#include "src/base/error.h"
#include "src/copy/plan/plan.h"

namespace dlx {
namespace {

/// The blocks of one backend and size.
struct Pool {
  static constexpr int kMost = TransferParts::kKeptForThread * TransferParts::kMostThreads;

  const Backend* backend;
  int64_t bytes;
  int kept;  ///< at most, the most that a transfer wanted
  int made;  ///< number of blocks, free or in a StagingBuffer
  int free_count;
  StagedMemory free[kMost];  ///< in no StagingBuffer, oldest first; transfers may still use them
};

std::mutex mutex;

/// Never destroyed, because the driver of a free block may be gone at exit.
Pool& pool_of(const Backend& backend, int64_t bytes) {
  static auto* pools = new std::deque<Pool>;  // elements stay where they are
  for (Pool& pool : *pools) {
    if (pool.backend == &backend && pool.bytes == bytes) return pool;
  }
  pools->push_back({&backend, bytes, TransferParts::kKept, 0, 0, {}});
  return pools->back();
}

/// Takes the oldest free block. False if there is none, or if allocating another is better than
/// waiting.
bool take(const Backend& backend, const StagingBlocks& blocks, StagedMemory* out) {
  const std::lock_guard<std::mutex> lock(mutex);
  Pool& pool = pool_of(backend, blocks.bytes);
  if (pool.free_count == 0 || (pool.free[0].event != nullptr && pool.made < blocks.kept)) {
    return false;
  }
  *out = pool.free[0];
  --pool.free_count;
  for (int i = 0; i < pool.free_count; ++i) pool.free[i] = pool.free[i + 1];
  return true;
}

/// Returns a block. False if enough blocks are free: the caller keeps it.
bool put_back(const Backend& backend, const StagingBlocks& blocks,
              const StagedMemory& block) noexcept {
  const std::lock_guard<std::mutex> lock(mutex);
  Pool& pool = pool_of(backend, blocks.bytes);
  if (pool.kept < blocks.kept) pool.kept = blocks.kept;
  if (pool.free_count >= pool.kept) return false;
  pool.free[pool.free_count++] = block;
  return true;
}

void wait_for(Backend& backend, StagedMemory* buffer) {
  if (buffer->event == nullptr) return;
  backend.wait_on_host(buffer->id, buffer->event);
  backend.release_event(buffer->id, buffer->event);
  buffer->event = nullptr;
}

void count_made(const Backend& backend, const StagingBlocks& blocks, int more) noexcept {
  const std::lock_guard<std::mutex> lock(mutex);
  pool_of(backend, blocks.bytes).made += more;
}

}  // namespace

TransferParts::TransferParts(int64_t size, int64_t most_threads) noexcept : left_(size) {
  const int64_t parts = std::max<int64_t>(divide_up(size, kOfThread / 4), 1);
  threads_ = static_cast<int>(std::min<int64_t>({most_threads, kMostThreads, parts}));
  blocks_ = {kOfThread, std::max(kKept, kKeptForThread * threads_)};
  if (threads_ == 1 && size > kOfThread) blocks_ = {kTogether, kKept};
  first_ = blocks_.bytes / 4;
}

int64_t TransferParts::next() const noexcept {
  const int64_t rounds = std::min<int64_t>(taken_ / threads_, 2);
  return std::max(first_, std::min(first_ << rounds, left_ / threads_));
}

void TransferParts::take(int64_t bytes) noexcept {
  left_ -= bytes;
  ++taken_;
}

StagingBuffer::StagingBuffer(Backend& backend, int32_t id, StreamHandle stream,
                             const StagingBlocks& blocks)
    : backend_(backend), memory_{nullptr, id, nullptr}, stream_(stream), blocks_(blocks) {
  StagedMemory old{};
  const auto give_up = [&](bool keep) {
    if (!keep || !put_back(backend, blocks_, old)) count_made(backend, blocks_, -1);
  };
  while (take(backend, blocks_, &old)) {
    try {
      wait_for(backend, &old);
      memory_.data = old.data;
      return;
    } catch (const Error& error) {
      const bool own = old.id == id;
      // A stream is being captured, so its earlier work cannot be waited for now.
      const bool later = error.status() == DLX_ERROR_UNSUPPORTED;
      // Leak the block of another device that is lost: this device may work.
      give_up(own || later);
      if (later) break;
      if (own) throw;
    } catch (...) {
      // not covered from here: memory has run out
      give_up(true);
      throw;
      // covered again
    }
  }
  memory_.data =
      static_cast<char*>(backend.allocate_pinned(id, static_cast<size_t>(blocks_.bytes)));
  if (memory_.data == nullptr) throw std::bad_alloc();
  count_made(backend, blocks_, 1);
}

StagingBuffer::~StagingBuffer() {
  try {
    if (in_open_use_) wait_for_stream(backend_, memory_.id, stream_);
    if (put_back(backend_, blocks_, memory_)) return;
    wait();
    backend_.deallocate_pinned(memory_.data);
  } catch (...) {
    // The device may still use the block: leak it.
  }
  count_made(backend_, blocks_, -1);
}

void StagingBuffer::in_use_until(EventHandle event) noexcept {
  memory_.event = event;
  in_open_use_ = false;
}

void StagingBuffer::wait() { wait_for(backend_, &memory_); }

}  // namespace dlx
