#ifndef DLX_SRC_BASE_CANCELLATION_H_
#define DLX_SRC_BASE_CANCELLATION_H_

#include <pthread.h>

namespace dlx {

/// While it lives, pthread_cancel() of the calling thread waits: for what others wait for, and for
/// calls inside functions that must not throw, as a cancelled thread unwinds its stack.
class WithoutCancellation {
 public:
  WithoutCancellation() noexcept { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~WithoutCancellation() { pthread_setcancelstate(before_, nullptr); }
  WithoutCancellation(const WithoutCancellation&) = delete;
  WithoutCancellation& operator=(const WithoutCancellation&) = delete;

 private:
  int before_ = 0;
};

}  // namespace dlx

#endif  // DLX_SRC_BASE_CANCELLATION_H_
