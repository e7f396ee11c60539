// zig links libc++abi into a library, whose words before std::terminate() bring a demangler of 170 KB. With
// this one they print the name of the exception's type as the compiler has it. CMake defines
// DLX_NO_DEMANGLER for zig.
#if defined(DLX_NO_DEMANGLER)
#include <cstddef>

extern "C" char* __cxa_demangle(const char*, char*, size_t*, int* status) {
  constexpr int kNoSuchName = -2;
  if (status != nullptr) *status = kNoSuchName;
  return nullptr;
}
#endif
