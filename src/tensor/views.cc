#include "src/tensor/views.h"

#include <algorithm>
#include <cstring>

#include "src/base/checked.h"
#include "src/base/error.h"
#include "src/base/shape_text.h"
#include "src/dtype/dtype.h"
#include "src/tensor/layout.h"

namespace dlx {
namespace {

/// A view with the shape and strides of `tensor`.
TensorRef same_view(Tensor* tensor) {
  const int32_t ndim = tensor->dl.ndim;
  TensorRef view = new_view(tensor, ndim);
  const size_t bytes = sizeof(int64_t) * static_cast<size_t>(ndim);
  std::memcpy(view->shape(), tensor->shape(), bytes);
  std::memcpy(view->strides(), tensor->strides(), bytes);
  return view;
}

void copy_axis(Tensor* to, int32_t to_axis, Tensor* from, int32_t from_axis) noexcept {
  to->shape()[to_axis] = from->shape()[from_axis];
  to->strides()[to_axis] = from->strides()[from_axis];
}

/// One flag for each axis, all false. Clears only `ndim` of them: clearing all DLX_MAX_NDIM took
/// longer than the rest of a view.
struct AxisFlags {
  explicit AxisFlags(int32_t ndim) noexcept { std::memset(set, 0, static_cast<size_t>(ndim)); }
  bool& operator[](int32_t axis) noexcept { return set[axis]; }
  bool set[DLX_MAX_NDIM];
};

void recount(Tensor* tensor) { tensor->size = count_elements(tensor->dl.ndim, tensor->shape()); }

}  // namespace

SliceRange resolve_slice(int64_t extent, int64_t start, int64_t stop, int64_t step) {
  if (step == 0) fail(DLX_ERROR_INVALID_ARGUMENT, "`step` is 0 (expected any other number)");
  // As in PySlice_AdjustIndices: count negative positions from the end, then clamp.
  const int64_t lowest = step < 0 ? -1 : 0;
  const int64_t highest = step < 0 ? extent - 1 : extent;
  auto place = [&](int64_t position, int64_t open) {
    if (position == DLX_SLICE_OPEN) return open;
    if (position < 0) position += extent;
    return std::clamp(position, lowest, highest);
  };
  start = place(start, step < 0 ? highest : lowest);
  stop = place(stop, step < 0 ? lowest : highest);
  const int64_t distance = step < 0 ? start - stop : stop - start;
  if (distance <= 0) return {0, 0};
  const uint64_t stride = step < 0 ? 0 - static_cast<uint64_t>(step) : static_cast<uint64_t>(step);
  return {start, static_cast<int64_t>((static_cast<uint64_t>(distance) - 1) / stride + 1)};
}

int64_t sliced_stride(DLDataType dtype, int64_t stride, int64_t step) {
  int64_t stepped, bits;
  const bool exists =
      checked_mul(stride, step, &stepped) && checked_mul(stepped, item_bits(dtype, true), &bits);
  return exists ? stepped : stride;
}

TensorRef slice(Tensor* tensor, int32_t axis, int64_t start, int64_t stop, int64_t step) {
  axis = require_axis(axis, tensor->dl.ndim, "axis");
  const SliceRange range = resolve_slice(tensor->shape()[axis], start, stop, step);
  TensorRef view = same_view(tensor);
  int64_t* stride = &view->strides()[axis];
  if (range.count > 0 && tensor->size > 0) advance_data(view.get(), range.start * *stride);
  *stride = sliced_stride(tensor->dl.dtype, *stride, step);
  view->shape()[axis] = range.count;
  recount(view.get());
  return view;
}

TensorRef select(Tensor* tensor, int32_t axis, int64_t index) {
  const int32_t ndim = tensor->dl.ndim;
  axis = require_axis(axis, ndim, "axis");
  const int64_t extent = tensor->shape()[axis];
  if (index < -extent || index >= extent) {
    fail(DLX_ERROR_INVALID_ARGUMENT,
         "`index` is out of range (got %lld on axis %d, which has %lld elements)",
         static_cast<long long>(index), axis, static_cast<long long>(extent));
  }
  if (index < 0) index += extent;
  TensorRef view = new_view(tensor, ndim - 1);
  for (int32_t i = 0, j = 0; i < ndim; ++i) {
    if (i != axis) copy_axis(view.get(), j++, tensor, i);
  }
  recount(view.get());
  if (tensor->size > 0) advance_data(view.get(), index * tensor->strides()[axis]);
  return view;
}

TensorRef permute(Tensor* tensor, const int32_t* axes) {
  const int32_t ndim = tensor->dl.ndim;
  TensorRef view = new_view(tensor, ndim);
  if (axes == nullptr) {
    for (int32_t i = 0; i < ndim; ++i) copy_axis(view.get(), i, tensor, ndim - 1 - i);
    return view;
  }
  AxisFlags seen(ndim);
  for (int32_t i = 0; i < ndim; ++i) {
    const int32_t axis = require_axis(axes[i], ndim, "axes");
    if (seen[axis]) {
      fail(DLX_ERROR_INVALID_ARGUMENT, "`axes` names an axis twice (got %d at position %d)",
           axes[i], i);
    }
    seen[axis] = true;
    copy_axis(view.get(), i, tensor, axis);
  }
  return view;
}

TensorRef squeeze(Tensor* tensor, int32_t count, const int32_t* axes, const char* name) {
  const int32_t ndim = tensor->dl.ndim;
  if (count < 0) fail(DLX_ERROR_INVALID_ARGUMENT, "`count` is negative (got %d)", count);
  if (count > 0 && axes == nullptr) fail(DLX_ERROR_INVALID_ARGUMENT, "`%s` is NULL", name);
  AxisFlags drop(ndim);
  int32_t dropped = 0;
  if (axes == nullptr) {
    for (int32_t i = 0; i < ndim; ++i) dropped += drop[i] = tensor->shape()[i] == 1;
  }
  for (int32_t i = 0; i < count; ++i) {
    const int32_t axis = require_axis(axes[i], ndim, name);
    if (drop[axis]) {
      fail(DLX_ERROR_INVALID_ARGUMENT, "`%s` names an axis twice (got %d)", name, axes[i]);
    }
    if (tensor->shape()[axis] != 1) {
      fail(DLX_ERROR_INVALID_ARGUMENT,
           "`%s` names an axis of extent %lld (got axis %d, expected extent 1)", name,
           static_cast<long long>(tensor->shape()[axis]), axes[i]);
    }
    drop[axis] = true;
    ++dropped;
  }
  TensorRef view = new_view(tensor, ndim - dropped);
  for (int32_t i = 0, j = 0; i < ndim; ++i) {
    if (!drop[i]) copy_axis(view.get(), j++, tensor, i);
  }
  return view;
}

TensorRef expand_dims(Tensor* tensor, int32_t axis) {
  const int32_t ndim = tensor->dl.ndim;
  axis = require_axis(axis, ndim + 1, "axis");
  if (ndim == DLX_MAX_NDIM) {
    fail(DLX_ERROR_INVALID_ARGUMENT, "`tensor` already has the largest number of axes (%d)", ndim);
  }
  TensorRef view = new_view(tensor, ndim + 1);
  for (int32_t i = 0; i < ndim; ++i) copy_axis(view.get(), i < axis ? i : i + 1, tensor, i);
  view->shape()[axis] = 1;
  // The compact stride, because some readers look at strides of axes of extent 1.
  int64_t stride = 1;
  if (axis < ndim && !checked_mul(tensor->shape()[axis], tensor->strides()[axis], &stride)) {
    stride = 1;
  }
  view->strides()[axis] = stride;
  return view;
}

TensorRef broadcast_to(Tensor* tensor, int32_t ndim, const int64_t* shape) {
  require_ndim(ndim, "ndim");
  const int64_t size = count_elements(ndim, shape);
  if (!broadcasts_to(tensor->dl.ndim, tensor->shape(), ndim, shape)) {
    fail(DLX_ERROR_INVALID_ARGUMENT,
         "`shape` does not fit (got %s, expected a shape that %s broadcasts to)",
         shape_text(ndim, shape).text, shape_text(tensor->dl.ndim, tensor->shape()).text);
  }
  const int32_t shift = ndim - tensor->dl.ndim;
  TensorRef view = new_view(tensor, ndim);
  bool repeats = false;
  for (int32_t i = 0; i < ndim; ++i) {
    const int64_t extent = i < shift ? 1 : tensor->shape()[i - shift];
    const int64_t stride = i < shift ? 0 : tensor->strides()[i - shift];
    view->shape()[i] = shape[i];
    view->strides()[i] = extent == shape[i] ? stride : 0;
    repeats = repeats || (extent == 1 && shape[i] > 1);
  }
  int64_t bytes;
  if (!compact_bytes(tensor->dl.dtype, tensor->padded(), size, &bytes)) {
    fail(DLX_ERROR_INVALID_ARGUMENT, "`shape` has more than 2^63-1 bytes (got %s)",
         shape_text(ndim, shape).text);
  }
  view->size = size;
  if (repeats) view->flags |= DLPACK_FLAG_BITMASK_READ_ONLY;
  return view;
}

TensorRef bitcast(Tensor* tensor, DLDataType dtype) {
  require_known_dtype(dtype, "dtype");
  const DLDataType old = tensor->dl.dtype;
  const int64_t old_bits = item_bits(old, false), new_bits = item_bits(dtype, false);
  if (item_bits(old, tensor->padded()) != old_bits) {
    fail(DLX_ERROR_UNSUPPORTED,
         "`dtype` cannot describe the same bytes (got %s for padded elements of %s): convert them, "
         "in Python with dlx.asarray(x, dtype='%s')",
         dtype_text(dtype).text, dtype_text(old).text, dtype_text(whole_dtype(old)).text);
  }
  if (old.code == kDLOpaqueHandle || dtype.code == kDLOpaqueHandle) {
    fail(DLX_ERROR_UNSUPPORTED,
         "`dtype` cannot describe the same bytes (got %s for elements of %s)",
         dtype_text(dtype).text, dtype_text(old).text);
  }
  TensorRef view = same_view(tensor);
  view->dl.dtype = dtype;
  if (old_bits == new_bits) return view;
  const int32_t last = tensor->dl.ndim - 1;
  if (last < 0 || (tensor->size > 0 && tensor->shape()[last] > 1 && tensor->strides()[last] != 1)) {
    fail(DLX_ERROR_INVALID_ARGUMENT,
         "`dtype` has another size (got %s for elements of %s), which needs a compact last axis",
         dtype_text(dtype).text, dtype_text(old).text);
  }
  int64_t bits;
  if (!checked_mul(tensor->shape()[last], old_bits, &bits) || bits % new_bits != 0) {
    fail(DLX_ERROR_INVALID_ARGUMENT,
         "`dtype` does not divide the last axis (got %s, expected one for %lld elements of %s)",
         dtype_text(dtype).text, static_cast<long long>(tensor->shape()[last]),
         dtype_text(old).text);
  }
  if (int64_t total; new_bits < old_bits && !checked_mul(tensor->size, old_bits, &total)) {
    fail(DLX_ERROR_INVALID_ARGUMENT,
         "`dtype` makes more than 2^63-1 elements (got %s for elements of %s)",
         dtype_text(dtype).text, dtype_text(old).text);
  }
  view->shape()[last] = bits / new_bits;
  view->strides()[last] = 1;
  for (int32_t i = 0; i < last; ++i) {
    const bool scales = checked_mul(view->strides()[i], old_bits, &bits) && bits % new_bits == 0;
    if (!scales && (view->shape()[i] <= 1 || view->size == 0)) {
      view->strides()[i] = 1;  // any stride will do
      continue;
    }
    if (!scales) {
      fail(
          DLX_ERROR_INVALID_ARGUMENT,
          "`dtype` does not divide the stride of axis %d (got %s, expected one for strides of %lld "
          "elements of %s)",
          i, dtype_text(dtype).text, static_cast<long long>(view->strides()[i]),
          dtype_text(old).text);
    }
    view->strides()[i] = bits / new_bits;
  }
  recount(view.get());
  return view;
}

TensorRef as_readonly(Tensor* tensor) {
  TensorRef view = same_view(tensor);
  view->flags |= DLPACK_FLAG_BITMASK_READ_ONLY;
  return view;
}

TensorRef without_readonly(Tensor* tensor) {
  TensorRef view = same_view(tensor);
  view->flags &= ~static_cast<uint64_t>(DLPACK_FLAG_BITMASK_READ_ONLY);
  return view;
}

TensorRef relabel_device(Tensor* tensor, DLDevice device) {
  TensorRef view = same_view(tensor);
  view->dl.device = device;
  return view;
}

TensorRef plain_unit_strides(Tensor* tensor) {
  const int32_t ndim = tensor->dl.ndim;
  auto odd = [&](int32_t i) {
    return tensor->strides()[i] < 0 && (tensor->shape()[i] <= 1 || tensor->size == 0);
  };
  int32_t first = 0;
  while (first < ndim && !odd(first)) ++first;
  if (first == ndim) return TensorRef::share(tensor);
  TensorRef view = same_view(tensor);
  for (int32_t i = first; i < ndim; ++i) {
    if (odd(i)) view->strides()[i] = 1;
  }
  return view;
}

bool walks_backwards(const Tensor* tensor) noexcept {
  if (tensor->size == 0) return false;
  for (int32_t i = 0; i < tensor->dl.ndim; ++i) {
    if (tensor->dl.strides[i] < 0 && tensor->dl.shape[i] > 1) return true;
  }
  return false;
}

}  // namespace dlx
