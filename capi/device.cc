#include <cstring>

#include "capi/guard.h"
#include "src/device/readiness.h"
#include "src/device/registry.h"

using namespace dlx;
using namespace dlx::capi;

extern "C" {

int32_t dlx_device_count(int32_t device_type) {
  int32_t count = 0;
  guard(__func__, [&] {
    Backend* backend = find_backend(device_type);
    if (backend != nullptr) count = backend->count();
  });
  return count;
}

const char* dlx_backend_reason(int32_t device_type) { return backend_reason(device_type); }

dlx_status dlx_device_info(int32_t device_type, int32_t device_id, dlx_device_properties* out) {
  return guard(__func__, [&] {
    require(out, "out");
    const size_t size = out->struct_size;
    if (size < sizeof out->struct_size) {
      fail(DLX_ERROR_INVALID_ARGUMENT, "`out` has a struct_size of %zu (expected %zu)", size,
           sizeof *out);
    }
    Backend& backend = require_device(device_type, device_id);
    dlx_device_properties found{};
    found.memory_total = found.memory_free = -1;
    found.struct_size = out->struct_size;
    found.device_type = device_type;
    found.device_id = device_id;
    backend.describe(device_id, &found);
    std::memcpy(out, &found, size < sizeof found ? size : sizeof found);
  });
}

dlx_status dlx_device_parse(const char* name, int32_t* out_device_type, int32_t* out_device_id) {
  return guard(__func__, [&] {
    require(name, "name");
    require(out_device_type, "out_device_type");
    require(out_device_id, "out_device_id");
    const DLDevice device = parse_device(name);
    *out_device_type = type_of(device);
    *out_device_id = device.device_id;
  });
}

dlx_status dlx_device_name(int32_t device_type, int32_t device_id, char* out, size_t capacity) {
  return guard(__func__, [&] {
    require(out, "out");
    if (device_type <= 0 || device_id < 0) {
      fail(DLX_ERROR_INVALID_ARGUMENT,
           "`device_type` and `device_id` do not name a device (got %d, %d)", device_type,
           device_id);
    }
    const DeviceText text = device_text(device_type, device_id);
    const size_t size = std::strlen(text.text) + 1;
    if (size > capacity) {
      fail(DLX_ERROR_INVALID_ARGUMENT, "`capacity` is too small (got %zu, expected at least %zu)",
           capacity, size);
    }
    std::memcpy(out, text.text, size);
  });
}

dlx_status dlx_device_of_pointer(const void* pointer, int32_t* out_device_type,
                                 int32_t* out_device_id) {
  return guard(__func__, [&] {
    require(pointer, "pointer");
    require(out_device_type, "out_device_type");
    require(out_device_id, "out_device_id");
    const PointerInfo info = locate_pointer(pointer);
    *out_device_type = info.device_type;
    *out_device_id = info.device_id;
  });
}

dlx_status dlx_device_ordinal_of_pointer(const void* pointer, int32_t* out_ordinal) {
  return guard(__func__, [&] {
    require(pointer, "pointer");
    require(out_ordinal, "out_ordinal");
    *out_ordinal = locate_pointer(pointer).ordinal;
  });
}

dlx_status dlx_device_synchronize(int32_t device_type, int32_t device_id) {
  return guard(__func__, [&] {
    Backend& backend = require_device(device_type, device_id);
    backend.synchronize(device_id);
    release_all_held(backend);
  });
}

}  // extern "C"
