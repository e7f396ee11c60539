#ifndef DLX_SRC_PYTHON_ATTRIBUTES_H_
#define DLX_SRC_PYTHON_ATTRIBUTES_H_

#include "src/python/cpython.h"

namespace dlx::py {

/// The attributes of dlx.Tensor: shape, dtype, T, …
extern PyGetSetDef tensor_getset[];

}  // namespace dlx::py

#endif  // DLX_SRC_PYTHON_ATTRIBUTES_H_
