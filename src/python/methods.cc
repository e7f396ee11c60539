#include "src/python/methods.h"

#include <cstring>

#include "src/base/error.h"
#include "src/copy/copy.h"
#include "src/dtype/dtype.h"
#include "src/python/arguments.h"
#include "src/python/dtype_device.h"
#include "src/python/entry.h"
#include "src/python/errors.h"
#include "src/python/export_arrow.h"
#include "src/python/export_dlpack.h"
#include "src/python/gil.h"
#include "src/python/integers.h"
#include "src/python/ndarray.h"
#include "src/python/reference.h"
#include "src/python/scalar.h"
#include "src/python/state.h"
#include "src/python/tensor_type.h"
#include "src/tensor/copies.h"
#include "src/tensor/layout.h"
#include "src/tensor/views.h"

namespace dlx::py {
namespace {

/// Runs an operation that may copy, without the GIL if it may take long.
template <typename Operation>
TensorRef copying(Tensor* tensor, Operation&& operation) {
  WithoutGil without(may_take_long(tensor));
  return operation();
}

/// An axis as int32.
int32_t to_axis(int64_t axis, const char* name) {
  if (axis != static_cast<int32_t>(axis)) {
    fail(DLX_ERROR_INVALID_ARGUMENT, "`%s` is out of range (got %lld)", name,
         static_cast<long long>(axis));
  }
  return static_cast<int32_t>(axis);
}

/// Several axes as int32.
struct Axes {
  explicit Axes(const Int64List& list, const char* name) : count(list.count()) {
    for (int32_t i = 0; i < count; ++i) values[i] = to_axis(list.data()[i], name);
  }
  int32_t count;
  int32_t values[DLX_MAX_NDIM];
};

/// A method that parses its arguments by `signature` and returns the tensor that `body` makes.
template <const Signature* signature, TensorRef (*body)(Tensor*, PyObject* const*)>
PyObject* method(PyObject* self, PyObject* const* args, int64_t nargs, PyObject* kwnames) {
  return enter(signature->function, static_cast<PyObject*>(nullptr), [&] {
    PyObject* values[6];
    parse_arguments(*signature, args, nargs, kwnames, values);
    Tensor* tensor = tensor_of(self);
    TensorRef result = body(tensor, values);
    if (result.get() == tensor) {
      api.Py_IncRef(self);
      return self;
    }
    return new_object(static_cast<TensorRef&&>(result));
  });
}

TensorRef do_contiguous(Tensor* tensor, PyObject* const* values) {
  CopyRequest request;
  request.allocation.order = to_order(values[0]);
  return copying(tensor, [&] { return contiguous(tensor, request); });
}
constexpr Signature kContiguous = {"contiguous", 1, 1, 0, 0, {&names.order}};

TensorRef do_copy(Tensor* tensor, PyObject* const* values) {
  CopyRequest request;
  request.allocation.order = to_order(values[0]);
  return copying(tensor, [&] { return clone(tensor, request); });
}
constexpr Signature kCopy = {"copy", 1, 1, 0, 0, {&names.order}};

TensorRef do_permute_dims(Tensor* tensor, PyObject* const* values) {
  const Int64List list(values[0], "axes");
  const Axes axes(list, "axes");
  if (axes.count != tensor->dl.ndim) {
    fail(DLX_ERROR_INVALID_ARGUMENT, "`axes` must name each axis once (got %d of %d)", axes.count,
         tensor->dl.ndim);
  }
  return permute(tensor, axes.values);
}
constexpr Signature kPermuteDims = {"permute_dims", 1, 1, 0, 1, {&names.axes}};

TensorRef do_reshape(Tensor* tensor, PyObject* const* values) {
  const Int64List shape(values[0], "shape");
  CopyRequest request;
  request.copy = to_copy_mode(values[1]);
  return copying(tensor, [&] { return reshape(tensor, shape.count(), shape.data(), request); });
}
constexpr Signature kReshape = {"reshape", 2, 1, 0, 1, {&names.shape, &names.copy}};

/// Takes the extents also one by one, like ndarray.
PyObject* reshape_method(PyObject* self, PyObject* const* args, int64_t nargs, PyObject* kwnames) {
  const int64_t keywords = kwnames == nullptr ? 0 : api.PyTuple_Size(kwnames);
  if (nargs < 2 || keywords > 1) {
    return method<&kReshape, do_reshape>(self, args, nargs, kwnames);
  }
  return enter("reshape", static_cast<PyObject*>(nullptr), [&] {
    const Ref shape(check(api.PyTuple_New(nargs)));
    for (int64_t i = 0; i < nargs; ++i) {
      api.PyTuple_SetItem(shape.get(), i, Ref::share(args[i]).detach());
    }
    PyObject* const joined[] = {shape.get(), keywords == 0 ? nullptr : args[nargs]};
    return method<&kReshape, do_reshape>(self, joined, 1, kwnames);
  });
}

TensorRef do_squeeze(Tensor* tensor, PyObject* const* values) {
  if (values[0] == nullptr || values[0] == api.none) return squeeze(tensor, 0, nullptr);
  const Int64List list(values[0], "axis");
  const Axes axes(list, "axis");
  return squeeze(tensor, axes.count, axes.values, "axis");
}
constexpr Signature kSqueeze = {"squeeze", 1, 1, 0, 0, {&names.axis}};

TensorRef do_expand_dims(Tensor* tensor, PyObject* const* values) {
  const int64_t axis = values[0] == nullptr ? 0 : to_int64(values[0], "axis");
  return expand_dims(tensor, to_axis(axis, "axis"));
}
constexpr Signature kExpandDims = {"expand_dims", 1, 1, 0, 0, {&names.axis}};

TensorRef do_broadcast_to(Tensor* tensor, PyObject* const* values) {
  const Int64List shape(values[0], "shape");
  return broadcast_to(tensor, shape.count(), shape.data());
}
constexpr Signature kBroadcastTo = {"broadcast_to", 1, 1, 0, 1, {&names.shape}};

constexpr Signature kView = {"view", 1, 1, 0, 1, {&names.dtype}};

/// Whether the exception that is set says that an object is no dtype of DLPack; then none is set.
bool clear_lacking_dtype() noexcept {
  if (api.PyErr_ExceptionMatches(state.errors[DLX_ERROR_UNSUPPORTED]) == 0 &&
      api.PyErr_ExceptionMatches(api.type_error) == 0) {
    return false;
  }
  api.PyErr_Clear();
  return true;
}

/// A dtype that only NumPy knows ("b", "V8", dtype("M8[s]")) goes to the hook view_slowly.
PyObject* view_method(PyObject* self, PyObject* const* args, int64_t nargs, PyObject* kwnames) {
  return enter("view", static_cast<PyObject*>(nullptr), [&] {
    PyObject* values[1];
    parse_arguments(kView, args, nargs, kwnames, values);
    auto slowly = [&] { return check(call_objects(state.view_slowly, self, values[0])); };
    if (is_unknown_dtype_name(values[0])) return slowly();
    DLDataType dtype;
    try {
      dtype = to_dtype(values[0]);
    } catch (const PythonError&) {
      if (!clear_lacking_dtype()) throw;
      return slowly();
    }
    return new_object(bitcast(tensor_of(self), dtype));
  });
}

TensorRef do_as_readonly(Tensor* tensor, PyObject* const*) { return as_readonly(tensor); }
constexpr Signature kAsReadonly = {"as_readonly", 0, 0, 0, 0, {}};

PyObject* is_contiguous(PyObject* self, PyObject* const* args, int64_t nargs, PyObject* kwnames) {
  return enter("is_contiguous", static_cast<PyObject*>(nullptr), [&] {
    static constexpr Signature kSignature = {"is_contiguous", 1, 1, 0, 0, {&names.order}};
    PyObject* values[1];
    parse_arguments(kSignature, args, nargs, kwnames, values);
    const DLTensor& dl = tensor_of(self)->dl;
    const bool yes = is_compact(dl.ndim, dl.shape, dl.strides, to_order(values[0]));
    return api.PyBool_FromLong(yes ? 1 : 0);
  });
}

/// By NumPy's C API; where that is not possible, by the hook numpy_slowly.
PyObject* to_numpy(PyObject* self, PyObject* const* args, int64_t nargs, PyObject* kwnames) {
  return enter("numpy", static_cast<PyObject*>(nullptr), [&] {
    static constexpr Signature kSignature = {"numpy", 1, 0, 0, 0, {&names.force}};
    PyObject* values[1];
    parse_arguments(kSignature, args, nargs, kwnames, values);
    const bool force = to_force(values[0]);
    Ref array = new_ndarray(self);
    if (array) return array.detach();
    return check(call_objects(state.numpy_slowly, self, force ? api.true_ : api.false_));
  });
}

/// Copies the elements in C order straight into a new bytes object.
PyObject* to_bytes(PyObject* self, PyObject*) {
  return enter("tobytes", static_cast<PyObject*>(nullptr), [&] {
    const Tensor* tensor = tensor_of(self);
    const int64_t size = nbytes_of(tensor);
    if (tensor->dl.device.device_type != kDLCPU || (tensor->dl.data == nullptr && size != 0)) {
      return check(call_objects(state.bytes_slowly, self));
    }
    Ref bytes(check(api.PyBytes_FromStringAndSize(nullptr, size)));
    if (size == 0) return bytes.detach();  // must not be written: all empty ones are one object
    char* const data = api.PyBytes_AsString(bytes.get());
    data[size - 1] = 0;  // packed elements may not fill the last byte
    const DLTensor& dl = tensor->dl;
    if (size < kReleaseGilFrom && !is_packed_subbyte(dl.dtype, tensor->padded()) &&
        is_compact(dl.ndim, dl.shape, dl.strides, DLX_ORDER_C)) {
      std::memcpy(data, dl.data, static_cast<size_t>(size));  // faster than making a plan
      return bytes.detach();
    }
    DLTensor compact = dl;
    compact.data = data;
    compact.byte_offset = 0;
    compact.strides = nullptr;
    WithoutGil without(size >= kReleaseGilFrom);
    copy_tensor(compact, tensor->padded(), dl, tensor->padded());
    return bytes.detach();
  });
}

}  // namespace

PyMethodDef tensor_methods[] = {
    fast_entry(
        "contiguous", method<&kContiguous, do_contiguous>,
        "contiguous($self, order='C')\n--\n\n"
        "This tensor if its elements are compact in that order ('C' or 'F'), else a compact,\n"
        "writable copy on the same device. ValueError for another order, UnsupportedError if a "
        "copy\n"
        "is needed on a device that dlx cannot copy on, OutOfMemoryError."),
    fast_entry("copy", method<&kCopy, do_copy>,
               "copy($self, order='C')\n--\n\n"
               "A compact, writable copy on the same device, in that order. Errors as contiguous."),
    fast_entry("permute_dims", method<&kPermuteDims, do_permute_dims>,
               "permute_dims($self, axes)\n--\n\n"
               "View whose axis i is axis axes[i] of this one (array API: permute_dims).\n"
               "ValueError if `axes` is not a permutation."),
    fast_entry(
        "reshape", reshape_method,
        "reshape($self, *shape, copy=None)\n--\n\n"
        "The same elements in C order under another shape: a tuple, or one extent for each "
        "argument;\n"
        "one extent may be -1. A view if strides can express it; else a copy, or CopyRefusedError\n"
        "with copy=False. copy=True always copies (array API: reshape). ValueError if the number "
        "of\n"
        "elements differs."),
    fast_entry("squeeze", method<&kSqueeze, do_squeeze>,
               "squeeze($self, axis=None)\n--\n\n"
               "View without the given axes (int or tuple), which must have extent 1; without all "
               "axes of\n"
               "extent 1 if None (array API: squeeze). ValueError for axes of another extent."),
    fast_entry("expand_dims", method<&kExpandDims, do_expand_dims>,
               "expand_dims($self, axis=0)\n--\n\n"
               "View with an axis of extent 1 inserted at `axis` (array API: expand_dims).\n"
               "ValueError if `axis` is out of range."),
    fast_entry(
        "broadcast_to", method<&kBroadcastTo, do_broadcast_to>,
        "broadcast_to($self, shape)\n--\n\n"
        "View of that shape by the broadcasting rules; read-only if elements repeat (array API:\n"
        "broadcast_to). ValueError if this tensor does not broadcast to that shape."),
    fast_entry(
        "view", view_method,
        "view($self, dtype)\n--\n\n"
        "The same bytes as another dtype. If the sizes differ, the last axis must be compact, and\n"
        "its extent is scaled; ValueError if that is not possible, UnsupportedError for opaque\n"
        "handles and padded sub-byte types. NumPy's names ('b', '<i4') mean what NumPy means. A\n"
        "type that DLPack lacks ('V8', '>i4') gives an ndarray on the same memory."),
    fast_entry(
        "as_readonly", method<&kAsReadonly, do_as_readonly>,
        "as_readonly($self)\n--\n\nThe same view, read-only. Views of it are read-only, too."),
    fast_entry("is_contiguous", is_contiguous,
               "is_contiguous($self, order='C')\n--\n\n"
               "True if the elements are compact in that order ('C' or 'F')."),
    fast_entry(
        "numpy", to_numpy,
        "numpy($self, *, force=False)\n--\n\n"
        "A plain numpy.ndarray on the same memory: writes are visible on both sides.\n\n"
        "Pinned memory, and managed memory that the CPU may use while the device works, is shared\n"
        "too, once it is ready. The array is read-only if the tensor is. Types that NumPy lacks\n"
        "(bfloat16, FP8) get the dtypes of ml_dtypes, if that is installed.\n\n"
        "Args:\n"
        "    force: allow a copy from another device, and nothing else.\n\n"
        "Raises:\n"
        "    DeviceRefusedError: the data is on another device, and `force` is False.\n"
        "    UnsupportedError: neither NumPy nor ml_dtypes has the dtype, or its elements are "
        "packed\n"
        "        into shared bytes.\n"
        "    ValueError: more axes than NumPy allows (64; NumPy 1 allows 32 and raises "
        "RuntimeError).\n"
        "    ImportError: NumPy is not installed."),
    plain_entry(
        "item", tensor_scalar, METH_NOARGS,
        "item($self, /)\n--\n\n"
        "The only element as a Python number.\n\n"
        "Raises:\n"
        "    ValueError: the tensor has more or fewer than one element (`InvalidArgumentError`).\n"
        "    DeviceRefusedError, UnsupportedError: as `tolist`."),
    plain_entry(
        "tobytes", to_bytes, METH_NOARGS,
        "tobytes($self, /)\n--\n\n"
        "A copy of the elements as bytes, in C order: 6 elements of float32 give 24 bytes; 5\n"
        "packed ones of uint4 give 3, and the unused bits of the last are zero.\n\n"
        "Raises:\n"
        "    DeviceRefusedError: the data is not on the CPU."),
    // Without __bytes__, bytes() would take a 0-d integer tensor for a length.
    plain_entry("__bytes__", to_bytes, METH_NOARGS, "__bytes__($self, /)\n--\n\nAs `tobytes`."),
    fast_entry(
        "__dlpack__", tensor_dlpack,
        "__dlpack__($self, /, stream=None, *, max_version=None, dl_device=None, copy=None)\n"
        "--\n\n"
        "Export as a DLPack capsule (array API: array.__dlpack__). With max_version >= (1, 0) a\n"
        "'dltensor_versioned' of DLPack 1.3, else the legacy 'dltensor', which cannot express\n"
        "read-only data, negative strides and padded sub-byte types. copy=True always copies,\n"
        "copy=False never does; None copies negative strides (set_export_negative_strides).\n"
        "`dl_device` is a pair; an unreachable device is a BufferError. `stream` must be None on "
        "the\n"
        "CPU; on CUDA None and 1 are the legacy default stream, 2 the per-thread one; on ROCm "
        "None\n"
        "and 0 are the default one; -1 asks for no synchronisation.\n\n"
        "Raises:\n"
        "    BufferError: a legacy capsule cannot express the data, `copy` forbids a needed copy, "
        "or\n"
        "        the device is unreachable (`ReadOnlyError`, `CopyRefusedError`, "
        "`UnsupportedError`).\n"
        "    ValueError: a stream that the device does not have (`InvalidArgumentError`).\n"
        "    TypeError: an argument of the wrong type."),
    plain_entry(
        "__dlpack_device__", tensor_dlpack_device, METH_NOARGS,
        "__dlpack_device__($self, /)\n--\n\n"
        "(device_type, device_id) in DLPack's numbers (array API: array.__dlpack_device__)."),
    fast_entry(
        "__arrow_c_array__", tensor_arrow_c_array,
        "__arrow_c_array__($self, requested_schema=None)\n--\n\n"
        "Export as a pair of capsules, 'arrow_schema' and 'arrow_array' (Arrow PyCapsule\n"
        "interface). One axis gives numbers, several give nested fixed-size lists, or tensors of\n"
        "the type arrow.fixed_shape_tensor if `requested_schema` is one. Compact memory is "
        "shared;\n"
        "booleans are packed into bits by a copy. Arrow's data is immutable: do not write it\n"
        "meanwhile. BufferError for a dtype that Arrow lacks and for 0-d tensors."),
    fast_entry(
        "__arrow_c_device_array__", tensor_arrow_c_device_array,
        "__arrow_c_device_array__($self, requested_schema=None, **kwargs)\n--\n\n"
        "As __arrow_c_array__, on any device: 'arrow_schema' and 'arrow_device_array'. Its\n"
        "sync_event completes when the data is ready; NULL if nothing is pending, as on the CPU.\n"
        "NotImplementedError for other keywords."),
    plain_entry(
        "__arrow_c_schema__", tensor_arrow_c_schema, METH_NOARGS,
        "__arrow_c_schema__($self, /)\n--\n\n"
        "The type that __arrow_c_array__ exports, as a capsule 'arrow_schema'. Copies nothing."),
    {}};

}  // namespace dlx::py
