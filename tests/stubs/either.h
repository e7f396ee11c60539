// For functions that both fake drivers have, under different names: the file is compiled into the
// fake libcuda.so.1, and with FAKE_HIP into the fake libamdhip64.so. HIP's handles and constants
// are CUDA's.
#ifndef DLX_TESTS_STUBS_EITHER_H_
#define DLX_TESTS_STUBS_EITHER_H_

#ifdef FAKE_HIP
#include "tests/stubs/fake_hip.h"
#define EITHER(cuda, hip) hip
#else
#include "tests/stubs/fake_cuda.h"
#define EITHER(cuda, hip) cuda
#endif

namespace cu = dlx::cuda;

#endif  // DLX_TESTS_STUBS_EITHER_H_
