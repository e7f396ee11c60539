#include "src/copy/threads/threads.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <thread>

#include "src/base/cancellation.h"
#include "src/base/foreign.h"
#include "src/system/system.h"

namespace dlx {
namespace {

constexpr int32_t kMaxThreads = 1024;

/// Threads that sleep until there is a job, and take its indices one by one.
///
/// Never destroyed: its threads may outlive everything else at process exit.
class Pool {
 public:
  /// False if another thread's job is running: the caller then works alone.
  bool run(int32_t threads, int64_t count, dlx_parallel_task_fn task, void* data) noexcept {
    const WithoutCancellation whole;  // the workers use what the caller has on its stack
    const std::unique_lock<std::mutex> turn(turn_, std::try_to_lock);
    if (!turn.owns_lock()) return false;
    start_workers(threads - 1);
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      task_ = task;
      data_ = data;
      count_ = count;
      next_.store(0, std::memory_order_relaxed);
      seats_ = threads - 1;
      ++job_;
    }
    wake_.notify_all();
    take_indices(task, data, count);
    std::unique_lock<std::mutex> lock(mutex_);
    seats_ = 0;  // no further worker joins the job
    done_.wait(lock, [this] { return active_ == 0; });
    return true;
  }

 private:
  void start_workers(int32_t wanted) noexcept {
    if (workers_ >= wanted) return;
    // The host's signals are for the host's threads.
    const sys::WithoutSignals blocked;
    try {
      for (; workers_ < wanted; ++workers_) std::thread(&Pool::work, this).detach();
    } catch (...) {  // no more threads can be started: use those that run
    }
  }

  void work() noexcept {
    int64_t last_job = 0;
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      wake_.wait(lock, [&] { return job_ != last_job; });
      last_job = job_;
      if (seats_ == 0) continue;
      --seats_;
      ++active_;
      const dlx_parallel_task_fn task = task_;
      void* const data = data_;
      const int64_t count = count_;
      lock.unlock();
      take_indices(task, data, count);
      lock.lock();
      if (--active_ == 0) done_.notify_one();
    }
  }

  void take_indices(dlx_parallel_task_fn task, void* data, int64_t count) noexcept {
    for (;;) {
      const int64_t index = next_.fetch_add(1, std::memory_order_relaxed);
      if (index >= count) return;
      task(data, index);
    }
  }

  std::mutex turn_;  // held by the thread whose job runs; guards workers_
  int32_t workers_ = 0;

  std::mutex mutex_;  // guards what follows
  std::condition_variable wake_;
  std::condition_variable done_;
  int64_t job_ = 0;
  int32_t seats_ = 0;
  int32_t active_ = 0;
  dlx_parallel_task_fn task_ = nullptr;
  void* data_ = nullptr;
  int64_t count_ = 0;
  std::atomic<int64_t> next_{0};
};

std::atomic<Pool*> g_pool{nullptr};
std::atomic<int32_t> g_num_threads{0};

/// The executor that set_parallel_for received last. Never freed, because a copy on another thread
/// may be using it; linked, so that all stay reachable. Hosts call set_parallel_for once.
struct Host {
  dlx_parallel_for_fn fn;  // NULL: dlx's own pool
  void* user_data;
  const Host* before;
};
std::atomic<const Host*> g_host{nullptr};

/// In a child of fork() the parent's threads do not exist, and its locks may stay locked forever.
void forget_pool() noexcept { g_pool.store(nullptr, std::memory_order_relaxed); }

Pool* pool() noexcept {
  Pool* pool = g_pool.load(std::memory_order_acquire);
  if (pool != nullptr) return pool;
  // Before a pool exists that a child would inherit; calling it twice is harmless.
  static std::atomic<bool> registered{false};
  if (!registered.load(std::memory_order_acquire)) {
    sys::at_fork(nullptr, nullptr, forget_pool);
    registered.store(true, std::memory_order_release);
  }
  Pool* const fresh = new (std::nothrow) Pool;
  // not covered from here: no memory for a pool, or two threads that make one at the same moment
  if (fresh == nullptr || !g_pool.compare_exchange_strong(pool, fresh)) {
    delete fresh;
    return pool;
    // covered again
  }
  return fresh;
}

int32_t default_num_threads() noexcept {
  if (const char* text = std::getenv("DLX_NUM_THREADS")) {
    char* end = nullptr;
    const long n = std::strtol(text, &end, 10);
    const bool whole = end[std::strspn(end, " \t\r\n")] == '\0';
    if (n > 0 && whole) return n < kMaxThreads ? static_cast<int32_t>(n) : kMaxThreads;
  }
  return available_cores();
}

}  // namespace

int32_t available_cores() noexcept {
  const WithoutCancellation whole;  // files are read
  const int32_t cores = sys::cores();
  return cores > 0 ? cores : 1;  // not covered: no system here hides them
}

void set_num_threads(int32_t n) noexcept {
  g_num_threads.store(n < kMaxThreads ? n : kMaxThreads, std::memory_order_relaxed);
}

int32_t num_threads() noexcept {
  const int32_t n = g_num_threads.load(std::memory_order_relaxed);
  if (n > 0) return n;
  static const int32_t by_default = default_num_threads();
  return by_default;
}

int32_t usable_threads() noexcept {
  static const int32_t most = kThreadsPerCore * available_cores();
  const int32_t n = num_threads();
  return n < most ? n : most;
}

void set_parallel_for(dlx_parallel_for_fn fn, void* user_data) {
  auto* const host = new Host{fn, user_data, g_host.load(std::memory_order_relaxed)};
  // not covered: two threads at the same moment
  while (!g_host.compare_exchange_weak(host->before, host, std::memory_order_release)) {
  }
}

void parallel_for(int64_t count, dlx_parallel_task_fn task, void* data,
                  int64_t most_threads) noexcept {
  const Host* const host = g_host.load(std::memory_order_acquire);
  if (host != nullptr && host->fn != nullptr) {
    call_foreign(host->fn, count, task, data, host->user_data);
    return;
  }
  const auto threads =
      static_cast<int32_t>(std::min({count, most_threads, static_cast<int64_t>(usable_threads())}));
  if (threads > 1) {
    Pool* const own = pool();
    if (own != nullptr && own->run(threads, count, task, data)) return;
  }
  for (int64_t index = 0; index < count; ++index) task(data, index);
}

}  // namespace dlx
