#ifndef DLX_SRC_PYTHON_FUNCTIONS_H_
#define DLX_SRC_PYTHON_FUNCTIONS_H_

#include "src/python/cpython.h"

namespace dlx::py {

/// copyto() and the internal functions of the module that belong to no other file; ends with a NULL
/// name.
extern PyMethodDef native_functions[];

}  // namespace dlx::py

#endif  // DLX_SRC_PYTHON_FUNCTIONS_H_
