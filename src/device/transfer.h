#ifndef DLX_SRC_DEVICE_TRANSFER_H_
#define DLX_SRC_DEVICE_TRANSFER_H_

#include "src/device/backend.h"
#include "src/device/readiness.h"

namespace dlx {

/// One side of a copy in which a device takes part.
struct Operand {
  const DLTensor* tensor;  ///< described and checked; strides may be NULL
  bool padded;
  Readiness* readiness;  ///< of the storage; NULL: its order is the caller's matter
};

/// Work that is still to be done when transfer() returns; `backend` is NULL if there is none.
struct PendingWork {
  Backend* backend = nullptr;
  int32_t id = 0;
  StreamHandle stream = 0;
  bool reads_source = true;  ///< false: what it reads lies in buffers of dlx
};

/// Copies every element of `src` into `dst`, between any two
/// devices that dlx has backends for: same shape and dtype, any strides.
///
/// Strided data is packed where it lies, by the CPU engine or the device's kernels, and crosses as
/// one run, through pinned memory where the host's is not; packing overlaps with the transfer. The
/// work is put in order behind what both sides wait for, on `stream` if it is given (and checked),
/// else on the current stream of the device that takes part (of the destination where both do).
/// When this returns, host memory that was written is ready, and host memory that was read is no
/// longer needed, unless work is pending.
///
/// Throws before anything is written: INVALID_ARGUMENT (what copy_tensor throws, and streams),
/// UNAVAILABLE (no such device), UNSUPPORTED (a stream that is being captured). Later: DRIVER,
/// OUT_OF_MEMORY.
PendingWork transfer(const Operand& dst, const Operand& src, const int64_t* stream);

}  // namespace dlx

#endif  // DLX_SRC_DEVICE_TRANSFER_H_
