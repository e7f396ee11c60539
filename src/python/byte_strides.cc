#include "src/python/byte_strides.h"

#include <algorithm>

#include "dlx/dlx.h"
#include "src/base/error.h"
#include "src/tensor/layout.h"

namespace dlx::py {

void fill_byte_strides(const DLTensor& dl, int32_t preferred, int64_t itemsize, int64_t* out) {
  const bool c = is_compact(dl.ndim, dl.shape, dl.strides, DLX_ORDER_C);
  const bool f = is_compact(dl.ndim, dl.shape, dl.strides, DLX_ORDER_F);
  if (c || f) {
    const bool as_f = f && (!c || preferred == DLX_ORDER_F);
    fill_compact_strides(dl.ndim, dl.shape, as_f ? DLX_ORDER_F : DLX_ORDER_C, out);
  } else {
    std::copy(dl.strides, dl.strides + dl.ndim, out);
  }
  // An overflow is harmless: an axis without a second element may have any stride.
  for (int32_t i = 0; i < dl.ndim; ++i) __builtin_mul_overflow(out[i], itemsize, &out[i]);
}

void to_element_strides(const char* what, int32_t ndim, const int64_t* shape, const int64_t* bytes,
                        int64_t itemsize, int64_t* out) {
  bool empty = false;
  for (int32_t i = 0; i < ndim; ++i) empty = empty || shape[i] == 0;
  for (int32_t i = 0; i < ndim; ++i) {
    if (bytes[i] % itemsize != 0 && shape[i] > 1 && !empty) {
      fail(DLX_ERROR_UNSUPPORTED,
           "%s has strides that are not multiples of the element size, which DLPack cannot express "
           "(got %lld bytes for elements of %lld): copy the data first",
           what, static_cast<long long>(bytes[i]), static_cast<long long>(itemsize));
    }
    out[i] = bytes[i] / itemsize;
  }
}

void OwnAxes::describe(const char* what, const int64_t* shape, const int64_t* byte_strides,
                       int64_t itemsize, DLTensor* description) {
  if (shape == nullptr) return;
  const int32_t ndim = description->ndim;
  std::copy(shape, shape + ndim, shape_);
  description->shape = shape_;
  if (byte_strides == nullptr) return;
  std::copy(byte_strides, byte_strides + ndim, strides_);
  to_element_strides(what, ndim, shape_, strides_, itemsize, strides_);
  description->strides = strides_;
}

}  // namespace dlx::py
