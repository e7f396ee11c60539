#ifndef DLX_SRC_PYTHON_FUNCTION_H_
#define DLX_SRC_PYTHON_FUNCTION_H_

#include "dlx/call.h"
#include "src/contract/contract.h"
#include "src/python/cpython.h"
#include "src/python/reference.h"

namespace dlx::py {

/// A Python callable of a C function, as dlx_python_function documents; a new reference. `keep` is
/// held as long as the callable, or NULL. Throws Error and PythonError; `options.release` was not
/// called then.
PyObject* make_function(void (*function)(), Contract* contract, const dlx_function_options& options,
                        PyObject* keep);

/// _function(address, contract, natural, gil, keep, doc) and _argument(…); ends with a NULL name.
extern PyMethodDef function_functions[];

}  // namespace dlx::py

#endif  // DLX_SRC_PYTHON_FUNCTION_H_
