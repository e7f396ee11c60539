#ifndef DLX_SRC_TENSOR_COPIES_H_
#define DLX_SRC_TENSOR_COPIES_H_

#include <cstdint>

#include "src/tensor/tensor.h"

namespace dlx {

/// Operations that may copy. Semantics and errors as dlx.h documents them.

struct CopyRequest {
  int32_t copy = DLX_COPY_IF_NEEDED;
  bool has_stream = false;
  int64_t stream = 0;
  Allocation allocation;  ///< order, alignment, allocator of a new tensor
};

/// Throws Error(UNSUPPORTED) unless the CPU can reach the memory, naming `argument`.
void require_cpu_reachable(const DLDevice& device, const char* argument);

/// Throws Error(UNSUPPORTED) unless the CPU or a backend can reach the memory, naming `argument`.
void require_reachable(const DLDevice& device, const char* argument);

/// Whether dlx can bring data from one device to the other. Opens their drivers.
bool can_move(const DLDevice& from, const DLDevice& to);

/// Whether the CPU may use the memory where it lies, once it is ready: ordinary, pinned, and
/// managed memory that CPU and device may use at the same time.
bool reads_in_place(const Tensor* tensor);

/// Copies between two described layouts. Throws before a byte is written.
void copy_data(const DLTensor& dst, const DLTensor& src, const CopyRequest& request);
/// `src` is broadcast to `dst`. Throws Error(READ_ONLY) as well.
void copy_tensor_from(Tensor* dst, Tensor* src, const CopyRequest& request);

/// A compact, writable copy on a device; `flags` says whether its sub-byte elements are padded.
TensorRef clone_to(Tensor* tensor, DLDevice device, uint64_t flags, const CopyRequest& request);
/// The same where it is.
TensorRef clone(Tensor* tensor, const CopyRequest& request);
TensorRef contiguous(Tensor* tensor, const CopyRequest& request);
TensorRef reshape(Tensor* tensor, int32_t ndim, const int64_t* shape, const CopyRequest& request);
TensorRef to_device(Tensor* tensor, DLDevice device, const CopyRequest& request);

/// The address of the first element, behind a handle its place in the buffer, is a multiple of
/// `alignment` (0: any), or there is none.
bool is_aligned(const Tensor* tensor, uint64_t alignment) noexcept;

}  // namespace dlx

#endif  // DLX_SRC_TENSOR_COPIES_H_
