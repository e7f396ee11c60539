#ifndef DLX_SRC_PYTHON_EXPORT_DLPACK_H_
#define DLX_SRC_PYTHON_EXPORT_DLPACK_H_

#include <cstdint>

#include "src/python/cpython.h"
#include "src/tensor/tensor.h"

namespace dlx::py {

/// Export through DLPack: the methods `__dlpack__` and `__dlpack_device__` of dlx.Tensor.
PyObject* tensor_dlpack(PyObject* self, PyObject* const* args, int64_t nargs, PyObject* kwnames);
PyObject* tensor_dlpack_device(PyObject* self, PyObject*);

/// A versioned capsule that shares the tensor as it is; a new reference. Throws PythonError.
PyObject* share_as_capsule(Tensor* tensor);

}  // namespace dlx::py

#endif  // DLX_SRC_PYTHON_EXPORT_DLPACK_H_
