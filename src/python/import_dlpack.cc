#include "src/python/import_dlpack.h"

#include <cstdio>

#include "src/device/current_stream.h"
#include "src/device/registry.h"
#include "src/python/lockless.h"
#include "src/python/tensor_type.h"
#include "src/tensor/copies.h"
#include "src/tensor/dlpack.h"
#include "src/tensor/synchronization.h"

namespace dlx::py {

Ref call_method(PyObject* object, PyObject* name) {
  PyObject* arguments[] = {object};
  return Ref(check(api.PyObject_VectorcallMethod(name, arguments, 1, nullptr)));
}

namespace {

bool is_device(const DLDevice& device, const DLDevice& wanted) noexcept {
  return device.device_type == wanted.device_type && device.device_id == wanted.device_id;
}

/// Takes over a managed tensor; it is gone afterwards, in any case.
TensorRef take(DLManagedTensorVersioned* managed) {
  bool consumed;
  try {
    return import_versioned(managed, &consumed);
  } catch (...) {
    if (!consumed && managed->deleter != nullptr) managed->deleter(managed);
    throw;
  }
}

// ---- the exchange table ------------------------------------------------------------------------

/// Whether the exception that is set goes before one that came earlier: KeyboardInterrupt and its
/// like do.
bool is_urgent() noexcept { return api.PyErr_ExceptionMatches(api.exception) == 0; }

/// Takes the exception that is set. It is dropped in the end, beside one that came later, unless it
/// is put back.
class TakenError {
 public:
  TakenError() noexcept { api.PyErr_Fetch(&type_, &value_, &traceback_); }
  ~TakenError() {
    const WithoutPendingError aside;
    const Ref type(type_), value(value_), traceback(traceback_);
  }
  TakenError(const TakenError&) = delete;
  TakenError& operator=(const TakenError&) = delete;

  /// In place of what is set now.
  void put_back() noexcept {
    api.PyErr_Clear();
    api.PyErr_Restore(type_, value_, traceback_);
    type_ = value_ = traceback_ = nullptr;
  }

 private:
  PyObject* type_ = nullptr;
  PyObject* value_ = nullptr;
  PyObject* traceback_ = nullptr;
};

/// A producer's reasons may be RuntimeErrors with a C++ stack in them; the guard may know what to
/// call instead. Too slow to ask before every import, it is asked when one has failed.
[[gnu::cold]] void prefer_guards_reason(PyObject* object) noexcept {
  if (is_urgent()) return;
  TakenError own;
  const Ref fine(call_objects(state.guard, object));
  const bool known =
      !fine &&
      (is_urgent() || api.PyErr_ExceptionMatches(state.errors[DLX_ERROR_UNSUPPORTED]) != 0);
  if (!known) own.put_back();  // it came first
}

/// The table never synchronises: the data of a device is ready behind the stream that the library
/// works on now. Work of ours follows that stream from now on.
[[gnu::cold]] void order_by_table(PyObject* object, const DLPackExchangeAPI& table,
                                  Tensor* tensor) {
  const Worker worker = find_worker(tensor->dl);
  if (worker.backend == nullptr) return;
  const int32_t type = stream_family(type_of(tensor->dl.device));
  void* stream = nullptr;
  if (table.current_work_stream(static_cast<DLDeviceType>(type), worker.id, &stream) != 0) {
    if (api.PyErr_Occurred() != nullptr) throw PythonError();
    raise(api.buffer_error, "the exchange table of %s names no current stream of %s",
          type_text(class_of(object)).text, device_text(type, worker.id).text);
  }
  follow_work_stream(table.current_work_stream);
  note_written(tensor, number_of_handle(*worker.backend, stream));
}

/// Whether dlx can order work on a device by itself, once the producer says on which stream it is.
bool orders_by_streams(const DLDevice& device) noexcept {
  const Backend* backend = find_backend(type_of(device));
  return backend != nullptr && backend->has_streams();
}

}  // namespace

/// Import through the type's C table. None: the table does not serve this device (it never
/// synchronises), or torch's bits must be resolved first.
Imported import_by_table(PyObject* object, const TypeEntry& entry, const Request& request) {
  DLManagedTensorVersioned* managed = nullptr;
  if (entry.table->managed_tensor_from_py_object_no_sync(object, &managed) != 0) {
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
  const bool host = managed->version.major != 1 || managed->dl_tensor.device.device_type == kDLCPU;
  // Only the producer can order the data of devices whose streams dlx knows nothing of.
  if (!host && (entry.table->current_work_stream == nullptr ||
                !orders_by_streams(managed->dl_tensor.device))) {
    if (managed->deleter != nullptr) managed->deleter(managed);
    return {};
  }
  Imported imported;
  imported.copied =
      managed->version.major == 1 && (managed->flags & DLPACK_FLAG_BITMASK_IS_COPIED) != 0;
  try {
    imported.tensor = take(managed);
  } catch (const Error&) {
    // torch exports some tensors that have no memory of their own with a NULL pointer.
    const Ref fine(call_objects(state.guard, object));
    if (fine) throw;
    const bool known = api.PyErr_ExceptionMatches(state.errors[DLX_ERROR_UNSUPPORTED]) != 0;
    if (known || is_urgent()) throw PythonError();
    api.PyErr_Clear();
    throw;
  }
  if (!host) {
    try {
      order_by_table(object, *entry.table, imported.tensor.get());
    } catch (const PythonError&) {
      const WithoutPendingError
          aside;  // the producer's deleter may be Python code, which clears it
      imported.tensor = TensorRef();
      throw;
    }
  }
  if ((entry.flags & kTorch) == 0 || !may_have_lazy_bits(imported.tensor->dl.dtype))
    return imported;
  const bool is_complex = imported.tensor->dl.dtype.code == kDLComplex;
  const Ref resolved = resolve_lazy_bits(object, entry, is_complex, request);
  if (!resolved) return imported;
  imported = import_by_table(resolved.get(), entry, request);
  imported.copied = true;
  return imported;
}

namespace {

// ---- __dlpack__ --------------------------------------------------------------------------------

DLDevice read_device(PyObject* object) {
  const Ref pair = call_method(object, names.__dlpack_device__);
  const bool valid = (api.PyType_GetFlags(class_of(pair.get())) & kTypeFlagTuple) != 0 &&
                     api.PyTuple_Size(pair.get()) == 2;
  if (!valid) {
    fail(DLX_ERROR_INVALID_ARGUMENT,
         "`__dlpack_device__` must return a tuple of two integers (got %s)",
         type_text(class_of(pair.get())).text);
  }
  const int64_t type = to_device_type(api.PyTuple_GetItem(pair.get(), 0), "__dlpack_device__()[0]");
  const int64_t id = to_int64(api.PyTuple_GetItem(pair.get(), 1), "__dlpack_device__()[1]");
  if (type <= 0 || type > INT32_MAX || id < 0 || id > INT32_MAX) {
    fail(DLX_ERROR_INVALID_ARGUMENT, "`__dlpack_device__` names no device (got type %lld, id %lld)",
         static_cast<long long>(type), static_cast<long long>(id));
  }
  return make_device(static_cast<int32_t>(type), static_cast<int32_t>(id));
}

/// One call of x.__dlpack__ with those keywords that are needed.
class DlpackCall {
 public:
  explicit DlpackCall(PyObject* object) { arguments_[0] = object; }

  void add(PyObject* name, Ref value) {
    names_[count_] = name;
    arguments_[1 + count_] = value.get();
    values_[count_++] = static_cast<Ref&&>(value);
  }

  Ref run() {
    Ref kwnames;
    if (count_ == 1 && names_[0] == names.max_version) {
      kwnames = Ref::share(state.max_version_names);
    } else if (count_ > 0) {
      kwnames = Ref(check(api.PyTuple_New(count_)));
      for (int i = 0; i < count_; ++i) {
        api.Py_IncRef(names_[i]);
        api.PyTuple_SetItem(kwnames.get(), i, names_[i]);
      }
    }
    return Ref(api.PyObject_VectorcallMethod(names.__dlpack__, arguments_, 1, kwnames.get()));
  }

 private:
  int count_ = 0;
  PyObject* names_[4];
  Ref values_[4];
  PyObject* arguments_[5];
};

/// Whether the standard gives the device streams.
bool has_streams(const DLDevice& device) noexcept {
  return device.device_type == kDLCUDA || device.device_type == kDLCUDAManaged ||
         device.device_type == kDLROCM;
}

/// The stream that dlx works on, where the producer is to make the data safe.
void add_stream(DlpackCall* call, const DLDevice& device) {
  if (has_streams(device)) {
    call->add(names.stream, Ref(check(api.PyLong_FromLongLong(current_stream_of(device)))));
  }
}

Ref call_modern(PyObject* object, const DLDevice& device, const Request& request) {
  DlpackCall call(object);
  const bool crosses = request.has_device && !is_device(device, request.device);
  const bool moves = crosses && !can_move(device, request.device);  // else dlx does it
  call.add(names.max_version, Ref::share(state.version_1_3));
  if (!moves) add_stream(&call, device);
  if (moves) {
    const int64_t numbers[] = {static_cast<int64_t>(request.device.device_type),
                               request.device.device_id};
    call.add(names.dl_device, Ref(tuple_of(2, numbers)));
  }
  const bool copies_later = crosses && !moves && request.copy == DLX_COPY_ALWAYS;
  if (request.copy != DLX_COPY_IF_NEEDED && !copies_later) {
    call.add(names.copy, Ref(api.PyBool_FromLong(request.copy == DLX_COPY_ALWAYS ? 1 : 0)));
  }
  return call.run();
}

/// A producer from before max_version, copy and dl_device.
[[gnu::cold]] Ref call_legacy(PyObject* object, const DLDevice& device, const Request& request) {
  if (request.copy == DLX_COPY_NEVER) {
    fail(DLX_ERROR_COPY_REFUSED,
         "copy=False cannot be promised: the __dlpack__ of this type takes no `copy`");
  }
  if (request.has_device && !is_device(device, request.device) &&
      !can_move(device, request.device)) {
    fail(
        DLX_ERROR_DEVICE_REFUSED,
        "the data is on %s, and the __dlpack__ of this type takes no `dl_device`: move it with its "
        "own library first",
        device_text(type_of(device), device.device_id).text);
  }
  DlpackCall call(object);
  add_stream(&call, device);
  return Ref(check(call.run().detach()));
}

/// True if the TypeError that is set means "these keywords are not known"; it is cleared then.
[[gnu::cold]] bool is_legacy_signature(PyObject* object) {
  if (api.PyErr_ExceptionMatches(api.type_error) == 0) return false;
  TakenError own;
  const Ref answer(call_objects(state.legacy_signature, object));
  if (answer.get() == api.true_) return true;
  if (answer || !is_urgent()) own.put_back();
  return false;
}

/// CuPy, nanobind and TensorFlow share, but refuse copy=True, each with an error of its own: what
/// they share is copied here, as all data is that its producer did not mark as copied. None, and
/// the error that is set, for all else; a TypeError may be about the keywords.
[[gnu::cold]] Ref call_for_a_copy_of_ours(PyObject* object, const DLDevice& device,
                                          const Request& request) {
  if (request.copy != DLX_COPY_ALWAYS || is_urgent() ||
      api.PyErr_ExceptionMatches(api.type_error) != 0) {
    return Ref();
  }
  TakenError own;
  Request sharing = request;
  sharing.copy = DLX_COPY_IF_NEEDED;
  Ref capsule = call_modern(object, device, sharing);
  if (!capsule && !is_urgent()) own.put_back();
  return capsule;
}

/// `*told` as in Imported.
Ref call_dlpack(PyObject* object, const TypeEntry& entry, const DLDevice& device,
                const Request& request, bool* told) {
  if (!entry.legacy_signature) {
    Ref capsule = call_modern(object, device, request);
    *told = static_cast<bool>(capsule) && request.copy == DLX_COPY_ALWAYS;
    if (!capsule) capsule = call_for_a_copy_of_ours(object, device, request);
    if (capsule) return capsule;
    if (!is_legacy_signature(object)) throw PythonError();
  }
  Ref capsule = call_legacy(object, device, request);
  // Only now: the TypeError may have been about this object, and not about the keywords.
  if (!entry.legacy_signature) note_legacy_signature(class_of(object));
  return capsule;
}

/// What __dlpack__ returned instead of a capsule that can be taken.
[[gnu::cold]] TypeText what_came(PyObject* object) noexcept {
  TypeText out = type_text(class_of(object));
  if (class_of(object) != api.capsule_type) return out;
  const char* name = api.PyCapsule_GetName(object);
  api.PyErr_Clear();
  std::snprintf(out.text, sizeof out.text, "a PyCapsule named \"%.60s\"",
                name == nullptr ? "" : name);
  return out;
}

/// What a capsule of that name holds, which is this thread's from now on; else NULL.
template <typename Managed>
Managed* claim(PyObject* capsule, const char* name, const char* used) noexcept {
  const Changing changing;
  if (api.PyCapsule_IsValid(capsule, name) == 0) return nullptr;
  void* held = api.PyCapsule_GetPointer(capsule, name);
  api.PyCapsule_SetName(capsule, used);
  return static_cast<Managed*>(held);
}

/// Takes over what the capsule holds, and renames it, exactly if its deleter is ours to call.
Imported consume(PyObject* capsule, const TypeEntry& entry, const Request& request) {
  Imported imported;
  if (auto* managed = claim<DLManagedTensorVersioned>(capsule, kVersioned, kUsedVersioned)) {
    imported.copied =
        managed->version.major == 1 && (managed->flags & DLPACK_FLAG_BITMASK_IS_COPIED) != 0;
    bool consumed;
    try {
      imported.tensor = import_versioned(managed, &consumed);
    } catch (...) {
      if (!consumed) api.PyCapsule_SetName(capsule, kVersioned);
      throw;
    }
  } else if (auto* legacy = claim<DLManagedTensor>(capsule, kLegacy, kUsedLegacy)) {
    const uint64_t flags = (entry.flags & kImmutable) != 0 ? DLPACK_FLAG_BITMASK_READ_ONLY : 0;
    try {
      imported.tensor = import_legacy(legacy, flags);
    } catch (...) {
      api.PyCapsule_SetName(capsule, kLegacy);
      throw;
    }
  } else {
    fail(DLX_ERROR_INVALID_ARGUMENT,
         "expected a PyCapsule named \"dltensor_versioned\" or \"dltensor\" that nobody has "
         "consumed (got %s)",
         what_came(capsule).text);
  }
  if (imported.copied && request.copy == DLX_COPY_NEVER) {
    fail(DLX_ERROR_COPY_REFUSED, "the producer made a copy although copy=False");
  }
  return imported;
}

/// An object of a class without __dlpack__ may have one of its own.
bool has_dlpack(PyObject* object) {
  const Ref method = find_attribute(object, names.__dlpack__);
  return method && method.get() != api.none;
}

}  // namespace

Imported import_by_protocol(PyObject* object, const TypeEntry& entry, const Request& request) {
  if (class_of(object) == api.capsule_type) return consume(object, entry, request);
  Ref resolved;
  if ((entry.flags & kTorch) != 0) resolved = resolve_lazy_bits(object, entry, true, request);
  if (resolved) object = resolved.get();
  if ((entry.flags & kHasDlpack) == 0) {
    if (!has_dlpack(object)) {
      raise(api.attribute_error,
            "from_dlpack: `x` has no __dlpack__ (got %s); dlx.asarray takes what has other "
            "protocols",
            type_text(class_of(object)).text);
    }
    // A proxy: its class says nothing of what is behind it.
    const Ref fine(check(call_objects(state.guard, object)));
  }
  Ref capsule;
  DLDevice device{};
  bool told = false;
  try {
    // PyArrow's numbers are the CPU's, or else refuse: asking takes a quarter of the time.
    device = (entry.flags & kArrowNumbers) != 0 ? kCpu : read_device(object);
    capsule = call_dlpack(object, entry, device, request, &told);
  } catch (const PythonError&) {
    if ((entry.flags & kGuard) == 0) prefer_guards_reason(object);
    throw;
  }
  Imported imported = consume(capsule.get(), entry, request);
  const bool same = is_device(device, imported.tensor->dl.device);
  if (same && has_streams(device)) note_written(imported.tensor.get(), current_stream_of(device));
  imported.copied = imported.copied || static_cast<bool>(resolved);
  imported.told = told;
  return imported;
}

// ---- Arrow -------------------------------------------------------------------------------------

/// A type that asarray takes through Arrow. An array of numbers without nulls has a __dlpack__ that
/// costs half as much; where that refuses, Arrow takes the array or knows the reason.
Imported import_arrow_object(PyObject* object, const TypeEntry& entry, const Request& request) {
  Imported imported;
  if ((entry.flags & kArrowNumbers) != 0 && request.copy == DLX_COPY_IF_NEEDED &&
      !request.has_device) {
    const Ref capsule = call_modern(object, kCpu, request);
    if (capsule) return consume(capsule.get(), entry, request);
    if (api.PyErr_ExceptionMatches(api.type_error) == 0) throw PythonError();
    api.PyErr_Clear();
  }
  imported.tensor = (entry.flags & kArrow) != 0
                        ? import_by_arrow(object, request.copy, &imported.copied)
                        : import_by_arrow_stream(object, request.copy, &imported.copied);
  return imported;
}

}  // namespace dlx::py
