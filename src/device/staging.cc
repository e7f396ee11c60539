#include "src/device/staging.h"

#include <deque>
#include <mutex>
#include <new>

#include "src/base/error.h"

namespace dlx {
namespace {

/// The buffers of one backend: so many that packing, transfer and unpacking keep each other busy.
struct Pool {
  static constexpr int kKept = 3;

  const Backend* backend;
  int made;  ///< resting or held
  int resting_count;
  StagedMemory resting[kKept];  ///< that nobody holds, oldest first; transfers may still be running
};

std::mutex mutex;

/// Never destroyed: buffers at rest may belong to a driver that is gone at exit.
Pool& pool_of(const Backend& backend) {
  static auto* pools = new std::deque<Pool>;  // elements stay where they are
  for (Pool& pool : *pools) {
    if (pool.backend == &backend) return pool;
  }
  pools->push_back({&backend, 0, 0, {}});
  return pools->back();
}

/// The oldest buffer at rest, if it would be better to wait for it than to make another.
bool take(const Backend& backend, StagedMemory* out) {
  const std::lock_guard<std::mutex> lock(mutex);
  Pool& pool = pool_of(backend);
  if (pool.resting_count == 0 || (pool.resting[0].event != nullptr && pool.made < Pool::kKept)) {
    return false;
  }
  *out = pool.resting[0];
  --pool.resting_count;
  for (int i = 0; i < pool.resting_count; ++i) pool.resting[i] = pool.resting[i + 1];
  return true;
}

bool rest(const Backend& backend, const StagedMemory& buffer) noexcept {
  const std::lock_guard<std::mutex> lock(mutex);
  Pool& pool = pool_of(backend);
  if (pool.resting_count == Pool::kKept) return false;
  pool.resting[pool.resting_count++] = buffer;
  return true;
}

void wait_for(Backend& backend, StagedMemory* buffer) {
  if (buffer->event == nullptr) return;
  backend.wait_on_host(buffer->id, buffer->event);
  backend.release_event(buffer->id, buffer->event);
  buffer->event = nullptr;
}

void count_made(const Backend& backend, int more) noexcept {
  const std::lock_guard<std::mutex> lock(mutex);
  pool_of(backend).made += more;
}

}  // namespace

StagingBuffer::StagingBuffer(Backend& backend, int32_t id, StreamHandle stream)
    : backend_(backend), memory_{nullptr, id, nullptr}, stream_(stream) {
  StagedMemory old{};
  const auto put_back = [&](bool keep) {
    if (!keep || !rest(backend, old)) count_made(backend, -1);
  };
  while (take(backend, &old)) {
    try {
      wait_for(backend, &old);
      memory_.data = old.data;
      return;
    } catch (const Error& error) {
      const bool own = old.id == id;
      // A stream is being captured, and nobody can wait for what it did before.
      const bool later = error.status() == DLX_ERROR_UNSUPPORTED;
      // Of another device that is lost: leaked, for this one works.
      put_back(own || later);
      if (later) break;
      if (own) throw;
    } catch (...) {
      put_back(true);
      throw;
    }
  }
  memory_.data = static_cast<char*>(backend.allocate_pinned(id, kBytes));
  if (memory_.data == nullptr) throw std::bad_alloc();
  count_made(backend, 1);
}

StagingBuffer::~StagingBuffer() {
  try {
    if (in_open_use_) wait_for_stream(backend_, memory_.id, stream_);
    if (rest(backend_, memory_)) return;
    wait();
    backend_.deallocate_pinned(memory_.data);
  } catch (...) {
    // Whether the device still uses it is unknown: leaked.
  }
  count_made(backend_, -1);
}

void StagingBuffer::in_use_until(EventHandle event) noexcept {
  memory_.event = event;
  in_open_use_ = false;
}

void StagingBuffer::wait() { wait_for(backend_, &memory_); }

}  // namespace dlx
