#ifndef DLX_SRC_PYTHON_SEQUENCE_H_
#define DLX_SRC_PYTHON_SEQUENCE_H_

#include <cstdint>

#include "src/python/cpython.h"
#include "src/tensor/tensor.h"

namespace dlx::py {

/// Python's numbers, and nested lists and tuples of them, as new tensors. Foreign code, such as an
/// allocator written in Python, may change a list between two looks at it, so each look checks
/// lengths and classes again.

/// A new tensor of a number, or of nested lists and tuples of numbers. `dtype` NULL: the numbers'
/// own. None for anything else, and for numbers that do not fit.
TensorRef tensor_of_numbers(PyObject* object, const DLDataType* dtype);
/// Writes a Python number as an element. False, with nothing written, for any other object, for a
/// number that does not fit, and for a dtype whose elements are not whole bytes.
bool store_number(PyObject* number, DLDataType dtype, void* to);

constexpr int32_t kMaxDepth = 32;

struct Shape {
  int32_t ndim = 0;
  int64_t extents[kMaxDepth];
};

inline bool is_list_or_tuple(PyObject* object) noexcept {
  return class_of(object) == api.list_type || class_of(object) == api.tuple_type;
}

inline int64_t length_of(PyObject* sequence) noexcept {
  return class_of(sequence) == api.list_type ? api.PyList_Size(sequence)
                                             : api.PyTuple_Size(sequence);
}

inline PyObject* item_of(PyObject* sequence, int64_t i) noexcept {
  return class_of(sequence) == api.list_type ? api.PyList_GetItem(sequence, i)
                                             : api.PyTuple_GetItem(sequence, i);
}

/// Whether `object` is a list or tuple of the length that the shape has on this axis.
inline bool has_extent(PyObject* object, const Shape& shape, int32_t axis) noexcept {
  return is_list_or_tuple(object) && length_of(object) == shape.extents[axis];
}

/// Kinds of Python numbers, from narrow to wide. Each kind's dtype holds all numbers of the kinds
/// before it, except that kBigInts (uint64) holds no negative ones.
enum NumberKind { kBools, kInts, kBigInts, kReals, kComplexes, kNone };

/// The narrowest kind that could hold the number; kNone if it is not a Python number.
inline NumberKind natural_of(PyObject* number) noexcept {
  if (class_of(number) == api.float_type) return kReals;
  if (class_of(number) == api.long_type) return kInts;
  if (class_of(number) == api.bool_type) return kBools;
  return class_of(number) == api.complex_type ? kComplexes : kNone;
}

/// A new tensor of Python's and NumPy's numbers: tries the dtype of `kind`, and the next wider one
/// whenever a number does not fit. None for anything else.
TensorRef natural_tensor(PyObject* object, const Shape& shape, NumberKind kind);

/// A new tensor of the CPU in C order.
TensorRef new_tensor(const Shape& shape, DLDataType dtype);

}  // namespace dlx::py

#endif  // DLX_SRC_PYTHON_SEQUENCE_H_
