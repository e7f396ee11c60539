#include "src/device/hip_driver.h"

#include <cstdio>
#include <memory>

#include "src/device/hip_compiler.h"
#include "src/driver/names.h"
#include "src/gpu/images.h"

namespace dlx {
namespace {

constexpr DriverFiles kFiles = {"DLX_HIP_PATH", "libamdhip64", driver_names::kHip};

std::string version_text(int version) {
  return std::to_string(version / 10000000) + "." + std::to_string(version / 100000 % 100);
}

}  // namespace

HipDriver::HipDriver() noexcept : GpuCalls(kFiles, "HIP") {}

std::string HipDriver::oldest_version() const {
  return "ROCm " + version_text(hip::kOldestVersion);
}

void HipDriver::error_text(cuda::Result error, const char** name, const char** text) noexcept {
  *name = f_.error_name(error);
  *text = f_.error_string(error);
}

int32_t HipDriver::open(std::string* reason) {
  if (!load(reason)) {
    *reason = "no ROCm: " + *reason;
    return 0;
  }
  const int before = f_.peek_last_error();
  int32_t count = 0;
  try {
    count = initialise();
    if (count == 0) *reason = "ROCm's " + library_.path() + " has no devices";
  } catch (const Error& error) {
    *reason = std::string(error.what()) + " (" + library_.path() + ")";
  }
  clear_last_error(before);
  return count;
}

int32_t HipDriver::initialise() {
  run(f_.init, 0u);
  opened_.store(true, std::memory_order_release);
  process_.start(true);
  int version = 0, count = 0;
  run(f_.runtime_version, &version);
  if (version < hip::kOldestVersion) {
    fail(DLX_ERROR_UNAVAILABLE, "ROCm is too old: got %s, expected %s or newer",
         version_text(version).c_str(), version_text(hip::kOldestVersion).c_str());
  }
  run(f_.device_count, &count);
  return count;
}

/// Asks HSA, the layer below, because any HIP call would initialise HIP.
bool HipDriver::initialised() const noexcept {
  if (opened_.load(std::memory_order_acquire)) return true;
  uint16_t version = 0;
  return f_.hsa_system_info &&
         f_.hsa_system_info(hip::kHsaVersionMajor, &version) == hip::kHsaSuccess;
}

int HipDriver::version() noexcept {
  int version = version_.load(std::memory_order_relaxed);
  if (version != 0) return version;
  if (f_.runtime_version(&version) != cuda::kSuccess) return 0;
  version_.store(version, std::memory_order_relaxed);
  return version;
}

/// Clears an error of dlx's own calls; an error that was pending before stays.
void HipDriver::clear_last_error(int before) noexcept {
  if (before == cuda::kSuccess && f_.peek_last_error() != cuda::kSuccess) f_.last_error();
}

int HipDriver::attribute(int32_t id, int attribute) {
  int value = 0;
  run(f_.device_attribute, &value, attribute, id);
  return value;
}

gpu::Limits HipDriver::limits(int32_t id) {
  gpu::Limits limits = {};
  limits.max_group_size = attribute(id, hip::kMaxThreadsPerBlock);
  limits.compute_units = attribute(id, hip::kMultiprocessorCount);
  limits.max_groups = attribute(id, hip::kMaxGridX);
  return limits;
}

void HipDriver::describe(int32_t id, dlx_device_properties* out) {
  const int before = f_.peek_last_error();
  try {
    describe_inside(id, out);
  } catch (...) {
    clear_last_error(before);
    throw;
  }
  clear_last_error(before);
}

void HipDriver::describe_inside(int32_t id, dlx_device_properties* out) {
  const int device = id;
  run(f_.device_name, out->name, static_cast<int>(sizeof out->name), device);
  size_t total = 0, free = 0;
  run(f_.device_memory, &total, device);
  out->memory_total = static_cast<int64_t>(total);
  unsigned flags = 0;
  int active = 0;
  if (f_.primary_state) run(f_.primary_state, device, &flags, &active);
  if (active != 0) {
    GpuScope scope(*this, primary(id));
    run(f_.memory_info, &free, &total);
    out->memory_free = static_cast<int64_t>(free);
  }
  std::snprintf(out->architecture, sizeof out->architecture, "%s", architecture(id).c_str());
  run(f_.device_pci_bus_id, out->pci_id, static_cast<int>(sizeof out->pci_id), device);
  // The bytes are the letters that rocm-smi prints after "GPU-".
  cuda::Uuid uuid = {};
  run(f_.device_uuid, &uuid, device);
  std::snprintf(out->uuid, sizeof out->uuid, "GPU-%.16s",
                reinterpret_cast<const char*>(uuid.bytes));
  std::snprintf(out->driver_version, sizeof out->driver_version, "%s",
                version_text(version()).c_str());
  out->unified_memory = attribute(id, hip::kConcurrentManagedAccess);
}

int32_t HipDriver::current_device() {
  if (!load_if_mapped() || !usable() || !initialised()) return 0;
  const int before = f_.peek_last_error();
  int device = 0;
  if (f_.get_device(&device) != cuda::kSuccess) device = 0;
  clear_last_error(before);
  return device;
}

bool HipDriver::locate(const void* pointer, PointerInfo* out) {
  if (!load_if_mapped() || !usable() || !initialised()) return false;
  const int before = f_.peek_last_error();
  hip::PointerAttributes found = {};
  // HIP is initialised here, so asking for the version does not initialise it.
  const bool known = f_.pointer_attributes(&found, pointer) == cuda::kSuccess;
  const bool old = version() < 60000000;
  clear_last_error(before);
  if (!known) return false;
  const bool on_device = found.type == (old ? hip::kDeviceInRocm5 : hip::kDevice);
  const bool on_host = found.type == (old ? hip::kHostInRocm5 : hip::kHost);
  // For unknown memory ROCm 5 returns an error, or reports host memory without an address.
  if (!on_device && found.is_managed == 0 && (!on_host || found.host_pointer == nullptr)) {
    return false;
  }
  // DLPack has no type for ROCm's managed memory; devices access it like their own.
  const bool pinned = on_host && found.is_managed == 0;
  out->device_type = pinned ? kDLROCMHost : kDLROCM;
  out->device_id = pinned ? 0 : found.device;
  out->ordinal = found.device;
  return true;
}

GpuPlace HipDriver::place_of(int32_t id, StreamHandle stream) {
  // 0, and in ROCm 6 also 1 and 2, are default streams of the current device.
  if (stream >= 0 && stream <= 2) return primary(id);
  int device = id;
  const int before = f_.peek_last_error();
  if (f_.stream_device) {
    const cuda::Result result = f_.stream_device(handle(stream), &device);
    clear_last_error(before);
    if (result != cuda::kSuccess) fail_call(f_.stream_device.symbol, result);
  }
  return primary(device);
}

GpuPlace HipDriver::any_place() { return primary(current_device()); }

GpuDriver::Saved HipDriver::enter(const GpuPlace& place) {
  Saved saved = {};
  saved.last_error = f_.peek_last_error();
  try {
    saved.capture_mode = relax_captures();
  } catch (...) {
    clear_last_error(saved.last_error);
    throw;
  }
  const char* symbol = f_.get_device.symbol;
  cuda::Result result = f_.get_device(&saved.previous);
  if (result == cuda::kSuccess && saved.previous != place.id) {
    symbol = f_.set_device.symbol;
    result = f_.set_device(place.id);
    saved.entered = result == cuda::kSuccess;
  }
  if (result != cuda::kSuccess) {
    restore_captures(saved.capture_mode);
    clear_last_error(saved.last_error);
    fail_call(symbol, result);
  }
  return saved;
}

void HipDriver::leave(const Saved& saved) noexcept {
  if (saved.entered) f_.set_device(saved.previous);
  restore_captures(saved.capture_mode);
  clear_last_error(saved.last_error);
}

void* HipDriver::allocate(int32_t device_type, size_t size) {
  void* data = nullptr;
  if (device_type == kDLROCMHost) {
    const cuda::Result result = f_.allocate_host(&data, size, hip::kHostPortable);
    return room(f_.allocate_host, result) ? data : nullptr;
  }
  return room(f_.allocate, f_.allocate(&data, size)) ? data : nullptr;
}

void HipDriver::free(int32_t device_type, void* data) noexcept {
  if (device_type == kDLROCMHost) {
    f_.free_host(data);
  } else {
    f_.free(data);
  }
}

CaptureInfo HipDriver::capture(StreamHandle stream) {
  // Before ROCm 5.5 this query always fails for the default stream.
  if (stream == 0 && version() < hip::kDefaultStreamHasStatus) return {false, 0};
  return GpuCalls::capture(stream);
}

/// From ROCm 6.2 on, querying an event also queries the stream that it was recorded on. That breaks
/// a capture which has begun on the stream since, and reads freed memory if the stream was
/// destroyed.
HipDriver::StreamState HipDriver::state_of(StreamHandle stream) {
  if (stream == 0 || version() < hip::kEventsQueryStreams) return StreamState::kOrdinary;
  int status = cuda::kCaptureNone;
  const cuda::Result result =
      f_.stream_capture_info(handle(stream), &status, nullptr, nullptr, nullptr, nullptr);
  if (result == hip::kContextIsDestroyed) return StreamState::kDestroyed;
  if (result != cuda::kSuccess) fail_call(f_.stream_capture_info.symbol, result);
  return status == cuda::kCaptureNone ? StreamState::kOrdinary : StreamState::kCaptured;
}

bool HipDriver::is_done(void* event, StreamHandle stream) {
  const StreamState state = state_of(stream);
  if (state == StreamState::kOrdinary) return GpuCalls::is_done(event, stream);
  return state == StreamState::kDestroyed;  // HIP destroys a stream after its work
}

void HipDriver::synchronize_event(void* event, StreamHandle stream) {
  switch (state_of(stream)) {
    case StreamState::kOrdinary: return GpuCalls::synchronize_event(event, stream);
    case StreamState::kDestroyed: return;
    case StreamState::kCaptured:
      fail(DLX_ERROR_UNSUPPORTED,
           "a stream is being captured into a graph, and ROCm cannot wait for its earlier work: "
           "wait before the capture begins");
  }
}

void* HipDriver::create_pool(int32_t id) {
  if (attribute(id, hip::kMemoryPoolsSupported) == 0) return nullptr;
  return GpuCalls::create_pool(id);
}

void HipDriver::copy_peer(StreamHandle stream, const GpuPlace& dst_place, void* dst,
                          const GpuPlace& src_place, const void* src, size_t size) {
  run(f_.copy_peer, dst, static_cast<int>(dst_place.id), src, static_cast<int>(src_place.id), size,
      handle(stream));
}

void HipDriver::enable_peer(const GpuPlace& peer) noexcept { f_.enable_peer_access(peer.id, 0u); }

std::string HipDriver::architecture(int32_t id) {
  // Prefer the newer struct: ROCm 6 keeps the older function for old programs.
  if (f_.device_properties_6) {
    auto properties = std::make_unique<hip::Properties6>();
    run(f_.device_properties_6, properties.get(), static_cast<int>(id));
    return properties->architecture;
  }
  // not covered: ROCm 5 and 6 have one of them
  if (!f_.device_properties_5) return {};
  auto properties = std::make_unique<hip::Properties5>();
  run(f_.device_properties_5, properties.get(), static_cast<int>(id));
  return properties->architecture;
}

bool HipDriver::is_no_code(cuda::Result error) const noexcept {
  return error == hip::kInvalidImage || error == hip::kNoBinaryForGpu ||
         error == hip::kInvalidKernelFile;
}

void* HipDriver::load_module(int32_t id, int32_t family, std::string* why_not) {
  const std::string name = architecture(id);
  const gpu::Image image = gpu::amdgcn_image(family, name.c_str());
  std::string compiled;
  // not covered: every architecture of the fakes has an image
  if (image.data == nullptr) {
    // not covered: the same
    compiled = compile_hip(library_, version() / 10000000, family, name, why_not);
    // not covered: the same
    if (compiled.empty()) return nullptr;
  }
  const char* code = image.data != nullptr ? image.data : compiled.data();
  hip::Module module = nullptr;
  return runs_here(f_.module_load, f_.module_load(&module, code), why_not) ? module : nullptr;
}

}  // namespace dlx
