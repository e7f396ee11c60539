#ifndef DLX_SRC_PYTHON_EXPORT_BUFFER_H_
#define DLX_SRC_PYTHON_EXPORT_BUFFER_H_

#include "src/python/cpython.h"

namespace dlx::py {

/// Export through the buffer protocol (PEP 3118): the slots of dlx.Tensor.
int tensor_getbuffer(PyObject* self, PyBuffer* view, int flags);
void tensor_releasebuffer(PyObject* self, PyBuffer* view);

}  // namespace dlx::py

#endif  // DLX_SRC_PYTHON_EXPORT_BUFFER_H_
