#ifndef DLX_SRC_PYTHON_RESULTS_H_
#define DLX_SRC_PYTHON_RESULTS_H_

#include <cstdint>

#include "dlx/dlpack.h"
#include "src/python/cpython.h"
#include "src/python/reference.h"

namespace dlx::py {

/// Arrays that a call returns, of the library of the array that the caller passed.

/// What an array is made of.
struct ArraySpec {
  DLDataType dtype;
  DLDevice device;
  int32_t ndim;
  const int64_t* shape;
  int32_t order;  ///< DLX_ORDER_*
};

/// A new, uninitialised, compact array: by the library's own allocator for NumPy and libraries with
/// an exchange table, so that torch's caching allocator serves its users; else a dlx.Tensor, which
/// finish_result() converts once it is filled. `like` may be NULL. Throws PythonError and Error.
Ref new_result(PyObject* like, const ArraySpec& spec);

/// The result for the caller: an array of the library of `like`, or the Tensor itself if `like` is
/// NULL or belongs to no array library (a list, a buffer). Throws PythonError and Error.
Ref finish_result(Ref result, PyObject* like);

/// An array that a library's exchange table makes; it takes over `managed`. Throws PythonError.
Ref make_by_table(const DLPackExchangeAPI& table, DLManagedTensorVersioned* managed);

}  // namespace dlx::py

#endif  // DLX_SRC_PYTHON_RESULTS_H_
