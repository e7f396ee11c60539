#ifndef DLX_SRC_PYTHON_INTERFACE_FIELDS_H_
#define DLX_SRC_PYTHON_INTERFACE_FIELDS_H_

#include "src/python/cpython.h"
#include "src/python/errors.h"
#include "src/python/integers.h"
#include "src/python/reference.h"
#include "src/tensor/tensor.h"

namespace dlx::py {

/// What NumPy's array interface and the CUDA array interface have in common: a dict with the same
/// keys. All functions throw PythonError and Error.

/// The attribute of a protocol, and its fields as messages name them.
struct InterfaceNames {
  const char* protocol;
  const char* shape;
  const char* strides;
  const char* typestr;
  const char* address;
  bool null_is_none;  ///< the address may be None
};
#define DLX_INTERFACE(name, null_is_none)                      \
  {"`" name "`",       name "['shape']",   name "['strides']", \
   name "['typestr']", name "['data'][0]", null_is_none}
constexpr InterfaceNames kArrayInterface = DLX_INTERFACE("__array_interface__", false);
constexpr InterfaceNames kCudaArrayInterface = DLX_INTERFACE("__cuda_array_interface__", true);
#undef DLX_INTERFACE

/// Adds the class of `object` to the exception that is set.
[[gnu::cold]] void name_class(PyObject* object) noexcept;

/// Runs `body`, which reads the interface of `object`. Errors name the protocol and the class.
template <typename Body>
TensorRef by_interface(const InterfaceNames& fields, PyObject* object, Body&& body) {
  try {
    return by_protocol(fields.protocol, object, body);
  } catch (const RaisedError&) {
    name_class(object);
    throw;
  }
}

/// Refuses an interface that is not a dict, or has a mask, which a tensor would lose.
void require_plain_dict(const InterfaceNames& fields, PyObject* interface);

/// A field of the interface; none if it is missing or None. Holds a reference, because reading one
/// field may run code that drops the others.
Ref find_field(PyObject* interface, PyObject* name);
/// The same; a missing field is refused by its `text`.
Ref require_field(PyObject* interface, PyObject* name, const char* text);

/// Shape, strides and dtype of an interface, without its memory.
class InterfaceLayout {
 public:
  InterfaceLayout(const InterfaceNames& fields, PyObject* interface);

  /// The description on the CPU, without an address.
  DLTensor description() noexcept;
  int64_t itemsize() const noexcept;
  /// Whether an extent is 0.
  bool is_empty() const noexcept;

 private:
  static constexpr int kMaxAxes = 64;  // NumPy's own limit

  void read_strides(const char* name, PyObject* object);

  Int64List shape_;
  DLDataType dtype_;
  int64_t strides_[kMaxAxes];
  bool strided_ = false;
};

/// The tuple (address, read-only) of 'data'.
struct InterfaceMemory {
  void* address;
  uint64_t flags;  ///< DLPACK_FLAG_BITMASK_*
};
InterfaceMemory read_memory(const InterfaceNames& fields, PyObject* data);

/// Makes the tuple (object, kept) the owner of the memory.
void set_owners(Tensor* tensor, PyObject* object, PyObject* kept);

}  // namespace dlx::py

#endif  // DLX_SRC_PYTHON_INTERFACE_FIELDS_H_
