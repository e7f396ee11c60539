#include "capi/guard.h"
#include "src/base/last_error.h"
#include "src/copy/threads/threads.h"
#include "src/device/registry.h"

#define DLX_STRING_OF(x) #x
#define DLX_STRING(x) DLX_STRING_OF(x)

namespace dlx::capi {
const dlx_allocator* read_allocator(const dlx_allocator* allocator, dlx_allocator* storage) {
  if (allocator == nullptr) return nullptr;
  *storage = read_options(allocator, "allocator");
  require_zero(static_cast<int32_t>(storage->reserved), "allocator->reserved");
  require(reinterpret_cast<const void*>(storage->allocate), "allocator->allocate");
  require(reinterpret_cast<const void*>(storage->deallocate), "allocator->deallocate");
  return storage;
}

}  // namespace dlx::capi

using namespace dlx;
using namespace dlx::capi;

extern "C" {

const char* dlx_version(void) {
  return DLX_STRING(DLX_VERSION_MAJOR) "." DLX_STRING(DLX_VERSION_MINOR) "." DLX_STRING(
      DLX_VERSION_PATCH);
}

int32_t dlx_abi_version(void) { return 1; }

const char* dlx_status_name(dlx_status status) {
  switch (status) {
    case DLX_OK: return "DLX_OK";
    case DLX_ERROR_INVALID_ARGUMENT: return "DLX_ERROR_INVALID_ARGUMENT";
    case DLX_ERROR_OUT_OF_MEMORY: return "DLX_ERROR_OUT_OF_MEMORY";
    case DLX_ERROR_UNSUPPORTED: return "DLX_ERROR_UNSUPPORTED";
    case DLX_ERROR_UNAVAILABLE: return "DLX_ERROR_UNAVAILABLE";
    case DLX_ERROR_DRIVER: return "DLX_ERROR_DRIVER";
    case DLX_ERROR_READ_ONLY: return "DLX_ERROR_READ_ONLY";
    case DLX_ERROR_COPY_REFUSED: return "DLX_ERROR_COPY_REFUSED";
    case DLX_ERROR_DEVICE_REFUSED: return "DLX_ERROR_DEVICE_REFUSED";
    case DLX_ERROR_INTERNAL: return "DLX_ERROR_INTERNAL";
  }
  return "unknown status";
}

const char* dlx_last_error(void) { return last_error(); }

void dlx_set_last_error(const char* message) {
  set_last_error(nullptr, message == nullptr ? "" : message);
}

dlx_status dlx_set_allocator(int32_t device_type, const dlx_allocator* allocator) {
  return guard(__func__, [&] {
    dlx_allocator storage;
    set_default_allocator(device_type, read_allocator(allocator, &storage));
  });
}

dlx_status dlx_set_num_threads(int32_t num_threads) {
  return guard(__func__, [&] {
    if (num_threads < 0) {
      fail(DLX_ERROR_INVALID_ARGUMENT, "`num_threads` is negative (got %d)", num_threads);
    }
    set_num_threads(num_threads);
  });
}

int32_t dlx_get_num_threads(void) { return num_threads(); }

dlx_status dlx_set_parallel_for(dlx_parallel_for_fn parallel_for, void* user_data) {
  return guard(__func__, [&] { set_parallel_for(parallel_for, user_data); });
}

}  // extern "C"
