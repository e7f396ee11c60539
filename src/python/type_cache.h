#ifndef DLX_SRC_PYTHON_TYPE_CACHE_H_
#define DLX_SRC_PYTHON_TYPE_CACHE_H_

#include "dlx/dlpack.h"
#include "src/python/cpython.h"

namespace dlx::py {

/// What is known about the types of objects that dlx imports. Found out once for each type.

/// What the classify hook says about a type.
enum TypeFlags : int {
#define DLX_CLASS_BIT(name, value) name = (value),
#include "src/python/class_bits.inc"
#undef DLX_CLASS_BIT
};

/// What is asked of a torch tensor before every import: methods as C functions, an attribute as its
/// descriptor. Calling these directly spares look-ups that cost as much as the answers. NULL for
/// what is not plain C; that is looked up each time.
struct LazyBitPredicates {
  using DescriptorGet = PyObject* (*)(PyObject* descriptor, PyObject* object, PyObject* type);

  PyCFunction is_neg = nullptr;
  PyCFunction is_conj = nullptr;
  PyObject* requires_grad = nullptr;  ///< owned by the entry
  DescriptorGet get = nullptr;        ///< of requires_grad
};

struct TypeEntry {
  PyObject* type = nullptr;  ///< compared, never dereferenced: the weak reference clears the entry
  PyObject* weak_reference = nullptr;
  int flags = 0;
  bool legacy_signature = false;  ///< its __dlpack__ takes no max_version
  const DLPackExchangeAPI* table = nullptr;
  LazyBitPredicates lazy_bits;  ///< of torch types, once found
};

/// The entry of a type, by value: other threads, or Python code that runs meanwhile, may change the
/// cache. Throws PythonError.
TypeEntry look_up_type(PyObject* type);
/// Remembers that the type's __dlpack__ takes no max_version.
void note_legacy_signature(PyObject* type) noexcept;
/// Finds the predicates of a torch type through one of its objects and remembers them. Throws
/// PythonError.
LazyBitPredicates find_lazy_bits(PyObject* object);

/// Forgets everything; also what import_plain() and ndarray.h keep about types.
void clear_type_cache() noexcept;

}  // namespace dlx::py

#endif  // DLX_SRC_PYTHON_TYPE_CACHE_H_
