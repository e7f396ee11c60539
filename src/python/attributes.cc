#include "src/python/attributes.h"

#include "src/base/error.h"
#include "src/device/registry.h"
#include "src/dtype/dtype.h"
#include "src/python/cuda_array_interface.h"
#include "src/python/dtype_device.h"
#include "src/python/entry.h"
#include "src/python/errors.h"
#include "src/python/integers.h"
#include "src/python/tensor_type.h"
#include "src/tensor/views.h"

namespace dlx::py {
namespace {

/// Getter of one attribute: `read` returns a new reference.
template <PyObject* (*read)(Tensor*)>
PyObject* get(PyObject* self, void* name) {
  return enter(static_cast<const char*>(name), static_cast<PyObject*>(nullptr),
               [&] { return check(read(tensor_of(self))); });
}

PyObject* read_shape(Tensor* t) { return tuple_of(t->dl.ndim, t->dl.shape); }
PyObject* read_strides(Tensor* t) { return tuple_of(t->dl.ndim, t->dl.strides); }
PyObject* read_dtype(Tensor* t) { return dtype_object(t->dl.dtype); }
PyObject* read_device(Tensor* t) { return device_object(t->dl.device); }
PyObject* read_ndim(Tensor* t) { return api.PyLong_FromLongLong(t->dl.ndim); }
PyObject* read_size(Tensor* t) { return api.PyLong_FromLongLong(t->size); }
PyObject* read_nbytes(Tensor* t) { return api.PyLong_FromLongLong(nbytes_of(t)); }
PyObject* read_itemsize(Tensor* t) {
  return api.PyLong_FromLongLong((item_bits(t->dl.dtype, t->padded()) + 7) / 8);
}
PyObject* read_readonly(Tensor* t) { return api.PyBool_FromLong(t->readonly() ? 1 : 0); }
PyObject* read_data_ptr(Tensor* t) {
  if (!data_is_address(type_of(t->dl.device))) {
    raise(api.attribute_error, "data_ptr: memory of this device is a handle without an address");
  }
  return api.PyLong_FromVoidPtr(t->dl.data);
}
PyObject* read_dltensor_ptr(Tensor* t) { return api.PyLong_FromVoidPtr(&t->dl); }

/// A view with the last two axes exchanged.
PyObject* transpose_last(Tensor* t) {
  int32_t axes[DLX_MAX_NDIM];
  const int32_t ndim = t->dl.ndim;
  for (int32_t i = 0; i < ndim; ++i) axes[i] = i;
  axes[ndim - 2] = ndim - 1;
  axes[ndim - 1] = ndim - 2;
  return new_object(permute(t, axes));
}

PyObject* read_transpose(Tensor* t) {
  if (t->dl.ndim != 2) {
    fail(DLX_ERROR_INVALID_ARGUMENT, "needs two axes (got %d): use .mT or .permute_dims()",
         t->dl.ndim);
  }
  return transpose_last(t);
}

PyObject* read_matrix_transpose(Tensor* t) {
  if (t->dl.ndim < 2) {
    fail(DLX_ERROR_INVALID_ARGUMENT, "needs at least two axes (got %d)", t->dl.ndim);
  }
  return transpose_last(t);
}

PyObject* get_cuda_array_interface(PyObject* self, void*) {
  return enter("__cuda_array_interface__", static_cast<PyObject*>(nullptr),
               [&] { return export_cuda_array_interface(self); });
}

template <PyObject* (*read)(Tensor*)>
constexpr PyGetSetDef attribute(const char* name, const char* doc) {
  return {name, get<read>, nullptr, doc, const_cast<char*>(name)};
}

}  // namespace

PyGetSetDef tensor_getset[] = {
    attribute<read_shape>("shape", "Extents, a tuple of ints (array API: array.shape)."),
    attribute<read_strides>("strides",
                            "Steps between elements along each axis, in ELEMENTS as in "
                            "DLPack, a tuple of ints."),
    attribute<read_dtype>("dtype",
                          "numpy.dtype if NumPy is installed and has it, else "
                          "dlx.dtype (bfloat16, float8_e4m3fn, int4 ...)."),
    attribute<read_device>("device", "dlx.Device of the data."),
    attribute<read_ndim>("ndim", "Number of axes."),
    attribute<read_size>("size", "Number of elements."),
    attribute<read_nbytes>("nbytes",
                           "Bytes of the elements when compact; packed sub-byte "
                           "elements share bytes."),
    attribute<read_itemsize>("itemsize", "Bytes of one element, rounded up for sub-byte types."),
    attribute<read_readonly>("readonly",
                             "True if the data must not be written through this "
                             "tensor."),
    attribute<read_data_ptr>("data_ptr", "Address of element [0, ..., 0] as an int."),
    attribute<read_dltensor_ptr>(
        "dltensor_ptr",
        "Address of the DLTensor that describes this tensor, as an int: for "
        "functions in C. It must\n"
        "not be changed, lives as long as the Tensor, and its strides are never "
        "NULL."),
    attribute<read_transpose>("T",
                              "View of a 2-d tensor with its axes exchanged (array API: "
                              "array.T). ValueError\nfor more or fewer axes."),
    attribute<read_matrix_transpose>("mT",
                                     "View with the last two axes exchanged (array API: "
                                     "array.mT). ValueError\nfor fewer than two axes."),
    {"__cuda_array_interface__", get_cuda_array_interface, nullptr,
     "Numba's CUDA array interface, version 3. Missing (AttributeError) for data that is not in "
     "CUDA\ndevice or managed memory, and for dtypes without a typestr.",
     nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

}  // namespace dlx::py
