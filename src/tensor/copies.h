#ifndef DLX_SRC_TENSOR_COPIES_H_
#define DLX_SRC_TENSOR_COPIES_H_

#include <cstdint>

#include "src/tensor/tensor.h"

namespace dlx {

/// Operations that copy, or may copy. dlx.h documents semantics and errors.

struct CopyRequest {
  int32_t copy = DLX_COPY_IF_NEEDED;
  bool has_stream = false;
  int64_t stream = 0;
  Allocation allocation;  ///< order, alignment, allocator of a new tensor
};

/// Throws Error(UNSUPPORTED), naming `argument`, unless the CPU can access the memory.
void require_cpu_reachable(const DLDevice& device, const char* argument);

/// Throws Error(UNSUPPORTED), naming `argument`, unless the CPU or a backend can access the memory.
void require_reachable(const DLDevice& device, const char* argument);

/// Whether dlx can copy data from one device to the other. Opens their drivers.
bool can_move(const DLDevice& from, const DLDevice& to);

/// Whether the CPU may use the memory in place, once it is ready: ordinary and pinned memory, and
/// managed memory that CPU and device may use at the same time.
bool reads_in_place(const Tensor* tensor);

/// Copies between two described layouts. Throws only before a byte is written.
void copy_data(const DLTensor& dst, const DLTensor& src, const CopyRequest& request);
/// Broadcasts `src` to `dst`. Also throws Error(READ_ONLY).
void copy_tensor_from(Tensor* dst, Tensor* src, const CopyRequest& request);

/// A compact, writable copy on a device; `flags` say whether its sub-byte elements are padded.
TensorRef clone_to(Tensor* tensor, DLDevice device, uint64_t flags, const CopyRequest& request);
/// The same on the tensor's own device.
TensorRef clone(Tensor* tensor, const CopyRequest& request);
TensorRef contiguous(Tensor* tensor, const CopyRequest& request);
TensorRef reshape(Tensor* tensor, int32_t ndim, const int64_t* shape, const CopyRequest& request);
TensorRef to_device(Tensor* tensor, DLDevice device, const CopyRequest& request);

/// Whether the address of the first element (behind a handle, its offset in the buffer) is a
/// multiple of `alignment`; 0 is any. True for an empty tensor.
bool is_aligned(const Tensor* tensor, uint64_t alignment) noexcept;

}  // namespace dlx

#endif  // DLX_SRC_TENSOR_COPIES_H_
