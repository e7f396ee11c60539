#ifndef DLX_SRC_TENSOR_VIEWS_H_
#define DLX_SRC_TENSOR_VIEWS_H_

#include <cstdint>

#include "src/tensor/tensor.h"

namespace dlx {

/// Views in O(ndim): a new tensor on the same memory. Semantics and errors as dlx.h documents them.

/// start:stop:step on an axis of `extent` elements by Python's rules (DLX_SLICE_OPEN: left out).
struct SliceRange {
  int64_t start;  ///< in [0, extent), or anything if count is 0
  int64_t count;
};
SliceRange resolve_slice(int64_t extent, int64_t start, int64_t stop, int64_t step);

/// The stride between the elements that a slice takes by `step`. What is beyond the address space
/// only one element or none can have, and nothing steps by it: then it stays as it was.
int64_t sliced_stride(DLDataType dtype, int64_t stride, int64_t step);

TensorRef slice(Tensor* tensor, int32_t axis, int64_t start, int64_t stop, int64_t step);
TensorRef select(Tensor* tensor, int32_t axis, int64_t index);
TensorRef permute(Tensor* tensor, const int32_t* axes);
TensorRef squeeze(Tensor* tensor, int32_t count, const int32_t* axes, const char* name = "axes");
TensorRef expand_dims(Tensor* tensor, int32_t axis);
TensorRef broadcast_to(Tensor* tensor, int32_t ndim, const int64_t* shape);
TensorRef bitcast(Tensor* tensor, DLDataType dtype);
TensorRef as_readonly(Tensor* tensor);
/// The same view with another device, of which the memory is known to be.
TensorRef relabel_device(Tensor* tensor, DLDevice device);
/// The same view, on which no axis of extent 0 or 1 has a negative stride.
TensorRef plain_unit_strides(Tensor* tensor);

/// Some axis that is walked has a negative stride.
bool walks_backwards(const Tensor* tensor) noexcept;

}  // namespace dlx

#endif  // DLX_SRC_TENSOR_VIEWS_H_
