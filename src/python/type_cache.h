#ifndef DLX_SRC_PYTHON_TYPE_CACHE_H_
#define DLX_SRC_PYTHON_TYPE_CACHE_H_

#include "src/python/state.h"

namespace dlx::py {

/// The names of DLPack's capsules; the standard asks for ones that live as long as the process.
constexpr const char* kVersioned = "dltensor_versioned";
constexpr const char* kUsedVersioned = "used_dltensor_versioned";
constexpr const char* kLegacy = "dltensor";
constexpr const char* kUsedLegacy = "used_dltensor";
constexpr const char* kExchangeApi = "dlpack_exchange_api";

/// What the classify hook says about a type.
enum TypeFlags : int {
#define DLX_CLASS_BIT(name, value) name = (value),
#include "src/python/class_bits.inc"
#undef DLX_CLASS_BIT
};

/// What is asked of a torch tensor before every import: methods as C functions, and an attribute as
/// its descriptor. Calling them directly spares the look-ups, which cost as much as the answers.
/// Whatever is not plain C is left NULL, and looked up each time.
struct LazyBitPredicates {
  using DescriptorGet = PyObject* (*)(PyObject* descriptor, PyObject* object, PyObject* type);

  PyCFunction is_neg = nullptr;
  PyCFunction is_conj = nullptr;
  PyObject* requires_grad = nullptr;  ///< owned by the entry
  DescriptorGet get = nullptr;        ///< of requires_grad
};

/// What is known about the type of an object, found out once.
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
/// Remembers that the type's __dlpack__ is of the time before max_version.
void note_legacy_signature(PyObject* type) noexcept;

/// Finds the predicates of a torch type by one of its objects and remembers them. Throws
/// PythonError.
LazyBitPredicates find_lazy_bits(PyObject* object);

/// An attribute, or none if there is none (AttributeError). Throws PythonError for other errors.
Ref find_attribute(PyObject* object, PyObject* name);
/// The value of a key, or none.
Ref find_item(PyObject* dict, PyObject* key);

/// The name of a type for messages, such as "numpy.ndarray" or "int". Never throws.
struct TypeText {
  char text[100];
};
[[gnu::cold]] TypeText type_text(PyObject* type) noexcept;

/// Throws `error` again, as one of a protocol of `object`, whose class it names.
[[noreturn, gnu::cold]] void fail_by(const char* protocol, PyObject* object, const Error& error);

/// Runs `body`, which reads a protocol of `object`: errors in what the object gave name both.
template <typename Body>
auto by_protocol(const char* protocol, PyObject* object, Body&& body) -> decltype(body()) {
  try {
    return body();
  } catch (const Error& error) {
    fail_by(protocol, object, error);
  }
}

/// Whether a numpy.ndarray's dtype is one that DLPack has by NumPy's type number alone, and its
/// fields can be trusted. Throws PythonError.
bool has_plain_dtype(PyObject* object);

/// The tensor in a numpy.ndarray (exactly that type), or none if its fields cannot be trusted.
/// `may_copy`: strides that are not whole elements lead to a copy, else to CopyRefused.
/// `*copied` tells. Throws PythonError and Error.
TensorRef import_ndarray(PyObject* object, bool may_copy, bool* copied);
/// A numpy.ndarray on the memory of a dlx.Tensor, which is its base; none where NumPy's C API has
/// not the dtype, is not known or cannot be trusted. Throws PythonError.
Ref new_ndarray(PyObject* owner);
/// Remembers NumPy's C API, `_ARRAY_API`, if it works as known. Throws PythonError.
[[gnu::cold]] void note_array_api(PyObject* capsule);
/// Forgets the API, and whether ndarray's layout was checked.
void reset_ndarray_check() noexcept;

}  // namespace dlx::py

#endif  // DLX_SRC_PYTHON_TYPE_CACHE_H_
