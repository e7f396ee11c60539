#include "src/python/import.h"

#include "src/device/registry.h"
#include "src/dtype/dtype.h"
#include "src/python/arguments.h"
#include "src/python/dtype_device.h"
#include "src/python/entry.h"
#include "src/python/errors.h"
#include "src/python/gil.h"
#include "src/python/import_dlpack.h"
#include "src/python/import_plain.h"
#include "src/python/import_request.h"
#include "src/python/import_table.h"
#include "src/python/ndarray.h"
#include "src/python/reference.h"
#include "src/python/sequence.h"
#include "src/python/state.h"
#include "src/python/tensor_type.h"
#include "src/python/type_cache.h"
#include "src/tensor/copies.h"

namespace dlx::py {
namespace {

constexpr ImportRequest kAsItIs{};

/// Moves or copies an imported tensor as the request asks.
TensorRef apply_request(Imported&& imported, const ImportRequest& request) {
  CopyRequest copy;
  copy.copy =
      imported.copied && request.copy == DLX_COPY_ALWAYS ? DLX_COPY_IF_NEEDED : request.copy;
  Tensor* tensor = imported.tensor.get();
  if (request.has_device) {
    const bool stays = tensor->dl.device.device_type == request.device.device_type &&
                       tensor->dl.device.device_id == request.device.device_id;
    const bool works = copy.copy == DLX_COPY_ALWAYS || !stays;
    WithoutGil without(works && (may_take_long(tensor) || request.device.device_type != kDLCPU));
    return to_device(tensor, request.device, copy);
  }
  if (copy.copy != DLX_COPY_ALWAYS) return static_cast<TensorRef&&>(imported.tensor);
  // Only the producer can copy memory that dlx cannot; if it was not asked, clone() refuses.
  if (imported.copy_requested && !can_move(tensor->dl.device, tensor->dl.device)) {
    return static_cast<TensorRef&&>(imported.tensor);
  }
  WithoutGil without(may_take_long(tensor));
  return clone(tensor, copy);
}

/// The object as a tensor; `entry` is its type's. `all_protocols` for asarray, which knows more
/// protocols than DLPack; then none means that the asarray_fallback hook must decide.
TensorRef import_object(PyObject* object, const TypeEntry& entry, const ImportRequest& request,
                        bool all_protocols) {
  if ((entry.flags & kGuard) != 0) {
    const Ref fine(check(call_objects(state.guard, object)));
  }
  Imported imported;
  if (all_protocols && (entry.flags & (kPlain | kHasDlpack)) == kPlain) {
    imported = import_plain(object, entry, request);
    if (imported.tensor.get() == nullptr) return TensorRef();  // for the fallback
  } else if (all_protocols && (entry.flags & (kArrow | kArrowStream)) != 0) {
    imported = import_arrow_object(object, entry, request);
  } else if ((entry.flags & kNdarray) != 0) {
    imported.tensor = import_ndarray(object, request.copy != DLX_COPY_NEVER, &imported.copied);
  } else if (entry.table != nullptr) {
    imported = by_protocol("`__dlpack__`", object,
                           [&] { return import_by_table(object, entry, request); });
  }
  if (imported.tensor.get() == nullptr) {
    imported = by_protocol("`__dlpack__`", object,
                           [&] { return import_by_protocol(object, entry, request); });
  }
  if (request.is_plain()) return static_cast<TensorRef&&>(imported.tensor);
  return apply_request(static_cast<Imported&&>(imported), request);
}

ImportRequest read_request(PyObject* device, PyObject* copy) {
  ImportRequest request;
  request.copy = to_copy_mode(copy);
  if (device != nullptr && device != api.none) {
    request.has_device = true;
    request.device = to_device(device);
  }
  return request;
}

PyObject* from_dlpack(PyObject*, PyObject* const* args, int64_t nargs, PyObject* kwnames) {
  return enter("from_dlpack", static_cast<PyObject*>(nullptr), [&] {
    static constexpr Signature kSignature = {
        "from_dlpack", 3, 1, 1, 1, {&names.data, &names.device, &names.copy}};
    PyObject* values[3] = {};
    if (nargs == 1 && kwnames == nullptr) {
      values[0] = args[0];
    } else {
      parse_arguments(kSignature, args, nargs, kwnames, values);
    }
    const ImportRequest request = read_request(values[1], values[2]);
    if (is_tensor(values[0])) {
      return new_object(apply_request({TensorRef::share(tensor_of(values[0]))}, request));
    }
    return new_object(import_object(values[0], look_up_type(class_of(values[0])), request, false));
  });
}

constexpr int kNative = kNdarray | kHasDlpack | kArrow | kArrowStream | kPlain;

/// The Tensor for `object` as asarray makes it, before `dtype` is applied. None if the fallback
/// must decide.
Ref array_of(PyObject* object, const ImportRequest& request) {
  if (!is_tensor(object)) {
    if (is_list_or_tuple(object)) return Ref();  // no look-up, which other types may have evicted
    const TypeEntry entry = look_up_type(class_of(object));
    if ((entry.flags & kNative) == 0) return Ref();
    const bool scalar = (entry.flags & kScalar) != 0;
    ImportRequest copying;
    const ImportRequest* wanted = &request;
    if (scalar && request.copy == DLX_COPY_IF_NEEDED) {
      copying = request;
      copying.copy = DLX_COPY_ALWAYS;
      wanted = &copying;
    }
    TensorRef tensor = import_object(object, entry, *wanted, true);
    return tensor.get() == nullptr ? Ref() : Ref(new_object(static_cast<TensorRef&&>(tensor)));
  }
  TensorRef result = apply_request({TensorRef::share(tensor_of(object))}, request);
  if (result.get() == tensor_of(object)) return Ref::share(object);
  return Ref(new_object(static_cast<TensorRef&&>(result)));
}

Ref call_fallback(PyObject* object, PyObject* dtype, PyObject* device, PyObject* copy,
                  PyObject* force) {
  auto or_none = [](PyObject* value) { return value == nullptr ? api.none : value; };
  Ref result(check(call_objects(state.asarray_fallback, object, or_none(dtype), or_none(device),
                                or_none(copy), force == nullptr ? api.false_ : force)));
  if (!is_tensor(result.get())) {
    raise(api.type_error, "the hook asarray_fallback must return a Tensor (got %s)",
          type_text(class_of(result.get())).text);
  }
  return result;
}

/// Numbers and lists of them as a new tensor of the CPU; none if the fallback must decide.
Ref new_array_of(PyObject* object, const DLDataType* dtype, const ImportRequest& request) {
  const bool here = !request.has_device ||
                    (request.device.device_type == kDLCPU && request.device.device_id == 0);
  if (request.copy == DLX_COPY_NEVER || !here) return Ref();
  TensorRef tensor = tensor_of_numbers(object, dtype);
  return tensor.get() == nullptr ? Ref() : Ref(new_object(static_cast<TensorRef&&>(tensor)));
}

/// array_of() with force=True: the producer moves data of a device that dlx cannot read to the CPU,
/// unless `device` or `copy` say otherwise. A Tensor has no producer any more, and stays.
Ref readable_array_of(PyObject* object, ImportRequest request) {
  Ref tensor = array_of(object, request);
  if (!tensor || is_tensor(object) || request.has_device || request.copy == DLX_COPY_NEVER) {
    return tensor;
  }
  if (can_move(tensor_of(tensor.get())->dl.device, kCpu)) return tensor;
  request.has_device = true;
  request.device = kCpu;
  return array_of(object, request);
}

/// asarray(); `values` are in the order of its signature.
Ref asarray_of(PyObject* const* values) {
  PyObject* object = values[0];
  const bool force = to_force(values[4]);
  ImportRequest request = read_request(values[2], values[3]);
  auto import = [&] {
    return force ? readable_array_of(object, request) : array_of(object, request);
  };
  auto fall_back = [&](const DLDataType* dtype) {
    Ref tensor = new_array_of(object, dtype, request);
    if (tensor) return tensor;
    return call_fallback(object, values[1], values[2], values[3], values[4]);
  };
  if (values[1] == nullptr || values[1] == api.none) {
    Ref tensor = import();
    return tensor ? static_cast<Ref&&>(tensor) : fall_back(nullptr);
  }
  // A conversion copies anyway, and runs on the CPU: a requested copy or move to a device comes
  // after it.
  const DLDataType dtype = to_dtype(values[1]);
  const ImportRequest wanted = request;
  if (request.copy == DLX_COPY_ALWAYS) request.copy = DLX_COPY_IF_NEEDED;
  if (request.device.device_type != kDLCPU) request.has_device = false;
  request.dtype = &dtype;
  Ref tensor = import();
  request = wanted;
  if (!tensor) return fall_back(&dtype);
  if (!same_dtype(tensor_of(tensor.get())->dl.dtype, dtype)) {
    tensor = with_dtype(static_cast<Ref&&>(tensor), dtype, request.copy, force);
    request.copy = DLX_COPY_IF_NEEDED;
  }
  return array_of(tensor.get(), request);
}

/// Whether `error`, or the Python exception that is set, says that DLPack lacks the data's type or layout.
bool is_unsupported(const Error& error) noexcept { return error.status() == DLX_ERROR_UNSUPPORTED; }
bool is_unsupported(const PythonError&) noexcept {
  return api.PyErr_ExceptionMatches(state.errors[DLX_ERROR_UNSUPPORTED]) != 0;
}

/// What the hook taken_otherwise makes of an object whose type DLPack lacks: an array of the other
/// byte order, or of long doubles, in a type that DLPack has; a view of the fields of a structured
/// array, unless `copy` is True; or of one whose negative strides DLPack got wrong, by its CUDA array
/// interface. None if the hook cannot help.
Ref taken_otherwise(PyObject* object, PyObject* dtype, PyObject* copy) {
  TakenError refusal;
  auto or_none = [](PyObject* value) { return value == nullptr ? api.none : value; };
  Ref array(call_objects(state.taken_otherwise, object, or_none(dtype), or_none(copy)));
  if (!array) throw PythonError();
  if (array.get() != api.none) return array;
  refusal.put_back();
  return Ref();
}

/// import(), or again(array) with what taken_otherwise() makes of the object.
template <typename Import, typename Again>
Ref import_any(PyObject* object, PyObject* dtype, PyObject* copy, Import&& import, Again&& again) {
  auto retry = [&](const auto& error) {
    if (!is_unsupported(error)) throw;
    const Ref array = taken_otherwise(object, dtype, copy);
    if (!array) throw;
    return again(array.get());
  };
  try {
    return import();
  } catch (const PythonError& error) {
    return retry(error);
  } catch (const Error& error) {
    return retry(error);
  }
}

/// asarray_of(), also for types of NumPy that DLPack lacks.
Ref asarray_of_any(PyObject* const* values) {
  return import_any(
      values[0], values[1], values[3], [&] { return asarray_of(values); },
      [&](PyObject* array) {
        PyObject* copy = values[3] == api.true_ ? nullptr : values[3];  // it was made already
        PyObject* again[5] = {array, values[1], values[2], copy, values[4]};
        return asarray_of(again);
      });
}

PyObject* asarray(PyObject*, PyObject* const* args, int64_t nargs, PyObject* kwnames) {
  return enter("asarray", static_cast<PyObject*>(nullptr), [&] {
    static constexpr Signature kSignature = {
        "asarray", 5, 1,
        1,         1, {&names.data, &names.dtype, &names.device, &names.copy, &names.force}};
    if (nargs == 1 && kwnames == nullptr) return as_tensor(args[0]);
    PyObject* values[5] = {};
    parse_arguments(kSignature, args, nargs, kwnames, values);
    return asarray_of_any(values).detach();
  });
}

}  // namespace

Ref with_dtype(Ref tensor, DLDataType dtype, int32_t copy, bool force) {
  const Ref code(dtype_numbers(dtype));
  PyObject* mode = copy == DLX_COPY_ALWAYS  ? api.true_
                   : copy == DLX_COPY_NEVER ? api.false_
                                            : api.none;
  return Ref(check(call_objects(state.convert_dtype, tensor.get(), code.get(), mode,
                                force ? api.true_ : api.false_)));
}

/// asarray() without options, which would cost a tenth of its time to read.
PyObject* as_tensor(PyObject* object) {
  auto import = [](PyObject* object) {
    Ref tensor = array_of(object, kAsItIs);
    if (!tensor) tensor = new_array_of(object, nullptr, kAsItIs);
    if (!tensor) tensor = call_fallback(object, nullptr, nullptr, nullptr, nullptr);
    return tensor;
  };
  return import_any(object, nullptr, nullptr, [&] { return import(object); }, import).detach();
}

PyObject* as_shared_tensor(PyObject* object) {
  auto import = [](PyObject* from) {
    ImportRequest request;
    request.copy = DLX_COPY_NEVER;
    Ref tensor = array_of(from, request);
    if (tensor) return tensor;
    return call_fallback(from, nullptr, nullptr, api.false_, nullptr);
  };
  return import_any(object, nullptr, api.false_, [&] { return import(object); }, import).detach();
}

PyObject* as_tensor_like(PyObject* object, Tensor* like, bool rounds) {
  auto import = [&] {
    Ref tensor = array_of(object, kAsItIs);
    if (!tensor) tensor = new_array_of(object, &like->dl.dtype, kAsItIs);
    if (tensor) return tensor;
    // The dtype as numbers, because the public object may need NumPy. `force` None: arrays keep
    // their dtype.
    const Ref dtype(dtype_numbers(like->dl.dtype));
    return call_fallback(object, dtype.get(), nullptr, nullptr, api.none);
  };
  auto again = [](PyObject* array) { return array_of(array, kAsItIs); };
  return import_any(object, rounds ? names.float64 : nullptr, nullptr, import, again).detach();
}

PyMethodDef import_functions[] = {
    fast_entry(
        "from_dlpack", from_dlpack,
        "from_dlpack(x, /, *, device=None, copy=None)\n--\n\n"
        "Import any object with __dlpack__, or a bare DLPack capsule, as a Tensor (array API:\n"
        "from_dlpack).\n\n"
        "Zero-copy: the memory stays the producer's, which is kept alive. copy=True always "
        "copies,\n"
        "copy=False never does (CopyRefusedError), None copies only if it cannot be avoided. Only\n"
        "`device` moves the data. Exceptions of the producer pass through. A legacy capsule, "
        "which\n"
        "has no flags, is read-only if its library's arrays are (JAX, TensorFlow). `device` of "
        "the\n"
        "result keeps the producer's numbering.\n\n"
        "Raises: AttributeError (no __dlpack__), CopyRefusedError, DeviceRefusedError,\n"
        "UnavailableError (no such device here), UnsupportedError and InvalidArgumentError (what\n"
        "the producer describes)."),
    fast_entry(
        "asarray", asarray,
        "asarray(obj, /, *, dtype=None, device=None, copy=None, force=False)\n--\n\n"
        "Any object that holds an array as a Tensor, without a copy if possible.\n\n"
        "A Tensor is returned as it is. Otherwise the first protocol that the type has is used, "
        "and\n"
        "its errors are final: DLPack's exchange table and __dlpack__ (all dtypes and devices,\n"
        "read-only flags; but booleans of PyArrow use Arrow), __cuda_array_interface__, the "
        "buffer\n"
        "protocol, __array_interface__ and __array_struct__, Arrow (__arrow_c_device_array__,\n"
        "__arrow_c_array__, __arrow_c_stream__), __jax_array__, __array__, and last nested\n"
        "sequences and scalars, which are copied. DLPack capsules are consumed; C arrays of cffi\n"
        "are shared. `dtype` converts, `device` moves, `copy` is as in from_dlpack. force=True\n"
        "allows a transfer to the CPU for a conversion, and for data of devices that dlx cannot\n"
        "read (oneAPI), by their library; data that dlx can read stays where it is.\n\n"
        "Raises: TypeError (holds no array), UnsupportedError (a dtype, nulls, masks),\n"
        "CopyRefusedError, DeviceRefusedError, UnavailableError (no such device here) and\n"
        "InvalidArgumentError (an impossible description)."),
    {}};

}  // namespace dlx::py
