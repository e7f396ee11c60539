#include "src/python/exchange_table.h"

#include <cstdio>
#include <exception>
#include <new>

#include "src/base/error.h"
#include "src/python/capsule_names.h"
#include "src/python/entry.h"
#include "src/python/errors.h"
#include "src/python/tensor_type.h"
#include "src/tensor/dlpack.h"
#include "src/tensor/synchronization.h"

namespace dlx::py {
namespace {

/// The C functions of `type(t).__dlpack_c_exchange_api__` (DLPack 1.3). The caller holds the GIL.
/// They return 0, or -1 with a Python exception set, and never synchronise.

Tensor* require_tensor_object(void* object) {
  auto* python = static_cast<PyObject*>(object);
  if (python == nullptr || !is_tensor(python)) {
    raise(api.type_error,
          "the object is not a dlx.Tensor, which this exchange table is for (got %s)",
          python == nullptr ? "NULL" : type_text(class_of(python)).text);
  }
  return tensor_of(python);
}

int from_py_object(void* object, DLManagedTensorVersioned** out) {
  *out = nullptr;
  return enter("managed_tensor_from_py_object_no_sync", -1, [&] {
    Tensor* tensor = require_tensor_object(object);
    make_ready_on_current(tensor);  // consumers of the table work on that stream
    *out = exports_as_is(tensor) ? export_shared(tensor) : export_versioned(tensor, {});
    return 0;
  });
}

int to_py_object(DLManagedTensorVersioned* managed, void** out) {
  *out = nullptr;
  return enter("managed_tensor_to_py_object_no_sync", -1, [&] {
    bool consumed, copied;
    *out = new_object(import_versioned(managed, &consumed, &copied));
    return 0;
  });
}

int dltensor_from_py_object(void* object, DLTensor* out) {
  return enter("dltensor_from_py_object_no_sync", -1, [&] {
    Tensor* tensor = require_tensor_object(object);
    // A bare DLTensor has no flags, and this function must not allocate.
    if (tensor->readonly() || (tensor->padded() && tensor->dl.dtype.bits < 8)) {
      fail(DLX_ERROR_UNSUPPORTED, "a bare DLTensor cannot say that the data is %s",
           tensor->readonly() ? "read-only" : "padded");
    }
    if (!exports_as_is(tensor) && negative_strides_policy() != DLX_NEGATIVE_STRIDES_SHARE) {
      fail(DLX_ERROR_UNSUPPORTED,
           "the tensor has negative strides, which make PyTorch abort: call .contiguous() first");
    }
    make_ready_on_current(tensor);
    *out = tensor->dl;
    if (tensor->size == 0) out->data = nullptr;
    return 0;
  });
}

int current_work_stream(DLDeviceType device_type, int32_t device_id, void** out) {
  // The exports made this stream wait for pending work. NULL for the CPU, which has no streams.
  const StreamHandle stream = current_stream_of({device_type, device_id});
  *out = reinterpret_cast<void*>(static_cast<int64_t>(stream));
  return 0;
}

int allocate_managed(DLTensor* prototype, DLManagedTensorVersioned** out, void* error_context,
                     void (*set_error_fn)(void*, const char*, const char*)) {
  // The caller may not hold the GIL, so enter() cannot be used.
  char message[Error::kMessageBytes];
  const char* kind = "RuntimeError";
  *out = nullptr;
  try {
    const TensorRef tensor = empty(prototype->ndim, prototype->shape, prototype->dtype,
                                   prototype->device, 0, Allocation());
    *out = export_shared(tensor.get());
    return 0;
  } catch (const Error& error) {
    std::snprintf(message, sizeof message, "%s", error.what());
    kind = error.status() == DLX_ERROR_OUT_OF_MEMORY ? "MemoryError" : "ValueError";
    // not covered from here: C++ runs out of memory in tests/capi/no_memory.cc only
  } catch (const std::bad_alloc&) {
    std::snprintf(message, sizeof message, "out of memory");
    kind = "MemoryError";
  } catch (const std::exception& error) {
    std::snprintf(message, sizeof message, "%s", error.what());
    // covered again
  }
  set_error_fn(error_context, kind, message);
  return -1;
}

DLPackExchangeAPI table = {{{1, 3}, nullptr}, allocate_managed,        from_py_object,
                           to_py_object,      dltensor_from_py_object, current_work_stream};

}  // namespace

PyObject* make_exchange_capsule() {
  return check(api.PyCapsule_New(&table, kExchangeApi, nullptr));
}

}  // namespace dlx::py
