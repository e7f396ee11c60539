// How dlx behaves when pthread_cancel() or pthread_exit() ends a thread.
#ifndef DLX_SRC_BASE_CANCELLATION_H_
#define DLX_SRC_BASE_CANCELLATION_H_

#include "src/system/system.h"

namespace dlx {

/// Delays pthread_cancel() of the calling thread until the end of the scope. For work that other
/// threads wait for, and for calls inside noexcept functions, because a cancelled thread unwinds
/// its stack.
class WithoutCancellation {
 public:
  WithoutCancellation() noexcept : before_(sys::delay_cancellation()) {}
  ~WithoutCancellation() { sys::restore_cancellation(before_); }
  WithoutCancellation(const WithoutCancellation&) = delete;
  WithoutCancellation& operator=(const WithoutCancellation&) = delete;

 private:
  const int before_;
};

/// For a `catch (...)`: true if pthread_cancel() or pthread_exit() unwinds the stack. The handler
/// must then rethrow. This is not a C++ exception: libstdc++ has a class for it, libc++ has none.
bool thread_is_being_ended() noexcept;

}  // namespace dlx

#endif  // DLX_SRC_BASE_CANCELLATION_H_
