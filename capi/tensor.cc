#include "src/tensor/tensor.h"

#include "capi/options.h"
#include "src/device/registry.h"
#include "src/tensor/layout.h"

using namespace dlx;
using namespace dlx::capi;

extern "C" {

dlx_status dlx_tensor_empty(int32_t ndim, const int64_t* shape, const DLDataType* dtype,
                            int32_t device_type, int32_t device_id,
                            const dlx_empty_options* options, dlx_tensor** out) {
  if (out != nullptr) *out = nullptr;
  return guard(__func__, [&] {
    require(dtype, "dtype");
    require(out, "out");
    const dlx_empty_options read = read_options(options, "options");
    require_flags(read.flags, DLX_HAS_STREAM, "options->flags");
    require_range(read.order, DLX_ORDER_F, "options->order");
    require_power_of_two(read.alignment, "options->alignment");
    if ((read.flags & DLX_HAS_STREAM) != 0) check_stream(device_type, read.stream);
    dlx_allocator storage;
    Allocation allocation;
    allocation.order = read.order;
    allocation.alignment = read.alignment;
    allocation.allocator = read_allocator(read.allocator, &storage);
    *out = empty(ndim, shape, *dtype, make_device(device_type, device_id), 0, allocation).detach();
  });
}

dlx_status dlx_tensor_wrap(const DLTensor* description, uint64_t flags, dlx_deleter_fn deleter,
                           void* user_data, dlx_tensor** out) {
  if (out != nullptr) *out = nullptr;
  return guard(__func__, [&] {
    require(description, "description");
    require(out, "out");
    *out = wrap(*description, flags, deleter, user_data).detach();
  });
}

dlx_tensor* dlx_tensor_retain(dlx_tensor* tensor) {
  if (tensor != nullptr) retain(tensor);
  return tensor;
}

void dlx_tensor_release(dlx_tensor* tensor) {
  if (tensor != nullptr) release(tensor);
}

// Getters return NULL or 0 for a NULL tensor, because many FFIs read the output of a failed call.
const DLTensor* dlx_tensor_dltensor(const dlx_tensor* tensor) {
  return tensor == nullptr ? nullptr : &tensor->dl;
}

uint64_t dlx_tensor_flags(const dlx_tensor* tensor) {
  return tensor == nullptr ? 0 : tensor->flags;
}

int32_t dlx_tensor_ndim(const dlx_tensor* tensor) {
  return tensor == nullptr ? 0 : tensor->dl.ndim;
}

const int64_t* dlx_tensor_shape(const dlx_tensor* tensor) {
  return tensor == nullptr ? nullptr : tensor->dl.shape;
}

const int64_t* dlx_tensor_strides(const dlx_tensor* tensor) {
  return tensor == nullptr ? nullptr : tensor->dl.strides;
}

const DLDataType* dlx_tensor_dtype(const dlx_tensor* tensor) {
  return tensor == nullptr ? nullptr : &tensor->dl.dtype;
}

int32_t dlx_tensor_device_type(const dlx_tensor* tensor) {
  return tensor == nullptr ? 0 : type_of(tensor->dl.device);
}

int32_t dlx_tensor_device_id(const dlx_tensor* tensor) {
  return tensor == nullptr ? 0 : tensor->dl.device.device_id;
}

void* dlx_tensor_data(const dlx_tensor* tensor) {
  return tensor == nullptr ? nullptr : tensor->dl.data;
}

int64_t dlx_tensor_size(const dlx_tensor* tensor) { return tensor == nullptr ? 0 : tensor->size; }

int64_t dlx_tensor_nbytes(const dlx_tensor* tensor) {
  return tensor == nullptr ? 0 : nbytes_of(tensor);
}

int32_t dlx_tensor_is_contiguous(const dlx_tensor* tensor, int32_t order) {
  if (tensor == nullptr) return 0;
  return is_compact(tensor->dl.ndim, tensor->dl.shape, tensor->dl.strides, order) ? 1 : 0;
}

}  // extern "C"
