#include "src/python/import_dlpack.h"

#include <cstdio>

#include "src/base/error.h"
#include "src/device/registry.h"
#include "src/python/calls.h"
#include "src/python/capsule_names.h"
#include "src/python/errors.h"
#include "src/python/guard.h"
#include "src/python/import_arrow.h"
#include "src/python/integers.h"
#include "src/python/lockless.h"
#include "src/python/reference.h"
#include "src/python/state.h"
#include "src/python/torch.h"
#include "src/python/torch_modes.h"
#include "src/tensor/copies.h"
#include "src/tensor/dlpack.h"
#include "src/tensor/synchronization.h"

namespace dlx::py {

namespace {

bool is_device(const DLDevice& device, const DLDevice& wanted) noexcept {
  return device.device_type == wanted.device_type && device.device_id == wanted.device_id;
}

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
    fail(DLX_ERROR_INVALID_ARGUMENT,
         "`__dlpack_device__` must return a device (got type %lld, id %lld)",
         static_cast<long long>(type), static_cast<long long>(id));
  }
  return make_device(static_cast<int32_t>(type), static_cast<int32_t>(id));
}

/// One call of x.__dlpack__ with only the keywords that are needed.
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

/// Whether the DLPack standard knows streams of the device.
bool has_streams(const DLDevice& device) noexcept {
  return device.device_type == kDLCUDA || device.device_type == kDLCUDAManaged ||
         device.device_type == kDLROCM;
}

/// Passes dlx's stream, on which the producer makes the data ready.
void add_stream(DlpackCall* call, const DLDevice& device) {
  if (has_streams(device)) {
    call->add(names.stream, Ref(check(api.PyLong_FromLongLong(current_stream_of(device)))));
  }
}

Ref call_modern(PyObject* object, const DLDevice& device, const ImportRequest& request) {
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

/// Calls a producer that does not know max_version, copy and dl_device.
[[gnu::cold]] Ref call_legacy(PyObject* object, const DLDevice& device,
                              const ImportRequest& request) {
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

/// Whether the exception that is set is a TypeError that means "unknown keywords". Clears it then.
[[gnu::cold]] bool is_legacy_signature(PyObject* object) {
  if (api.PyErr_ExceptionMatches(api.type_error) == 0) return false;
  TakenError own;
  const Ref answer(call_objects(state.legacy_signature, object));
  if (answer.get() == api.true_) return true;
  if (answer || !is_urgent()) own.put_back();
  return false;
}

/// CuPy, nanobind and TensorFlow share their data but refuse copy=True, each with its own error.
/// Asks them to share; dlx copies afterwards, as for all data that its producer did not mark as
/// copied. None, with the exception kept, in all other cases; a TypeError may be about the
/// keywords.
[[gnu::cold]] Ref call_without_copy(PyObject* object, const DLDevice& device,
                                    const ImportRequest& request) {
  if (request.copy != DLX_COPY_ALWAYS || is_urgent() ||
      api.PyErr_ExceptionMatches(api.type_error) != 0) {
    return Ref();
  }
  TakenError own;
  ImportRequest sharing = request;
  sharing.copy = DLX_COPY_IF_NEEDED;
  Ref capsule = call_modern(object, device, sharing);
  if (!capsule && !is_urgent()) own.put_back();
  return capsule;
}

/// `*copy_requested` as in Imported.
Ref call_dlpack(PyObject* object, const TypeEntry& entry, const DLDevice& device,
                const ImportRequest& request, bool* copy_requested) {
  if (!entry.legacy_signature) {
    Ref capsule = call_modern(object, device, request);
    *copy_requested = static_cast<bool>(capsule) && request.copy == DLX_COPY_ALWAYS;
    if (!capsule) capsule = call_without_copy(object, device, request);
    if (capsule) return capsule;
    if (!is_legacy_signature(object)) throw PythonError();
  }
  Ref capsule = call_legacy(object, device, request);
  // Only after success: the TypeError may have been about this object, not about the keywords.
  if (!entry.legacy_signature) note_legacy_signature(class_of(object));
  return capsule;
}

/// What __dlpack__ returned instead of a valid capsule.
[[gnu::cold]] TypeText capsule_text(PyObject* object) noexcept {
  TypeText out = type_text(class_of(object));
  if (class_of(object) != api.capsule_type) return out;
  const char* name = api.PyCapsule_GetName(object);
  api.PyErr_Clear();
  std::snprintf(out.text, sizeof out.text, "a PyCapsule named \"%.60s\"",
                name == nullptr ? "" : name);
  return out;
}

/// Takes what a capsule of that name holds, for this thread alone; NULL if it has another name.
template <typename Managed>
Managed* claim(PyObject* capsule, const char* name, const char* used) noexcept {
  const WriteLock lock;
  if (api.PyCapsule_IsValid(capsule, name) == 0) return nullptr;
  void* held = api.PyCapsule_GetPointer(capsule, name);
  api.PyCapsule_SetName(capsule, used);
  return static_cast<Managed*>(held);
}

/// Takes over what the capsule holds. Renames it exactly if dlx must call the deleter.
Imported consume(PyObject* capsule, const TypeEntry& entry, const ImportRequest& request) {
  Imported imported;
  if (auto* managed = claim<DLManagedTensorVersioned>(capsule, kVersioned, kUsedVersioned)) {
    bool consumed;
    try {
      imported.tensor = import_versioned(managed, &consumed, &imported.copied);
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
         "expected an unconsumed PyCapsule named \"dltensor_versioned\" or \"dltensor\" "
         "(got %s)",
         capsule_text(capsule).text);
  }
  if (imported.copied && request.copy == DLX_COPY_NEVER) {
    fail(DLX_ERROR_COPY_REFUSED, "the producer made a copy although copy=False");
  }
  return imported;
}

/// Whether the object has __dlpack__ although its class has not, such as a proxy.
bool has_dlpack(PyObject* object) {
  const Ref method = find_attribute(object, names.__dlpack__);
  return method && method.get() != api.none;
}

}  // namespace

Imported import_by_protocol(PyObject* object, const TypeEntry& entry,
                            const ImportRequest& request) {
  if (class_of(object) == api.capsule_type) return consume(object, entry, request);
  const bool is_torch = (entry.flags & kTorch) != 0;
  const WithoutTorchModes without(is_torch);
  Ref resolved;
  if (is_torch) resolved = resolve_lazy_bits(object, entry, kDLComplex, request);
  if (resolved) object = resolved.get();
  if ((entry.flags & kHasDlpack) == 0) {
    if (!has_dlpack(object)) {
      raise(api.attribute_error,
            "from_dlpack: `x` has no __dlpack__ (got %s): dlx.asarray takes objects with other "
            "protocols",
            type_text(class_of(object)).text);
    }
    // A proxy's class does not say what is behind it.
    const Ref fine(check(call_objects(state.guard, object)));
  }
  Ref capsule;
  DLDevice device{};
  bool copy_requested = false;
  try {
    // PyArrow's numbers are on the CPU or refuse: asking for the device takes 25 % of the time.
    device = (entry.flags & kArrowNumbers) != 0 ? kCpu : read_device(object);
    capsule = call_dlpack(object, entry, device, request, &copy_requested);
  } catch (const PythonError&) {
    if ((entry.flags & kGuard) == 0) prefer_guards_reason(object);
    throw;
  }
  Imported imported = consume(capsule.get(), entry, request);
  const bool same = is_device(device, imported.tensor->dl.device);
  if (same && has_streams(device)) note_written(imported.tensor.get(), current_stream_of(device));
  imported.copied = imported.copied || static_cast<bool>(resolved);
  imported.copy_requested = copy_requested;
  return imported;
}

// For an array of numbers without nulls, __dlpack__ takes half of Arrow's time. If it refuses,
// Arrow imports the array or gives the reason.
Imported import_arrow_object(PyObject* object, const TypeEntry& entry,
                             const ImportRequest& request) {
  Imported imported;
  if ((entry.flags & kArrowNumbers) != 0 && request.copy == DLX_COPY_IF_NEEDED &&
      !request.has_device) {
    const Ref capsule = call_modern(object, kCpu, request);
    if (capsule) return consume(capsule.get(), entry, request);
    if (api.PyErr_ExceptionMatches(api.type_error) == 0) throw PythonError();
    api.PyErr_Clear();
  }
  imported.tensor =
      (entry.flags & kArrow) != 0
          ? import_by_arrow(object, request.copy, request.dtype, &imported.copied)
          : import_by_arrow_stream(object, request.copy, request.dtype, &imported.copied);
  return imported;
}

}  // namespace dlx::py
