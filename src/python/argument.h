#ifndef DLX_SRC_PYTHON_ARGUMENT_H_
#define DLX_SRC_PYTHON_ARGUMENT_H_

#include "src/python/cpython.h"

namespace dlx::py {

/// Arrays as arguments of ctypes: the from_param() of dlx.Array.

/// _argument(contract, whole, pointer_class): a function that takes an array, checks it against the
/// contract's one parameter, and returns what ctypes passes to C: a DLTensor * (`whole`), or the
/// address of the data.
PyObject* argument_from_python(PyObject*, PyObject* const* args, int64_t nargs, PyObject*);

}  // namespace dlx::py

#endif  // DLX_SRC_PYTHON_ARGUMENT_H_
