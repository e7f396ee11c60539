#ifndef DLX_SRC_BASE_ONCE_H_
#define DLX_SRC_BASE_ONCE_H_

#include <atomic>
#include <mutex>

namespace dlx {

/// Runs a function once. (std::call_once would make libdlx.so export two variables of libstdc++.)
class Once {
 public:
  /// Returns after `f` has run. If it throws, the next call tries again.
  template <typename F>
  void run(F&& f) {
    if (done_.load(std::memory_order_acquire)) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    if (done_.load(std::memory_order_relaxed)) return;
    f();
    done_.store(true, std::memory_order_release);
  }

 private:
  std::atomic<bool> done_{false};
  std::mutex mutex_;
};

}  // namespace dlx

#endif  // DLX_SRC_BASE_ONCE_H_
