#ifndef DLX_SRC_TENSOR_CONVERT_H_
#define DLX_SRC_TENSOR_CONVERT_H_

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

/// Copies between two described layouts. Throws before a byte is written.
void copy_data(const DLTensor& dst, bool dst_padded, const DLTensor& src, bool src_padded,
               const CopyRequest& request);
/// `src` is broadcast to `dst`. Throws Error(READ_ONLY) as well.
void copy_tensor_from(Tensor* dst, Tensor* src, const CopyRequest& request);

TensorRef clone(Tensor* tensor, const CopyRequest& request);
TensorRef contiguous(Tensor* tensor, const CopyRequest& request);
TensorRef reshape(Tensor* tensor, int32_t ndim, const int64_t* shape, const CopyRequest& request);
TensorRef to_device(Tensor* tensor, DLDevice device, const CopyRequest& request);

/// The address of the first element is a multiple of `alignment` (0: any), or there is none.
bool is_aligned(const Tensor* tensor, uint64_t alignment) noexcept;

}  // namespace dlx

#endif  // DLX_SRC_TENSOR_CONVERT_H_
