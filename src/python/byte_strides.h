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
/// multiple of the item size on an axis with more than one element. `shape` must not change meanwhile:
/// it is no producer's own.
void to_element_strides(const char* what, int32_t ndim, const int64_t* shape, const int64_t* bytes,
                        int64_t itemsize, int64_t* out);

/// A producer's shape, and its strides in bytes made strides in elements. Each number is read once, so
/// that a producer that changes it meanwhile cannot deceive the checks.
class OwnAxes {
 public:
  /// Gives `description` its shape and strides; they live as long as this object. `ndim` is at most
  /// kMost. Either may be NULL. Throws as to_element_strides().
  void describe(const char* what, const int64_t* shape, const int64_t* byte_strides,
                int64_t itemsize, DLTensor* description);

  static constexpr int kMost = 64;

 private:
  int64_t shape_[kMost];
  int64_t strides_[kMost];
};

}  // namespace dlx::py

#endif  // DLX_SRC_PYTHON_BYTE_STRIDES_H_
