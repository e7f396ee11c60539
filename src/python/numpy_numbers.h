#ifndef DLX_SRC_PYTHON_NUMPY_NUMBERS_H_
#define DLX_SRC_PYTHON_NUMPY_NUMBERS_H_

#include <cstdint>

#include "src/python/cpython.h"
#include "src/python/sequence.h"
#include "src/tensor/tensor.h"

namespace dlx::py {

/// NumPy's numbers (numpy.float32(1) and the like), alone and in lists. Functions that may call
/// Python throw PythonError.

/// A new tensor of numbers that all have the class of `leaf`, the first of them; its dtype is that
/// class's, and must equal `*dtype` unless `dtype` is NULL. None for anything else.
TensorRef tensor_of_one_class(PyObject* object, const Shape& shape, PyObject* leaf,
                              const DLDataType* dtype);

/// A new tensor of NumPy's and Python's numbers in regular nesting, with the dtype that NumPy
/// promotes them to. None for anything else.
TensorRef tensor_by_numpy(PyObject* object, const Shape& shape);

/// The kind of a list in which a NumPy number does not fit `kind`, as NumPy promotes: next to a
/// Python float all real numbers are float64. kNone if that depends on the other numbers.
NumberKind wider_of(NumberKind kind, PyObject* number);

/// Whether the object's class is one of NumPy's number classes that DLPack has a dtype for.
bool is_numpy_number(PyObject* object) noexcept;

/// The value of a NumPy number: of an integer within int64, of a real number, or of any number.
/// False for other objects, and for 16-bit floats.
bool read_numpy_number(PyObject* number, int64_t* out);
bool read_numpy_number(PyObject* number, double* out);
bool read_numpy_number(PyObject* number, double* real, double* imaginary);

/// Keeps NumPy's number classes, a tuple; forgets them.
void note_number_classes(PyObject* types);
void clear_number_classes() noexcept;

}  // namespace dlx::py

#endif  // DLX_SRC_PYTHON_NUMPY_NUMBERS_H_
