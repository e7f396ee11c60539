#ifndef DLX_SRC_PYTHON_SEQUENCE_H_
#define DLX_SRC_PYTHON_SEQUENCE_H_

#include "src/python/state.h"
#include "src/tensor/tensor.h"

namespace dlx::py {

/// Nested lists and tuples, and the numbers in them. Foreign code, such as an allocator written in
/// Python, may change a list between two looks at it, so each look checks lengths and classes
/// again.

constexpr int32_t kMaxDepth = 32;

struct Shape {
  int32_t ndim = 0;
  int64_t extents[kMaxDepth];
};

inline bool is_list_or_tuple(PyObject* object) noexcept {
  return class_of(object) == api.list_type || class_of(object) == api.tuple_type;
}

inline intptr_t length_of(PyObject* sequence) noexcept {
  return class_of(sequence) == api.list_type ? api.PyList_Size(sequence)
                                             : api.PyTuple_Size(sequence);
}

inline PyObject* item_of(PyObject* sequence, intptr_t i) noexcept {
  return class_of(sequence) == api.list_type ? api.PyList_GetItem(sequence, i)
                                             : api.PyTuple_GetItem(sequence, i);
}

/// Whether `object` is a list or tuple as long as the shape says.
inline bool has_extent(PyObject* object, const Shape& shape, int32_t axis) noexcept {
  return is_list_or_tuple(object) && length_of(object) == shape.extents[axis];
}

/// The dtypes that Python's own numbers have by themselves, from narrow to wide: each holds what
/// those before it do, but for uint64, which lacks the negative.
enum NumberKind { kBools, kInts, kBigInts, kReals, kComplexes, kNone };

/// The narrowest that could hold the number; kNone for what is no number of Python's.
inline NumberKind natural_of(PyObject* number) noexcept {
  if (class_of(number) == api.float_type) return kReals;
  if (class_of(number) == api.long_type) return kInts;
  if (class_of(number) == api.bool_type) return kBools;
  return class_of(number) == api.complex_type ? kComplexes : kNone;
}

/// Numbers of one class of NumPy's, of which `leaf` is the first: a new tensor of the class's
/// dtype, which has to be `*dtype` unless that is NULL. None for all else.
TensorRef tensor_of_one_class(PyObject* object, const Shape& shape, PyObject* leaf,
                              const DLDataType* dtype);

/// Regular nesting of numbers of NumPy, and of Python beside them: what NumPy makes of them, which
/// promotes by its rules. None for all else.
TensorRef tensor_by_numpy(PyObject* object, const Shape& shape);

/// The kind for a list in which a number of NumPy's does not fit `kind`, as NumPy promotes: beside
/// a float of Python's all real numbers are float64. kNone where that depends on the other numbers.
NumberKind wider_of(NumberKind kind, PyObject* number);

/// Whether it is of one of NumPy's classes of numbers that DLPack has a dtype for.
bool is_numpy_number(PyObject* object) noexcept;

/// The value of a number of NumPy's, if it is an integer within int64, a real number, or any. False
/// for others, and for the 16-bit floats.
bool read_numpy_number(PyObject* number, int64_t* out);
bool read_numpy_number(PyObject* number, double* out);
bool read_numpy_number(PyObject* number, double* real, double* imaginary);

/// Numbers of Python, and of NumPy beside them, of which some are of this kind; tries the next
/// wider one when a number comes that does not fit. None for all else.
TensorRef natural_tensor(PyObject* object, const Shape& shape, NumberKind kind);

/// Keeps NumPy's classes of numbers, a tuple, and forgets those of a former interpreter.
void note_number_classes(PyObject* types);
void clear_number_classes() noexcept;

/// A new tensor of the CPU in C order.
TensorRef new_tensor(const Shape& shape, DLDataType dtype);

}  // namespace dlx::py

#endif  // DLX_SRC_PYTHON_SEQUENCE_H_
