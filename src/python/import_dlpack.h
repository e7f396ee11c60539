#ifndef DLX_SRC_PYTHON_IMPORT_DLPACK_H_
#define DLX_SRC_PYTHON_IMPORT_DLPACK_H_

#include "src/python/type_cache.h"

namespace dlx::py {

/// The ways in which a producer hands its tensor over. All throw PythonError and Error.

/// What the caller of from_dlpack or asarray asked for.
struct Request {
  int32_t copy = DLX_COPY_IF_NEEDED;
  bool has_device = false;
  DLDevice device{};

  /// Whatever the import brings is what the caller gets.
  bool is_plain() const noexcept { return copy == DLX_COPY_IF_NEEDED && !has_device; }
};

struct Imported {
  TensorRef tensor;
  bool copied = false;  ///< the memory is the caller's alone
  bool told = false;    ///< the producer was told to copy, and did not refuse
};

/// Import through the type's C table. None: the table does not serve this device, for it never
/// synchronises.
Imported import_by_table(PyObject* object, const TypeEntry& entry, const Request& request);

/// Import through x.__dlpack_device__() and x.__dlpack__().
Imported import_by_protocol(PyObject* object, const TypeEntry& entry, const Request& request);

/// Import of a type that asarray takes through Arrow.
Imported import_arrow_object(PyObject* object, const TypeEntry& entry, const Request& request);

/// object.name().
Ref call_method(PyObject* object, PyObject* name);

// What torch's tensors need, in torch.cc.

/// torch marks conj and neg on the tensor and applies them later; its own exports look past the
/// bits. Returns the object to import in place of `object`, or none if it is fine as it is.
Ref resolve_lazy_bits(PyObject* object, const TypeEntry& entry, bool is_complex,
                      const Request& request);

/// Whether an operation of torch can leave such a bit on a tensor of the dtype.
bool may_have_lazy_bits(DLDataType dtype) noexcept;

}  // namespace dlx::py

#endif  // DLX_SRC_PYTHON_IMPORT_DLPACK_H_
