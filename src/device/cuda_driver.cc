#include "src/device/cuda_driver.h"

#include <cctype>
#include <cstdio>
#include <cstring>

#include "src/driver/names.h"
#include "src/gpu/images.h"

namespace dlx {
namespace {

constexpr DriverFiles kFiles = {"DLX_CUDA_PATH", nullptr, driver_names::kCuda};

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

/// Writes the UUID as nvidia-smi prints it and CUDA_VISIBLE_DEVICES accepts it. A MIG slice, which
/// has " MIG " in its name, has another prefix.
void write_uuid(const cuda::Uuid& uuid, dlx_device_properties* out) {
  const char* const kind = std::strstr(out->name, " MIG ") == nullptr ? "GPU" : "MIG";
  char* end = out->uuid + std::snprintf(out->uuid, sizeof out->uuid, "%s", kind);
  for (int k = 0; k < 16; ++k) {
    if (k == 0 || (k >= 4 && k <= 10 && k % 2 == 0)) *end++ = '-';
    end += std::snprintf(end, 3, "%02x", uuid.bytes[k]);
  }
}

}  // namespace

CudaDriver::CudaDriver() noexcept : GpuCalls(kFiles, "the CUDA driver") {}

std::string CudaDriver::oldest_version() const {
  return "the driver of CUDA " + version_text(cuda::kOldestVersion);
}

void CudaDriver::error_text(cuda::Result error, const char** name, const char** text) noexcept {
  // Both stay NULL for an unknown code.
  f_.error_name(error, name);
  f_.error_string(error, text);
}

int32_t CudaDriver::open(std::string* reason) {
  if (!load(reason)) {
    *reason = "no CUDA driver: " + *reason;
    return 0;
  }
  try {
    initialise();
    if (count_ == 0) *reason = "the CUDA driver " + library_.path() + " has no devices";
  } catch (const Error& error) {
    *reason = std::string(error.what()) + " (" + library_.path() + ")";
  }
  return count_;
}

void CudaDriver::initialise() {
  run(f_.driver_version, &version_);
  if (version_ < cuda::kOldestVersion) {
    fail(DLX_ERROR_UNAVAILABLE, "the CUDA driver is too old: got CUDA %s, expected %s or newer",
         version_text(version_).c_str(), version_text(cuda::kOldestVersion).c_str());
  }
  const cuda::Result result = f_.init(0);
  // not covered: no fake says so
  if (result == cuda::kNotInitialized) {
    // not covered from here: no fake says so
    fail(DLX_ERROR_UNAVAILABLE,
         "%s; a process that was forked after the driver had been initialised cannot use it",
         call_text(f_.init.symbol, result).c_str());
    // covered again
  }
  if (result != cuda::kSuccess) fail_call(f_.init.symbol, result);
  process_.start(false);
  int count = 0;
  run(f_.device_count, &count);
  devices_.reset(new Device[count]());
  count_ = count;
}

cuda::Device CudaDriver::number(int32_t id) {
  cuda::Device number = 0;
  run(f_.device_get, &number, static_cast<int>(id));
  return number;
}

int CudaDriver::attribute(int32_t id, int attribute) {
  int value = 0;
  run(f_.device_attribute, &value, attribute, number(id));
  return value;
}

gpu::Limits CudaDriver::limits(int32_t id) {
  gpu::Limits limits = {};
  limits.max_group_size = attribute(id, cuda::kMaxThreadsPerBlock);
  limits.compute_units = attribute(id, cuda::kMultiprocessorCount);
  limits.max_groups = attribute(id, cuda::kMaxGridX);
  return limits;
}

bool CudaDriver::managed_is_concurrent(int32_t id) {
  return attribute(id, cuda::kConcurrentManagedAccess) != 0;
}

void CudaDriver::describe(int32_t id, dlx_device_properties* out) {
  const cuda::Device device = number(id);
  run(f_.device_name, out->name, static_cast<int>(sizeof out->name), device);
  size_t total = 0;
  run(f_.device_memory, &total, device);
  out->memory_total = static_cast<int64_t>(total);
  out->memory_free = free_memory(id);
  std::snprintf(out->architecture, sizeof out->architecture, "sm_%d%d",
                attribute(id, cuda::kCapabilityMajor), attribute(id, cuda::kCapabilityMinor));
  run(f_.device_pci_bus_id, out->pci_id, static_cast<int>(sizeof out->pci_id), device);
  for (char* c = out->pci_id; *c != '\0'; ++c) *c = static_cast<char>(std::tolower(*c));
  cuda::Uuid uuid = {};
  run(f_.device_uuid, &uuid, device);
  write_uuid(uuid, out);
  std::snprintf(out->driver_version, sizeof out->driver_version, "%s",
                version_text(version_).c_str());
  out->unified_memory = attribute(id, cuda::kConcurrentManagedAccess);
}

/// Returns -1 if the device has no active primary context, because the query would create one.
int64_t CudaDriver::free_memory(int32_t id) {
  const cuda::Device device = number(id);
  unsigned flags = 0;
  int active = 0;
  run(f_.primary_state, device, &flags, &active);
  if (active == 0) return -1;
  GpuPlace place = {id, devices_[id].context.load(std::memory_order_acquire), true};
  const bool borrowed = place.context == nullptr;
  if (borrowed) {
    cuda::Context context = nullptr;
    run(f_.primary_retain, &context, device);
    place.context = context;
  }
  size_t free = 0, total = 0;
  cuda::Result result = cuda::kSuccess;
  try {
    GpuScope scope(*this, place);
    result = f_.memory_info(&free, &total);
  } catch (...) {
    if (borrowed) f_.primary_release(device);
    throw;
  }
  if (borrowed) f_.primary_release(device);
  if (result != cuda::kSuccess) fail_call(f_.memory_info.symbol, result);
  return static_cast<int64_t>(free);
}

int32_t CudaDriver::current_device() {
  cuda::Device device = 0;
  if (!load_if_mapped() || process_.forked()) return 0;
  if (f_.context_device(&device) != cuda::kSuccess) return 0;
  return device;  // CUDA's device handles equal their ordinals
}

bool CudaDriver::pointer_attributes(const void* pointer, unsigned* type, int* managed,
                                    int* ordinal) noexcept {
  int attributes[] = {cuda::kPointerMemoryType, cuda::kPointerIsManaged,
                      cuda::kPointerDeviceOrdinal};
  void* values[] = {type, managed, ordinal};
  return f_.pointer_attributes(3, attributes, values, device(pointer)) == cuda::kSuccess;
}

bool CudaDriver::locate(const void* pointer, PointerInfo* out) {
  // A driver that is not initialised returns an error, and owns no memory.
  if (!load_if_mapped() || process_.forked()) return false;
  unsigned type = 0;
  int managed = 0, ordinal = 0;
  if (!pointer_attributes(pointer, &type, &managed, &ordinal)) return false;
  if (type != cuda::kMemoryHost && type != cuda::kMemoryDevice) return false;
  // Host memory of no device, such as that of host pools, may have the ordinal CU_DEVICE_CPU.
  out->ordinal = ordinal < 0 ? 0 : ordinal;
  out->device_type = kDLCUDA;
  if (type == cuda::kMemoryHost) out->device_type = kDLCUDAHost;
  if (managed != 0) out->device_type = kDLCUDAManaged;
  out->device_id = out->device_type == kDLCUDA ? out->ordinal : 0;
  return true;
}

GpuPlace CudaDriver::primary(int32_t id) {
  Device& device = devices_[id];
  cuda::Context context = device.context.load(std::memory_order_acquire);
  if (context == nullptr) {
    std::lock_guard<std::mutex> lock(retain_mutex_);
    context = device.context.load(std::memory_order_relaxed);
    if (context == nullptr) {
      const cuda::Device own = number(id);
      int mode = cuda::kCaptureModeRelaxed;
      const bool relaxed = f_.exchange_capture_mode(&mode) == cuda::kSuccess;
      const cuda::Result result = f_.primary_retain(&context, own);
      if (relaxed) restore_captures(mode);
      if (result != cuda::kSuccess) fail_call(f_.primary_retain.symbol, result);
      device.context.store(context, std::memory_order_release);
    }
  }
  return {id, context, true};
}

GpuPlace CudaDriver::place_of(int32_t id, StreamHandle stream) {
  const GpuPlace own = primary(id);
  if (stream >= 0 && stream <= 2) return own;
  cuda::Context context = nullptr;
  cuda::Result result = f_.stream_context(handle(stream), &context);
  if (result == cuda::kInvalidContext) {  // some drivers require a current context
    GpuScope scope(*this, own);
    result = f_.stream_context(handle(stream), &context);
  }
  if (result != cuda::kSuccess) fail_call(f_.stream_context.symbol, result);
  if (context == own.context) return own;
  GpuScope scope(*this, {id, context, false});
  cuda::Device device = 0;  // CUDA's device handles equal their ordinals
  run(f_.context_device, &device);
  return {device, context, false};
}

/// Always a primary context, because destroying any other context frees its memory.
GpuPlace CudaDriver::any_place() {
  // not covered: pinned memory, the only caller's, came from a primary context
  for (int32_t k = 0; k < count_; ++k) {
    const cuda::Context context = devices_[k].context.load(std::memory_order_acquire);
    if (context != nullptr) return {k, context, true};
  }
  // not covered: as above
  return primary(current_device());
}

GpuDriver::Saved CudaDriver::enter(const GpuPlace& place) {
  Saved saved = {};
  cuda::Context current = nullptr;
  auto* context = static_cast<cuda::Context>(place.context);
  const char* symbol = f_.context_current.symbol;
  cuda::Result result = f_.context_current(&current);
  if (result == cuda::kSuccess && current != context) {
    symbol = f_.context_push.symbol;
    result = f_.context_push(context);
    saved.entered = result == cuda::kSuccess;
  }
  if (result != cuda::kSuccess) fail_call(symbol, result);
  try {
    saved.capture_mode = relax_captures();  // may need a context, by its documentation
  } catch (...) {
    if (saved.entered) f_.context_pop(&current);
    throw;
  }
  return saved;
}

void CudaDriver::leave(const Saved& saved) noexcept {
  restore_captures(saved.capture_mode);
  cuda::Context context = nullptr;
  if (saved.entered) f_.context_pop(&context);
}

void* CudaDriver::allocate(int32_t device_type, size_t size) {
  if (device_type == kDLCUDAHost) {
    void* data = nullptr;
    const cuda::Result result = f_.allocate_host(&data, size, cuda::kHostPortable);
    return room(f_.allocate_host, result) ? data : nullptr;
  }
  cuda::DevicePointer data = 0;
  if (device_type == kDLCUDAManaged) {
    const cuda::Result result = f_.allocate_managed(&data, size, cuda::kAttachGlobal);
    // not covered: the fake has room
    return room(f_.allocate_managed, result) ? host(data) : nullptr;
  }
  return room(f_.allocate, f_.allocate(&data, size)) ? host(data) : nullptr;
}

void CudaDriver::free(int32_t device_type, void* data) noexcept {
  if (device_type == kDLCUDAHost) {
    f_.free_host(data);
  } else {
    f_.free(device(data));
  }
}

void* CudaDriver::create_pool(int32_t id) {
  if (attribute(id, cuda::kMemoryPoolsSupported) == 0) return nullptr;
  return GpuCalls::create_pool(number(id));
}

void CudaDriver::copy_peer(StreamHandle stream, const GpuPlace& dst_place, void* dst,
                           const GpuPlace& src_place, const void* src, size_t size) {
  run(f_.copy_peer, device(dst), static_cast<cuda::Context>(dst_place.context), device(src),
      static_cast<cuda::Context>(src_place.context), size, handle(stream));
}

void CudaDriver::enable_peer(const GpuPlace& peer) noexcept {
  f_.context_enable_peer(static_cast<cuda::Context>(peer.context), 0u);
}

bool CudaDriver::is_no_code(cuda::Result error) const noexcept {
  switch (error) {
    // not covered: the fakes refuse an image by another code
    case cuda::kInvalidImage:
    case cuda::kNoBinaryForGpu:
    // not covered: the same
    case cuda::kInvalidPtx:
    case cuda::kJitCompilerNotFound:
    // not covered: the same
    case cuda::kUnsupportedPtxVersion:
    case cuda::kJitDisabled: return true;
    default: return false;
  }
}

void* CudaDriver::load_module(int32_t, int32_t family, std::string* why_not) {
  cuda::Module module = nullptr;
  const cuda::Result result = f_.module_load(&module, gpu::ptx_image(family).data);
  return runs_here(f_.module_load, result, why_not) ? module : nullptr;
}

}  // namespace dlx
