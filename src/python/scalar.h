#ifndef DLX_SRC_PYTHON_SCALAR_H_
#define DLX_SRC_PYTHON_SCALAR_H_

#include "src/python/cpython.h"

namespace dlx::py {

/// A Tensor with one element as a Python number: item(), bool(), int(), float() and index().
PyObject* tensor_scalar(PyObject* self, PyObject*);
int tensor_bool(PyObject* self);
PyObject* tensor_int(PyObject* self);
PyObject* tensor_float(PyObject* self);
PyObject* tensor_index(PyObject* self);

}  // namespace dlx::py

#endif  // DLX_SRC_PYTHON_SCALAR_H_
