#include "capi/guard.h"
#include "src/base/error.h"
#include "src/device/current_stream.h"
#include "src/device/registered.h"
#include "src/device/registry.h"
#include "src/tensor/synchronization.h"

using namespace dlx;
using namespace dlx::capi;

namespace {

/// The backend of a device. Throws if the device does not exist or has no streams.
Backend& require_streams(int32_t device_type, int32_t device_id) {
  Backend& backend = require_device(device_type, device_id);
  if (!backend.has_streams()) {
    fail(DLX_ERROR_INVALID_ARGUMENT, "`device` %s has no streams",
         device_text(device_type, device_id).text);
  }
  return backend;
}

/// As require_streams(); also throws if work cannot be submitted to `stream`.
Backend& require_stream(int32_t device_type, int32_t device_id, int64_t stream) {
  Backend& backend = require_streams(device_type, device_id);
  check_work_stream(device_type, stream);
  return backend;
}

[[noreturn]] void fail_captured() {
  fail(DLX_ERROR_UNSUPPORTED, "`stream` is being captured into a graph: end the capture first");
}

/// False also if the driver can no longer be asked: it has shut down, or this is a forked child.
bool is_captured(Backend& backend, int32_t device_id, int64_t stream) {
  try {
    return backend.capture(device_id, stream).capturing;
  } catch (const Error& error) {
    if (error.status() != DLX_ERROR_DRIVER) throw;
    return false;
  }
}

}  // namespace

extern "C" {

dlx_status dlx_stream_create(int32_t device_type, int32_t device_id, int64_t* out_stream) {
  return guard(__func__, [&] {
    require(out_stream, "out_stream");
    *out_stream = require_streams(device_type, device_id).create_stream(device_id);
  });
}

dlx_status dlx_stream_destroy(int32_t device_type, int32_t device_id, int64_t stream) {
  return guard(__func__, [&] {
    Backend& backend = require_stream(device_type, device_id, stream);
    if (backend.is_default(stream)) {
      fail(DLX_ERROR_INVALID_ARGUMENT, "`stream` is a default stream, which cannot be destroyed");
    }
    if (is_captured(backend, device_id, stream)) fail_captured();
    backend.destroy_stream(device_id, stream);
  });
}

dlx_status dlx_stream_synchronize(int32_t device_type, int32_t device_id, int64_t stream) {
  return guard(__func__, [&] {
    Backend& backend = require_stream(device_type, device_id, stream);
    if (backend.capture(device_id, stream).capturing) fail_captured();
    backend.synchronize_stream(device_id, stream);
    release_all_held(backend);
  });
}

dlx_status dlx_stream_wait(int32_t device_type, int32_t device_id, int64_t stream, int64_t other) {
  return guard(__func__, [&] {
    Backend& backend = require_stream(device_type, device_id, stream);
    check_work_stream(device_type, other);
    follow_stream(backend, device_id, stream, device_id, other);
  });
}

dlx_status dlx_stream_set_current(int32_t device_type, int32_t device_id, int64_t stream) {
  return guard(__func__, [&] {
    require_stream(device_type, device_id, stream);
    set_current_stream(device_type, device_id, stream);
  });
}

dlx_status dlx_stream_reset_current(int32_t device_type, int32_t device_id) {
  return guard(__func__, [&] { reset_current_stream(device_type, device_id); });
}

dlx_status dlx_stream_get_current(int32_t device_type, int32_t device_id, int64_t* out_stream) {
  return guard(__func__, [&] {
    require(out_stream, "out_stream");
    *out_stream = current_stream(require_streams(device_type, device_id), device_type, device_id);
  });
}

dlx_status dlx_tensor_wait_on_stream(dlx_tensor* tensor, int64_t stream) {
  return guard(__func__, [&] {
    require(tensor, "tensor");
    make_ready(tensor, &stream);
  });
}

dlx_status dlx_tensor_written_on_stream(dlx_tensor* tensor, int64_t stream) {
  return guard(__func__, [&] {
    require(tensor, "tensor");
    check_work_stream(type_of(tensor->dl.device), stream);
    note_written(tensor, stream);
  });
}

dlx_status dlx_tensor_synchronize(dlx_tensor* tensor) {
  return guard(__func__, [&] {
    require(tensor, "tensor");
    synchronize(tensor);
  });
}

dlx_status dlx_register_backend(int32_t device_type, const dlx_backend* backend) {
  return guard(__func__, [&] {
    require(backend, "backend");
    const dlx_backend read = read_options(backend, "backend");
    require_zero(static_cast<int32_t>(read.reserved), "backend->reserved");
    register_backend(device_type, read);
  });
}

}  // extern "C"
