#ifndef DLX_SRC_PYTHON_EXCHANGE_TABLE_H_
#define DLX_SRC_PYTHON_EXCHANGE_TABLE_H_

#include "src/python/cpython.h"

namespace dlx::py {

/// The capsule of dlx.Tensor's DLPackExchangeAPI, by which libraries in C import and export
/// Tensors; a new reference. Throws PythonError.
PyObject* make_exchange_capsule();

}  // namespace dlx::py

#endif  // DLX_SRC_PYTHON_EXCHANGE_TABLE_H_
