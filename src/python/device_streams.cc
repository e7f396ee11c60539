#include "src/python/device_streams.h"

#include "src/device/current_stream.h"
#include "src/device/registry.h"
#include "src/python/arguments.h"
#include "src/python/entry.h"
#include "src/python/errors.h"
#include "src/python/integers.h"
#include "src/python/reference.h"
#include "src/tensor/synchronization.h"

namespace dlx::py {
namespace {

PyObject* new_reference(PyObject* object) {
  api.Py_IncRef(object);
  return object;
}

/// _check_stream(type, number): raises unless a stream of the device can have that number. Asks no
/// driver.
PyObject* check_stream_number(PyObject*, PyObject* const* args, int64_t nargs, PyObject*) {
  return positional("Stream", nargs, 2, [&] {
    const int64_t number = to_int64(args[1], "handle");
    check_work_stream(to_int32(args[0], "device"), number);
    return new_reference(api.none);
  });
}

/// _swap_stream(type, id, number or None): sets this thread's current stream of a device, and
/// returns the one set before, or None.
PyObject* swap_stream(PyObject*, PyObject* const* args, int64_t nargs, PyObject*) {
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

/// _current_device(type): the calling thread's current device; 0 if the type has none.
PyObject* current_device(PyObject*, PyObject* type) {
  return enter("Device", static_cast<PyObject*>(nullptr), [&] {
    Backend* backend = find_backend(to_int32(type, "device"));
    return api.PyLong_FromLongLong(backend == nullptr ? 0 : backend->current_device());
  });
}

/// _device_types(): the device types that have a name or a backend.
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

PyMethodDef device_stream_functions[] = {fast_entry("_check_stream", check_stream_number),
                                         fast_entry("_swap_stream", swap_stream),
                                         plain_entry("_current_device", current_device, METH_O),
                                         plain_entry("_device_types", device_types, METH_NOARGS),
                                         {}};

}  // namespace dlx::py
