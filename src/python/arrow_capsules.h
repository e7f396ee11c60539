#ifndef DLX_SRC_PYTHON_ARROW_CAPSULES_H_
#define DLX_SRC_PYTHON_ARROW_CAPSULES_H_

#include "src/python/cpython.h"

namespace dlx::py {

/// Capsules of Arrow's PyCapsule interface.

/// The struct that a capsule of that name holds, or NULL if `object` is not such a capsule.
template <typename Struct>
Struct* open_capsule(PyObject* object, const char* name) {
  if (class_of(object) != api.capsule_type || api.PyCapsule_IsValid(object, name) == 0)
    return nullptr;
  return static_cast<Struct*>(api.PyCapsule_GetPointer(object, name));
}

}  // namespace dlx::py

#endif  // DLX_SRC_PYTHON_ARROW_CAPSULES_H_
