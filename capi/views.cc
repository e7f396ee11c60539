#include "src/tensor/views.h"

#include "capi/guard.h"

using namespace dlx;
using namespace dlx::capi;

namespace {

/// The common part of all view functions; `view` is the specific part.
template <typename View>
dlx_status make_view(const char* function, dlx_tensor* tensor, dlx_tensor** out, View&& view) {
  if (out != nullptr) *out = nullptr;
  return guard(function, [&] {
    require(tensor, "tensor");
    require(out, "out");
    *out = view().detach();
  });
}

}  // namespace

extern "C" {

dlx_status dlx_tensor_slice(dlx_tensor* tensor, int32_t axis, int64_t start, int64_t stop,
                            int64_t step, dlx_tensor** out) {
  return make_view(__func__, tensor, out, [&] { return slice(tensor, axis, start, stop, step); });
}

dlx_status dlx_tensor_select(dlx_tensor* tensor, int32_t axis, int64_t index, dlx_tensor** out) {
  return make_view(__func__, tensor, out, [&] { return dlx::select(tensor, axis, index); });
}

dlx_status dlx_tensor_permute(dlx_tensor* tensor, const int32_t* axes, dlx_tensor** out) {
  return make_view(__func__, tensor, out, [&] { return permute(tensor, axes); });
}

dlx_status dlx_tensor_squeeze(dlx_tensor* tensor, int32_t count, const int32_t* axes,
                              dlx_tensor** out) {
  return make_view(__func__, tensor, out, [&] { return squeeze(tensor, count, axes); });
}

dlx_status dlx_tensor_expand_dims(dlx_tensor* tensor, int32_t axis, dlx_tensor** out) {
  return make_view(__func__, tensor, out, [&] { return expand_dims(tensor, axis); });
}

dlx_status dlx_tensor_broadcast_to(dlx_tensor* tensor, int32_t ndim, const int64_t* shape,
                                   dlx_tensor** out) {
  return make_view(__func__, tensor, out, [&] {
    if (ndim > 0) require(shape, "shape");
    return broadcast_to(tensor, ndim, shape);
  });
}

dlx_status dlx_tensor_bitcast(dlx_tensor* tensor, const DLDataType* dtype, dlx_tensor** out) {
  return make_view(__func__, tensor, out, [&] {
    require(dtype, "dtype");
    return bitcast(tensor, *dtype);
  });
}

dlx_status dlx_tensor_as_readonly(dlx_tensor* tensor, dlx_tensor** out) {
  return make_view(__func__, tensor, out, [&] { return as_readonly(tensor); });
}

}  // extern "C"
