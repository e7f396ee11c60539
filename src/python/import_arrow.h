#ifndef DLX_SRC_PYTHON_IMPORT_ARROW_H_
#define DLX_SRC_PYTHON_IMPORT_ARROW_H_

#include <cstdint>

#include "src/python/cpython.h"
#include "src/tensor/tensor.h"

namespace dlx::py {

/// Import through Arrow's PyCapsule interface. `copy` is DLX_COPY_*; `*copied` becomes true if
/// nobody else uses the memory. The columns of a table are converted to `dtype`, unless it is NULL. Both
/// throw PythonError and Error.

/// By `__arrow_c_array__` or `__arrow_c_device_array__`.
TensorRef import_by_arrow(PyObject* object, int32_t copy, const DLDataType* dtype, bool* copied);
/// By `__arrow_c_stream__`, a stream of arrays.
TensorRef import_by_arrow_stream(PyObject* object, int32_t copy, const DLDataType* dtype,
                                 bool* copied);

/// The same for Python code of dlx; ends with a NULL name.
extern PyMethodDef arrow_functions[];

}  // namespace dlx::py

#endif  // DLX_SRC_PYTHON_IMPORT_ARROW_H_
