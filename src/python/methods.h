#ifndef DLX_SRC_PYTHON_METHODS_H_
#define DLX_SRC_PYTHON_METHODS_H_

#include "src/python/cpython.h"

namespace dlx::py {

/// The methods of dlx.Tensor; ends with a NULL name.
extern PyMethodDef tensor_methods[];

}  // namespace dlx::py

#endif  // DLX_SRC_PYTHON_METHODS_H_
