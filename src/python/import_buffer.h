#ifndef DLX_SRC_PYTHON_IMPORT_BUFFER_H_
#define DLX_SRC_PYTHON_IMPORT_BUFFER_H_

#include "src/python/cpython.h"
#include "src/python/reference.h"
#include "src/tensor/tensor.h"

namespace dlx::py {

/// Import through the buffer protocol (PEP 3118). Both throw PythonError and Error.

/// A capsule that owns a new Py_buffer of `object`, and the buffer itself in `*out`.
Ref acquire_buffer(PyObject* object, int flags, PyBuffer** out);

/// A read-only buffer gives a read-only tensor. The buffer is held until the memory is given back,
/// which locks its owner against resizing.
TensorRef import_buffer(PyObject* object);

}  // namespace dlx::py

#endif  // DLX_SRC_PYTHON_IMPORT_BUFFER_H_
