#include <cstdio>
#include <cstdlib>

namespace __gnu_cxx {

/// What the C++ runtime inside libdlx.so calls when an exception of dlx finds no handler, which is
/// a fault of dlx. The runtime's own version also demangles the exception's type, with 30 KiB of
/// code that is good for nothing else.
[[noreturn]] void __verbose_terminate_handler() {  // NOLINT(bugprone-reserved-identifier)
  std::fputs("dlx: an exception found no handler\n", stderr);
  std::abort();
}

}  // namespace __gnu_cxx
