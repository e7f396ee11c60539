// How dlx behaves when pthread_cancel() or pthread_exit() ends a thread.
#ifndef DLX_SRC_BASE_CANCELLATION_H_
#define DLX_SRC_BASE_CANCELLATION_H_

#include <pthread.h>

namespace dlx {

/// Delays pthread_cancel() of the calling thread until the end of the scope. For work that other
/// threads wait for, and for calls inside noexcept functions, because a cancelled thread unwinds
/// its stack.
class WithoutCancellation {
 public:
  WithoutCancellation() noexcept { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~WithoutCancellation() { pthread_setcancelstate(before_, nullptr); }
  WithoutCancellation(const WithoutCancellation&) = delete;
  WithoutCancellation& operator=(const WithoutCancellation&) = delete;

 private:
  int before_ = 0;
};

/// For a `catch (...)`: true if pthread_cancel() or pthread_exit() unwinds the stack. The handler
/// must then rethrow. This is not a C++ exception: libstdc++ has a class for it, libc++ has none.
bool thread_is_being_ended() noexcept;

}  // namespace dlx

#endif  // DLX_SRC_BASE_CANCELLATION_H_
