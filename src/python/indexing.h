#ifndef DLX_SRC_PYTHON_INDEXING_H_
#define DLX_SRC_PYTHON_INDEXING_H_

#include <cstdint>

#include "src/python/cpython.h"

namespace dlx::py {

/// len(tensor), tensor[key] and tensor[key] = value: the slots of dlx.Tensor.
int64_t tensor_length(PyObject* self);
PyObject* tensor_getitem(PyObject* self, PyObject* key);
int tensor_setitem(PyObject* self, PyObject* key, PyObject* value);
/// tensor[index] of the sequence protocol.
PyObject* tensor_item(PyObject* self, int64_t index);

}  // namespace dlx::py

#endif  // DLX_SRC_PYTHON_INDEXING_H_
