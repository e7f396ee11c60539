#include "src/device/registry.h"

#include <atomic>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>

#include "src/base/error.h"
#include "src/device/registered.h"

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

/// Default allocators that users have set. A set never changes; a new set replaces it. So no lock
/// is needed, which a forked child could find locked forever. Old sets are kept, because another
/// thread may be reading them, and linked, so that leak checkers can reach them.
struct DefaultAllocators {
  static constexpr int kMost = 32;
  struct Entry {
    int32_t device_type;
    dlx_allocator allocator;
  };

  int find(int32_t device_type) const noexcept {
    int i = 0;
    while (i < count && entries[i].device_type != device_type) ++i;
    return i;
  }

  int count = 0;
  Entry entries[kMost] = {};
  const DefaultAllocators* before = nullptr;
};
std::atomic<const DefaultAllocators*> default_allocators{nullptr};

/// The backends whose drivers can locate an address.
constexpr int32_t kWithAddresses[] = {kDLCUDA, kDLROCM};

}  // namespace

Backend* find_backend(int32_t device_type) noexcept {
  switch (device_type) {
    case kDLCPU: return &cpu_backend();
    case kDLCUDA:
    case kDLCUDAHost:
    case kDLCUDAManaged: return &cuda_backend();
    case kDLROCM:
    case kDLROCMHost: return &hip_backend();
    case kDLOpenCL: return &opencl_backend();
    default: return find_registered(device_type);
  }
}

int32_t list_device_types(int32_t* out, int32_t capacity) noexcept {
  int32_t count = 0;
  const auto add = [&](int32_t type) {
    if (count < capacity) out[count] = type;
    ++count;
  };
  for (const DeviceKind& kind : kDevices) add(kind.type);
  for (int32_t i = 0;; ++i) {
    const int32_t type = registered_type(i);
    if (type == 0) return count;
    if (kind_name(type) == nullptr) add(type);
  }
}

DLDevice resolve_device(DLDevice device) {
  constexpr int32_t kWithoutIndex = 255;
  const bool gpu = device.device_type == kDLCUDA || device.device_type == kDLROCM;
  if (!gpu || device.device_id != kWithoutIndex) return device;
  device.device_id = find_backend(type_of(device))->current_device();
  return device;
}

bool device_known(int32_t device_type) noexcept { return kind_name(device_type) != nullptr; }

const char* backend_reason(int32_t device_type) noexcept {
  Backend* backend = find_backend(device_type);
  if (backend != nullptr) {
    try {
      return backend->reason();
    } catch (const std::bad_alloc&) {
      return "out of memory: call again";
    }
  }
  if (kind_name(device_type) == nullptr) return "DLPack 1.3 has no such device type";
  return "dlx has no backend for it, and none was registered (dlx_register_backend): its tensors "
         "can be imported and exported, but not allocated, copied or waited for";
}

const char* absence_reason(int32_t device_type) noexcept {
  const char* reason = backend_reason(device_type);
  return reason[0] == '\0' ? "there is no such device" : reason;
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

PointerInfo locate_pointer(const void* pointer) {
  PointerInfo info{};
  for (const int32_t type : kWithAddresses) {
    if (find_backend(type)->locate(pointer, &info)) return info;
  }
  return {kDLCPU, 0, 0};
}

Worker find_worker(const DLTensor& tensor) {
  const auto type = type_of(tensor.device);
  if (type == kDLCPU) return {nullptr, 0};
  Backend* backend = find_backend(type);
  if (backend == nullptr) return {nullptr, 0};
  if (!id_is_zero(type)) return {backend, tensor.device.device_id};
  PointerInfo info;
  if (!backend->locate(tensor.data, &info)) return {nullptr, 0};
  return {backend, info.ordinal};
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
  return make_device(type, id);
}

bool default_allocator(int32_t device_type, dlx_allocator* out) noexcept {
  const DefaultAllocators* set = default_allocators.load(std::memory_order_acquire);
  if (set == nullptr) return false;
  const int found = set->find(device_type);
  if (found == set->count) return false;
  *out = set->entries[found].allocator;
  return true;
}

void set_default_allocator(int32_t device_type, const dlx_allocator* allocator) {
  if (find_backend(device_type) == nullptr) {
    fail(DLX_ERROR_UNSUPPORTED, "`device_type` has no backend that allocates (got %s)",
         device_text(device_type, 0).text);
  }
  auto next = std::make_unique<DefaultAllocators>();
  const DefaultAllocators* now = default_allocators.load(std::memory_order_acquire);
  do {
    if (now != nullptr) *next = *now;
    next->before = now;
    const int place = next->find(device_type);
    if (allocator == nullptr) {
      if (place == next->count) return;  // it has the built-in one
      next->entries[place] = next->entries[--next->count];
      // not covered: more types of devices than DLPack has
    } else if (place == DefaultAllocators::kMost) {
      // not covered from here: more types of devices than DLPack has
      fail(DLX_ERROR_UNSUPPORTED,
           "`device_type` %s cannot get an allocator: %d device types already have one",
           device_text(device_type, 0).text, DefaultAllocators::kMost);
      // covered again
    } else {
      next->entries[place] = {device_type, *allocator};
      if (place == next->count) ++next->count;
    }
    // not covered: another thread, at that moment
  } while (!default_allocators.compare_exchange_weak(now, next.get()));
  next.release();  // NOLINT(bugprone-unused-return-value): the set is in use
}

void check_stream(int32_t device_type, int64_t stream) {
  Backend* backend = find_backend(device_type);
  if (backend == nullptr && stream == -1) return;
  if (backend == nullptr || !backend->has_streams()) {
    fail(DLX_ERROR_INVALID_ARGUMENT, "`stream` must be omitted: %s has no streams (got %lld)",
         device_text(device_type, 0).text, static_cast<long long>(stream));
  }
  if (stream != -1) backend->check_stream(stream);
}

void check_work_stream(int32_t device_type, int64_t stream) {
  check_stream(device_type, stream);
  if (stream != -1) return;
  fail(DLX_ERROR_INVALID_ARGUMENT,
       "`stream` is not a stream (got -1, which means \"do not synchronise\" in imports and "
       "exports)");
}

}  // namespace dlx
