#ifndef DLX_SRC_PYTHON_DTYPE_DEVICE_H_
#define DLX_SRC_PYTHON_DTYPE_DEVICE_H_

#include <cstdint>

#include "dlx/dlpack.h"
#include "src/python/cpython.h"

namespace dlx::py {

/// Python's dtype, device and stream objects as DLPack's numbers, and back. Hooks answer for
/// objects of other libraries; answers that hold for ever are cached. All throw PythonError and
/// Error.

/// A dtype as one number.
inline uint64_t key_of(DLDataType dtype) noexcept {
  return uint64_t{dtype.code} << 32 | uint64_t{dtype.bits} << 16 | dtype.lanes;
}
/// Code, bits and lanes as a dtype; each must fit its field.
DLDataType dtype_of_numbers(const int64_t* numbers);
/// A dtype as a tuple (code, bits, lanes); a new reference.
PyObject* dtype_numbers(DLDataType dtype);

/// Whether an object is a str that is no dtype's name in dlx; NumPy may know it.
bool is_unknown_dtype_name(PyObject* object);

/// Any dtype-like object: a name that dlx knows, else the dtype_code hook.
DLDataType to_dtype(PyObject* object);
/// The dtype object of an array; the check_dtype hook may raise its own error, about the array.
DLDataType checked_dtype(PyObject* object, PyObject* array);
/// Any device-like object: "cpu", else the device_code hook.
DLDevice to_device(PyObject* object);
/// An integer, or a stream object of dlx or another library, as the number of a stream of `device`.
/// The stream_number hook reads objects. Does not check the number.
int64_t to_stream(PyObject* object, DLDevice device);

/// The public dtype and device objects; new references.
PyObject* dtype_object(DLDataType dtype);
PyObject* device_object(DLDevice device);

/// Forgets all cached objects.
void clear_object_caches() noexcept;

}  // namespace dlx::py

#endif  // DLX_SRC_PYTHON_DTYPE_DEVICE_H_
