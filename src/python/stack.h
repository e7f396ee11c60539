#ifndef DLX_SRC_PYTHON_STACK_H_
#define DLX_SRC_PYTHON_STACK_H_

#include "src/python/cpython.h"
#include "src/python/sequence.h"
#include "src/tensor/tensor.h"

namespace dlx::py {

/// A new tensor of nested lists and tuples of arrays that have one shape and one dtype (`*dtype`, unless
/// it is NULL) and lie in ordinary memory; `leaf` is the first of them. None for anything else, and if an
/// array cannot be imported: the hook asarray_fallback says why. Throws Error and PythonError.
TensorRef stack_arrays(PyObject* object, const Shape& outer, PyObject* leaf,
                       const DLDataType* dtype);

/// Forgets which buffers show the numbers of an array.
void forget_buffers() noexcept;

}  // namespace dlx::py

#endif  // DLX_SRC_PYTHON_STACK_H_
