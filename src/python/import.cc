#include <cstring>

#include "src/device/registry.h"
#include "src/dtype/dtype.h"
#include "src/python/tensor_type.h"
#include "src/python/types.h"
#include "src/tensor/convert.h"
#include "src/tensor/dlpack.h"

namespace dlx::py {
namespace {

constexpr const char* kVersioned = "dltensor_versioned";
constexpr const char* kLegacy = "dltensor";

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
};

bool is_device(const DLDevice& device, const DLDevice& wanted) noexcept {
  return device.device_type == wanted.device_type && device.device_id == wanted.device_id;
}

Ref call_method(PyObject* object, PyObject* name) {
  PyObject* arguments[] = {object};
  return Ref(check(api.PyObject_VectorcallMethod(name, arguments, 1, nullptr)));
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

// ---- torch ---------------------------------------------------------------------------------------

bool call_predicate(PyObject* object, PyCFunction function, PyObject* name) {
  const Ref result =
      function != nullptr ? Ref(check(function(object, nullptr))) : call_method(object, name);
  return result.get() == api.true_;
}

/// torch marks conj and neg on the tensor and applies them later; its own exports look past the
/// bits. Returns the object to import in place of `object`, or none if it is fine as it is.
Ref resolve_lazy_bits(PyObject* object, const TypeEntry& entry, bool is_complex,
                      const Request& request) {
  const LazyBitPredicates bits =
      entry.lazy_bits.is_neg != nullptr ? entry.lazy_bits : find_lazy_bits(object);
  {
    const Ref gradient(check(api.PyObject_GetAttr(object, names.requires_grad)));
    if (gradient.get() == api.true_) {
      fail(DLX_ERROR_UNSUPPORTED, "the tensor requires grad, which would be lost: pass x.detach()");
    }
  }
  const bool conjugated = is_complex && call_predicate(object, bits.is_conj, names.is_conj);
  const bool negated = call_predicate(object, bits.is_neg, names.is_neg);
  if (!conjugated && !negated) return Ref();
  if (request.copy == DLX_COPY_NEVER) {
    fail(
        DLX_ERROR_COPY_REFUSED,
        "a copy is needed (the tensor's %s bit is set, so that its memory holds other values), and "
        "copy=False",
        conjugated ? "conj" : "neg");
  }
  const Ref plain = call_method(object, names.resolve_conj);
  return call_method(plain.get(), names.resolve_neg);
}

bool may_have_lazy_bits(DLDataType dtype) noexcept {
  return dtype.code != kDLInt && dtype.code != kDLUInt && dtype.code != kDLBool;
}

// ---- the exchange table --------------------------------------------------------------------------

/// torch's reasons are RuntimeErrors with a C++ stack in them; the guard knows what to call.
/// Too slow to ask before every import, it is asked when one has failed.
void prefer_guards_reason(PyObject* object) noexcept {
  PyObject *type, *value, *traceback;
  api.PyErr_Fetch(&type, &value, &traceback);
  const Ref fine(api.PyObject_CallFunctionObjArgs(state.guard, object, nullptr));
  if (fine) return api.PyErr_Restore(type, value, traceback);
  const Ref t(type), v(value), b(traceback);
}

/// Import through the type's C table. None: the table does not serve this device (it never
/// synchronises), or torch's bits must be resolved first.
Imported import_by_table(PyObject* object, const TypeEntry& entry, const Request& request) {
  DLManagedTensorVersioned* managed = nullptr;
  if (entry.table->managed_tensor_from_py_object_no_sync(object, &managed) != 0) {
    if (api.PyErr_Occurred() == nullptr) {
      raise(api.buffer_error, "the exchange table of the type refused, without a reason");
    }
    if ((entry.flags & kTorch) != 0) prefer_guards_reason(object);
    throw PythonError();
  }
  const bool host = managed->version.major != 1 || managed->dl_tensor.device.device_type == kDLCPU;
  if (!host) {
    if (managed->deleter != nullptr) managed->deleter(managed);
    return {};
  }
  Imported imported;
  imported.copied =
      managed->version.major == 1 && (managed->flags & DLPACK_FLAG_BITMASK_IS_COPIED) != 0;
  imported.tensor = take(managed);
  if ((entry.flags & kTorch) == 0 || !may_have_lazy_bits(imported.tensor->dl.dtype))
    return imported;
  const bool is_complex = imported.tensor->dl.dtype.code == kDLComplex;
  const Ref resolved = resolve_lazy_bits(object, entry, is_complex, request);
  if (!resolved) return imported;
  imported = import_by_table(resolved.get(), entry, request);
  imported.copied = true;
  return imported;
}

// ---- __dlpack__ ----------------------------------------------------------------------------------

DLDevice read_device(PyObject* object) {
  const Ref pair = call_method(object, names.__dlpack_device__);
  const bool valid = (api.PyType_GetFlags(pair.get()->type) & kTypeFlagTuple) != 0 &&
                     api.PyTuple_Size(pair.get()) == 2;
  if (!valid) {
    raise(state.errors[DLX_ERROR_INVALID_ARGUMENT],
          "from_dlpack: x.__dlpack_device__() must return a tuple of two integers");
  }
  const int64_t type = to_int64(api.PyTuple_GetItem(pair.get(), 0), "x.__dlpack_device__()[0]");
  const int64_t id = to_int64(api.PyTuple_GetItem(pair.get(), 1), "x.__dlpack_device__()[1]");
  if (type <= 0 || type > INT32_MAX || id < 0 || id > INT32_MAX) {
    raise(state.errors[DLX_ERROR_INVALID_ARGUMENT],
          "from_dlpack: x.__dlpack_device__() names no device (got type %lld, id %lld)",
          static_cast<long long>(type), static_cast<long long>(id));
  }
  DLDevice device;
  device.device_type = static_cast<DLDeviceType>(type);
  device.device_id = static_cast<int32_t>(id);
  return device;
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

/// The stream that dlx works on, for producers that have streams: the legacy default one.
void add_stream(DlpackCall* call, const DLDevice& device) {
  const auto type = static_cast<int32_t>(device.device_type);
  if (type == kDLCUDA || type == kDLCUDAManaged) {
    call->add(names.stream, Ref(check(api.PyLong_FromLongLong(1))));
  } else if (type == kDLROCM) {
    call->add(names.stream, Ref(check(api.PyLong_FromLongLong(0))));
  }
}

Ref call_modern(PyObject* object, const DLDevice& device, const Request& request) {
  DlpackCall call(object);
  const bool moves = request.has_device && !is_device(device, request.device);
  call.add(names.max_version, Ref::share(state.version_1_3));
  if (!moves) add_stream(&call, device);
  if (moves) {
    const int64_t numbers[] = {static_cast<int64_t>(request.device.device_type),
                               request.device.device_id};
    call.add(names.dl_device, Ref(tuple_of(2, numbers)));
  }
  if (request.copy != DLX_COPY_IF_NEEDED) {
    call.add(names.copy, Ref(api.PyBool_FromLong(request.copy == DLX_COPY_ALWAYS ? 1 : 0)));
  }
  return call.run();
}

/// A producer from before max_version, copy and dl_device.
Ref call_legacy(PyObject* object, const DLDevice& device, const Request& request) {
  if (request.copy == DLX_COPY_NEVER) {
    fail(DLX_ERROR_COPY_REFUSED,
         "copy=False cannot be promised: the __dlpack__ of this type takes no `copy`");
  }
  if (request.has_device && !is_device(device, request.device) &&
      !cpu_reachable(static_cast<int32_t>(device.device_type))) {
    fail(
        DLX_ERROR_DEVICE_REFUSED,
        "the data is on %s, and the __dlpack__ of this type takes no `dl_device`: move it with its "
        "own library first",
        device_text(static_cast<int32_t>(device.device_type), device.device_id).text);
  }
  DlpackCall call(object);
  add_stream(&call, device);
  return Ref(check(call.run().detach()));
}

/// True if the TypeError that is set means "these keywords are not known"; it is cleared then.
bool is_legacy_signature(PyObject* object) {
  if (api.PyErr_ExceptionMatches(api.type_error) == 0) return false;
  PyObject *type, *value, *traceback;
  api.PyErr_Fetch(&type, &value, &traceback);
  const Ref answer(api.PyObject_CallFunctionObjArgs(state.legacy_signature, object, nullptr));
  if (answer.get() == api.true_) {
    const Ref t(type), v(value), b(traceback);
    return true;
  }
  api.PyErr_Clear();
  api.PyErr_Restore(type, value, traceback);
  return false;
}

Ref call_dlpack(PyObject* object, const TypeEntry& entry, const DLDevice& device,
                const Request& request) {
  if (!entry.legacy_signature) {
    Ref capsule = call_modern(object, device, request);
    if (capsule) return capsule;
    if (!is_legacy_signature(object)) throw PythonError();
    note_legacy_signature(object->type);
  }
  return call_legacy(object, device, request);
}

/// Takes over what the capsule holds, and renames it, exactly if its deleter is ours to call.
Imported consume(PyObject* capsule, const TypeEntry& entry) {
  Imported imported;
  if (api.PyCapsule_IsValid(capsule, kVersioned) != 0) {
    auto* managed =
        static_cast<DLManagedTensorVersioned*>(api.PyCapsule_GetPointer(capsule, kVersioned));
    imported.copied =
        managed->version.major == 1 && (managed->flags & DLPACK_FLAG_BITMASK_IS_COPIED) != 0;
    bool consumed;
    try {
      imported.tensor = import_versioned(managed, &consumed);
    } catch (...) {
      if (consumed) api.PyCapsule_SetName(capsule, "used_dltensor_versioned");
      throw;
    }
    api.PyCapsule_SetName(capsule, "used_dltensor_versioned");
  } else if (api.PyCapsule_IsValid(capsule, kLegacy) != 0) {
    auto* managed = static_cast<DLManagedTensor*>(api.PyCapsule_GetPointer(capsule, kLegacy));
    const uint64_t flags = (entry.flags & kImmutable) != 0 ? DLPACK_FLAG_BITMASK_READ_ONLY : 0;
    imported.tensor = import_legacy(managed, flags);
    api.PyCapsule_SetName(capsule, "used_dltensor");
  } else {
    raise(state.errors[DLX_ERROR_INVALID_ARGUMENT],
          "from_dlpack: x.__dlpack__() must return a PyCapsule named \"dltensor_versioned\" or "
          "\"dltensor\" that nobody has consumed");
  }
  return imported;
}

Imported import_by_protocol(PyObject* object, const TypeEntry& entry, const Request& request) {
  Ref resolved;
  if ((entry.flags & kTorch) != 0) resolved = resolve_lazy_bits(object, entry, true, request);
  if (resolved) object = resolved.get();
  const DLDevice device = read_device(object);
  const Ref capsule = call_dlpack(object, entry, device, request);
  Imported imported = consume(capsule.get(), entry);
  if (imported.copied && request.copy == DLX_COPY_NEVER) {
    fail(DLX_ERROR_COPY_REFUSED, "the producer made a copy although copy=False");
  }
  imported.copied = imported.copied || static_cast<bool>(resolved);
  return imported;
}

// ---- Arrow ---------------------------------------------------------------------------------------

/// A type that asarray takes through Arrow. An array of numbers without nulls has a __dlpack__ that
/// costs half as much; where that refuses, Arrow takes the array or knows the reason.
Imported import_arrow_object(PyObject* object, const TypeEntry& entry, const Request& request) {
  Imported imported;
  if ((entry.flags & kArrowNumbers) != 0 && request.copy == DLX_COPY_IF_NEEDED &&
      !request.has_device) {
    DLDevice cpu{};
    cpu.device_type = kDLCPU;
    const Ref capsule = call_modern(object, cpu, request);
    if (capsule) return consume(capsule.get(), entry);
    if (api.PyErr_ExceptionMatches(api.type_error) == 0) throw PythonError();
    api.PyErr_Clear();
  }
  imported.tensor = (entry.flags & kArrow) != 0
                        ? import_by_arrow(object, request.copy, &imported.copied)
                        : import_by_arrow_stream(object, request.copy, &imported.copied);
  return imported;
}

// ---- all of them ---------------------------------------------------------------------------------

/// Brings an import to the device and into the memory that were asked for.
TensorRef settle(Imported&& imported, const Request& request) {
  CopyRequest copy;
  copy.copy =
      imported.copied && request.copy == DLX_COPY_ALWAYS ? DLX_COPY_IF_NEEDED : request.copy;
  Tensor* tensor = imported.tensor.get();
  if (request.has_device) {
    WithoutGil without(copy.copy == DLX_COPY_ALWAYS && tensor->size >= kReleaseGilFrom);
    return to_device(tensor, request.device, copy);
  }
  if (copy.copy != DLX_COPY_ALWAYS) return static_cast<TensorRef&&>(imported.tensor);
  // Memory that the CPU cannot reach was copied by its producer, who was told to.
  if (!cpu_reachable(static_cast<int32_t>(tensor->dl.device.device_type))) {
    return static_cast<TensorRef&&>(imported.tensor);
  }
  WithoutGil without(tensor->size >= kReleaseGilFrom);
  return clone(tensor, copy);
}

TensorRef import_object(PyObject* object, const Request& request, bool by_arrow) {
  const TypeEntry entry = look_up_type(object->type);
  if ((entry.flags & kGuard) != 0) {
    const Ref fine(check(api.PyObject_CallFunctionObjArgs(state.guard, object, nullptr)));
  }
  Imported imported;
  if (by_arrow && (entry.flags & (kArrow | kArrowStream)) != 0) {
    imported = import_arrow_object(object, entry, request);
  } else if ((entry.flags & kNdarray) != 0) {
    imported.tensor = import_ndarray(object, request.copy != DLX_COPY_NEVER, &imported.copied);
  } else if (entry.table != nullptr) {
    imported = import_by_table(object, entry, request);
  }
  if (imported.tensor.get() == nullptr) imported = import_by_protocol(object, entry, request);
  if (request.is_plain()) return static_cast<TensorRef&&>(imported.tensor);
  return settle(static_cast<Imported&&>(imported), request);
}

Request read_request(PyObject* device, PyObject* copy) {
  Request request;
  request.copy = to_copy_mode(copy);
  if (device != nullptr && device != api.none) {
    request.has_device = true;
    request.device = to_device(device);
  }
  return request;
}

PyObject* from_dlpack(PyObject*, PyObject* const* args, intptr_t nargs, PyObject* kwnames) {
  return enter("from_dlpack", static_cast<PyObject*>(nullptr), [&] {
    static constexpr Signature kSignature = {
        "from_dlpack", 3, 1, 1, 1, {&names.data, &names.device, &names.copy}};
    PyObject* values[3] = {};
    if (nargs == 1 && kwnames == nullptr) {
      values[0] = args[0];
    } else {
      parse_arguments(kSignature, args, nargs, kwnames, values);
    }
    const Request request = read_request(values[1], values[2]);
    if (is_tensor(values[0])) {
      return new_object(settle({TensorRef::share(tensor_of(values[0]))}, request));
    }
    return new_object(import_object(values[0], request, false));
  });
}

/// The Tensor for `object` as asarray makes it, before dtype= is looked at; a new reference.
Ref array_of(PyObject* object, const Request& request) {
  if (!is_tensor(object)) {
    return Ref(new_object(import_object(object, request, true)));
  }
  TensorRef settled = settle({TensorRef::share(tensor_of(object))}, request);
  if (settled.get() == tensor_of(object)) return Ref::share(object);
  return Ref(new_object(static_cast<TensorRef&&>(settled)));
}

bool imports_natively(PyObject* object) {
  if (is_tensor(object)) return true;
  return (look_up_type(object->type).flags & (kNdarray | kHasDlpack | kArrow | kArrowStream)) != 0;
}

Ref call_fallback(PyObject* object, PyObject* dtype, PyObject* device, PyObject* copy,
                  PyObject* force) {
  auto or_none = [](PyObject* value) { return value == nullptr ? api.none : value; };
  Ref result(check(api.PyObject_CallFunctionObjArgs(
      state.asarray_fallback, object, or_none(dtype), or_none(device), or_none(copy),
      force == nullptr ? api.false_ : force, nullptr)));
  if (!is_tensor(result.get()))
    raise(api.type_error, "the hook asarray_fallback must return a Tensor");
  return result;
}

PyObject* dtype_numbers(DLDataType dtype) {
  const int64_t numbers[] = {dtype.code, dtype.bits, dtype.lanes};
  return tuple_of(3, numbers);
}

Ref convert(Ref tensor, DLDataType dtype, int32_t copy) {
  const Ref code(dtype_numbers(dtype));
  PyObject* mode = copy == DLX_COPY_ALWAYS  ? api.true_
                   : copy == DLX_COPY_NEVER ? api.false_
                                            : api.none;
  return Ref(check(api.PyObject_CallFunctionObjArgs(state.convert_dtype, tensor.get(), code.get(),
                                                    mode, nullptr)));
}

PyObject* asarray(PyObject*, PyObject* const* args, intptr_t nargs, PyObject* kwnames) {
  return enter("asarray", static_cast<PyObject*>(nullptr), [&] {
    static const Signature kSignature = {
        "asarray", 5, 1,
        1,         1, {&names.data, &names.dtype, &names.device, &names.copy, &names.force}};
    PyObject* values[5];
    parse_arguments(kSignature, args, nargs, kwnames, values);
    PyObject* object = values[0];
    if (!imports_natively(object)) {
      return call_fallback(object, values[1], values[2], values[3], values[4]).detach();
    }
    Request request = read_request(values[2], values[3]);
    if (values[1] == nullptr || values[1] == api.none) return array_of(object, request).detach();
    // A conversion copies anyway, so the copy that was asked for waits until it is known.
    const DLDataType dtype = to_dtype(values[1]);
    const int32_t copy = request.copy;
    if (copy == DLX_COPY_ALWAYS) request.copy = DLX_COPY_IF_NEEDED;
    Ref tensor = array_of(object, request);
    if (!same_dtype(tensor_of(tensor.get())->dl.dtype, dtype)) {
      return convert(static_cast<Ref&&>(tensor), dtype, copy).detach();
    }
    if (copy != DLX_COPY_ALWAYS) return tensor.detach();
    request.copy = copy;
    return array_of(tensor.get(), request).detach();
  });
}

}  // namespace

PyObject* as_shared_tensor(PyObject* object) {
  Request request;
  request.copy = DLX_COPY_NEVER;
  if (imports_natively(object)) return array_of(object, request).detach();
  return call_fallback(object, nullptr, nullptr, api.false_, nullptr).detach();
}

PyObject* as_tensor_like(PyObject* object, Tensor* like) {
  if (imports_natively(object)) return array_of(object, Request()).detach();
  // In numbers: the public object could need NumPy.
  const Ref dtype(dtype_numbers(like->dl.dtype));
  return call_fallback(object, dtype.get(), nullptr, nullptr, nullptr).detach();
}

PyMethodDef import_functions[] = {
    {"from_dlpack", reinterpret_cast<void*>(from_dlpack), METH_FASTCALL | METH_KEYWORDS,
     "from_dlpack(x, /, *, device=None, copy=None)\n--\n\n"
     "Import any object with __dlpack__ as a Tensor (array API: from_dlpack).\n\n"
     "Zero-copy: the memory stays its producer's, which is kept alive. copy=True always copies,\n"
     "copy=False never (CopyRefusedError), None only where it cannot be avoided. `device` moves "
     "the\n"
     "data there, which is the only way that it moves. Exceptions of the producer pass through.\n"
     "A legacy capsule, which cannot say so, is read-only where its library's arrays are (JAX,\n"
     "TensorFlow). `device` of the result keeps the producer's numbering."},
    {"asarray", reinterpret_cast<void*>(asarray), METH_FASTCALL | METH_KEYWORDS,
     "asarray(obj, /, *, dtype=None, device=None, copy=None, force=False)\n--\n\n"
     "The Tensor for anything that holds an array, without a copy where that is possible.\n\n"
     "A Tensor is returned as it is. Else the first protocol that the type has decides, and its\n"
     "errors are final: DLPack's exchange table and __dlpack__ (all dtypes, all devices, "
     "read-only\n"
     "known), the buffer protocol, __array_interface__ and __array_struct__, Arrow\n"
     "(__arrow_c_device_array__, __arrow_c_array__, __arrow_c_stream__), __array__, and last\n"
     "nested sequences and scalars, which are copied. `dtype` converts, `device` moves, `copy` is\n"
     "as in from_dlpack; force=True allows a device transfer and nothing else."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace dlx::py
