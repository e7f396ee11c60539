#ifndef DLX_SRC_TENSOR_SYNCHRONIZATION_H_
#define DLX_SRC_TENSOR_SYNCHRONIZATION_H_

#include "src/device/backend.h"
#include "src/tensor/tensor.h"

namespace dlx {

/// When a tensor's data is ready, and for whom. All views of one root share it. Errors: those of
/// Readiness, and UNSUPPORTED where a stream has to be ordered and the device cannot be used.

/// Work given to `stream` from now on finds the data ready. NULL is the standard's None, the
/// default stream; -1 asks for nothing. Throws Error(INVALID_ARGUMENT) for a number that the
/// standard forbids.
void make_ready(Tensor* tensor, const int64_t* stream);

/// What is pending comes before the calling thread's current stream of the device, which is
/// returned; 0 where there are no streams.
StreamHandle make_ready_on_current(Tensor* tensor);

/// The work that `stream` has now writes the data. The number has been checked.
void note_written(Tensor* tensor, StreamHandle stream);

/// Waits on the host until the data is ready.
void synchronize(Tensor* tensor);

/// The calling thread's current stream where the tensor is; 0 where there are no streams.
StreamHandle current_stream_of(const DLDevice& device) noexcept;

}  // namespace dlx

#endif  // DLX_SRC_TENSOR_SYNCHRONIZATION_H_
