// Compiled, not run: our declarations of the CUDA driver API against NVIDIA's cuda.h.
#define __CUDA_API_VERSION_INTERNAL  // the functions that a newer header has superseded are \
                                     // declared too
#include <cuda.h>

#include <utility>

#include "src/driver/cuda.h"
#include "tests/src/driver/abi.h"

using namespace dlx::cuda;

#define DLX_DRIVER_FUNCTION(name, symbol, need, ...) \
  static_assert(same_call<__VA_ARGS__, decltype(::symbol)>, #symbol);
#include "src/driver/cuda.inc"
#undef DLX_DRIVER_FUNCTION

// The constants, with the vendor's names from the comments in our cuda.h.
#define SAME_NUMBER(ours, theirs) static_assert(static_cast<int>(ours) == static_cast<int>(theirs));
#include "numbers.inc"

static_assert(sizeof(DevicePointer) == sizeof(CUdeviceptr) && sizeof(Device) == sizeof(CUdevice));
SAME_LAYOUT(Uuid, CUuuid);
SAME_FIELD(Uuid, bytes, CUuuid, bytes);
SAME_LAYOUT(PoolProperties, CUmemPoolProps);
SAME_FIELD(PoolProperties, allocation_type, CUmemPoolProps, allocType);
SAME_FIELD(PoolProperties, handle_types, CUmemPoolProps, handleTypes);
SAME_FIELD(PoolProperties, location_type, CUmemPoolProps, location.type);
SAME_FIELD(PoolProperties, location_id, CUmemPoolProps, location.id);
SAME_FIELD(PoolProperties, security_attributes, CUmemPoolProps, win32SecurityAttributes);
#if CUDA_VERSION >= 12020
SAME_FIELD(PoolProperties, max_size, CUmemPoolProps, maxSize);
#endif
