#ifndef DLX_SRC_PYTHON_OPERATORS_H_
#define DLX_SRC_PYTHON_OPERATORS_H_

#include "src/python/cpython.h"

namespace dlx::py {

/// Python's operators on Tensors, computed by NumPy; ends with a NULL name.
extern PyMethodDef operator_functions[];

}  // namespace dlx::py

#endif  // DLX_SRC_PYTHON_OPERATORS_H_
