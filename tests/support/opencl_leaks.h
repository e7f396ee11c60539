#ifndef DLX_TESTS_SUPPORT_OPENCL_LEAKS_H_
#define DLX_TESTS_SUPPORT_OPENCL_LEAKS_H_

// Hides leaks of PoCL and its compiler from the leak sanitizer. Include this once in a program.
extern "C" __attribute__((used)) const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() {  // NOLINT: the sanitizer's name
  return "leak:libpocl\nleak:libLLVM\nleak:libclang\nleak:libOpenCL\n";
}

#endif  // DLX_TESTS_SUPPORT_OPENCL_LEAKS_H_
