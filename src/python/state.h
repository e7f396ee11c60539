#ifndef DLX_SRC_PYTHON_STATE_H_
#define DLX_SRC_PYTHON_STATE_H_

#include <atomic>
#include <cstdint>

#include "src/python/cpython.h"

namespace dlx::py {

/// What dlx keeps about the attached interpreter. Written by attach(), read by all threads.
struct State {
  uint64_t generation = 0;  ///< number of interpreters attached so far; 0: none yet
  PyObject* tensor_type = nullptr;
  PyObject* exchange_capsule = nullptr;

  // Hooks: functions in Python that native code calls (hooks.inc).
  PyObject* errors[9] = {};  ///< exception classes by status; [0] is for DLX_ERROR_INTERNAL
#define DLX_HOOK(name) PyObject* name = nullptr;
#include "src/python/hooks.inc"
#undef DLX_HOOK

  PyObject* version_1_3 = nullptr;        ///< (1, 3)
  PyObject* max_version_names = nullptr;  ///< ("max_version",)
};

extern State state;

/// numpy.array, or NULL until some thread needs NumPy; set by _note_numpy().
extern std::atomic<PyObject*> numpy_array;

/// Interned names of attributes, methods and keywords.
struct Names {
#define DLX_NAME(name) PyObject* name;
#include "src/python/names.inc"
#undef DLX_NAME
};
extern Names names;

}  // namespace dlx::py

#endif  // DLX_SRC_PYTHON_STATE_H_
