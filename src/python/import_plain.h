#ifndef DLX_SRC_PYTHON_IMPORT_PLAIN_H_
#define DLX_SRC_PYTHON_IMPORT_PLAIN_H_

#include "src/python/import_dlpack.h"

namespace dlx::py {

/// The protocols that asarray looks for after DLPack. All throw PythonError and Error.

/// A capsule that owns a new Py_buffer of `object`: writable if the object allows that.
Ref acquire_buffer(PyObject* object, int flags, PyBuffer** out);

/// PEP 3118. Read-only buffers give read-only tensors; the buffer is held, which locks its owner
/// against resizing, until the memory is given back.
TensorRef import_buffer(PyObject* object);

/// NumPy's array interface, version 3: the value of `object.__array_interface__`. Both objects are
/// kept alive. Where it gives no address but a buffer, that is held, and the extent checked.
TensorRef import_array_interface(PyObject* object, PyObject* interface);

/// The same as a C struct: the capsule that `object.__array_struct__` gave.
TensorRef import_array_struct(PyObject* object, PyObject* capsule);

/// By the first of the three that `object` has, or none.
TensorRef import_layout(PyObject* object);

/// For an object whose type has kPlain: by import_layout(), Arrow, or `__array__`. None if it has
/// none of them, or something that the asarray_fallback hook has to look at (a mask, `copy=`).
Imported import_plain(PyObject* object, const TypeEntry& entry, const Request& request);

/// Forgets which dtype objects import_plain() knows as harmless.
void forget_dtypes() noexcept;

/// Strides in elements, from strides in bytes. Axes of one element or none may have any.
/// Throws Error(UNSUPPORTED), naming `what`, for strides that are no whole elements.
void to_element_strides(const char* what, int32_t ndim, const int64_t* shape, const intptr_t* bytes,
                        int64_t itemsize, int64_t* out);

}  // namespace dlx::py

#endif  // DLX_SRC_PYTHON_IMPORT_PLAIN_H_
