// Compiled, not run: our declarations of OpenCL against Khronos' CL/cl.h.
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <CL/cl_ext.h>

#include "src/driver/opencl.h"
#include "tests/src/driver/abi.h"

using namespace dlx::opencl;

#define DLX_DRIVER_FUNCTION(name, symbol, need, ...) \
  static_assert(same_call<__VA_ARGS__, decltype(::symbol)>, #symbol);
#include "src/driver/opencl.inc"
#undef DLX_DRIVER_FUNCTION

#define SAME_NUMBER(ours, theirs) \
  static_assert(static_cast<long>(ours) == static_cast<long>(theirs), #ours);
#include "numbers.inc"

#define DLX_OPENCL_ERROR(name, value) static_assert(name == (value), #name);
#include "src/driver/opencl_errors.inc"
#undef DLX_OPENCL_ERROR
