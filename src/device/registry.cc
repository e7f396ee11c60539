#include "src/device/registry.h"

#include <atomic>
#include <cstdio>
#include <cstring>
#include <mutex>

#include "src/base/error.h"

namespace dlx {
namespace {

/// THE list of device types that DLPack names.
struct DeviceKind {
  int32_t type;
  const char* name;
};

constexpr DeviceKind kDevices[] = {
    {kDLCPU, "cpu"},
    {kDLCUDA, "cuda"},
    {kDLCUDAHost, "cuda_host"},
    {kDLOpenCL, "opencl"},
    {kDLVulkan, "vulkan"},
    {kDLMetal, "metal"},
    {kDLVPI, "vpi"},
    {kDLROCM, "rocm"},
    {kDLROCMHost, "rocm_host"},
    {kDLExtDev, "ext_dev"},
    {kDLCUDAManaged, "cuda_managed"},
    {kDLOneAPI, "oneapi"},
    {kDLWebGPU, "webgpu"},
    {kDLHexagon, "hexagon"},
    {kDLMAIA, "maia"},
    {kDLTrn, "trn"},
    // On DLPack's main branch, in no release yet.
    {19, "tpu"},
    {20, "tpu_host"},
    {21, "ascend"},
};

const char* kind_name(int32_t device_type) noexcept {
  for (const DeviceKind& kind : kDevices) {
    if (kind.type == device_type) return kind.name;
  }
  return nullptr;
}

/// Reads a decimal number up to 2^31-1 that ends the string.
bool read_number(const char* c, int32_t* out) noexcept {
  if (*c == '\0') return false;
  int64_t value = 0;
  for (; *c != '\0'; ++c) {
    if (*c < '0' || *c > '9') return false;
    value = value * 10 + (*c - '0');
    if (value > INT32_MAX) return false;
  }
  *out = static_cast<int32_t>(value);
  return true;
}

[[noreturn]] void fail_device_name(const char* name) {
  fail(DLX_ERROR_INVALID_ARGUMENT,
       "`name` is not a device (got \"%.60s\", expected one like \"cpu\", \"cuda:0\" or \"2:0\")",
       name);
}

std::mutex allocator_mutex;
dlx_allocator cpu_allocator;                 // guarded by allocator_mutex
std::atomic<bool> has_cpu_allocator{false};  // read first, so that the default costs no lock

}  // namespace

Backend* find_backend(int32_t device_type) noexcept {
  return device_type == kDLCPU ? &cpu_backend() : nullptr;
}

bool device_known(int32_t device_type) noexcept { return kind_name(device_type) != nullptr; }

const char* backend_reason(int32_t device_type) noexcept {
  Backend* backend = find_backend(device_type);
  if (backend != nullptr) return backend->reason();
  if (kind_name(device_type) == nullptr) return "DLPack 1.3 has no such device type";
  return "this version of dlx has a backend for the CPU only: tensors of other devices can be "
         "described and passed on, but not allocated, copied or waited for";
}

Backend& require_device(int32_t device_type, int32_t device_id) {
  Backend* backend = find_backend(device_type);
  const int32_t count = backend == nullptr ? 0 : backend->count();
  if (device_id >= 0 && device_id < count) return *backend;
  if (count == 0) {
    fail(DLX_ERROR_UNAVAILABLE, "`device` %s is not available: %s",
         device_text(device_type, device_id).text, backend_reason(device_type));
  }
  fail(DLX_ERROR_UNAVAILABLE, "`device` %s does not exist (there are %d of that type)",
       device_text(device_type, device_id).text, count);
}

DeviceText device_text(int32_t device_type, int32_t device_id) noexcept {
  DeviceText out;
  const char* name = kind_name(device_type);
  if (name == nullptr) {
    std::snprintf(out.text, sizeof out.text, "%d:%d", device_type, device_id);
  } else if (device_type == kDLCPU && device_id == 0) {
    std::snprintf(out.text, sizeof out.text, "cpu");
  } else {
    std::snprintf(out.text, sizeof out.text, "%s:%d", name, device_id);
  }
  return out;
}

DLDevice parse_device(const char* name) {
  const char* colon = std::strchr(name, ':');
  const size_t length = colon == nullptr ? std::strlen(name) : static_cast<size_t>(colon - name);
  int32_t type = 0, id = 0;
  if (colon != nullptr && !read_number(colon + 1, &id)) fail_device_name(name);
  for (const DeviceKind& kind : kDevices) {
    if (std::strlen(kind.name) == length && std::memcmp(kind.name, name, length) == 0) {
      type = kind.type;
    }
  }
  if (type == 0 && colon != nullptr && length > 0 && length < 11) {
    char digits[12] = {};
    std::memcpy(digits, name, length);
    if (!read_number(digits, &type)) fail_device_name(name);
  }
  if (type == 0) fail_device_name(name);
  DLDevice device;
  device.device_type = static_cast<DLDeviceType>(type);
  device.device_id = id;
  return device;
}

bool default_allocator(int32_t device_type, dlx_allocator* out) noexcept {
  if (device_type != kDLCPU || !has_cpu_allocator.load(std::memory_order_acquire)) return false;
  std::lock_guard<std::mutex> lock(allocator_mutex);
  *out = cpu_allocator;
  return out->allocate != nullptr;
}

void set_default_allocator(int32_t device_type, const dlx_allocator* allocator) {
  if (find_backend(device_type) == nullptr) {
    fail(DLX_ERROR_UNSUPPORTED, "`device_type` has no backend that allocates (got %s)",
         device_text(device_type, 0).text);
  }
  std::lock_guard<std::mutex> lock(allocator_mutex);
  cpu_allocator = allocator == nullptr ? dlx_allocator{} : *allocator;
  has_cpu_allocator.store(allocator != nullptr, std::memory_order_release);
}

void check_stream(int32_t device_type, int64_t stream) {
  const auto number = static_cast<long long>(stream);
  switch (device_type) {
    case kDLCUDA:
    case kDLCUDAManaged:
      if (stream < -1 || stream == 0) {
        fail(DLX_ERROR_INVALID_ARGUMENT,
             "`stream` is not a CUDA stream (got %lld, expected -1, 1, 2 or a handle; 0 is "
             "ambiguous)",
             number);
      }
      if (stream == -1 || stream == 1) return;  // imports were made safe for the legacy stream
      break;
    case kDLROCM:
      if (stream < -1 || stream == 1 || stream == 2) {
        fail(DLX_ERROR_INVALID_ARGUMENT,
             "`stream` is not a ROCm stream (got %lld, expected -1, 0 or a handle)", number);
      }
      if (stream == -1 || stream == 0) return;
      break;
    default:
      fail(DLX_ERROR_INVALID_ARGUMENT,
           "`stream` must be None on %s, which has no streams (got %lld)",
           device_text(device_type, 0).text, number);
  }
  fail(DLX_ERROR_UNSUPPORTED, "`stream` %lld cannot be ordered after the data's own work: %s",
       number, backend_reason(device_type));
}

}  // namespace dlx
