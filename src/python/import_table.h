#ifndef DLX_SRC_PYTHON_IMPORT_TABLE_H_
#define DLX_SRC_PYTHON_IMPORT_TABLE_H_

#include "src/python/cpython.h"
#include "src/python/import_request.h"
#include "src/python/type_cache.h"

namespace dlx::py {

/// Import through the DLPackExchangeAPI table of the object's type. No tensor if the table does not
/// serve the object's device: the table never synchronises. Throws PythonError and Error.
Imported import_by_table(PyObject* object, const TypeEntry& entry, const ImportRequest& request);

}  // namespace dlx::py

#endif  // DLX_SRC_PYTHON_IMPORT_TABLE_H_
