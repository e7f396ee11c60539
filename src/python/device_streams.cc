#include "src/base/error.h"
#include "src/device/current_stream.h"
#include "src/device/registry.h"
#include "src/python/tensor_type.h"
#include "src/tensor/synchronization.h"

namespace dlx::py {
namespace {

/// What bindings/python/dlx/_streams.py and device.py need beyond the C API.

int32_t to_int32(PyObject* object, const char* name) {
  const int64_t value = to_int64(object, name);
  if (value != static_cast<int32_t>(value)) {
    fail(DLX_ERROR_INVALID_ARGUMENT, "`%s` is out of range (got %lld)", name,
         static_cast<long long>(value));
  }
  return static_cast<int32_t>(value);
}

PyObject* new_reference(PyObject* object) {
  api.Py_IncRef(object);
  return object;
}

/// _check_stream(type, number): whether it can be that of a stream. Asks no driver.
PyObject* check_number(PyObject*, PyObject* const* args, intptr_t nargs, PyObject*) {
  return positional("Stream", nargs, 2, [&] {
    const int64_t number = to_int64(args[1], "handle");
    check_work_stream(to_int32(args[0], "device"), number);
    return new_reference(api.none);
  });
}

/// _swap_stream(type, id, number or None): sets what this thread has said about its current stream,
/// and returns what it had said before.
PyObject* swap_stream(PyObject*, PyObject* const* args, intptr_t nargs, PyObject*) {
  return positional("stream", nargs, 3, [&] {
    const int32_t type = to_int32(args[0], "device");
    const int32_t id = to_int32(args[1], "device");
    StreamHandle before = 0;
    const bool chosen = chosen_stream(type, id, &before);
    Ref previous = chosen ? Ref(check(api.PyLong_FromLongLong(before))) : Ref::share(api.none);
    if (args[2] == api.none) {
      reset_current_stream(type, id);
    } else {
      const int64_t number = to_int64(args[2], "stream");
      require_device(type, id);
      check_work_stream(type, number);
      set_current_stream(type, id, number);
    }
    return previous.detach();
  });
}

/// _ready_on_current(tensor): the current stream, which finds the data ready.
PyObject* ready_on_current(PyObject*, PyObject* tensor) {
  return enter("Tensor", static_cast<PyObject*>(nullptr), [&] {
    return api.PyLong_FromLongLong(make_ready_on_current(require_tensor(tensor, "tensor")));
  });
}

/// _current_device(type): the calling thread's; 0 where there is no such thing.
PyObject* current_device(PyObject*, PyObject* type) {
  return enter("Device", static_cast<PyObject*>(nullptr), [&] {
    Backend* backend = find_backend(to_int32(type, "device"));
    return api.PyLong_FromLongLong(backend == nullptr ? 0 : backend->current_device());
  });
}

/// _device_types(): those that have a name or a backend.
PyObject* device_types(PyObject*, PyObject*) {
  return enter("devices", static_cast<PyObject*>(nullptr), [&] {
    constexpr int32_t kMost = 64;
    int32_t found[kMost];
    int64_t numbers[kMost];
    const int32_t all = list_device_types(found, kMost);
    const int32_t count = all < kMost ? all : kMost;
    for (int32_t i = 0; i < count; ++i) numbers[i] = found[i];
    return tuple_of(count, numbers);
  });
}

}  // namespace

PyMethodDef stream_functions[] = {fast_entry("_check_stream", check_number),
                                  fast_entry("_swap_stream", swap_stream),
                                  plain_entry("_ready_on_current", ready_on_current, METH_O),
                                  plain_entry("_current_device", current_device, METH_O),
                                  plain_entry("_device_types", device_types, METH_NOARGS),
                                  {}};

}  // namespace dlx::py
