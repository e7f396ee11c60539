#include "src/device/gpu_backend.h"

#include <cstdio>

#include "src/base/error.h"
#include "src/copy/plan/plan.h"
#include "src/device/registry.h"
#include "src/gpu/images.h"

namespace dlx {
namespace {

char* address(const DeviceAddress& where) noexcept {
  return static_cast<char*>(where.data) + where.offset;
}

GpuEvent* as_event(EventHandle event) noexcept { return static_cast<GpuEvent*>(event); }

}  // namespace

// ---- devices ----

void GpuBackend::open() {
  opened_.run([this] {
    int32_t count = 0;
    reason_.clear();  // an earlier call may have run out of memory
    try {
      count = driver_.open(&reason_);
    } catch (const Error& error) {
      reason_ = error.what();  // not covered: open() catches what a driver's call throws
    }
    if (count > 0) devices_.reset(new Device[count]);
    count_ = count;
  });
}

int32_t GpuBackend::count() {
  open();
  return count_;
}

const char* GpuBackend::reason() {
  open();
  return reason_.c_str();
}

void GpuBackend::describe(int32_t id, dlx_device_properties* out) {
  device(id);
  driver_.describe(id, out);
  std::lock_guard<std::mutex> lock(devices_[id].mutex);
  std::snprintf(out->no_kernels, sizeof out->no_kernels, "%s",
                devices_[id].no_kernels.text().c_str());
}

bool GpuBackend::locate(const void* pointer, PointerInfo* out) {
  return driver_.locate(pointer, out);
}

int32_t GpuBackend::current_device() { return driver_.current_device(); }

GpuBackend::Device& GpuBackend::device(int32_t id) {
  open();
  driver_.require_usable();
  return devices_[id];
}

GpuPlace GpuBackend::place(int32_t id, StreamHandle stream) {
  device(id);
  const GpuPlace where = driver_.place_of(id, stream);
  if (where.id != id) {
    fail(DLX_ERROR_INVALID_ARGUMENT, "`stream` belongs to another device (got %s, expected %s)",
         device_text(memory_type(), where.id).text, device_text(memory_type(), id).text);
  }
  return where;
}

// ---- memory ----

void* GpuBackend::allocate_aligned(int32_t device_type, size_t size, size_t alignment) {
  void* data = driver_.allocate(device_type, size);
  const size_t mask = alignment - 1;
  if (data == nullptr || (reinterpret_cast<uintptr_t>(data) & mask) == 0) return data;
  driver_.free(device_type, data);
  // not covered: an allocation of 2^64 bytes
  if (size > SIZE_MAX - alignment) return nullptr;
  data = driver_.allocate(device_type, size + alignment);
  if (data == nullptr) return nullptr;
  char* aligned =
      static_cast<char*>(data) + ((alignment - (reinterpret_cast<uintptr_t>(data) & mask)) & mask);
  try {
    std::lock_guard<std::mutex> lock(shifted_mutex_);
    shifted_[aligned] = data;
  } catch (...) {
    // not covered from here: memory has run out
    driver_.free(device_type, data);
    throw;
    // covered again
  }
  return aligned;
}

void* GpuBackend::allocate(int32_t device_type, int32_t id, size_t size, size_t alignment) {
  device(id);
  GpuScope scope(driver_, driver_.primary(id));
  return allocate_aligned(device_type, size, alignment);
}

void GpuBackend::deallocate(int32_t device_type, int32_t id, void* data) noexcept {
  if (data == nullptr || !driver_.usable()) return;
  try {
    {
      std::lock_guard<std::mutex> lock(shifted_mutex_);
      auto shifted = shifted_.find(data);
      if (shifted != shifted_.end()) {
        data = shifted->second;
        shifted_.erase(shifted);
      }
    }
    GpuScope scope(driver_, driver_.primary(id));
    driver_.free(device_type, data);
  } catch (...) {
    // The driver has shut down, and its memory with it.
  }
}

/// The device's pool; NULL if it has none. Call this inside a GpuScope.
void* GpuBackend::pool(Device& device, int32_t id) {
  std::lock_guard<std::mutex> lock(device.mutex);
  if (!device.asked_for_pool) {
    device.pool = driver_.create_pool(id);
    device.asked_for_pool = true;
  }
  return device.pool;
}

void* GpuBackend::allocate_temporary(int32_t id, StreamHandle stream, size_t size) {
  GpuScope scope(driver_, place(id, stream));
  if (void* own = pool(devices_[id], id)) return driver_.allocate_from_pool(own, stream, size);
  return driver_.allocate(memory_type(), size);
}

void GpuBackend::deallocate_temporary(int32_t id, StreamHandle stream, void* data) noexcept {
  try {
    GpuScope scope(driver_, place(id, stream));
    if (pool(devices_[id], id) != nullptr) {
      driver_.free_to_pool(stream, data);
      return;
    }
    // Without a pool there is no stream-ordered free.
    driver_.synchronize_stream(stream);
    driver_.free(memory_type(), data);
  } catch (...) {
    // The driver has shut down, or this is a forked child.
  }
}

void* GpuBackend::allocate_pinned(int32_t id, size_t size) {
  device(id);
  GpuScope scope(driver_, driver_.primary(id));
  return driver_.allocate(host_type(), size);
}

void GpuBackend::deallocate_pinned(void* data) noexcept {
  if (data == nullptr || !driver_.usable()) return;
  try {
    GpuScope scope(driver_, driver_.any_place());
    driver_.free(host_type(), data);
  } catch (...) {
    // The driver has shut down.
  }
}

bool GpuBackend::managed_is_concurrent(int32_t id) {
  device(id);
  return driver_.managed_is_concurrent(id);
}

void GpuBackend::synchronize(int32_t id) {
  // Each operation of dlx is followed by an event, so waiting for all events is enough.
  device(id).events.wait_for_all(driver_);
}

// ---- streams and events ----

StreamHandle GpuBackend::create_stream(int32_t id) {
  device(id);
  GpuScope scope(driver_, driver_.primary(id));
  return driver_.create_stream();
}

void GpuBackend::destroy_stream(int32_t id, StreamHandle stream) noexcept {
  if (!driver_.usable()) return;
  try {
    GpuScope scope(driver_, driver_.primary(id));
    driver_.destroy_stream(stream);
  } catch (...) {
    // The driver has shut down.
  }
}

void GpuBackend::synchronize_stream(int32_t id, StreamHandle stream) {
  GpuScope scope(driver_, place(id, stream));
  driver_.synchronize_stream(stream);
}

bool GpuBackend::is_idle(int32_t id, StreamHandle stream) {
  GpuScope scope(driver_, place(id, stream));
  return driver_.is_idle(stream);
}

int32_t GpuBackend::device_of_stream(int32_t id, StreamHandle stream) {
  device(id);
  return driver_.place_of(id, stream).id;
}

CaptureInfo GpuBackend::capture(int32_t id, StreamHandle stream) {
  GpuScope scope(driver_, place(id, stream));
  return driver_.capture(stream);
}

EventHandle GpuBackend::record(int32_t id, StreamHandle stream) {
  const GpuPlace where = place(id, stream);
  return devices_[id].events.record(driver_, where, stream);
}

void GpuBackend::wait(int32_t id, StreamHandle stream, EventHandle event) {
  wait_native(id, stream, as_event(event)->native);
}

void GpuBackend::wait_native(int32_t id, StreamHandle stream, void* native_event) {
  GpuScope scope(driver_, place(id, stream));
  driver_.wait(stream, native_event);
}

void GpuBackend::wait_on_host(int32_t, EventHandle event) {
  driver_.require_usable();
  GpuScope scope(driver_, as_event(event)->place);
  driver_.synchronize_event(as_event(event)->native, as_event(event)->stream);
}

bool GpuBackend::is_done(int32_t, EventHandle event) {
  driver_.require_usable();
  GpuScope scope(driver_, as_event(event)->place);
  return driver_.is_done(as_event(event)->native, as_event(event)->stream);
}

void GpuBackend::release_event(int32_t, EventHandle event) noexcept {
  if (!driver_.usable()) return;
  devices_[as_event(event)->place.id].events.release(as_event(event));
}

void* GpuBackend::native_event(EventHandle event) noexcept { return as_event(event)->native; }

// ---- copies ----

void GpuBackend::copy_from_host(int32_t id, StreamHandle stream, DeviceAddress dst, const void* src,
                                size_t size) {
  GpuScope scope(driver_, place(id, stream));
  driver_.copy_from_host(stream, address(dst), src, size);
}

void GpuBackend::copy_to_host(int32_t id, StreamHandle stream, void* dst, DeviceAddress src,
                              size_t size) {
  GpuScope scope(driver_, place(id, stream));
  driver_.copy_to_host(stream, dst, address(src), size);
}

void GpuBackend::copy_on_device(int32_t dst_id, DeviceAddress dst, int32_t src_id,
                                DeviceAddress src, StreamHandle stream, size_t size) {
  const GpuPlace where = place(dst_id, stream);
  if (dst_id == src_id) {
    GpuScope scope(driver_, where);
    driver_.copy_on_device(stream, address(dst), address(src), size);
    return;
  }
  const GpuPlace dst_place = driver_.primary(dst_id), src_place = driver_.primary(src_id);
  enable_peer(dst_place, src_id);
  GpuScope scope(driver_, where);
  driver_.copy_peer(stream, dst_place, address(dst), src_place, address(src), size);
}

/// Requests peer access once for each pair. Without it the driver copies through host memory.
void GpuBackend::enable_peer(const GpuPlace& place, int32_t peer) {
  Device& own = devices_[place.id];
  std::lock_guard<std::mutex> lock(own.mutex);
  if (own.peers.empty()) own.peers.resize(static_cast<size_t>(count_));
  if (own.peers[static_cast<size_t>(peer)]) return;
  GpuScope scope(driver_, place);
  driver_.enable_peer(driver_.primary(peer));
  own.peers[static_cast<size_t>(peer)] = true;
}

/// The limits, and room for the families. Call this inside a GpuScope.
GpuBackend::Kernels& GpuBackend::kernels(Device& device, int32_t id) {
  if (Kernels* known = device.kernels.load(std::memory_order_acquire)) return *known;
  const std::lock_guard<std::mutex> lock(device.mutex);
  if (device.kernels.load(std::memory_order_relaxed) == nullptr) {
    auto made = std::make_unique<Kernels>();
    made->limits = driver_.limits(id);
    device.kernels.store(made.release(), std::memory_order_release);  // never freed
  }
  return *device.kernels.load(std::memory_order_relaxed);
}

void** GpuBackend::load_family(int32_t id, int32_t family, std::string* why_not) {
  auto functions = std::make_unique<void*[]>(gpu::kKernels);
  void* module = driver_.load_module(id, family, why_not);
  if (module == nullptr) return nullptr;
  try {
    for (int32_t k = 0; k < gpu::kKernels; ++k) {
      if (gpu::family_of(k) != family) continue;
      functions[static_cast<size_t>(k)] = driver_.find_kernel(module, gpu::kernel_name(k), why_not);
      if (functions[static_cast<size_t>(k)] != nullptr) continue;
      driver_.unload_module(module);
      return nullptr;
    }
    return functions.release();  // never freed, like the module
  } catch (...) {
    driver_.unload_module(module);
    throw;
  }
}

/// The functions of a family, loaded on first use; NULL if it cannot be loaded, or not now. Call this
/// inside a GpuScope of the primary context.
void** GpuBackend::family(Device& device, int32_t id, StreamHandle stream, int32_t family) {
  Kernels& known = kernels(device, id);
  std::atomic<void**>& place = known.families[family];
  if (void** loaded = place.load(std::memory_order_acquire)) return loaded;
  // Loading may compile and may wait for the device, which would break a capture.
  if (driver_.capture(stream).capturing) return nullptr;
  const std::lock_guard<std::mutex> lock(device.mutex);
  if (void** loaded = place.load(std::memory_order_relaxed)) return loaded;
  if ((known.missing.load(std::memory_order_relaxed) >> family & 1) != 0) return nullptr;
  std::string why_not = "the compiler produced no code";  // the default text
  void** loaded = load_family(id, family, &why_not);
  if (loaded == nullptr) {
    device.no_kernels.add(family, why_not);
    known.missing.fetch_or(1u << family, std::memory_order_relaxed);
  }
  place.store(loaded, std::memory_order_release);
  return loaded;
}

bool GpuBackend::copy_strided(int32_t id, StreamHandle stream, DeviceAddress dst, DeviceAddress src,
                              const CopyPlan& plan) {
  const GpuPlace where = place(id, stream);
  if (!where.primary) return false;  // kernels belong to a context
  GpuScope scope(driver_, where);
  Device& own = devices_[id];
  const Kernels& known = kernels(own, id);
  gpu::Limits limits = known.limits;
  limits.missing = known.missing.load(std::memory_order_relaxed);
  char* dst_base = address(dst);
  char* src_base = address(src);
  gpu::Launches launches(plan, reinterpret_cast<uint64_t>(dst_base),
                         reinterpret_cast<uint64_t>(src_base), limits);
  gpu::Launch launch;
  while (launches.next(&launch)) {
    void** functions = nullptr;
    while (launch.kernel >= 0) {
      const gpu::Family wanted = gpu::family_of(launch.kernel);
      functions = family(own, id, stream, wanted);
      if (functions != nullptr) break;
      limits.missing |= 1u << wanted;
      launches.again(limits, &launch);
    }
    if (functions == nullptr) return false;
    void* arguments[] = {&dst_base, &src_base, &launch.copy};
    driver_.launch(functions[launch.kernel], launch, stream, arguments);
  }
  return true;
}

}  // namespace dlx
