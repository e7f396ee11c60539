#ifndef DLX_SRC_PYTHON_ARGUMENTS_H_
#define DLX_SRC_PYTHON_ARGUMENTS_H_

#include <cstdint>

#include "src/python/cpython.h"
#include "src/python/entry.h"
#include "src/tensor/tensor.h"

namespace dlx::py {

/// Parsing the arguments of entry points. All functions throw PythonError.

/// The parameters of a function: `count` names. The first `positional` may be given by position,
/// the first `positional_only` only by position; the first `required` must be given.
struct Signature {
  const char* function;
  int count;
  int positional;
  int positional_only;
  int required;
  PyObject* const* names[8];
};

/// Sorts the arguments of a METH_FASTCALL|METH_KEYWORDS call into `values`: borrowed references,
/// NULL for what was left out.
void parse_arguments(const Signature& signature, PyObject* const* args, int64_t nargs,
                     PyObject* kwnames, PyObject** values);

/// Throws unless an internal function got as many arguments as it takes.
void require_count(const char* function, int64_t nargs, int64_t count);
/// Entry point of an internal function with exactly `count` positional arguments.
template <typename Body>
PyObject* positional(const char* function, int64_t nargs, int64_t count, Body&& body) {
  return enter(function, static_cast<PyObject*>(nullptr), [&]() -> PyObject* {
    require_count(function, nargs, count);
    return body();
  });
}

/// The tensor of the argument `name`, which must be a dlx.Tensor.
Tensor* require_tensor(PyObject* object, const char* name);

/// The text of the argument `name`, a str, as C has it; borrowed from the object.
const char* to_text(PyObject* object, const char* name);
/// `copy`: None (or NULL), True or False as DLX_COPY_*.
int32_t to_copy_mode(PyObject* object);
/// `order`: "C" (or NULL) or "F" as DLX_ORDER_*.
int32_t to_order(PyObject* object);
/// `force`: True or False (or NULL).
bool to_force(PyObject* object);

}  // namespace dlx::py

#endif  // DLX_SRC_PYTHON_ARGUMENTS_H_
