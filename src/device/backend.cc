#include "src/device/backend.h"

#include <cstdlib>

#include "src/base/error.h"

namespace dlx {

bool Backend::locate(const void*, PointerInfo*) { return false; }

void* Backend::allocate_temporary(int32_t, StreamHandle, size_t) { return nullptr; }

void Backend::deallocate_temporary(int32_t, StreamHandle, void*) noexcept {}

void* Backend::allocate_pinned(int32_t, size_t size) { return std::malloc(size); }

void Backend::deallocate_pinned(void* data) noexcept { std::free(data); }

bool Backend::managed_is_concurrent(int32_t) { return false; }

void Backend::check_stream(int64_t) const {}

StreamHandle Backend::create_stream(int32_t) { return 0; }

void Backend::destroy_stream(int32_t, StreamHandle) noexcept {}

void Backend::synchronize_stream(int32_t, StreamHandle) {}

bool Backend::is_idle(int32_t id, StreamHandle stream) {
  const ScopedEvent event(*this, id, stream);
  return is_done(id, event.get());
}

CaptureInfo Backend::capture(int32_t, StreamHandle) { return {false, 0}; }

void Backend::wait_native(int32_t, StreamHandle, void*) {
  fail(DLX_ERROR_UNSUPPORTED, "dlx cannot wait for events of this kind of device");
}

bool Backend::copy_strided(int32_t, StreamHandle, DeviceAddress, DeviceAddress, const CopyPlan&) {
  return false;
}

}  // namespace dlx
