#include "src/python/calls.h"

#include "src/python/errors.h"

namespace dlx::py {

Ref find_attribute(PyObject* object, PyObject* name) {
  PyObject* value = nullptr;
  if (api.lookup_attribute(object, name, &value) < 0) throw PythonError();
  return Ref(value);
}

Ref find_item(PyObject* dict, PyObject* key) {
  PyObject* value = nullptr;
  // not covered: CPython 3.13 and newer
  if (api.PyDict_GetItemRef != nullptr) {
    // not covered from here: CPython 3.13 and newer
    if (api.PyDict_GetItemRef(dict, key, &value) < 0) throw PythonError();
    return Ref(value);
    // covered again
  }
  value = api.PyDict_GetItemWithError(dict, key);
  // not covered: a hash that fails, of an interned str
  if (value == nullptr && api.PyErr_Occurred() != nullptr) throw PythonError();
  return value == nullptr ? Ref() : Ref::share(value);
}

Ref call(PyObject* function, PyObject* argument) {
  // not covered: CPython 3.9
  if (api.PyObject_Vectorcall == nullptr) {
    return Ref(check(call_objects(function, argument)));  // not covered: CPython 3.9
  }
  PyObject* arguments[] = {nullptr, argument};  // the callee may use the first
  return Ref(check(api.PyObject_Vectorcall(function, arguments + 1,
                                           1 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr)));
}

Ref call_method(PyObject* object, PyObject* name) {
  PyObject* arguments[] = {object};
  return Ref(check(api.PyObject_VectorcallMethod(name, arguments, 1, nullptr)));
}

Ref pair_of(Ref first, Ref second) {
  Ref pair(check(api.PyTuple_New(2)));
  api.PyTuple_SetItem(pair.get(), 0, first.detach());
  api.PyTuple_SetItem(pair.get(), 1, second.detach());
  return pair;
}

}  // namespace dlx::py
