#include "src/python/export_dlpack.h"

#include "src/base/error.h"
#include "src/base/foreign.h"
#include "src/device/registry.h"
#include "src/python/arguments.h"
#include "src/python/capsule_names.h"
#include "src/python/dtype_device.h"
#include "src/python/entry.h"
#include "src/python/errors.h"
#include "src/python/gil.h"
#include "src/python/integers.h"
#include "src/python/state.h"
#include "src/python/tensor_type.h"
#include "src/tensor/dlpack.h"

namespace dlx::py {
namespace {

/// Destructor: deletes the export unless a consumer has taken it.
template <typename Managed>
void destroy_capsule(PyObject* capsule, const char* name) {
  if (api.PyCapsule_IsValid(capsule, name) == 0) return;  // consumed: renamed
  auto* managed = static_cast<Managed*>(api.PyCapsule_GetPointer(capsule, name));
  const WithoutGil without(frees_device_memory(static_cast<Tensor*>(managed->manager_ctx)));
  call_foreign(managed->deleter, managed);  // dlx's own, never NULL
}

void destroy_versioned(PyObject* capsule) {
  destroy_capsule<DLManagedTensorVersioned>(capsule, kVersioned);
}
void destroy_legacy(PyObject* capsule) { destroy_capsule<DLManagedTensor>(capsule, kLegacy); }

template <typename Managed>
PyObject* make_capsule(Managed* managed, const char* name, PyDestructor destructor) {
  PyObject* capsule = api.PyCapsule_New(managed, name, destructor);
  // not covered: memory has run out
  if (capsule == nullptr) call_foreign(managed->deleter, managed);
  return check(capsule);
}

/// A tuple of two integers: max_version and dl_device.
void read_pair(PyObject* object, const char* name, int64_t* first, int64_t* second) {
  const bool tuple = class_of(object) == api.tuple_type ||
                     (api.PyType_GetFlags(class_of(object)) & kTypeFlagTuple) != 0;
  const bool pair = tuple && api.PyTuple_Size(object) == 2;
  if (!pair) {
    raise(api.type_error, "__dlpack__: `%s` must be a tuple of two integers or None (got %s)", name,
          type_text(class_of(object)).text);
  }
  *first = to_device_type(api.PyTuple_GetItem(object, 0), name);
  *second = to_int64(api.PyTuple_GetItem(object, 1), name);
}

/// Whether the consumer takes the versioned struct (1.0 or later).
bool read_max_version(PyObject* max_version) {
  if (max_version == nullptr || max_version == api.none) return false;
  int64_t major, minor;
  read_pair(max_version, "max_version", &major, &minor);
  return major >= 1;
}

ExportRequest read_request(const Tensor* tensor, PyObject* stream, PyObject* dl_device,
                           PyObject* copy) {
  ExportRequest request;
  request.copy = to_copy_mode(copy);
  if (dl_device != nullptr && dl_device != api.none) {
    int64_t type, id;
    read_pair(dl_device, "dl_device", &type, &id);
    if (type != static_cast<int32_t>(type) || id != static_cast<int32_t>(id)) {
      fail(DLX_ERROR_UNSUPPORTED,
           "`dl_device` (%lld, %lld) cannot be reached: no device has that number",
           static_cast<long long>(type), static_cast<long long>(id));
    }
    request.has_device = true;
    request.device = resolve_device({static_cast<DLDeviceType>(type), static_cast<int32_t>(id)});
  }
  if (stream != nullptr && stream != api.none) {
    request.has_stream = true;
    request.stream = to_stream(stream, request.has_device ? request.device : tensor->dl.device);
  }
  return request;
}

PyObject* export_capsule(Tensor* tensor, PyObject* const* values) {
  const bool versioned = read_max_version(values[1]);
  ExportRequest request = read_request(tensor, values[0], values[2], values[3]);
  try {
    const bool works = request.has_device || request.copy == DLX_COPY_ALWAYS;
    const auto exported = [&](auto&& function) {
      WithoutGil without(works && may_take_long(tensor));
      return function(tensor, request);
    };
    if (versioned) {
      return make_capsule(exported(export_versioned), kVersioned, destroy_versioned);
    }
    return make_capsule(exported(export_legacy), kLegacy, destroy_legacy);
  } catch (const Error& error) {
    // Consumers take a TypeError from __dlpack__ for an old signature. DeviceRefusedError is one,
    // so a BufferError is raised instead.
    if (error.status() != DLX_ERROR_DEVICE_REFUSED) throw;
    set_error(DLX_ERROR_UNSUPPORTED, "__dlpack__", error.what());
    throw PythonError();
  }
}

constexpr Signature kDlpack = {
    "__dlpack__", 4, 1, 0, 0, {&names.stream, &names.max_version, &names.dl_device, &names.copy}};

}  // namespace

PyObject* share_as_capsule(Tensor* tensor) {
  return make_capsule(export_shared(tensor), kVersioned, destroy_versioned);
}

PyObject* tensor_dlpack(PyObject* self, PyObject* const* args, int64_t nargs, PyObject* kwnames) {
  return enter("__dlpack__", static_cast<PyObject*>(nullptr), [&] {
    Tensor* tensor = tensor_of(self);
    PyObject* values[4];
    parse_arguments(kDlpack, args, nargs, kwnames, values);
    auto open = [&](int i) { return values[i] == nullptr || values[i] == api.none; };
    if (open(0) && open(2) && open(3) && exports_as_is(tensor) && read_max_version(values[1])) {
      return share_as_capsule(tensor);
    }
    return export_capsule(tensor, values);
  });
}

PyObject* tensor_dlpack_device(PyObject* self, PyObject*) {
  return enter("__dlpack_device__", static_cast<PyObject*>(nullptr), [&] {
    const DLDevice device = tensor_of(self)->dl.device;
    const int64_t numbers[] = {static_cast<int64_t>(device.device_type), device.device_id};
    return tuple_of(2, numbers);
  });
}

}  // namespace dlx::py
