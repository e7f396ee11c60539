#ifndef DLX_SRC_PYTHON_IMPORT_H_
#define DLX_SRC_PYTHON_IMPORT_H_

#include "src/python/cpython.h"
#include "src/tensor/tensor.h"

namespace dlx::py {

/// asarray() and from_dlpack(); ends with a NULL name.
extern PyMethodDef import_functions[];

/// dlx.asarray(object); a new reference. This and the next two throw PythonError and Error.
PyObject* as_tensor(PyObject* object);
/// dlx.asarray(object, copy=False), for a destination.
PyObject* as_shared_tensor(PyObject* object);
/// dlx.asarray(object, dtype=…) for `tensor[key] = object`: numbers get the dtype of `like`, arrays
/// keep theirs.
PyObject* as_tensor_like(PyObject* object, Tensor* like);

}  // namespace dlx::py

#endif  // DLX_SRC_PYTHON_IMPORT_H_
