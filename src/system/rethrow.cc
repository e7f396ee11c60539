// libc++ rethrows by _Unwind_RaiseException(), which ends the process if what it rethrows is the end of a
// thread by pthread_exit(). _Unwind_Resume_or_Rethrow() does the right thing for that and for exceptions.
// CMake defines DLX_LIBCXX_ON_GLIBC where zig links libc++ into libdlx.so and glibc unwinds.
#if defined(DLX_LIBCXX_ON_GLIBC)
#include <unwind.h>

extern "C" _Unwind_Reason_Code _Unwind_RaiseException(_Unwind_Exception* exception) {
  return _Unwind_Resume_or_Rethrow(exception);
}
#endif
