#ifndef DLX_SRC_TENSOR_LAYOUT_H_
#define DLX_SRC_TENSOR_LAYOUT_H_

#include <cstdint>

#include "dlx/dlpack.h"

namespace dlx {

/// Arithmetic on shapes and strides. Strides count elements. Messages say "`shape` of `owner`" if
/// there is an `owner`.

/// Number of elements. Throws Error(INVALID_ARGUMENT) naming `shape` for a negative extent or more
/// than 2^63-1 elements, even if another extent is 0.
int64_t count_elements(int32_t ndim, const int64_t* shape, const char* owner = nullptr);

/// Throws Error(INVALID_ARGUMENT) naming `argument` unless 0 <= ndim <= DLX_MAX_NDIM.
void require_ndim(int32_t ndim, const char* argument, const char* owner = nullptr);

/// The axis as a number from 0. Throws Error(INVALID_ARGUMENT) naming `argument` if out of range.
int32_t require_axis(int32_t axis, int32_t ndim, const char* argument);

/// Strides of a compact tensor in DLX_ORDER_C or DLX_ORDER_F. The element count must be checked.
void fill_compact_strides(int32_t ndim, const int64_t* shape, int32_t order,
                          int64_t* strides) noexcept;

/// Whether the strides are compact in that order. Ignores axes of extent 1; true for empty tensors.
bool is_compact(int32_t ndim, const int64_t* shape, const int64_t* strides, int32_t order) noexcept;

/// Offsets of the lowest and the highest element from element [0, …, 0], of a tensor that has elements;
/// false on overflow.
bool offset_range(int32_t ndim, const int64_t* shape, const int64_t* strides, int64_t* lowest,
                  int64_t* highest) noexcept;

/// Strides of the same elements in C order under another shape with as many elements; false if
/// strides cannot express it.
bool reshape_strides(int32_t ndim, const int64_t* shape, const int64_t* strides, int32_t new_ndim,
                     const int64_t* new_shape, int64_t* new_strides) noexcept;

/// Whether `shape` broadcasts to `target` by NumPy's rules.
bool broadcasts_to(int32_t ndim, const int64_t* shape, int32_t target_ndim,
                   const int64_t* target) noexcept;

/// The first check of a description: `ndim`, and that `shape` is not NULL.
void require_axes(const DLTensor& description, const char* argument);

/// Checks a description that came from outside, without touching the data: numbers, pointers,
/// dtype, overflow of sizes and addresses. Returns the number of elements. Throws
/// Error(INVALID_ARGUMENT or UNSUPPORTED) naming `argument`.
int64_t check_description(const DLTensor& description, bool padded, const char* argument);

}  // namespace dlx

#endif  // DLX_SRC_TENSOR_LAYOUT_H_
