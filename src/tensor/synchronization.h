#ifndef DLX_SRC_TENSOR_SYNCHRONIZATION_H_
#define DLX_SRC_TENSOR_SYNCHRONIZATION_H_

#include "src/device/backend.h"
#include "src/tensor/tensor.h"

namespace dlx {

/// Ordering of work on a tensor's data between the streams of devices and the host. All views of a
/// root share the state. Errors: those of Readiness, and UNSUPPORTED if a stream must wait and the
/// device cannot be used.

/// Makes `stream` wait for the data. NULL is the standard's None, the default stream; -1 does
/// nothing. Throws Error(INVALID_ARGUMENT) for a number that the standard forbids.
void make_ready(Tensor* tensor, const int64_t* stream);

/// Makes the calling thread's current stream of the device wait for the data, and returns that
/// stream; 0 if the device has no streams.
StreamHandle make_ready_on_current(Tensor* tensor);

/// Notes that the pending work of `stream`, a checked number, writes the data.
void note_written(Tensor* tensor, StreamHandle stream);

/// Blocks the calling thread until the data is ready.
void synchronize(Tensor* tensor);

/// The calling thread's current stream of a device; 0 if the device has no streams.
StreamHandle current_stream_of(const DLDevice& device) noexcept;

}  // namespace dlx

#endif  // DLX_SRC_TENSOR_SYNCHRONIZATION_H_
