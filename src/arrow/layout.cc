#include "src/arrow/layout.h"

#include <algorithm>

#include "dlx/arrow.h"
#include "src/arrow/schema.h"
#include "src/base/error.h"
#include "src/dtype/dtype.h"
#include "src/tensor/layout.h"
#include "src/tensor/views.h"

namespace dlx::arrow {
namespace {

const char* advice_for(DLDataType dtype) noexcept {
  if (dtype.code == kDLComplex && dtype.lanes == 1 && dtype.bits >= 32) {
    return "view its parts as floats of half its bits (in Python, complex128: .view(\"float64\"))";
  }
  if (dtype.bits * dtype.lanes % 8 == 0 && dtype.bits >= 8) {
    return "view its bits as unsigned integers";
  }
  if (dtype.lanes != 1) return "read it with .tolist(), in Python";
  return dtype.code == kDLInt ? "convert it first, in Python with dlx.asarray(x, dtype='int8')"
         : dtype.code == kDLUInt
             ? "convert it first, in Python with dlx.asarray(x, dtype='uint8')"
             : "convert it first, in Python with dlx.asarray(x, dtype='float32')";
}

const char* require_format(DLDataType dtype) {
  const char* format = format_of(dtype);
  if (format != nullptr) return format;
  fail(DLX_ERROR_UNSUPPORTED, "Arrow has no %s: %s", dtype_text(dtype).text, advice_for(dtype));
}

void require_list_size(int64_t size) {
  if (size <= INT32_MAX) return;
  fail(DLX_ERROR_UNSUPPORTED,
       "Arrow's fixed-size lists have at most 2^31-1 elements (got %lld): reshape the tensor",
       static_cast<long long>(size));
}

/// The axes of `tensor` in memory order. After the first axis they are sorted by decreasing stride
/// if that is allowed and makes the tensor compact; otherwise they keep their order.
std::vector<int32_t> physical_order(Tensor* tensor, bool may_permute) {
  const int32_t ndim = tensor->dl.ndim;
  std::vector<int32_t> order(static_cast<size_t>(ndim));
  for (int32_t i = 0; i < ndim; ++i) order[static_cast<size_t>(i)] = i;
  const int64_t *shape = tensor->shape(), *strides = tensor->strides();
  if (!may_permute || is_compact(ndim, shape, strides, DLX_ORDER_C)) return order;
  std::vector<int32_t> sorted = order;
  const auto before = [&](int32_t a, int32_t b) {
    return strides[a] != strides[b] ? strides[a] > strides[b] : a < b;
  };
  std::make_heap(sorted.begin() + 1, sorted.end(), before);  // a third of std::sort's code size
  std::sort_heap(sorted.begin() + 1, sorted.end(), before);
  std::vector<int64_t> new_shape, new_strides;
  for (const int32_t axis : sorted) {
    new_shape.push_back(shape[axis]);
    new_strides.push_back(strides[axis]);
  }
  return is_compact(ndim, new_shape.data(), new_strides.data(), DLX_ORDER_C) ? sorted : order;
}

void fill_tensor_layout(Tensor* tensor, bool may_permute, Layout* out) {
  const std::vector<int32_t> order = physical_order(tensor, may_permute);
  const size_t axes = order.size() - 1;
  int64_t size = 1;
  bool moved = false;
  out->permutation.resize(axes);
  for (size_t i = 0; i < axes; ++i) {
    const int32_t axis = order[i + 1];
    out->shape.push_back(tensor->shape()[axis]);
    require_list_size(out->shape.back());  // also of a tensor without elements
    size *= out->shape.back();             // below 2^62, because both were checked
    require_list_size(size);
    out->permutation[static_cast<size_t>(axis) - 1] = static_cast<int32_t>(i);
    moved = moved || static_cast<size_t>(axis) != i + 1;
  }
  if (!moved) out->permutation.clear();
  out->is_tensor = true;
  out->levels.push_back(size);
}

}  // namespace

Layout layout_of(Tensor* tensor, int32_t layout, int32_t copy) {
  Layout out;
  out.format = require_format(tensor->dl.dtype);
  const int32_t ndim = tensor->dl.ndim;
  if (ndim == 0) {
    fail(DLX_ERROR_UNSUPPORTED,
         "the tensor has no axis, and an Arrow array needs one: reshape it to (1,)");
  }
  if (layout == DLX_ARROW_TENSORS && ndim > 1) {
    fill_tensor_layout(tensor, copy == DLX_COPY_NEVER, &out);
    return out;
  }
  for (int32_t i = 1; i < ndim; ++i) {
    require_list_size(tensor->shape()[i]);
    out.levels.push_back(tensor->shape()[i]);
  }
  return out;
}

TensorRef physical_view(Tensor* tensor, const Layout& layout) {
  if (layout.permutation.empty()) return TensorRef::share(tensor);
  std::vector<int32_t> axes(layout.permutation.size() + 1);
  for (size_t i = 0; i < layout.permutation.size(); ++i) {
    axes[static_cast<size_t>(layout.permutation[i]) + 1] = static_cast<int32_t>(i) + 1;
  }
  return permute(tensor, axes.data());
}

}  // namespace dlx::arrow
