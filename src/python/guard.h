#ifndef DLX_SRC_PYTHON_GUARD_H_
#define DLX_SRC_PYTHON_GUARD_H_

#include "src/python/cpython.h"

namespace dlx::py {

/// After a failed import: replaces the producer's exception by the guard hook's, if the hook has
/// one. A producer's exception may be a RuntimeError with a C++ stack in it; the guard says what to
/// call instead. Asking it before every import would be too slow.
[[gnu::cold]] void prefer_guards_reason(PyObject* object) noexcept;

}  // namespace dlx::py

#endif  // DLX_SRC_PYTHON_GUARD_H_
