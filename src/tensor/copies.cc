#include "src/tensor/copies.h"

#include <initializer_list>
#include <memory>

#include "src/base/error.h"
#include "src/base/shape_text.h"
#include "src/copy/copy.h"
#include "src/device/registry.h"
#include "src/device/staging.h"
#include "src/device/transfer.h"
#include "src/dtype/dtype.h"
#include "src/tensor/layout.h"
#include "src/tensor/synchronization.h"
#include "src/tensor/views.h"

namespace dlx {
namespace {

/// Checks the requested stream, which must be one of the device that the copy runs on.
void check_copy_stream(const CopyRequest& request, const DLDevice& device) {
  if (request.has_stream) check_work_stream(type_of(device), request.stream);
}

/// The tensors that pending work uses.
struct InUse {
  TensorRef dst;
  TensorRef src;
};

/// Destructors must not drop the last references, because release() may unwind.
void work_is_done(void* done) {
  auto* in_use = static_cast<InUse*>(done);
  Tensor* const tensors[] = {in_use->dst.detach(), in_use->src.detach()};
  delete in_use;
  for (Tensor* tensor : tensors) {
    if (tensor != nullptr) release(tensor);
  }
}

/// Copies between two descriptions of `dst_owner` and `src_owner`. An owner is NULL if the caller
/// orders the work on it and keeps it alive. Ordinary memory of the CPU goes straight to the engine:
/// no device has work on it.
void run_copy(const DLTensor& dst, bool dst_padded, Tensor* dst_owner, const DLTensor& src,
              bool src_padded, Tensor* src_owner, const CopyRequest& request) {
  if (dst.device.device_type == kDLCPU && src.device.device_type == kDLCPU) {
    return copy_tensor(dst, dst_padded, src, src_padded);
  }
  const auto readiness = [](Tensor* owner) {
    return owner == nullptr ? nullptr : &owner->root->readiness;
  };
  const PendingWork pending =
      transfer({&dst, dst_padded, readiness(dst_owner)}, {&src, src_padded, readiness(src_owner)},
               request.has_stream ? &request.stream : nullptr);
  if (pending.backend == nullptr) return;
  const WaitOnError settles(pending.backend, pending.id, pending.stream);
  // While a graph is captured, keeping memory alive is up to those who run the graph.
  if (pending.backend->capture(pending.id, pending.stream).capturing) return;
  // Foreign pools reuse memory as soon as it is given back, so it is held until the work is done.
  // dlx_device_synchronize waits for the same event.
  auto in_use = std::make_unique<InUse>();
  if (dst_owner != nullptr) in_use->dst = TensorRef::share(dst_owner->root);
  if (src_owner != nullptr && pending.reads_source) in_use->src = TensorRef::share(src_owner->root);
  hold_while_working(*pending.backend, pending.id, pending.stream, work_is_done, in_use.get());
  [[maybe_unused]] InUse* const held = in_use.release();
}

/// Whether this machine has the device, and a driver for it.
bool is_present(const DLDevice& device) {
  Backend* backend = find_backend(type_of(device));
  return backend != nullptr && device.device_id >= 0 && device.device_id < backend->count();
}

[[noreturn]] void fail_copy_refused(const char* why) {
  fail(DLX_ERROR_COPY_REFUSED, "a copy is needed (%s), and `copy` forbids it", why);
}

}  // namespace

void require_cpu_reachable(const DLDevice& device, const char* argument) {
  if (cpu_reachable(type_of(device))) return;
  fail(DLX_ERROR_UNSUPPORTED,
       "`%s` is on %s, which the CPU cannot access: move it with to_device(\"cpu\") first",
       argument, device_text(type_of(device), device.device_id).text);
}

void require_reachable(const DLDevice& device, const char* argument) {
  if (cpu_reachable(type_of(device)) || is_present(device)) return;
  fail(DLX_ERROR_UNSUPPORTED, "`%s` is on %s: %s", argument,
       device_text(type_of(device), device.device_id).text, absence_reason(type_of(device)));
}

bool can_move(const DLDevice& from, const DLDevice& to) {
  if (!cpu_reachable(type_of(from)) && !is_present(from)) return false;
  // Pinned and managed memory needs the driver, too.
  return to.device_type == kDLCPU ? to.device_id == 0 : is_present(to);
}

void copy_data(const DLTensor& dst, const DLTensor& src, const CopyRequest& request) {
  check_copy_stream(request, cpu_reachable(type_of(dst.device)) ? src.device : dst.device);
  require_reachable(dst.device, "dst");
  require_reachable(src.device, "src");
  run_copy(dst, false, nullptr, src, false, nullptr, request);
}

void copy_tensor_from(Tensor* dst, Tensor* src, const CopyRequest& request) {
  if (dst->readonly()) fail(DLX_ERROR_READ_ONLY, "`dst` is read-only");
  check_copy_stream(request,
                    cpu_reachable(type_of(dst->dl.device)) ? src->dl.device : dst->dl.device);
  const DLDataType &dtype = dst->dl.dtype, &other = src->dl.dtype;
  const bool on_host =
      cpu_reachable(type_of(dst->dl.device)) && cpu_reachable(type_of(src->dl.device));
  if (!same_dtype(dtype, other) && !(on_host && converts(dtype, other))) {
    fail(DLX_ERROR_INVALID_ARGUMENT,
         "`src` must have the dtype of `dst` (got %s, expected %s): convert it first, in Python "
         "with "
         "dlx.asarray(src, dtype='%s')",
         dtype_text(other).text, dtype_text(dtype).text, dtype_text(dtype).text);
  }
  const int32_t ndim = dst->dl.ndim;
  bool same = src->dl.ndim == ndim;
  for (int32_t i = 0; same && i < ndim; ++i) same = src->dl.shape[i] == dst->dl.shape[i];
  if (!same && !broadcasts_to(src->dl.ndim, src->dl.shape, ndim, dst->dl.shape)) {
    fail(DLX_ERROR_INVALID_ARGUMENT,
         "`src` does not fit `dst` (got shape %s, expected one that broadcasts to %s)",
         shape_text(src->dl.ndim, src->dl.shape).text, shape_text(ndim, dst->dl.shape).text);
  }
  const TensorRef broadcast = same ? TensorRef::share(src) : broadcast_to(src, ndim, dst->dl.shape);
  require_reachable(dst->dl.device, "dst");
  require_reachable(src->dl.device, "src");
  run_copy(dst->dl, dst->padded(), dst, broadcast->dl, src->padded(), src, request);
}

TensorRef clone_to(Tensor* tensor, DLDevice device, uint64_t flags, const CopyRequest& request) {
  require_reachable(tensor->dl.device, "tensor");
  TensorRef copy =
      empty(tensor->dl.ndim, tensor->dl.shape, tensor->dl.dtype, device, flags, request.allocation);
  if (tensor->size == 0) return copy;
  run_copy(copy->dl, copy->padded(), copy.get(), tensor->dl, tensor->padded(), tensor, request);
  return copy;
}

TensorRef clone(Tensor* tensor, const CopyRequest& request) {
  DLDevice device = tensor->dl.device;
  check_copy_stream(request, device);
  if (device.device_type != kDLCPU && id_is_zero(type_of(device))) {
    const Worker worker = find_worker(tensor->dl);
    device.device_id = worker.id;  // 0 in DLPack
    // Without a driver that pins memory, a copy of pinned memory is ordinary memory.
    if (worker.backend == nullptr && cpu_reachable(type_of(device))) device.device_type = kDLCPU;
  }
  return clone_to(tensor, device, tensor->flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED,
                  request);
}

bool is_aligned(const Tensor* tensor, uint64_t alignment) noexcept {
  const DLTensor& dl = tensor->dl;
  const uint64_t place =
      data_is_address(type_of(dl.device)) ? reinterpret_cast<uintptr_t>(dl.data) : dl.byte_offset;
  return alignment <= 1 || tensor->size == 0 || (place & (alignment - 1)) == 0;
}

TensorRef contiguous(Tensor* tensor, const CopyRequest& request) {
  check_copy_stream(request, tensor->dl.device);
  if (request.copy == DLX_COPY_ALWAYS) return clone(tensor, request);
  const Allocation& wanted = request.allocation;
  const bool compact =
      is_compact(tensor->dl.ndim, tensor->dl.shape, tensor->dl.strides, wanted.order);
  if (compact && is_aligned(tensor, wanted.alignment)) return TensorRef::share(tensor);
  if (request.copy == DLX_COPY_NEVER) {
    fail_copy_refused(compact ? "the data is not aligned as asked"
                              : "the tensor is not contiguous");
  }
  return clone(tensor, request);
}

TensorRef reshape(Tensor* tensor, int32_t ndim, const int64_t* shape, const CopyRequest& request) {
  check_copy_stream(request, tensor->dl.device);
  require_ndim(ndim, "ndim");
  if (ndim > 0 && shape == nullptr) fail(DLX_ERROR_INVALID_ARGUMENT, "`shape` is NULL");
  TensorRef view = new_view(tensor, ndim);
  int32_t open_axis = -1;
  for (int32_t i = 0; i < ndim; ++i) {
    view->shape()[i] = shape[i];
    if (shape[i] != -1) continue;
    if (open_axis >= 0) {
      fail(DLX_ERROR_INVALID_ARGUMENT, "`shape` has more than one -1 (got %s)",
           shape_text(ndim, shape).text);
    }
    open_axis = i;
    view->shape()[i] = 1;
  }
  const int64_t rest = count_elements(ndim, view->shape());
  if (open_axis >= 0 && rest > 0) view->shape()[open_axis] = tensor->size / rest;
  if (count_elements(ndim, view->shape()) != tensor->size || (open_axis >= 0 && rest == 0)) {
    fail(DLX_ERROR_INVALID_ARGUMENT,
         "`shape` has another number of elements (got %s, expected %lld elements)",
         shape_text(ndim, shape).text, static_cast<long long>(tensor->size));
  }
  const bool viewable = reshape_strides(tensor->dl.ndim, tensor->dl.shape, tensor->dl.strides, ndim,
                                        view->shape(), view->strides());
  if (viewable && request.copy != DLX_COPY_ALWAYS) return view;
  if (!viewable && request.copy == DLX_COPY_NEVER) {
    fail_copy_refused("strides cannot express that shape");
  }
  // The elements keep their C order: make a compact copy, then a view of it with the new shape.
  CopyRequest plain = request;
  plain.allocation.order = DLX_ORDER_C;
  const TensorRef copy = clone(tensor, plain);
  TensorRef result = new_view(copy.get(), ndim);
  for (int32_t i = 0; i < ndim; ++i) result->shape()[i] = view->shape()[i];
  fill_compact_strides(ndim, result->shape(), DLX_ORDER_C, result->strides());
  return result;
}

TensorRef to_device(Tensor* tensor, DLDevice device, const CopyRequest& request) {
  const DLDevice from = tensor->dl.device;
  check_copy_stream(request, cpu_reachable(type_of(device)) ? from : device);
  const bool same = type_of(from) == type_of(device) &&
                    (from.device_id == device.device_id ||
                     (id_is_zero(type_of(from)) && find_worker(tensor->dl).id == device.device_id));
  if (request.copy != DLX_COPY_ALWAYS) {
    if (same) return TensorRef::share(tensor);
    if (type_of(device) == kDLCPU && device.device_id == 0 && reads_in_place(tensor)) {
      synchronize(tensor);
      return relabel_device(tensor, device);
    }
  }
  require_device(type_of(device), device.device_id);
  if (!same && request.copy == DLX_COPY_NEVER) {
    fail_copy_refused("the data is on another device");
  }
  return clone_to(tensor, device, tensor->flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED,
                  request);
}

bool reads_in_place(const Tensor* tensor) {
  const int32_t type = type_of(tensor->dl.device);
  if (type != kDLCUDAManaged) return cpu_reachable(type);
  const Worker worker = find_worker(tensor->dl);
  return worker.backend != nullptr && worker.backend->managed_is_concurrent(worker.id);
}

}  // namespace dlx
