#include "src/python/import_plain.h"

#include "src/base/error.h"
#include "src/python/calls.h"
#include "src/python/cuda_array_interface.h"
#include "src/python/errors.h"
#include "src/python/import_array_interface.h"
#include "src/python/import_arrow.h"
#include "src/python/import_buffer.h"
#include "src/python/lockless.h"
#include "src/python/ndarray.h"
#include "src/python/reference.h"
#include "src/python/state.h"
#include "src/python/tensor_type.h"

namespace dlx::py {
namespace {

/// The attribute of a protocol; none if it is missing or None.
Ref find_value(PyObject* object, PyObject* name) {
  Ref value = find_attribute(object, name);
  return value.get() == api.none ? Ref() : static_cast<Ref&&>(value);
}

/// dtype objects that the check_dtype hook always accepts.
GrowingList<PyObject*, 32> fine_dtypes;

/// Refuses an object whose `dtype` DLPack cannot express. The buffer protocol would pass a date as
/// plain bytes.
void require_fine_dtype(PyObject* object) {
  const Ref dtype = find_value(object, names.dtype);
  if (!dtype) return;
  for (PyObject* known : fine_dtypes) {
    if (known == dtype.get()) return;
  }
  const Ref fine(check(call_objects(state.check_dtype, dtype.get(), object)));
  if (fine.get() != api.true_) return;
  Ref kept = Ref::share(dtype.get());
  fine_dtypes.add([&](PyObject** item) { *item = kept.detach(); });
}

/// Refuses a buffer whose items are not those of its object, such as bits that are packed in bytes.
void require_same_items(PyObject* object, const DLTensor& shown) {
  if (shown.ndim == 0) return;
  const int64_t length = api.PyObject_Size(object);
  if (length == shown.shape[0]) return;
  if (length < 0) {
    if (is_urgent()) throw PythonError();
    return api.PyErr_Clear();  // it has no items of its own
  }
  fail(DLX_ERROR_UNSUPPORTED,
       "its %lld items are not the object's %lld: pass `memoryview(x)` for the buffer's, or "
       "`list(x)` for the object's",
       static_cast<long long>(shown.shape[0]), static_cast<long long>(length));
}

TensorRef import_own_buffer(PyObject* object) {
  TensorRef tensor = import_buffer(object);
  require_same_items(object, tensor->dl);
  return tensor;
}

/// Refuses writable memory that the object makes each time it is asked: what is written there is lost.
void require_lasting(PyObject* object, const Tensor& tensor) {
  const bool read_only = (tensor.flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0;
  const bool of_python = (api.PyType_GetFlags(class_of(object)) & kTypeFlagHeap) != 0;
  if (read_only || !of_python || nbytes_of(&tensor) == 0) return;
  const TensorRef again = import_memory(object, false);
  if (again.get() != nullptr && again->dl.data == tensor.dl.data) return;
  fail(DLX_ERROR_COPY_REFUSED,
       "%s makes a new array at each call, and copy=False forbids that: load or compute it first",
       type_text(class_of(object)).text);
}

/// By `__array__`.
Imported import_array_method(PyObject* object) {
  const Ref method = find_value(object, names.__array__);
  if (!method) return {};
  const Ref array(check(call_objects(method.get())));
  Imported imported;
  const bool exact = (look_up_type(class_of(array.get())).flags & (kNdarray | kGuard)) == kNdarray;
  if (exact && has_plain_dtype(array.get())) {
    imported.tensor = import_ndarray(array.get(), true, &imported.copied);
    return imported;
  }
  const Ref tensor(check(call_objects(state.array_result, object, array.get())));
  // not covered: the hook returns what asarray returned
  if (!is_tensor(tensor.get())) {
    // not covered from here: the hook returns what asarray returned
    raise(api.type_error, "the hook array_result must return a Tensor (got %s)",
          type_text(class_of(tensor.get())).text);
    // covered again
  }
  imported.tensor = TensorRef::share(tensor_of(tensor.get()));
  return imported;
}

}  // namespace

void forget_dtypes() noexcept { fine_dtypes.clear(); }

TensorRef import_memory(PyObject* object, bool of_device) {
  if (of_device) {
    const Ref interface = find_value(object, names.__cuda_array_interface__);
    if (interface) return import_cuda_array_interface(object, interface.get());
  }
  if (api.PyObject_CheckBuffer(object) != 0) {
    return by_protocol("the buffer", object, [&] { return import_own_buffer(object); });
  }
  if (const Ref interface = find_value(object, names.__array_interface__)) {
    return import_array_interface(object, interface.get());
  }
  if (const Ref capsule = find_value(object, names.__array_struct__)) {
    return by_protocol("`__array_struct__`", object,
                       [&] { return import_array_struct(object, capsule.get()); });
  }
  return TensorRef();
}

Imported import_plain(PyObject* object, const TypeEntry& entry, const ImportRequest& request) {
  if (find_value(object, names.mask)) return {};
  require_fine_dtype(object);
  Imported imported;
  const bool of_device = (entry.flags & kCudaArray) != 0;
  imported.tensor = import_memory(object, of_device);
  if (imported.tensor.get() != nullptr) {
    if (request.copy == DLX_COPY_NEVER && !of_device) {
      require_lasting(object, *imported.tensor.get());
    }
    return imported;
  }
  if ((entry.flags & kLateArrow) != 0) {
    imported.tensor = import_by_arrow(object, request.copy, request.dtype, &imported.copied);
    return imported;
  }
  if ((entry.flags & kLateArrowStream) != 0) {
    imported.tensor = import_by_arrow_stream(object, request.copy, request.dtype, &imported.copied);
    return imported;
  }
  // The fallback finds out whether `__array__` takes `copy`.
  if (request.copy != DLX_COPY_IF_NEEDED) return {};
  return import_array_method(object);
}

}  // namespace dlx::py
