#ifndef DLX_SRC_PYTHON_IMPORT_H_
#define DLX_SRC_PYTHON_IMPORT_H_

#include "dlx/dlx.h"
#include "src/python/cpython.h"
#include "src/python/reference.h"
#include "src/tensor/tensor.h"

namespace dlx::py {

/// asarray() and from_dlpack(); ends with a NULL name.
extern PyMethodDef import_functions[];

/// dlx.asarray(object); a new reference. This and the next two throw PythonError and Error.
PyObject* as_tensor(PyObject* object);
/// dlx.asarray(object, copy=False), for a destination.
PyObject* as_shared_tensor(PyObject* object);
/// dlx.asarray(object, dtype=…) for `tensor[key] = object`: numbers get the dtype of `like`, arrays
/// keep theirs. Long doubles become float64 or complex128 with `rounds`, and are refused without.
PyObject* as_tensor_like(PyObject* object, Tensor* like, bool rounds);
/// The tensor with another dtype. The CPU converts; `force` allows moving the data there. `copy`:
/// DLX_COPY_*.
Ref with_dtype(Ref tensor, DLDataType dtype, int32_t copy = DLX_COPY_IF_NEEDED, bool force = false);

}  // namespace dlx::py

#endif  // DLX_SRC_PYTHON_IMPORT_H_
