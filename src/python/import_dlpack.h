#ifndef DLX_SRC_PYTHON_IMPORT_DLPACK_H_
#define DLX_SRC_PYTHON_IMPORT_DLPACK_H_

#include "src/python/cpython.h"
#include "src/python/import_request.h"
#include "src/python/type_cache.h"

namespace dlx::py {

/// Import through DLPack capsules. Both throw PythonError and Error.

/// By x.__dlpack_device__() and x.__dlpack__(), or from a bare capsule.
Imported import_by_protocol(PyObject* object, const TypeEntry& entry, const ImportRequest& request);

/// Import of a type that asarray takes through Arrow: by its `__dlpack__` where that is faster,
/// else by Arrow.
Imported import_arrow_object(PyObject* object, const TypeEntry& entry,
                             const ImportRequest& request);

}  // namespace dlx::py

#endif  // DLX_SRC_PYTHON_IMPORT_DLPACK_H_
