#ifndef DLX_SRC_PYTHON_CALLS_H_
#define DLX_SRC_PYTHON_CALLS_H_

#include "src/python/cpython.h"
#include "src/python/reference.h"

namespace dlx::py {

/// Attributes, items and calls of Python objects. All throw PythonError.

/// An attribute, or none after an AttributeError. Throws for other errors.
Ref find_attribute(PyObject* object, PyObject* name);
/// The value of a key, or none if the dictionary lacks it.
Ref find_item(PyObject* dict, PyObject* key);
/// function(argument), by the cheapest call that this CPython has.
Ref call(PyObject* function, PyObject* argument);
/// object.name()
Ref call_method(PyObject* object, PyObject* name);
/// (first, second) as a new tuple.
Ref pair_of(Ref first, Ref second);

}  // namespace dlx::py

#endif  // DLX_SRC_PYTHON_CALLS_H_
