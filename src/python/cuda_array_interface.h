#ifndef DLX_SRC_PYTHON_CUDA_ARRAY_INTERFACE_H_
#define DLX_SRC_PYTHON_CUDA_ARRAY_INTERFACE_H_

#include "src/python/cpython.h"
#include "src/tensor/tensor.h"

namespace dlx::py {

/// The CUDA array interface, version 3, of numba, CuPy, PyCUDA, cuDF and others. Both throw
/// PythonError and Error. Source: numba's documentation, "CUDA Array Interface (Version 3)".

/// From the value of `object.__cuda_array_interface__`, of version 0 to 3. Both objects are kept
/// alive. The driver says which device the memory belongs to, and every later use of the data waits
/// for the work now on 'stream'.
TensorRef import_cuda_array_interface(PyObject* object, PyObject* interface);

/// `Tensor.__cuda_array_interface__`, a new dict. Its stream is dlx's current one, which waits for
/// the pending work on the data; a dlx.Stream that is current lives as long as the Tensor, as the
/// interface demands.
PyObject* export_cuda_array_interface(PyObject* self);

}  // namespace dlx::py

#endif  // DLX_SRC_PYTHON_CUDA_ARRAY_INTERFACE_H_
