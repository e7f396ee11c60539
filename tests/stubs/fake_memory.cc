// Memory and copies: the same calls in both drivers, by their own names.
#include "tests/stubs/either.h"

using namespace fake;

namespace {

using Pointer = EITHER(cu::DevicePointer, void*);
using ConstPointer = EITHER(cu::DevicePointer, const void*);

}  // namespace

// ---- memory ---------------------------------------------------------------------------------------

FAKE_EXPORT cu::Result EITHER(cuMemGetInfo_v2, hipMemGetInfo)(size_t* free, size_t* total) {
  return in_context(__func__, [&](Context* context) {
    *total = context->device->memory;
    *free = *total - context->device->used;
    return kOk;
  });
}

FAKE_EXPORT cu::Result EITHER(cuMemFree_v2, hipFree)(Pointer data) {
  return unsafe(__func__, [&](Context*) { return release(address(data), false); });
}

FAKE_EXPORT cu::Result EITHER(cuMemHostGetFlags, hipHostGetFlags)(unsigned* flags, void* data) {
  return in_context(__func__, [&](Context*) {
    const Allocation* allocation = live_memory(address(data));
    if (allocation == nullptr) return static_cast<int>(kInvalidValue);
    *flags = allocation->host_flags;
    return static_cast<int>(kOk);
  });
}

FAKE_EXPORT cu::Result EITHER(cuMemFreeHost, hipHostFree)(void* data) {
  return unsafe(__func__, [&](Context*) { return release(address(data), true); });
}

FAKE_EXPORT cu::Result EITHER(cuMemHostRegister_v2, hipHostRegister)(void* data, size_t size,
                                                                     unsigned) {
  return unsafe(__func__, [&](Context* context) { return register_host(context, data, size); });
}

FAKE_EXPORT cu::Result EITHER(cuMemHostUnregister, hipHostUnregister)(void* data) {
  return unsafe(__func__, [&](Context*) { return unregister_host(data); });
}

// ---- pools ----------------------------------------------------------------------------------------

FAKE_EXPORT cu::Result EITHER(cuDeviceGetDefaultMemPool, hipDeviceGetDefaultMemPool)(cu::Pool* out,
                                                                                     int device) {
  return of_device(__func__, device, [&](Device* d) {
    *out = reinterpret_cast<cu::Pool>(default_pool(d));
    return kOk;
  });
}

FAKE_EXPORT cu::Result EITHER(cuMemPoolCreate,
                              hipMemPoolCreate)(cu::Pool* out,
                                                const cu::PoolProperties* properties) {
  return plain(__func__, [&]() -> int {
    Device* device = find_device(properties->location_id);
    if (properties->allocation_type != cu::kAllocationPinned ||
        properties->location_type != cu::kLocationDevice || device == nullptr) {
      return kInvalidValue;
    }
    if (attribute_of(*device, EITHER(cu, hip)::kMemoryPoolsSupported) == 0) return kNotSupported;
    Pool* pool = nullptr;
    const int error = pool_create(device, &pool);
    *out = reinterpret_cast<cu::Pool>(pool);
    return error;
  });
}

FAKE_EXPORT cu::Result EITHER(cuMemPoolDestroy, hipMemPoolDestroy)(cu::Pool pool) {
  return plain(__func__, [&] { return pool_destroy(object<Pool>(pool)); });
}

FAKE_EXPORT cu::Result EITHER(cuMemPoolSetAttribute,
                              hipMemPoolSetAttribute)(cu::Pool pool, int attribute, void* value) {
  return plain(__func__, [&] {
    // All libraries share the default pool: dlx must not change it.
    if (object<Pool>(pool)->standard) die("the default pool's attributes are not ours");
    if (attribute == cu::kPoolReleaseThreshold) {
      object<Pool>(pool)->keeps = *static_cast<int64_t*>(value);
    }
    return kOk;
  });
}

FAKE_EXPORT cu::Result EITHER(cuMemAllocFromPoolAsync,
                              hipMallocFromPoolAsync)(Pointer* data, size_t size, cu::Pool pool,
                                                      cu::Stream handle) {
  return on_stream(__func__, handle, [&](Stream* stream, Context*) {
    uint64_t result = 0;
    const int error = allocate_async(object<Pool>(pool), stream, size, &result);
    *data = EITHER(result, reinterpret_cast<void*>(result));
    return error;
  });
}

FAKE_EXPORT cu::Result EITHER(cuMemFreeAsync, hipFreeAsync)(Pointer data, cu::Stream handle) {
  return on_stream(__func__, handle,
                   [&](Stream* stream, Context*) { return release_async(stream, address(data)); });
}

// ---- copies ---------------------------------------------------------------------------------------

FAKE_EXPORT cu::Result EITHER(cuMemcpyHtoDAsync_v2,
                              hipMemcpyHtoDAsync)(Pointer dst, const void* src, size_t size,
                                                  cu::Stream handle) {
  return on_stream(__func__, handle, [&](Stream* stream, Context*) {
    if (!is_host(src)) return static_cast<int>(kInvalidValue);
    return copy(stream, address(dst), address(src), size);
  });
}

FAKE_EXPORT cu::Result EITHER(cuMemcpyDtoHAsync_v2, hipMemcpyDtoHAsync)(void* dst, ConstPointer src,
                                                                        size_t size,
                                                                        cu::Stream handle) {
  return on_stream(__func__, handle, [&](Stream* stream, Context*) {
    if (!is_host(dst)) return static_cast<int>(kInvalidValue);
    return copy(stream, address(dst), address(src), size);
  });
}

FAKE_EXPORT cu::Result EITHER(cuMemcpyDtoDAsync_v2,
                              hipMemcpyDtoDAsync)(Pointer dst, ConstPointer src, size_t size,
                                                  cu::Stream handle) {
  return on_stream(__func__, handle, [&](Stream* stream, Context*) {
    if (live_memory(address(dst)) == nullptr || live_memory(address(src)) == nullptr) {
      return static_cast<int>(kInvalidValue);
    }
    return copy(stream, address(dst), address(src), size);
  });
}

FAKE_EXPORT cu::Result EITHER(cuMemsetD8Async, hipMemsetD8Async)(Pointer dst, unsigned char value,
                                                                 size_t count, cu::Stream handle) {
  return on_stream(__func__, handle, [&](Stream* stream, Context*) {
    return fill(stream, address(dst), value, 1, count);
  });
}

FAKE_EXPORT cu::Result EITHER(cuMemsetD32Async,
                              hipMemsetD32Async)(Pointer dst, EITHER(unsigned, int) value,
                                                 size_t count, cu::Stream handle) {
  return on_stream(__func__, handle, [&](Stream* stream, Context*) {
    return fill(stream, address(dst), static_cast<unsigned>(value), 4, count);
  });
}
