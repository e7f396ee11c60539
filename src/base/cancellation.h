#ifndef DLX_SRC_BASE_CANCELLATION_H_
#define DLX_SRC_BASE_CANCELLATION_H_

#ifndef _WIN32
#include <pthread.h>
#endif

namespace dlx {

/// While it lives, pthread_cancel() of the calling thread waits: for what others wait for, and for
/// calls inside functions that must not throw, as a cancelled thread unwinds its stack.
class WithoutCancellation {
 public:
#ifdef PTHREAD_CANCEL_DISABLE
  WithoutCancellation() noexcept { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~WithoutCancellation() { pthread_setcancelstate(before_, nullptr); }
#else
  WithoutCancellation() noexcept {}
  ~WithoutCancellation() {}
#endif
  WithoutCancellation(const WithoutCancellation&) = delete;
  WithoutCancellation& operator=(const WithoutCancellation&) = delete;

 private:
  [[maybe_unused]] int before_ = 0;
};

}  // namespace dlx

#endif  // DLX_SRC_BASE_CANCELLATION_H_
