// The fake libcuda.so.1: memory and copies that differ from HIP.
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
      const int ordinal = host && engine().host_pools ? -1  // CU_DEVICE_CPU
                          : known                     ? allocation->context->device->ordinal
                                                      : -2;
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

FAKE_EXPORT cu::Result cuMemHostAlloc(void** data, size_t size, unsigned flags) {
  return unsafe(__func__, [&](Context* context) {
    uint64_t result = 0;
    const int error = allocate(context, Memory::kHost, size, &result);
    *data = reinterpret_cast<void*>(result);
    if (error == kOk) find_memory(result)->host_flags = flags;
    return error;
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

FAKE_EXPORT cu::Result cuMemAllocAsync(cu::DevicePointer* data, size_t size, cu::Stream handle) {
  return on_stream(__func__, handle, [&](Stream* stream, Context* context) {
    uint64_t result = 0;
    const int error = allocate_async(default_pool(context->device), stream, size, &result);
    *data = result;
    return error;
  });
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
