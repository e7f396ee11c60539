// The fake libcuda.so.1: memory and copies.
#include "tests/stubs/fake_cuda.h"

using namespace fake;

namespace {

/// A pointer's attribute, as cuPointerGetAttribute writes it. Unknown memory: all zero.
int pointer_attribute(const Allocation* allocation, int attribute, uint64_t pointer, void* out) {
  const bool known = allocation != nullptr;
  const bool host =
      known && (allocation->kind == Memory::kHost || allocation->kind == Memory::kRegistered);
  switch (attribute) {
    case 1: {  // context; pool memory has none
      void* context = known && allocation->kind != Memory::kPool ? allocation->context : nullptr;
      std::memcpy(out, &context, sizeof context);
      return kOk;
    }
    case cu::kPointerMemoryType: {
      const unsigned type = host ? cu::kMemoryHost : known ? cu::kMemoryDevice : 0u;
      std::memcpy(out, &type, sizeof type);
      return kOk;
    }
    case 3:  // device pointer
      pointer = known ? pointer : 0;
      std::memcpy(out, &pointer, sizeof pointer);
      return kOk;
    case 4:  // host pointer
      pointer = known && !is_device_only(allocation) ? pointer : 0;
      std::memcpy(out, &pointer, sizeof pointer);
      return kOk;
    case cu::kPointerIsManaged: {
      const unsigned managed = known && allocation->kind == Memory::kManaged;
      std::memcpy(out, &managed, sizeof managed);
      return kOk;
    }
    case cu::kPointerDeviceOrdinal: {
      const int ordinal = known ? allocation->context->device->ordinal : -2;
      std::memcpy(out, &ordinal, sizeof ordinal);
      return kOk;
    }
    default: return kInvalidValue;
  }
}

/// A copy on the legacy stream that the host waits for.
cu::Result copy_and_wait(const char* name, uint64_t dst, uint64_t src, size_t size) {
  return unsafe(name, [&](Context* context) -> int {
    if (const int error = copy(context->legacy, dst, src, size); error != kOk) return error;
    return wait_is_ignored() ? static_cast<int>(kOk) : host_wait({context->legacy->last});
  });
}

}  // namespace

// ---- memory ---------------------------------------------------------------------------------------

FAKE_EXPORT cu::Result cuMemGetInfo_v2(size_t* free, size_t* total) {
  return in_context(__func__, [&](Context* context) {
    *total = context->device->memory;
    *free = *total - context->device->used;
    return kOk;
  });
}

FAKE_EXPORT cu::Result cuMemAlloc_v2(cu::DevicePointer* data, size_t size) {
  return unsafe(__func__, [&](Context* context) {
    uint64_t result = 0;
    const int error = allocate(context, Memory::kDevice, size, &result);
    *data = result;
    return error;
  });
}

FAKE_EXPORT cu::Result cuMemAllocManaged(cu::DevicePointer* data, size_t size, unsigned flags) {
  return unsafe(__func__, [&](Context* context) {
    if (flags != 1 && flags != 2) return static_cast<int>(kInvalidValue);
    uint64_t result = 0;
    const int error = allocate(context, Memory::kManaged, size, &result);
    *data = result;
    return error;
  });
}

FAKE_EXPORT cu::Result cuMemFree_v2(cu::DevicePointer data) {
  return unsafe(__func__, [&](Context*) { return release(data, false); });
}

FAKE_EXPORT cu::Result cuMemHostAlloc(void** data, size_t size, unsigned flags) {
  return unsafe(__func__, [&](Context* context) {
    uint64_t result = 0;
    const int error = allocate(context, Memory::kHost, size, &result);
    *data = reinterpret_cast<void*>(result);
    if (error == kOk) find_memory(result)->host_flags = flags;
    return error;
  });
}

FAKE_EXPORT cu::Result cuMemHostGetFlags(unsigned* flags, void* data) {
  return in_context(__func__, [&](Context*) {
    const Allocation* allocation = live_memory(address(data));
    if (allocation == nullptr) return static_cast<int>(kInvalidValue);
    *flags = allocation->host_flags;
    return static_cast<int>(kOk);
  });
}

FAKE_EXPORT cu::Result cuMemAllocHost_v2(void** data, size_t size) {
  return unsafe(__func__, [&](Context* context) {
    uint64_t result = 0;
    const int error = allocate(context, Memory::kHost, size, &result);
    *data = reinterpret_cast<void*>(result);
    return error;
  });
}

FAKE_EXPORT cu::Result cuMemFreeHost(void* data) {
  return unsafe(__func__, [&](Context*) { return release(address(data), true); });
}

FAKE_EXPORT cu::Result cuMemHostRegister_v2(void* data, size_t size, unsigned) {
  return unsafe(__func__, [&](Context* context) { return register_host(context, data, size); });
}

FAKE_EXPORT cu::Result cuMemHostUnregister(void* data) {
  return unsafe(__func__, [&](Context*) { return unregister_host(data); });
}

FAKE_EXPORT cu::Result cuDeviceGetDefaultMemPool(cu::Pool* out, cu::Device device) {
  return of_device(__func__, device, [&](Device* d) {
    *out = reinterpret_cast<cu::Pool>(default_pool(d));
    return kOk;
  });
}

FAKE_EXPORT cu::Result cuMemPoolCreate(cu::Pool* out, const cu::PoolProperties* properties) {
  return plain(__func__, [&]() -> int {
    Device* device = find_device(properties->location_id);
    if (properties->allocation_type != cu::kAllocationPinned ||
        properties->location_type != cu::kLocationDevice || device == nullptr) {
      return kInvalidValue;
    }
    if (attribute_of(*device, cu::kMemoryPoolsSupported) == 0) return kNotSupported;
    Pool* pool = nullptr;
    const int error = pool_create(device, &pool);
    *out = reinterpret_cast<cu::Pool>(pool);
    return error;
  });
}

FAKE_EXPORT cu::Result cuMemPoolDestroy(cu::Pool pool) {
  return plain(__func__, [&] { return pool_destroy(object<Pool>(pool)); });
}

FAKE_EXPORT cu::Result cuMemPoolSetAttribute(cu::Pool pool, int attribute, void* value) {
  return plain(__func__, [&] {
    // The default pool is everybody's: who changes it changes other libraries.
    if (object<Pool>(pool)->standard) die("the default pool's attributes are not ours");
    if (attribute == dlx::cuda::kPoolReleaseThreshold) {
      object<Pool>(pool)->keeps = *static_cast<int64_t*>(value);
    }
    return kOk;
  });
}

FAKE_EXPORT cu::Result cuMemAllocFromPoolAsync(cu::DevicePointer* data, size_t size, cu::Pool pool,
                                               cu::Stream handle) {
  return on_stream(__func__, handle, [&](Stream* stream, Context*) {
    uint64_t result = 0;
    const int error = allocate_async(object<Pool>(pool), stream, size, &result);
    *data = result;
    return error;
  });
}

FAKE_EXPORT cu::Result cuMemAllocAsync(cu::DevicePointer* data, size_t size, cu::Stream handle) {
  return on_stream(__func__, handle, [&](Stream* stream, Context* context) {
    uint64_t result = 0;
    const int error = allocate_async(default_pool(context->device), stream, size, &result);
    *data = result;
    return error;
  });
}

FAKE_EXPORT cu::Result cuMemFreeAsync(cu::DevicePointer data, cu::Stream handle) {
  return on_stream(__func__, handle,
                   [&](Stream* stream, Context*) { return release_async(stream, data); });
}

FAKE_EXPORT cu::Result cuPointerGetAttribute(void* value, int attribute,
                                             cu::DevicePointer pointer) {
  return plain(__func__, [&] {
    const Allocation* allocation = live_memory(pointer);
    if (allocation == nullptr) return static_cast<int>(kInvalidValue);
    return pointer_attribute(allocation, attribute, pointer, value);
  });
}

FAKE_EXPORT cu::Result cuPointerGetAttributes(unsigned count, int* attributes, void** values,
                                              cu::DevicePointer pointer) {
  return plain(__func__, [&] {
    int error = kOk;
    for (unsigned k = 0; k < count && error == kOk; ++k) {
      error = pointer_attribute(live_memory(pointer), attributes[k], pointer, values[k]);
    }
    return error;
  });
}

// ---- copies ---------------------------------------------------------------------------------------

FAKE_EXPORT cu::Result cuMemcpyHtoDAsync_v2(cu::DevicePointer dst, const void* src, size_t size,
                                            cu::Stream handle) {
  return on_stream(__func__, handle, [&](Stream* stream, Context*) {
    if (!is_host(src)) return static_cast<int>(kInvalidValue);
    return copy(stream, dst, address(src), size);
  });
}

FAKE_EXPORT cu::Result cuMemcpyDtoHAsync_v2(void* dst, cu::DevicePointer src, size_t size,
                                            cu::Stream handle) {
  return on_stream(__func__, handle, [&](Stream* stream, Context*) {
    if (!is_host(dst)) return static_cast<int>(kInvalidValue);
    return copy(stream, address(dst), src, size);
  });
}

FAKE_EXPORT cu::Result cuMemcpyDtoDAsync_v2(cu::DevicePointer dst, cu::DevicePointer src,
                                            size_t size, cu::Stream handle) {
  return on_stream(__func__, handle, [&](Stream* stream, Context*) {
    if (live_memory(dst) == nullptr || live_memory(src) == nullptr) {
      return static_cast<int>(kInvalidValue);
    }
    return copy(stream, dst, src, size);
  });
}

FAKE_EXPORT cu::Result cuMemcpyAsync(cu::DevicePointer dst, cu::DevicePointer src, size_t size,
                                     cu::Stream handle) {
  return on_stream(__func__, handle,
                   [&](Stream* stream, Context*) { return copy(stream, dst, src, size); });
}

FAKE_EXPORT cu::Result cuMemcpyPeerAsync(cu::DevicePointer dst, cu::Context dst_context,
                                         cu::DevicePointer src, cu::Context src_context,
                                         size_t size, cu::Stream handle) {
  return on_stream(__func__, handle, [&](Stream* stream, Context*) {
    const Allocation* to = live_memory(dst);
    const Allocation* from = live_memory(src);
    if (to == nullptr || from == nullptr ||
        to->context->device != object<Context>(dst_context)->device ||
        from->context->device != object<Context>(src_context)->device) {
      return static_cast<int>(kInvalidValue);
    }
    return copy(stream, dst, src, size);
  });
}

FAKE_EXPORT cu::Result cuMemcpyHtoD_v2(cu::DevicePointer dst, const void* src, size_t size) {
  return copy_and_wait(__func__, dst, address(src), size);
}

FAKE_EXPORT cu::Result cuMemcpyDtoH_v2(void* dst, cu::DevicePointer src, size_t size) {
  return copy_and_wait(__func__, address(dst), src, size);
}

FAKE_EXPORT cu::Result cuMemsetD8Async(cu::DevicePointer dst, unsigned char value, size_t count,
                                       cu::Stream handle) {
  return on_stream(__func__, handle,
                   [&](Stream* stream, Context*) { return fill(stream, dst, value, 1, count); });
}

FAKE_EXPORT cu::Result cuMemsetD32Async(cu::DevicePointer dst, unsigned value, size_t count,
                                        cu::Stream handle) {
  return on_stream(__func__, handle,
                   [&](Stream* stream, Context*) { return fill(stream, dst, value, 4, count); });
}
