#include <cstdio>
#include <cstdlib>

namespace __gnu_cxx {

/// The C++ runtime inside libdlx.so calls this when no handler catches an exception of dlx, which
/// is a bug in dlx. It replaces the runtime's own version, whose demangler adds 30 KiB to the
/// library.
// not covered from here: only a bug of dlx comes here
[[noreturn]] void __verbose_terminate_handler() {  // NOLINT(bugprone-reserved-identifier)
  std::fputs("dlx: an exception was not caught\n", stderr);
  std::abort();
}

}  // namespace __gnu_cxx
