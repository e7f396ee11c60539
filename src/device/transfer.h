// Copies between any two devices: the entry point of device copies.
#ifndef DLX_SRC_DEVICE_TRANSFER_H_
#define DLX_SRC_DEVICE_TRANSFER_H_

#include "src/device/backend.h"
#include "src/device/readiness.h"

namespace dlx {

/// One operand of a copy.
struct Operand {
  const DLTensor* tensor;  ///< described and checked; strides may be NULL
  bool padded;
  Readiness* readiness;  ///< of the storage; NULL: the caller orders the work
};

/// Work that is pending when transfer() returns; `backend` is NULL if there is none.
struct PendingWork {
  Backend* backend = nullptr;
  int32_t id = 0;
  StreamHandle stream = 0;
  bool reads_source = true;  ///< false: the work reads only buffers of dlx
};

/// Copies every element of `src` into `dst`, between any two devices with backends: same shape and
/// dtype, any strides.
///
/// Strided data is packed on its own device, by the CPU engine or by kernels, and transferred as
/// one run, through pinned memory if the host memory is not pinned. Packing overlaps with the
/// transfer. The work runs after all work that both operands wait for, on `stream` if it is not
/// NULL (the caller has checked it), else on the current stream of the device (of the
/// destination's, if both are devices). When this returns, host memory that was written is ready,
/// and host memory that was read may be freed unless work is pending.
///
/// Throws before it writes: INVALID_ARGUMENT (as copy_tensor, and streams), UNAVAILABLE (no such
/// device), UNSUPPORTED (a stream that is being captured). Throws later: DRIVER, OUT_OF_MEMORY.
PendingWork transfer(const Operand& dst, const Operand& src, const int64_t* stream);

}  // namespace dlx

#endif  // DLX_SRC_DEVICE_TRANSFER_H_
