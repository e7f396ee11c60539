#include "src/device/staging.h"

#include <deque>
#include <mutex>
#include <new>

#include "src/base/error.h"

namespace dlx {
namespace {

/// A buffer that nobody holds; its last transfer may still be running.
struct Resting {
  char* data;
  int32_t id;
  EventHandle event;
};

/// The buffers of one backend: so many that packing, transfer and unpacking keep each other busy.
struct Pool {
  static constexpr int kKept = 3;

  const Backend* backend;
  int made;  ///< resting or held
  int resting_count;
  Resting resting[kKept];  ///< oldest first
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
bool take(const Backend& backend, Resting* out) {
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

bool rest(const Backend& backend, const Resting& buffer) noexcept {
  const std::lock_guard<std::mutex> lock(mutex);
  Pool& pool = pool_of(backend);
  if (pool.resting_count == Pool::kKept) return false;
  pool.resting[pool.resting_count++] = buffer;
  return true;
}

void count_made(const Backend& backend, int more) noexcept {
  const std::lock_guard<std::mutex> lock(mutex);
  pool_of(backend).made += more;
}

}  // namespace

StagingBuffer::StagingBuffer(Backend& backend) : backend_(backend) {
  Resting old{};
  if (take(backend, &old)) {
    data_ = old.data;
    id_ = old.id;
    event_ = old.event;
    try {
      wait();
    } catch (...) {
      // The destructor of a half-made object does not run.
      if (!rest(backend_, {data_, id_, event_})) count_made(backend_, -1);
      throw;
    }
    return;
  }
  data_ = static_cast<char*>(backend.allocate_pinned(kBytes));
  if (data_ == nullptr) throw std::bad_alloc();
  count_made(backend, 1);
}

StagingBuffer::~StagingBuffer() {
  if (in_open_use_) {
    try {
      wait_for_stream(backend_, id_, stream_);
    } catch (...) {
      count_made(backend_, -1);
      return;  // whether the device still uses it is unknown: leaked
    }
  }
  if (rest(backend_, {data_, id_, event_})) return;
  count_made(backend_, -1);
  try {
    wait();
  } catch (...) {
    return;  // leaked likewise
  }
  backend_.deallocate_pinned(data_);
}

void StagingBuffer::begin_use(int32_t id, StreamHandle stream) noexcept {
  id_ = id;
  stream_ = stream;
  in_open_use_ = true;
}

void StagingBuffer::in_use_until(EventHandle event) noexcept {
  event_ = event;
  in_open_use_ = false;
}

void StagingBuffer::wait() {
  if (event_ == nullptr) return;
  backend_.wait_on_host(id_, event_);
  backend_.release_event(id_, event_);
  event_ = nullptr;
}

}  // namespace dlx
