#ifndef DLX_SRC_PYTHON_CONTRACT_TEXT_H_
#define DLX_SRC_PYTHON_CONTRACT_TEXT_H_

#include "src/python/cpython.h"

namespace dlx::py {

/// _contract(text): what a contract says, as the text of a Python literal. For the doors of compiled
/// programs (bindings/python/dlx/_call), which infer shapes that are no numbers. Ends with a NULL
/// name.
extern PyMethodDef contract_functions[];

}  // namespace dlx::py

#endif  // DLX_SRC_PYTHON_CONTRACT_TEXT_H_
