// The fake libamdhip64.so: memory and copies.
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

FAKE_EXPORT hip::Result hipMemGetInfo(size_t* free, size_t* total) {
  return in_context(__func__, [&](Context* context) {
    *total = context->device->memory;
    *free = *total - context->device->used;
    return kOk;
  });
}

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

FAKE_EXPORT hip::Result hipFree(void* data) {
  return unsafe(__func__, [&](Context*) { return release(address(data), false); });
}

FAKE_EXPORT hip::Result hipHostMalloc(void** data, size_t size, unsigned flags) {
  return unsafe(__func__, [&](Context* context) {
    const int error = allocate_for(context, Memory::kHost, size, data);
    if (error == kOk) find_memory(address(*data))->host_flags = flags;
    return error;
  });
}

FAKE_EXPORT hip::Result hipHostGetFlags(unsigned* flags, void* data) {
  return in_context(__func__, [&](Context*) {
    const Allocation* allocation = live_memory(data);
    if (allocation == nullptr) return static_cast<int>(kInvalidValue);
    *flags = allocation->host_flags;
    return static_cast<int>(kOk);
  });
}

FAKE_EXPORT hip::Result hipHostFree(void* data) {
  return unsafe(__func__, [&](Context*) { return release(address(data), true); });
}

FAKE_EXPORT hip::Result hipHostRegister(void* data, size_t size, unsigned) {
  return unsafe(__func__, [&](Context* context) { return register_host(context, data, size); });
}

FAKE_EXPORT hip::Result hipHostUnregister(void* data) {
  return unsafe(__func__, [&](Context*) { return unregister_host(data); });
}

FAKE_EXPORT hip::Result hipDeviceGetDefaultMemPool(hip::Pool* out, int device) {
  return of_device(__func__, device, [&](Device* d) {
    *out = reinterpret_cast<hip::Pool>(default_pool(d));
    return kOk;
  });
}

FAKE_EXPORT hip::Result hipMemPoolCreate(hip::Pool* out, const hip::PoolProperties* properties) {
  return plain(__func__, [&]() -> int {
    Device* device = find_device(properties->location_id);
    if (properties->allocation_type != hip::kAllocationPinned ||
        properties->location_type != hip::kLocationDevice || device == nullptr) {
      return kInvalidValue;
    }
    if (attribute_of(*device, hip::kMemoryPoolsSupported) == 0) return kNotSupported;
    Pool* pool = nullptr;
    const int error = pool_create(device, &pool);
    *out = reinterpret_cast<hip::Pool>(pool);
    return error;
  });
}

FAKE_EXPORT hip::Result hipMemPoolDestroy(hip::Pool pool) {
  return plain(__func__, [&] { return pool_destroy(object<Pool>(pool)); });
}

FAKE_EXPORT hip::Result hipMemPoolSetAttribute(hip::Pool pool, int attribute, void* value) {
  return plain(__func__, [&] {
    if (object<Pool>(pool)->standard) die("the default pool's attributes are not ours");
    if (attribute == dlx::cuda::kPoolReleaseThreshold) {
      object<Pool>(pool)->keeps = *static_cast<int64_t*>(value);
    }
    return kOk;
  });
}

FAKE_EXPORT hip::Result hipMallocFromPoolAsync(void** data, size_t size, hip::Pool pool,
                                               hip::Stream handle) {
  return on_stream(__func__, handle, [&](Stream* stream, Context*) {
    uint64_t result = 0;
    const int error = allocate_async(object<Pool>(pool), stream, size, &result);
    *data = reinterpret_cast<void*>(result);
    return error;
  });
}

FAKE_EXPORT hip::Result hipFreeAsync(void* data, hip::Stream handle) {
  return on_stream(__func__, handle,
                   [&](Stream* stream, Context*) { return release_async(stream, address(data)); });
}

FAKE_EXPORT hip::Result hipPointerGetAttributes(hip::PointerAttributes* out, const void* pointer) {
  return plain(__func__, [&]() -> int {
    const Allocation* allocation = live_memory(pointer);
    *out = hip::PointerAttributes{};
    if (allocation == nullptr) {
      // Memory that HIP does not know: type 0 ("unregistered") from ROCm 6 on; in ROCm 5 an error
      // or, here from 5.5 on, a success whose type 0 means the host and whose addresses are NULL.
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

FAKE_EXPORT hip::Result hipMemcpyHtoDAsync(void* dst, const void* src, size_t size,
                                           hip::Stream handle) {
  return on_stream(__func__, handle, [&](Stream* stream, Context*) {
    if (!is_host(src)) return static_cast<int>(kInvalidValue);
    return copy(stream, address(dst), address(src), size);
  });
}

FAKE_EXPORT hip::Result hipMemcpyDtoHAsync(void* dst, const void* src, size_t size,
                                           hip::Stream handle) {
  return on_stream(__func__, handle, [&](Stream* stream, Context*) {
    if (!is_host(dst)) return static_cast<int>(kInvalidValue);
    return copy(stream, address(dst), address(src), size);
  });
}

FAKE_EXPORT hip::Result hipMemcpyDtoDAsync(void* dst, const void* src, size_t size,
                                           hip::Stream handle) {
  return on_stream(__func__, handle, [&](Stream* stream, Context*) {
    if (live_memory(dst) == nullptr || live_memory(src) == nullptr) {
      return static_cast<int>(kInvalidValue);
    }
    return copy(stream, address(dst), address(src), size);
  });
}

FAKE_EXPORT hip::Result hipMemcpyPeerAsync(void* dst, int dst_device, const void* src,
                                           int src_device, size_t size, hip::Stream handle) {
  return on_stream(__func__, handle, [&](Stream* stream, Context*) {
    const Allocation* to = live_memory(dst);
    const Allocation* from = live_memory(src);
    if (to == nullptr || from == nullptr || to->context->device->ordinal != dst_device ||
        from->context->device->ordinal != src_device) {
      return static_cast<int>(kInvalidValue);
    }
    return copy(stream, address(dst), address(src), size);
  });
}

FAKE_EXPORT hip::Result hipMemsetD8Async(void* dst, unsigned char value, size_t count,
                                         hip::Stream handle) {
  return on_stream(__func__, handle, [&](Stream* stream, Context*) {
    return fill(stream, address(dst), value, 1, count);
  });
}

FAKE_EXPORT hip::Result hipMemsetD32Async(void* dst, int value, size_t count, hip::Stream handle) {
  return on_stream(__func__, handle, [&](Stream* stream, Context*) {
    return fill(stream, address(dst), static_cast<unsigned>(value), 4, count);
  });
}
