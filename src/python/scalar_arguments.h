#ifndef DLX_SRC_PYTHON_SCALAR_ARGUMENTS_H_
#define DLX_SRC_PYTHON_SCALAR_ARGUMENTS_H_

#include <string>

#include "dlx/call.h"
#include "src/contract/contract.h"
#include "src/python/cpython.h"

namespace dlx::py {

/// Numbers, truth values and texts as arguments of compiled functions.

/// The value of a scalar parameter; `object` NULL is its default. A text stays the object's. Throws
/// PythonError, whose message names the contract's function, and Error for another type, or a number
/// that the parameter's type cannot hold.
dlx_argument read_scalar(const Contract& contract, const Parameter& parameter, PyObject* object);

/// "=1.0" as help() shows it, or "".
std::string default_text(const Parameter& parameter);

}  // namespace dlx::py

#endif  // DLX_SRC_PYTHON_SCALAR_ARGUMENTS_H_
