#include "src/python/lockless.h"

#include <thread>

namespace dlx::py {
namespace {

std::atomic_flag locked = ATOMIC_FLAG_INIT;

}  // namespace

WriteLock::WriteLock() noexcept {
  // not covered: another thread, at that moment
  while (locked.test_and_set(std::memory_order_acquire)) std::this_thread::yield();
}

WriteLock::~WriteLock() { locked.clear(std::memory_order_release); }

}  // namespace dlx::py
