// The fake libamdhip64.so: memory and copies that differ from CUDA.
#include "tests/stubs/fake_hip.h"

using namespace fake;

namespace {

int allocate_for(Context* context, Memory kind, size_t size, void** out) {
  uint64_t result = 0;
  *out = nullptr;
  if (size == 0) return kOk;
  const int error = allocate(context, kind, size, &result);
  *out = reinterpret_cast<void*>(result);
  return error;
}

}  // namespace

// ---- memory ---------------------------------------------------------------------------------------

FAKE_EXPORT hip::Result hipMalloc(void** data, size_t size) {
  return unsafe(__func__, [&](Context* context) {
    return allocate_for(context, Memory::kDevice, size, data);
  });
}

FAKE_EXPORT hip::Result hipMallocManaged(void** data, size_t size, unsigned) {
  return unsafe(__func__, [&](Context* context) {
    return allocate_for(context, Memory::kManaged, size, data);
  });
}

FAKE_EXPORT hip::Result hipHostMalloc(void** data, size_t size, unsigned flags) {
  return unsafe(__func__, [&](Context* context) {
    const int error = allocate_for(context, Memory::kHost, size, data);
    if (error == kOk) find_memory(address(*data))->host_flags = flags;
    return error;
  });
}

FAKE_EXPORT hip::Result hipPointerGetAttributes(hip::PointerAttributes* out, const void* pointer) {
  return plain(__func__, [&]() -> int {
    const Allocation* allocation = live_memory(address(pointer));
    *out = hip::PointerAttributes{};
    if (allocation == nullptr) {
      // Unknown memory: type 0 ("unregistered") from ROCm 6 on. In ROCm 5 an error, or (here from
      // 5.5 on) success with type 0, which means the host, and NULL addresses.
      out->device = -2;
      return version() < 50500000 ? kInvalidValue : kOk;
    }
    const bool managed_on_host = version() >= 50500000 && major() < 6;
    const bool host = allocation->kind == Memory::kHost ||
                      allocation->kind == Memory::kRegistered ||
                      (allocation->kind == Memory::kManaged && managed_on_host);
    if (allocation->kind == Memory::kManaged && major() >= 6) {
      out->type = 3;  // hipMemoryTypeManaged
    } else if (host) {
      out->type = major() < 6 ? hip::kHostInRocm5 : hip::kHost;
    } else {
      out->type = major() < 6 ? hip::kDeviceInRocm5 : hip::kDevice;
    }
    out->device = allocation->context->device->ordinal;
    out->device_pointer = const_cast<void*>(pointer);
    out->host_pointer = is_device_only(allocation) ? nullptr : const_cast<void*>(pointer);
    out->is_managed = allocation->kind == Memory::kManaged;
    return kOk;
  });
}

// ---- copies ---------------------------------------------------------------------------------------

FAKE_EXPORT hip::Result hipMemcpyPeerAsync(void* dst, int dst_device, const void* src,
                                           int src_device, size_t size, hip::Stream handle) {
  return on_stream(__func__, handle, [&](Stream* stream, Context*) {
    const Allocation* to = live_memory(address(dst));
    const Allocation* from = live_memory(address(src));
    if (to == nullptr || from == nullptr || to->context->device->ordinal != dst_device ||
        from->context->device->ordinal != src_device) {
      return static_cast<int>(kInvalidValue);
    }
    return copy(stream, address(dst), address(src), size);
  });
}
