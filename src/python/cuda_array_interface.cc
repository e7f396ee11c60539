#include "src/python/cuda_array_interface.h"

#include <cstdio>

#include "src/base/error.h"
#include "src/device/current_stream.h"
#include "src/device/registry.h"
#include "src/dtype/dtype.h"
#include "src/python/byte_strides.h"
#include "src/python/calls.h"
#include "src/python/errors.h"
#include "src/python/integers.h"
#include "src/python/interface_fields.h"
#include "src/python/reference.h"
#include "src/python/state.h"
#include "src/python/tensor_type.h"
#include "src/tensor/layout.h"
#include "src/tensor/synchronization.h"

namespace dlx::py {
namespace {

void require_version(PyObject* interface) {
  const Ref version = require_field(interface, names.version, "version");
  const int64_t number = to_int64(version.get(), "__cuda_array_interface__['version']");
  if (number >= 0 && number <= 3) return;
  fail(DLX_ERROR_UNSUPPORTED, "it has version %lld (expected 0 to 3)",
       static_cast<long long>(number));
}

InterfaceMemory read_cuda_memory(PyObject* interface) {
  const Ref data = require_field(interface, names.data, "data");
  if ((api.PyType_GetFlags(class_of(data.get())) & kTypeFlagTuple) == 0) {
    raise(api.type_error,
          "asarray: `__cuda_array_interface__['data']` is not a pair (address, read-only) (got %s)",
          type_text(class_of(data.get())).text);
  }
  return read_memory(kCudaArrayInterface, data.get());
}

/// The device of the memory, which the interface does not give. Without elements any address is
/// allowed, for example the end of an allocation.
DLDevice find_device(const void* address, bool empty) {
  if (address == nullptr && !empty) {
    fail(DLX_ERROR_INVALID_ARGUMENT, "it has elements but no memory (its address is 0)");
  }
  const PointerInfo found =
      address != nullptr ? locate_pointer(address) : PointerInfo{kDLCPU, 0, 0};
  // Kernels can use pinned memory, too.
  if (stream_family(found.device_type) == kDLCUDA) {
    return make_device(found.device_type, found.device_id);
  }
  if (empty) {
    Backend* backend = find_backend(kDLCUDA);
    return make_device(kDLCUDA, backend == nullptr ? 0 : backend->current_device());
  }
  const char* reason = backend_reason(kDLCUDA);
  fail(DLX_ERROR_INVALID_ARGUMENT, "it has the address %p, which the CUDA driver does not know%s%s",
       address, *reason == '\0' ? "" : ": ", reason);
}

/// Makes every later use of the data wait for the work now on the producer's stream, if it names one.
void order_behind(Tensor* tensor, PyObject* interface) {
  const Ref stream = find_field(interface, names.stream);
  if (!stream) return;
  const int64_t number = to_int64(stream.get(), "__cuda_array_interface__['stream']");
  if (number <= 0) {
    fail(DLX_ERROR_INVALID_ARGUMENT,
         "it has the stream %lld, which the interface does not allow (expected None, 1 for the "
         "legacy default stream, 2 for the per-thread one, or a handle)",
         static_cast<long long>(number));
  }
  note_written(tensor, number);
}

/// Sets the AttributeError without a C++ exception: many libraries ask every object for the interface,
/// also tensors of the CPU.
PyObject* lacks(const char* why, const char* what) noexcept {
  char text[160];
  std::snprintf(text, sizeof text, "this Tensor has no __cuda_array_interface__: %s %s", why, what);
  api.PyErr_SetString(api.attribute_error, text);
  return nullptr;
}

/// A dict's entry; `value` is a new reference.
void put(PyObject* dict, PyObject* key, PyObject* value) {
  const Ref held(check(value));
  if (api.PyDict_SetItem(dict, key, held.get()) != 0) throw PythonError();
}

/// The stream on which the data is ready.
PyObject* ready_stream(PyObject* self, Tensor* tensor) {
  const StreamHandle stream = make_ready_on_current(tensor);
  StreamHandle chosen;
  const DLDevice device = tensor->dl.device;
  if (chosen_stream(type_of(device), find_worker(tensor->dl).id, &chosen)) {
    const Ref number(check(api.PyLong_FromLongLong(chosen)));
    const Ref kept(check(call_objects(state.keep_stream, self, number.get())));
  }
  return api.PyLong_FromLongLong(stream);
}

PyObject* byte_strides(const DLTensor& dl, int64_t itemsize) {
  if (is_compact(dl.ndim, dl.shape, dl.strides, DLX_ORDER_C)) return none();
  int64_t strides[DLX_MAX_NDIM];
  fill_byte_strides(dl, DLX_ORDER_C, itemsize, strides);
  return tuple_of(dl.ndim, strides);
}

/// (address, read-only)
PyObject* memory_of(const Tensor& tensor) {
  Ref address(check(api.PyLong_FromVoidPtr(tensor.size == 0 ? nullptr : tensor.dl.data)));
  Ref readonly(check(api.PyBool_FromLong(tensor.readonly() ? 1 : 0)));
  return pair_of(static_cast<Ref&&>(address), static_cast<Ref&&>(readonly)).detach();
}

}  // namespace

TensorRef import_cuda_array_interface(PyObject* object, PyObject* interface) {
  return by_interface(kCudaArrayInterface, object, [&] {
    require_plain_dict(kCudaArrayInterface, interface);
    require_version(interface);
    InterfaceLayout layout(kCudaArrayInterface, interface);
    const InterfaceMemory memory = read_cuda_memory(interface);
    DLTensor description = layout.description();
    description.data = memory.address;
    const bool empty = layout.is_empty();
    description.device = find_device(memory.address, empty);
    TensorRef tensor = describe(description, memory.flags, "description");
    set_owners(tensor.get(), object, interface);
    if (!empty) order_behind(tensor.get(), interface);
    return tensor;
  });
}

PyObject* export_cuda_array_interface(PyObject* self) {
  Tensor* const tensor = tensor_of(self);
  const int32_t type = type_of(tensor->dl.device);
  if (type != kDLCUDA && type != kDLCUDAManaged) {
    return lacks("data on", device_text(type, tensor->dl.device.device_id).text);
  }
  const DLDataType dtype = tensor->dl.dtype;
  if (buffer_format(dtype) == nullptr) return lacks("no typestr for", dtype_text(dtype).text);
  char typestr[16];
  format_dtype(dtype, DLX_FORMAT_TYPESTR, typestr, sizeof typestr);
  Ref dict(check(api.PyDict_New()));
  put(dict.get(), names.version, api.PyLong_FromLongLong(3));
  put(dict.get(), names.shape, tuple_of(tensor->dl.ndim, tensor->dl.shape));
  put(dict.get(), names.typestr, api.PyUnicode_FromString(typestr));
  put(dict.get(), names.data, memory_of(*tensor));
  put(dict.get(), names.strides, byte_strides(tensor->dl, item_bits(dtype, false) / 8));
  // None means that the data is ready.
  put(dict.get(), names.stream, tensor->size == 0 ? none() : ready_stream(self, tensor));
  return dict.detach();
}

}  // namespace dlx::py
