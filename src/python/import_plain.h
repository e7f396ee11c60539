#ifndef DLX_SRC_PYTHON_IMPORT_PLAIN_H_
#define DLX_SRC_PYTHON_IMPORT_PLAIN_H_

#include "src/python/cpython.h"
#include "src/python/import_request.h"
#include "src/python/type_cache.h"

namespace dlx::py {

/// The protocols that asarray tries after DLPack. All throw PythonError and Error.

/// By the first of these protocols that `object` has: `__cuda_array_interface__`, if `of_device`,
/// before what would copy the data to the host (numba's `__array__`); buffer; `__array_interface__`;
/// `__array_struct__`. None if it has none of them.
TensorRef import_memory(PyObject* object, bool of_device);

/// For an object whose type has kPlain: by import_memory(), Arrow or `__array__`. No tensor if
/// it has none of these, or something that only the asarray_fallback hook can judge (a mask,
/// `copy=`).
Imported import_plain(PyObject* object, const TypeEntry& entry, const ImportRequest& request);

/// Forgets the dtype objects that import_plain() has accepted.
void forget_dtypes() noexcept;

}  // namespace dlx::py

#endif  // DLX_SRC_PYTHON_IMPORT_PLAIN_H_
