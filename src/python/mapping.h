#ifndef DLX_SRC_PYTHON_MAPPING_H_
#define DLX_SRC_PYTHON_MAPPING_H_

#include "src/python/cpython.h"

namespace dlx::py {

/// _map(descriptor, size, writable): the bytes of a file, as a Tensor that unmaps them; or errno.
///
/// Python's mmap keeps a duplicate of the descriptor before 3.13. The unmapping runs no Python code,
/// so no KeyboardInterrupt can end it before its first line.
PyObject* map_file(PyObject*, PyObject* const* args, int64_t nargs, PyObject*);

}  // namespace dlx::py

#endif  // DLX_SRC_PYTHON_MAPPING_H_
