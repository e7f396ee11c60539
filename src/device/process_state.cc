#include "src/device/process_state.h"

#include <cstdlib>

#include "src/system/system.h"

namespace dlx {
namespace {

std::atomic<int> forks{0};  // fork() calls that led to this process, since the first start()
std::atomic<bool> exits{false};

void count_fork() { forks.fetch_add(1, std::memory_order_relaxed); }
void note_exit() { exits.store(true, std::memory_order_relaxed); }

}  // namespace

void ProcessState::start(bool until_exit) noexcept {
  static std::atomic_flag watched = ATOMIC_FLAG_INIT;
  if (!watched.test_and_set()) sys::at_fork(nullptr, nullptr, count_fork);
  // Handlers run in reverse order, so this one runs before the driver's own.
  if (until_exit) std::atexit(note_exit);
  until_exit_ = until_exit;
  generation_ = forks.load(std::memory_order_relaxed);
}

bool ProcessState::forked() const noexcept {
  const int generation = generation_.load(std::memory_order_relaxed);
  return generation >= 0 && generation != forks.load(std::memory_order_relaxed);
}

bool ProcessState::exiting() const noexcept {
  return until_exit_ && exits.load(std::memory_order_relaxed);
}

}  // namespace dlx
