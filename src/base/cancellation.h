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

/// In a `catch (...)`: the stack is unwound by pthread_cancel() or pthread_exit(), and that has to
/// go on. It is no exception of C++: libstdc++ has a class to catch it by, libc++ has none.
bool thread_is_being_ended() noexcept;

}  // namespace dlx

#endif  // DLX_SRC_BASE_CANCELLATION_H_
