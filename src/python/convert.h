#ifndef DLX_SRC_PYTHON_CONVERT_H_
#define DLX_SRC_PYTHON_CONVERT_H_

#include "src/python/cpython.h"

namespace dlx::py {

/// convert(): a Tensor, or anything that asarray takes, as an array of another library. Ends with a
/// NULL name.
extern PyMethodDef convert_functions[];

/// Forgets what is known about the libraries that convert() serves.
void clear_targets() noexcept;

}  // namespace dlx::py

#endif  // DLX_SRC_PYTHON_CONVERT_H_
