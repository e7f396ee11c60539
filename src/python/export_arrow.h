#ifndef DLX_SRC_PYTHON_EXPORT_ARROW_H_
#define DLX_SRC_PYTHON_EXPORT_ARROW_H_

#include <cstdint>

#include "src/python/cpython.h"

namespace dlx::py {

/// Export through Arrow's PyCapsule interface: the methods `__arrow_c_array__`,
/// `__arrow_c_device_array__` and `__arrow_c_schema__` of dlx.Tensor.
PyObject* tensor_arrow_c_array(PyObject* self, PyObject* const* args, int64_t nargs,
                               PyObject* kwnames);
PyObject* tensor_arrow_c_device_array(PyObject* self, PyObject* const* args, int64_t nargs,
                                      PyObject* kwnames);
PyObject* tensor_arrow_c_schema(PyObject* self, PyObject*);

}  // namespace dlx::py

#endif  // DLX_SRC_PYTHON_EXPORT_ARROW_H_
