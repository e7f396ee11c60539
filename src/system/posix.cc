#if !defined(_WIN32)
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "src/system/system.h"

namespace dlx::sys {

void* allocate_pages(size_t size) noexcept {
  void* pages = nullptr;
  return posix_memalign(&pages, kPage, size) == 0 ? pages : nullptr;
}

void free_pages(void* pages) noexcept { std::free(pages); }

bool at_fork(void (*prepare)(), void (*parent)(), void (*child)()) noexcept {
  return pthread_atfork(prepare, parent, child) == 0;
}

int delay_cancellation() noexcept {
  int before = 0;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
  return before;
}

void restore_cancellation(int before) noexcept {
  int ignored = 0;
  pthread_setcancelstate(before, &ignored);
}

int map_file(int descriptor, size_t size, bool writable, void** out) noexcept {
  const int access = writable ? PROT_READ | PROT_WRITE : PROT_READ;
  void* data = mmap(nullptr, size, access, MAP_SHARED, descriptor, 0);
  if (data == MAP_FAILED) return errno;
  *out = data;
  return 0;
}

void unmap_file(void* data, size_t size) noexcept { munmap(data, size); }

static_assert(sizeof(sigset_t) <= sizeof(WithoutSignals));

WithoutSignals::WithoutSignals() noexcept {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, reinterpret_cast<sigset_t*>(before_));
}

WithoutSignals::~WithoutSignals() {
  pthread_sigmask(SIG_SETMASK, reinterpret_cast<sigset_t*>(before_), nullptr);
}

void sleep_for_ever() noexcept {
  for (;;) pause();
}

}  // namespace dlx::sys
#endif
