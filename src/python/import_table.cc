#include "src/python/import_table.h"

#include "src/base/error.h"
#include "src/base/foreign.h"
#include "src/device/current_stream.h"
#include "src/device/registry.h"
#include "src/python/errors.h"
#include "src/python/guard.h"
#include "src/python/reference.h"
#include "src/python/state.h"
#include "src/python/torch.h"
#include "src/python/torch_plain.h"
#include "src/tensor/dlpack.h"
#include "src/tensor/synchronization.h"
#include "src/tensor/tensor.h"

namespace dlx::py {
namespace {

/// Takes over a managed tensor, which is gone afterwards, even after an exception.
TensorRef take(DLManagedTensorVersioned* managed, bool* copied) {
  bool consumed;
  try {
    return import_versioned(managed, &consumed, copied);
  } catch (...) {
    if (!consumed) delete_managed(managed);
    throw;
  }
}

/// take(); an error is replaced by the guard hook's, if the hook has one: torch exports some tensors
/// that have no memory with a NULL pointer.
TensorRef take_or_explain(PyObject* object, DLManagedTensorVersioned* managed, bool* copied) {
  try {
    return take(managed, copied);
  } catch (const Error&) {
    const Ref fine(call_objects(state.guard, object));
    if (fine) throw;
    const bool known = api.PyErr_ExceptionMatches(state.errors[DLX_ERROR_UNSUPPORTED]) != 0;
    // not covered from here: a guard that fails by itself
    if (known || is_urgent()) throw PythonError();
    api.PyErr_Clear();
    throw;
    // covered again
  }
}

/// The table never synchronises: a device's data is ready behind the stream that the library works
/// on now. dlx's work follows that stream from now on.
[[gnu::cold]] void follow_tables_stream(PyObject* object, const DLPackExchangeAPI& table,
                                        Tensor* tensor) {
  const Worker worker = find_worker(tensor->dl);
  if (worker.backend == nullptr) return;
  const int32_t type = stream_family(type_of(tensor->dl.device));
  void* stream = nullptr;
  if (!call_table(table.current_work_stream, static_cast<DLDeviceType>(type), worker.id, &stream)) {
    if (api.PyErr_Occurred() != nullptr) throw PythonError();
    raise(api.buffer_error, "the exchange table of %s gave no current stream of %s",
          type_text(class_of(object)).text, device_text(type, worker.id).text);
  }
  follow_work_stream(table.current_work_stream);
  note_written(tensor, number_of_handle(*worker.backend, stream));
}

/// Whether dlx can order work on a device by itself, given the producer's stream.
bool orders_by_streams(const DLDevice& device) noexcept {
  const Backend* backend = find_backend(type_of(device));
  return backend != nullptr && backend->has_streams();
}

}  // namespace

Imported import_by_table(PyObject* object, const TypeEntry& entry, const ImportRequest& request) {
  DLManagedTensorVersioned* managed = nullptr;
  if (!call_table(entry.table->managed_tensor_from_py_object_no_sync, object, &managed)) {
    if (api.PyErr_Occurred() == nullptr) {
      raise(api.buffer_error, "the exchange table of %s refused, without a reason",
            type_text(class_of(object)).text);
    }
    prefer_guards_reason(object);
    throw PythonError();
  }
  if (managed == nullptr) {
    raise(api.buffer_error, "the exchange table of %s gave no tensor, and no error",
          type_text(class_of(object)).text);
  }
  Imported imported;
  imported.tensor = take_or_explain(object, managed, &imported.copied);
  // By what was imported: the producer may have changed its struct since.
  if (const DLDevice device = imported.tensor->dl.device; device.device_type != kDLCPU) {
    // If dlx does not know the device's streams, only the producer can order its data.
    if (entry.table->current_work_stream == nullptr || !orders_by_streams(device)) return {};
    follow_tables_stream(object, *entry.table, imported.tensor.get());
  }
  if ((entry.flags & kTorch) == 0 || is_known_plain(object)) return imported;
  const Ref resolved = resolve_lazy_bits(object, entry, imported.tensor->dl.dtype.code, request);
  if (!resolved) {
    // Without elements torch also exports tensors that have no memory.
    if (imported.tensor->size > 0) note_plain(object);
    return imported;
  }
  imported = import_by_table(resolved.get(), entry, request);
  imported.copied = true;
  return imported;
}

}  // namespace dlx::py
