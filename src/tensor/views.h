#ifndef DLX_SRC_TENSOR_VIEWS_H_
#define DLX_SRC_TENSOR_VIEWS_H_

#include <cstdint>

#include "src/tensor/tensor.h"

namespace dlx {

/// Views: new tensors on the same memory, made in O(ndim). dlx.h documents semantics and errors.

/// start:stop:step on an axis of `extent` elements, by Python's rules; DLX_SLICE_OPEN: left out.
struct SliceRange {
  int64_t start;  ///< in [0, extent); undefined if count is 0
  int64_t count;
};
SliceRange resolve_slice(int64_t extent, int64_t start, int64_t stop, int64_t step);

/// The stride of a slice with `step`. On overflow the slice has at most one element, so its stride
/// does not matter: returns `stride`.
int64_t sliced_stride(DLDataType dtype, int64_t stride, int64_t step);

TensorRef slice(Tensor* tensor, int32_t axis, int64_t start, int64_t stop, int64_t step);
TensorRef select(Tensor* tensor, int32_t axis, int64_t index);
TensorRef permute(Tensor* tensor, const int32_t* axes);
TensorRef squeeze(Tensor* tensor, int32_t count, const int32_t* axes, const char* name = "axes");
TensorRef expand_dims(Tensor* tensor, int32_t axis);
TensorRef broadcast_to(Tensor* tensor, int32_t ndim, const int64_t* shape);
TensorRef bitcast(Tensor* tensor, DLDataType dtype);
TensorRef as_readonly(Tensor* tensor);
/// The same view without the read-only mark, for a user that never writes or answers for the writes.
TensorRef without_readonly(Tensor* tensor);
/// The same view on another device, which the caller knows to have the memory.
TensorRef relabel_device(Tensor* tensor, DLDevice device);
/// The same view without negative strides on axes of extent 0 or 1.
TensorRef plain_unit_strides(Tensor* tensor);

/// Whether an axis of two or more elements has a negative stride; false for an empty tensor.
bool walks_backwards(const Tensor* tensor) noexcept;

}  // namespace dlx

#endif  // DLX_SRC_TENSOR_VIEWS_H_
