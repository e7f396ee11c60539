#ifndef DLX_SRC_PYTHON_BYTE_STRIDES_H_
#define DLX_SRC_PYTHON_BYTE_STRIDES_H_

#include <cstdint>

#include "dlx/dlpack.h"

namespace dlx::py {

/// Strides in bytes, as NumPy and the buffer protocol have them, from and to strides in elements.

/// Strides in bytes. Axes with fewer than two elements may have any stride; if the tensor is
/// compact, they get the compact one, as in NumPy, because some consumers compare all strides.
/// `preferred`: DLX_ORDER_C or _F, for a tensor that is compact in both orders.
void fill_byte_strides(const DLTensor& dl, int32_t preferred, int64_t itemsize, int64_t* out);

/// Strides in elements. Throws Error(UNSUPPORTED), naming `what`, for a stride that is not a
/// multiple of the item size on an axis with more than one element.
void to_element_strides(const char* what, int32_t ndim, const int64_t* shape, const int64_t* bytes,
                        int64_t itemsize, int64_t* out);

}  // namespace dlx::py

#endif  // DLX_SRC_PYTHON_BYTE_STRIDES_H_
