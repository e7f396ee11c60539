#include "src/tensor/convert.h"

#include <new>

#include "src/base/error.h"
#include "src/copy/copy.h"
#include "src/device/registry.h"
#include "src/tensor/layout.h"
#include "src/tensor/views.h"

namespace dlx {
namespace {

int32_t type_of(const DLDevice& device) noexcept {
  return static_cast<int32_t>(device.device_type);
}

/// Memory that the CPU reaches has no streams, whatever device it is registered with.
void check_copy_stream(const CopyRequest& request) {
  if (request.has_stream) check_stream(kDLCPU, request.stream);
}

[[noreturn]] void fail_copy_refused(const char* why) {
  fail(DLX_ERROR_COPY_REFUSED, "a copy is needed (%s), and `copy` is DLX_COPY_NEVER", why);
}

}  // namespace

void require_cpu_reachable(const DLDevice& device, const char* argument) {
  if (cpu_reachable(type_of(device))) return;
  fail(DLX_ERROR_UNSUPPORTED, "`%s` is on %s: %s", argument,
       device_text(type_of(device), device.device_id).text, backend_reason(type_of(device)));
}

void copy_data(const DLTensor& dst, bool dst_padded, const DLTensor& src, bool src_padded,
               const CopyRequest& request) {
  check_copy_stream(request);
  require_cpu_reachable(dst.device, "dst");
  require_cpu_reachable(src.device, "src");
  copy_tensor(dst, dst_padded, src, src_padded);
}

void copy_tensor_from(Tensor* dst, Tensor* src, const CopyRequest& request) {
  if (dst->readonly()) fail(DLX_ERROR_READ_ONLY, "`dst` is read-only");
  const int32_t ndim = dst->dl.ndim;
  bool same = src->dl.ndim == ndim;
  for (int32_t i = 0; same && i < ndim; ++i) same = src->dl.shape[i] == dst->dl.shape[i];
  const TensorRef broadcast = same ? TensorRef::share(src) : broadcast_to(src, ndim, dst->dl.shape);
  copy_data(dst->dl, dst->padded(), broadcast->dl, src->padded(), request);
}

TensorRef clone(Tensor* tensor, const CopyRequest& request) {
  check_copy_stream(request);
  require_cpu_reachable(tensor->dl.device, "tensor");
  const uint64_t flags = tensor->flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;
  DLDevice device = tensor->dl.device;
  // A copy of pinned memory is ordinary memory: dlx has no driver to pin it with.
  if (find_backend(type_of(device)) == nullptr) {
    device.device_type = kDLCPU;
    device.device_id = 0;
  }
  TensorRef copy =
      empty(tensor->dl.ndim, tensor->dl.shape, tensor->dl.dtype, device, flags, request.allocation);
  if (tensor->size > 0) copy_tensor(copy->dl, copy->padded(), tensor->dl, tensor->padded());
  return copy;
}

bool is_aligned(const Tensor* tensor, uint64_t alignment) noexcept {
  return alignment <= 1 || tensor->size == 0 ||
         (reinterpret_cast<uintptr_t>(tensor->dl.data) & (alignment - 1)) == 0;
}

TensorRef contiguous(Tensor* tensor, const CopyRequest& request) {
  check_copy_stream(request);
  if (request.copy == DLX_COPY_ALWAYS) return clone(tensor, request);
  const Allocation& wanted = request.allocation;
  const bool compact =
      is_compact(tensor->dl.ndim, tensor->dl.shape, tensor->dl.strides, wanted.order);
  if (compact && is_aligned(tensor, wanted.alignment)) return TensorRef::share(tensor);
  if (request.copy == DLX_COPY_NEVER) {
    fail_copy_refused(compact ? "for the alignment" : "the tensor is not contiguous");
  }
  return clone(tensor, request);
}

TensorRef reshape(Tensor* tensor, int32_t ndim, const int64_t* shape, const CopyRequest& request) {
  check_copy_stream(request);
  require_ndim(ndim, "ndim");
  if (ndim > 0 && shape == nullptr) fail(DLX_ERROR_INVALID_ARGUMENT, "`shape` is NULL");
  TensorRef view = new_view(tensor, ndim);
  int32_t open_axis = -1;
  for (int32_t i = 0; i < ndim; ++i) {
    view->shape()[i] = shape[i];
    if (shape[i] != -1) continue;
    if (open_axis >= 0) {
      fail(DLX_ERROR_INVALID_ARGUMENT, "`shape` leaves two extents open (got %s, expected one -1)",
           shape_text(ndim, shape).text);
    }
    open_axis = i;
    view->shape()[i] = 1;
  }
  const int64_t rest = count_elements(ndim, view->shape());
  if (open_axis >= 0 && rest > 0) view->shape()[open_axis] = tensor->size / rest;
  if (count_elements(ndim, view->shape()) != tensor->size || (open_axis >= 0 && rest == 0)) {
    fail(DLX_ERROR_INVALID_ARGUMENT, "`shape` has other elements (got %s, expected %lld of them)",
         shape_text(ndim, shape).text, static_cast<long long>(tensor->size));
  }
  const bool viewable = reshape_strides(tensor->dl.ndim, tensor->dl.shape, tensor->dl.strides, ndim,
                                        view->shape(), view->strides());
  if (viewable && request.copy != DLX_COPY_ALWAYS) return view;
  if (!viewable && request.copy == DLX_COPY_NEVER) {
    fail_copy_refused("no strides express that shape");
  }
  // The elements keep their C order, so the copy is made compact first and then seen anew.
  CopyRequest plain = request;
  plain.allocation.order = DLX_ORDER_C;
  const TensorRef copy = clone(tensor, plain);
  TensorRef result = new_view(copy.get(), ndim);
  for (int32_t i = 0; i < ndim; ++i) result->shape()[i] = view->shape()[i];
  fill_compact_strides(ndim, result->shape(), DLX_ORDER_C, result->strides());
  return result;
}

TensorRef to_device(Tensor* tensor, DLDevice device, const CopyRequest& request) {
  check_copy_stream(request);
  const DLDevice from = tensor->dl.device;
  const bool same = type_of(from) == type_of(device) && from.device_id == device.device_id;
  const bool to_cpu = type_of(device) == kDLCPU && device.device_id == 0;
  const bool in_place = same || (to_cpu && cpu_reachable(type_of(from)));
  if (in_place && request.copy != DLX_COPY_ALWAYS) {
    return same ? TensorRef::share(tensor) : relabel_device(tensor, device);
  }
  require_device(type_of(device), device.device_id);
  if (!in_place && request.copy == DLX_COPY_NEVER) {
    fail_copy_refused("the data is on another device");
  }
  return clone(tensor, request);
}

}  // namespace dlx
