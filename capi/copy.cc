#include "src/copy/copy.h"

#include "capi/options.h"
#include "src/device/registry.h"
#include "src/tensor/copies.h"
#include "src/tensor/layout.h"

using namespace dlx;
using namespace dlx::capi;

namespace {

/// The common part of all functions that may make a new tensor; `operation` is the specific part.
template <typename Operation>
dlx_status make_tensor(const char* function, dlx_tensor* tensor, const dlx_copy_options* options,
                       dlx_tensor** out, Operation&& operation) {
  if (out != nullptr) *out = nullptr;
  return guard(function, [&] {
    require(tensor, "tensor");
    require(out, "out");
    dlx_allocator storage;
    *out = operation(read_copy_options(options, &storage)).detach();
  });
}

}  // namespace

extern "C" {

dlx_status dlx_tensor_contiguous(dlx_tensor* tensor, const dlx_copy_options* options,
                                 dlx_tensor** out) {
  return make_tensor(__func__, tensor, options, out,
                     [&](const CopyRequest& request) { return contiguous(tensor, request); });
}

dlx_status dlx_tensor_clone(dlx_tensor* tensor, const dlx_copy_options* options, dlx_tensor** out) {
  return make_tensor(__func__, tensor, options, out,
                     [&](const CopyRequest& request) { return clone(tensor, request); });
}

dlx_status dlx_tensor_reshape(dlx_tensor* tensor, int32_t ndim, const int64_t* shape,
                              const dlx_copy_options* options, dlx_tensor** out) {
  return make_tensor(__func__, tensor, options, out, [&](const CopyRequest& request) {
    return reshape(tensor, ndim, shape, request);
  });
}

dlx_status dlx_tensor_to_device(dlx_tensor* tensor, int32_t device_type, int32_t device_id,
                                const dlx_copy_options* options, dlx_tensor** out) {
  return make_tensor(__func__, tensor, options, out, [&](const CopyRequest& request) {
    return to_device(tensor, make_device(device_type, device_id), request);
  });
}

dlx_status dlx_copy(const DLTensor* dst, const DLTensor* src, const dlx_copy_options* options) {
  return guard(__func__, [&] {
    require(dst, "dst");
    require(src, "src");
    dlx_allocator storage;
    const CopyRequest request = read_copy_options(options, &storage);
    check_description(*dst, false, "dst");
    check_description(*src, false, "src");
    copy_data(*dst, *src, request);
  });
}

dlx_status dlx_tensor_copy_from(dlx_tensor* dst, dlx_tensor* src, const dlx_copy_options* options) {
  return guard(__func__, [&] {
    require(dst, "dst");
    require(src, "src");
    dlx_allocator storage;
    copy_tensor_from(dst, src, read_copy_options(options, &storage));
  });
}

dlx_status dlx_copy_plan_describe(const DLTensor* dst, const DLTensor* src, char* out,
                                  size_t capacity) {
  return guard(__func__, [&] {
    require(dst, "dst");
    require(src, "src");
    require(out, "out");
    if (capacity == 0) fail(DLX_ERROR_INVALID_ARGUMENT, "`capacity` is 0");
    check_description(*dst, false, "dst");
    check_description(*src, false, "src");
    require_cpu_reachable(dst->device, "dst");
    require_cpu_reachable(src->device, "src");
    describe_copy(*dst, *src, out, capacity);
  });
}

}  // extern "C"
