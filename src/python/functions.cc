#include "src/python/functions.h"

#include <cstdint>
#include <optional>

#include "src/base/error.h"
#include "src/device/registry.h"
#include "src/python/arguments.h"
#include "src/python/dtype_device.h"
#include "src/python/entry.h"
#include "src/python/errors.h"
#include "src/python/gil.h"
#include "src/python/import.h"
#include "src/python/import_buffer.h"
#include "src/python/import_plain.h"
#include "src/python/integers.h"
#include "src/python/mapping.h"
#include "src/python/ndarray.h"
#include "src/python/numpy_numbers.h"
#include "src/python/owners.h"
#include "src/python/reference.h"
#include "src/python/state.h"
#include "src/python/tensor_type.h"
#include "src/tensor/copies.h"
#include "src/tensor/tensor.h"
#include "src/tensor/views.h"

namespace dlx::py {
namespace {

DLDataType read_dtype_code(PyObject* object) {
  const Int64List code(object, "dtype");
  if (code.count() != 3) {
    raise(api.type_error, "`dtype` must be (code, bits, lanes) (got %d numbers)", code.count());
  }
  return dtype_of_numbers(code.data());
}

DLDevice read_device_code(PyObject* object) {
  const Int64List code(object, "device");
  if (code.count() != 2) {
    raise(api.type_error, "`device` must be (type, id) (got %d numbers)", code.count());
  }
  const int64_t* n = code.data();
  if (n[0] != static_cast<int32_t>(n[0]) || n[1] != static_cast<int32_t>(n[1])) {
    fail(DLX_ERROR_INVALID_ARGUMENT, "`device` is out of range (got %lld, %lld)",
         static_cast<long long>(n[0]), static_cast<long long>(n[1]));
  }
  return make_device(static_cast<int32_t>(n[0]), static_cast<int32_t>(n[1]));
}

/// _wrap(ptr, shape, strides, dtype, device, flags, owner, on_release)
PyObject* wrap_pointer(PyObject*, PyObject* const* args, int64_t nargs, PyObject*) {
  return positional("from_pointer", nargs, 8, [&] {
    DLTensor description{};
    description.data = api.PyLong_AsVoidPtr(args[0]);
    if (description.data == nullptr && api.PyErr_Occurred() != nullptr) throw PythonError();
    const Int64List shape(args[1], "shape");
    std::optional<Int64List> strides;
    if (args[2] != api.none) strides.emplace(args[2], "strides");
    if (strides && strides->count() != shape.count()) {
      fail(DLX_ERROR_INVALID_ARGUMENT, "`strides` has %d numbers (expected %d, one for each axis)",
           strides->count(), shape.count());
    }
    description.ndim = shape.count();
    description.shape = const_cast<int64_t*>(shape.data());
    description.strides = strides ? const_cast<int64_t*>(strides->data()) : nullptr;
    description.dtype = read_dtype_code(args[3]);
    description.device = read_device_code(args[4]);
    const auto flags = static_cast<uint64_t>(to_int64(args[5], "flags"));
    TensorRef tensor = describe(description, flags, "ptr");
    PyObject* on_release = args[7] == api.none ? nullptr : args[7];
    PyObject* result = new_object(TensorRef::share(tensor.get()));
    // Nothing fails from here on, so the owner can be taken now.
    api.Py_IncRef(args[6]);
    if (on_release != nullptr) api.Py_IncRef(on_release);
    set_python_owner(tensor.get(), args[6], on_release);
    return result;
  });
}

/// _empty(shape, dtype, device)
PyObject* make_empty(PyObject*, PyObject* const* args, int64_t nargs, PyObject*) {
  return positional("empty", nargs, 3, [&] {
    const Int64List shape(args[0], "shape");
    return new_object(
        empty(shape.count(), shape.data(), to_dtype(args[1]), to_device(args[2]), 0, Allocation()));
  });
}

/// copyto(dst, src, *, stream=None)
PyObject* copyto(PyObject*, PyObject* const* args, int64_t nargs, PyObject* kwnames) {
  return enter("copyto", static_cast<PyObject*>(nullptr), [&] {
    static constexpr Signature kSignature = {"copyto", 3, 2,
                                             2,        2, {&names.dst, &names.src, &names.stream}};
    PyObject* values[3];
    parse_arguments(kSignature, args, nargs, kwnames, values);
    CopyRequest request;
    Ref dst(as_shared_tensor(values[0]));
    Tensor* target = tensor_of(dst.get());
    Ref src(is_tensor(values[1]) ? Ref::share(values[1]).detach()
                                 : as_tensor_like(values[1], target, false));
    Tensor* source = tensor_of(src.get());
    if (values[2] != nullptr && values[2] != api.none) {
      const DLDevice device = target->dl.device;
      const bool to_host = cpu_reachable(type_of(device));
      request.has_stream = true;
      request.stream = to_stream(values[2], to_host ? source->dl.device : device);
    }
    {
      const WithoutGil without(may_take_long(target) || may_take_long(source));
      copy_tensor_from(target, source, request);
    }
    return none();
  });
}

/// _from_buffer(object)
PyObject* from_buffer(PyObject*, PyObject* object) {
  return enter("asarray", static_cast<PyObject*>(nullptr),
               [&] { return new_object(import_buffer(object)); });
}

/// _from_layout(object): the Tensor of an array interface or a buffer, or None if there is neither.
PyObject* from_layout(PyObject*, PyObject* object) {
  return enter("asarray", static_cast<PyObject*>(nullptr), [&] {
    TensorRef tensor = import_memory(object, true);
    return tensor.get() == nullptr ? none() : new_object(static_cast<TensorRef&&>(tensor));
  });
}

/// _handle(tensor): the address of its dlx_tensor; borrowed.
PyObject* handle(PyObject*, PyObject* object) {
  return enter("_handle", static_cast<PyObject*>(nullptr),
               [&] { return check(api.PyLong_FromVoidPtr(require_tensor(object, "tensor"))); });
}

/// _adopt(handle): a Tensor that takes over a dlx_tensor.
PyObject* adopt(PyObject*, PyObject* object) {
  return enter("_adopt", static_cast<PyObject*>(nullptr), [&] {
    auto* tensor = static_cast<Tensor*>(api.PyLong_AsVoidPtr(object));
    if (tensor == nullptr) {
      if (api.PyErr_Occurred() != nullptr) throw PythonError();
      fail(DLX_ERROR_INVALID_ARGUMENT, "the handle is NULL");
    }
    return new_object(TensorRef(tensor));
  });
}

/// _flags(tensor)
PyObject* flags_of(PyObject*, PyObject* object) {
  return enter("_flags", static_cast<PyObject*>(nullptr), [&] {
    return api.PyLong_FromLongLong(static_cast<int64_t>(require_tensor(object, "tensor")->flags));
  });
}

/// _unmarked(tensor): the same view without the read-only mark.
PyObject* unmarked(PyObject*, PyObject* object) {
  return enter("_unmarked", static_cast<PyObject*>(nullptr),
               [&] { return new_object(without_readonly(require_tensor(object, "tensor"))); });
}

/// _note_numpy(array, api, numbers): numpy.array, the capsule of NumPy's C API or None, and NumPy's
/// number classes that DLPack has a dtype for.
PyObject* note_numpy(PyObject*, PyObject* const* args, int64_t nargs, PyObject*) {
  return positional("_note_numpy", nargs, 3, [&] {
    if ((api.PyType_GetFlags(class_of(args[2])) & kTypeFlagTuple) == 0) {
      raise(api.type_error, "_note_numpy: `numbers` is not a tuple (got %s)",
            type_text(class_of(args[2])).text);
    }
    numpy_array.store(Ref::share(args[0]).detach(), std::memory_order_release);
    note_array_api(args[1]);
    note_number_classes(args[2]);
    return none();
  });
}

/// _drain(): gives back the owners that threads without the GIL left behind.
PyObject* drain(PyObject*, PyObject*) {
  drain_deferred();
  return none();
}

/// _shutdown(): the interpreter is about to end.
PyObject* shut_down(PyObject*, PyObject*) {
  stop_deferring();
  return none();
}

}  // namespace

PyMethodDef native_functions[] = {
    fast_entry(
        "copyto", copyto,
        "copyto(dst, src, /, *, stream=None)\n--\n\n"
        "Copy every element of `src`, broadcast, into `dst`; strides and overlap are arbitrary.\n\n"
        "Both may be anything that dlx.asarray takes without a copy, on any two devices; `src` "
        "may\n"
        "also be a scalar or a nested sequence. The dtypes must be equal; but on the CPU, integers "
        "of\n"
        "less than a byte convert from and to those of at most a byte, of which they keep the "
        "lowest\n"
        "bits, and FP4 and FP6 to float32. `stream`, a number or a stream object, belongs to the "
        "destination's device, or to the source's if the "
        "destination\n"
        "is host memory; None is the current stream. The copy waits for pending work on both; "
        "host\n"
        "memory is ready on return. Raises ReadOnlyError, or ValueError for a shape or dtype that\n"
        "does not fit, before a byte is written. Other threads run meanwhile."),
    fast_entry("_wrap", wrap_pointer),
    fast_entry("_empty", make_empty),
    fast_entry("_map", map_file),
    plain_entry("_from_buffer", from_buffer, METH_O),
    plain_entry("_from_layout", from_layout, METH_O),
    plain_entry("_handle", handle, METH_O),
    plain_entry("_adopt", adopt, METH_O),
    plain_entry("_flags", flags_of, METH_O),
    plain_entry("_unmarked", unmarked, METH_O),
    fast_entry("_note_numpy", note_numpy),
    plain_entry("_drain", drain, METH_NOARGS),
    plain_entry("_shutdown", shut_down, METH_NOARGS),
    {}};

}  // namespace dlx::py
