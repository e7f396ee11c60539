#ifndef DLX_SRC_PYTHON_IMPORT_ARRAY_INTERFACE_H_
#define DLX_SRC_PYTHON_IMPORT_ARRAY_INTERFACE_H_

#include "src/python/cpython.h"
#include "src/tensor/tensor.h"

namespace dlx::py {

/// Import through NumPy's array interface, version 3. Both throw PythonError and Error.

/// From the value of `object.__array_interface__`. Both objects are kept alive. Where the interface
/// has a buffer instead of an address, the buffer is held and the extent checked.
TensorRef import_array_interface(PyObject* object, PyObject* interface);

/// From the capsule `object.__array_struct__`, which holds the same as a C struct.
TensorRef import_array_struct(PyObject* object, PyObject* capsule);

}  // namespace dlx::py

#endif  // DLX_SRC_PYTHON_IMPORT_ARRAY_INTERFACE_H_
