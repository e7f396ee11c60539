// The fake libcuda.so.1: the CUDA driver API on top of the engine.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <type_traits>

#include "src/driver/cuda.h"
#include "tests/stubs/engine.h"

namespace cu = dlx::cuda;
using namespace fake;

namespace fake {

Context* current_context() {
  const auto& stack = this_thread().stack;
  return stack.empty() ? nullptr : stack.back();
}

}  // namespace fake

namespace {

/// A call that needs no more than cuInit.
template <typename Body>
cu::Result plain(const char* name, Body body) {
  const Call call(name, Call::kInitialized);
  return call.error() != kOk ? call.error() : body();
}

/// A call that needs a current context without an error.
template <typename Body>
cu::Result in_context(const char* name, Body body) {
  return plain(name, [&]() -> int {
    Context* const context = current_context();
    if (context == nullptr) return kInvalidContext;
    if (!context->alive) return kContextDestroyed;
    if (context->sticky != kOk) return context->sticky;
    return body(context);
  });
}

/// The same for a call that some captures forbid.
template <typename Body>
cu::Result unsafe(const char* name, Body body) {
  return in_context(name, [&](Context* context) -> int {
    if (const int error = unsafe_call(); error != kOk) return error;
    return body(context);
  });
}

/// The same for a call about a stream.
template <typename Body>
cu::Result on_stream(const char* name, cu::Stream handle, Body body) {
  return in_context(name, [&](Context* context) -> int {
    Stream* stream = nullptr;
    if (const int error = find_stream(handle, context, &stream); error != kOk) return error;
    return body(stream, context);
  });
}

/// A copy on the legacy stream that the host waits for.
cu::Result copy_and_wait(const char* name, uint64_t dst, uint64_t src, size_t size) {
  return unsafe(name, [&](Context* context) -> int {
    if (const int error = copy(context->legacy, dst, src, size); error != kOk) return error;
    return wait_is_ignored() ? static_cast<int>(kOk) : host_wait({context->legacy->last});
  });
}

uint64_t address(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

/// Whether an address is the CPU's: what HtoD copies from and DtoH copies to.
bool is_host(const void* pointer) {
  const Allocation* allocation = find_memory(address(pointer));
  return allocation == nullptr || !is_device_only(allocation);
}

int attribute_of(const Device& device, int attribute) {
  const auto found = device.attributes.find(attribute);
  if (found != device.attributes.end()) return found->second;
  switch (attribute) {
    case cu::kMaxThreadsPerBlock:
    case 2:  // block dimensions
    case 3: return 1024;
    case 4: return 64;
    case cu::kMaxGridX: return 0x7fffffff;
    case cu::kMaxGridY:
    case cu::kMaxGridZ: return 65535;
    case 10:  // warp size
      return 32;
    case cu::kMultiprocessorCount: return 4;
    case 33:  // PCI bus
      return 0x3b + device.ordinal;
    case 41:  // unified addressing
    case 83:  // managed memory
    case cu::kConcurrentManagedAccess:
    case cu::kMemoryPoolsSupported: return 1;
    case cu::kCapabilityMajor: return 8;
    default: return 0;
  }
}

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

/// Memory that lives: what attributes tell of.
const Allocation* live_memory(uint64_t pointer) {
  const Allocation* allocation = find_memory(pointer);
  return allocation != nullptr && !allocation->freed ? allocation : nullptr;
}

int stack_pop(cu::Context* out) {
  auto& stack = this_thread().stack;
  if (stack.empty()) return kInvalidContext;
  if (out != nullptr) *out = reinterpret_cast<cu::Context>(stack.back());
  stack.pop_back();
  return kOk;
}

}  // namespace

// ---- the driver -----------------------------------------------------------------------------------

FAKE_EXPORT cu::Result cuInit(unsigned flags) {
  const Call call(__func__, Call::kNothing);
  if (call.error() != kOk) return call.error();
  return flags != 0 ? static_cast<int>(kInvalidValue) : initialize();
}

FAKE_EXPORT cu::Result cuDriverGetVersion(int* version) {
  const Call call(__func__, Call::kNothing);
  if (call.error() != kOk) return call.error();
  *version = engine().version != 0 ? engine().version : 12040;
  return kOk;
}

FAKE_EXPORT cu::Result cuGetErrorName(cu::Result error, const char** name) {
  const ErrorText* text = error_text(error);
  *name = text == nullptr ? nullptr : text->cuda;
  return text == nullptr ? kInvalidValue : kOk;
}

FAKE_EXPORT cu::Result cuGetErrorString(cu::Result error, const char** out) {
  const ErrorText* text = error_text(error);
  *out = text == nullptr ? nullptr : text->text;
  return text == nullptr ? kInvalidValue : kOk;
}

// ---- devices --------------------------------------------------------------------------------------

FAKE_EXPORT cu::Result cuDeviceGetCount(int* count) {
  return plain(__func__, [&] {
    *count = static_cast<int>(engine().devices.size());
    return kOk;
  });
}

FAKE_EXPORT cu::Result cuDeviceGet(cu::Device* device, int ordinal) {
  return plain(__func__, [&] {
    *device = ordinal;
    return find_device(ordinal) == nullptr ? kInvalidDevice : kOk;
  });
}

namespace {

template <typename Body>
cu::Result of_device(const char* name, cu::Device ordinal, Body body) {
  return plain(name, [&]() -> int {
    Device* device = find_device(ordinal);
    return device == nullptr ? static_cast<int>(kInvalidDevice) : body(device);
  });
}

}  // namespace

FAKE_EXPORT cu::Result cuDeviceGetName(char* name, int capacity, cu::Device device) {
  return of_device(__func__, device, [&](Device*) {
    std::snprintf(name, static_cast<size_t>(capacity), "Fake GPU %d", device);
    return kOk;
  });
}

FAKE_EXPORT cu::Result cuDeviceTotalMem_v2(size_t* bytes, cu::Device device) {
  return of_device(__func__, device, [&](Device* d) {
    *bytes = d->memory;
    return kOk;
  });
}

FAKE_EXPORT cu::Result cuDeviceGetAttribute(int* value, int attribute, cu::Device device) {
  return of_device(__func__, device, [&](Device* d) {
    *value = attribute_of(*d, attribute);
    return kOk;
  });
}

FAKE_EXPORT cu::Result cuDeviceGetUuid_v2(cu::Uuid* uuid, cu::Device device) {
  return of_device(__func__, device, [&](Device*) {
    for (int k = 0; k < 16; ++k) uuid->bytes[k] = static_cast<unsigned char>(16 * device + k);
    return kOk;
  });
}

FAKE_EXPORT cu::Result cuDeviceGetPCIBusId(char* text, int capacity, cu::Device device) {
  return of_device(__func__, device, [&](Device*) {
    std::snprintf(text, static_cast<size_t>(capacity), "0000:%02X:00.0", 0x3b + device);
    return kOk;
  });
}

FAKE_EXPORT cu::Result cuDeviceCanAccessPeer(int* can, cu::Device device, cu::Device peer) {
  return of_device(__func__, device, [&](Device*) {
    *can = find_device(peer) != nullptr && device != peer;
    return find_device(peer) == nullptr ? kInvalidDevice : kOk;
  });
}

// ---- contexts -------------------------------------------------------------------------------------

FAKE_EXPORT cu::Result cuDevicePrimaryCtxRetain(cu::Context* out, cu::Device device) {
  return of_device(__func__, device, [&](Device* d) {
    Context* context = nullptr;
    const int error = retain_primary(d, &context);
    *out = reinterpret_cast<cu::Context>(context);
    return error;
  });
}

FAKE_EXPORT cu::Result cuDevicePrimaryCtxRelease_v2(cu::Device device) {
  return of_device(__func__, device, release_primary);
}

FAKE_EXPORT cu::Result cuDevicePrimaryCtxGetState(cu::Device device, unsigned* flags, int* active) {
  return of_device(__func__, device, [&](Device* d) {
    *flags = 0;
    *active = d->primary != nullptr;
    return kOk;
  });
}

FAKE_EXPORT cu::Result cuCtxCreate_v2(cu::Context* out, unsigned flags, cu::Device device) {
  return of_device(__func__, device, [&](Device* d) {
    Context* context = make_context(d, false);
    context->flags = flags;
    this_thread().stack.push_back(context);
    *out = reinterpret_cast<cu::Context>(context);
    return kOk;
  });
}

FAKE_EXPORT cu::Result cuCtxDestroy_v2(cu::Context handle) {
  return plain(__func__, [&] {
    auto* context = object<Context>(handle);
    if (context->primary) return kInvalidContext;
    end_context(context);
    auto& stack = this_thread().stack;
    if (!stack.empty() && stack.back() == context) stack.pop_back();
    return kOk;
  });
}

FAKE_EXPORT cu::Result cuCtxPushCurrent_v2(cu::Context context) {
  return plain(__func__, [&] {
    if (context == nullptr) return kInvalidContext;
    this_thread().stack.push_back(object<Context>(context));
    return kOk;
  });
}

FAKE_EXPORT cu::Result cuCtxPopCurrent_v2(cu::Context* out) {
  return plain(__func__, [&] { return stack_pop(out); });
}

FAKE_EXPORT cu::Result cuCtxSetCurrent(cu::Context context) {
  return plain(__func__, [&] {
    auto& stack = this_thread().stack;
    if (!stack.empty()) stack.pop_back();
    if (context != nullptr) stack.push_back(object<Context>(context));
    return kOk;
  });
}

FAKE_EXPORT cu::Result cuCtxGetCurrent(cu::Context* out) {
  return plain(__func__, [&] {
    *out = reinterpret_cast<cu::Context>(current_context());
    return kOk;
  });
}

FAKE_EXPORT cu::Result cuCtxGetDevice(cu::Device* out) {
  return plain(__func__, [&] {
    if (current_context() == nullptr) return kInvalidContext;
    *out = current_context()->device->ordinal;
    return kOk;
  });
}

FAKE_EXPORT cu::Result cuCtxSynchronize() { return unsafe(__func__, context_synchronize); }

FAKE_EXPORT cu::Result cuCtxEnablePeerAccess(cu::Context handle, unsigned flags) {
  return in_context(__func__, [&](Context* context) {
    auto* peer = object<Context>(handle);
    if (flags != 0) return kInvalidValue;
    if (peer->device == context->device) return kInvalidDevice;
    return context->peers.insert(peer).second ? kOk : kPeerAlreadyEnabled;
  });
}

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

FAKE_EXPORT cu::Result cuMemHostAlloc(void** data, size_t size, unsigned) {
  return unsafe(__func__, [&](Context* context) {
    uint64_t result = 0;
    const int error = allocate(context, Memory::kHost, size, &result);
    *data = reinterpret_cast<void*>(result);
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

FAKE_EXPORT cu::Result cuMemPoolSetAttribute(cu::Pool pool, int, void*) {
  return plain(__func__, [&] {
    // The default pool is everybody's: who changes it changes other libraries.
    if (object<Pool>(pool)->standard) die("the default pool's attributes are not ours");
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

// ---- streams --------------------------------------------------------------------------------------

FAKE_EXPORT cu::Result cuStreamCreate(cu::Stream* out, unsigned flags) {
  return in_context(__func__, [&](Context* context) {
    if (flags > cu::kStreamNonBlocking) return static_cast<int>(kInvalidValue);
    Stream* stream = nullptr;
    const int error = stream_create(context, flags == 0, &stream);
    *out = reinterpret_cast<cu::Stream>(stream);
    return error;
  });
}

FAKE_EXPORT cu::Result cuStreamDestroy_v2(cu::Stream stream) {
  return in_context(__func__, [&](Context*) { return stream_destroy(object<Stream>(stream)); });
}

FAKE_EXPORT cu::Result cuStreamSynchronize(cu::Stream handle) {
  return on_stream(__func__, handle, [](Stream* stream, Context*) -> int {
    // Before the rule for everybody: a captured stream has an error of its own.
    if (const int error = stream->capture != nullptr ? kOk : unsafe_call(); error != kOk)
      return error;
    return stream_synchronize(stream);
  });
}

FAKE_EXPORT cu::Result cuStreamQuery(cu::Stream handle) {
  return on_stream(__func__, handle, [](Stream* stream, Context*) -> int {
    if (const int error = stream->capture != nullptr ? kOk : unsafe_call(); error != kOk)
      return error;
    return stream_query(stream);
  });
}

FAKE_EXPORT cu::Result cuStreamWaitEvent(cu::Stream handle, cu::Event event, unsigned) {
  return on_stream(__func__, handle, [&](Stream* stream, Context*) {
    return stream_wait(stream, object<Event>(event));
  });
}

FAKE_EXPORT cu::Result cuStreamGetCtx(cu::Stream handle, cu::Context* out) {
  return on_stream(__func__, handle, [&](Stream* stream, Context*) {
    *out = reinterpret_cast<cu::Context>(stream->context);
    return kOk;
  });
}

FAKE_EXPORT cu::Result cuStreamBeginCapture_v2(cu::Stream handle, int mode) {
  return on_stream(__func__, handle,
                   [&](Stream* stream, Context*) { return capture_begin(stream, mode); });
}

FAKE_EXPORT cu::Result cuStreamEndCapture(cu::Stream handle, void** graph) {
  return on_stream(__func__, handle, [&](Stream* stream, Context*) {
    Capture* capture = nullptr;
    const int error = capture_end(stream, &capture);
    *graph = capture;
    return error;
  });
}

FAKE_EXPORT cu::Result cuStreamIsCapturing(cu::Stream handle, int* status) {
  return on_stream(__func__, handle, [&](Stream* stream, Context*) {
    uint64_t id = 0;
    return capture_info(stream, status, &id);
  });
}

FAKE_EXPORT cu::Result cuStreamGetCaptureInfo_v2(cu::Stream handle, int* status, uint64_t* id,
                                                 void** graph, const void** dependencies,
                                                 size_t* count) {
  return on_stream(__func__, handle, [&](Stream* stream, Context*) {
    uint64_t unused = 0;
    if (graph != nullptr) *graph = stream->capture;
    if (dependencies != nullptr) *dependencies = nullptr;
    if (count != nullptr) *count = 0;
    return capture_info(stream, status, id == nullptr ? &unused : id);
  });
}

FAKE_EXPORT cu::Result cuThreadExchangeStreamCaptureMode(int* mode) {
  return plain(__func__, [&] {
    if (*mode < 0 || *mode > 2) return kInvalidValue;
    std::swap(*mode, this_thread().capture_mode);
    return kOk;
  });
}

FAKE_EXPORT cu::Result cuGraphInstantiateWithFlags(void** out, void* graph, unsigned long long) {
  return plain(__func__, [&] {
    auto* result = engine().add<GraphExec>();
    result->nodes = object<Capture>(graph)->nodes;
    *out = result;
    return kOk;
  });
}

FAKE_EXPORT cu::Result cuGraphLaunch(void* graph, cu::Stream handle) {
  return on_stream(__func__, handle, [&](Stream* stream, Context*) {
    return graph_launch(object<GraphExec>(graph), stream);
  });
}

FAKE_EXPORT cu::Result cuGraphExecDestroy(void* graph) {
  return plain(__func__, [&] {
    object<GraphExec>(graph)->alive = false;
    return kOk;
  });
}

FAKE_EXPORT cu::Result cuGraphDestroy(void* graph) {
  return plain(__func__, [&] {
    object<Capture>(graph)->alive = false;
    return kOk;
  });
}

// ---- events ---------------------------------------------------------------------------------------

FAKE_EXPORT cu::Result cuEventCreate(cu::Event* out, unsigned flags) {
  return in_context(__func__, [&](Context* context) {
    auto* event = engine().add<Event>();
    event->context = context;
    event->flags = flags;
    *out = reinterpret_cast<cu::Event>(event);
    return kOk;
  });
}

FAKE_EXPORT cu::Result cuEventDestroy_v2(cu::Event event) {
  return in_context(__func__, [&](Context*) {
    object<Event>(event)->alive = false;
    return kOk;
  });
}

FAKE_EXPORT cu::Result cuEventRecord(cu::Event event, cu::Stream handle) {
  return on_stream(__func__, handle, [&](Stream* stream, Context*) {
    return event_record(object<Event>(event), stream);
  });
}

FAKE_EXPORT cu::Result cuEventQuery(cu::Event event) {
  return unsafe(__func__, [&](Context*) { return event_query(object<Event>(event)); });
}

FAKE_EXPORT cu::Result cuEventSynchronize(cu::Event event) {
  return unsafe(__func__, [&](Context*) { return event_synchronize(object<Event>(event)); });
}

// ---- kernels --------------------------------------------------------------------------------------

FAKE_EXPORT cu::Result cuModuleLoadData(cu::Module* out, const void* image) {
  return unsafe(__func__, [&](Context* context) {
    Module* module = nullptr;
    const int error = module_load(context, image, &module);
    *out = reinterpret_cast<cu::Module>(module);
    return error;
  });
}

FAKE_EXPORT cu::Result cuModuleUnload(cu::Module module) {
  return unsafe(__func__, [&](Context*) { return module_unload(object<Module>(module)); });
}

FAKE_EXPORT cu::Result cuModuleGetFunction(cu::Function* out, cu::Module module, const char* name) {
  return in_context(__func__, [&](Context*) {
    Function* function = nullptr;
    const int error = module_function(object<Module>(module), name, &function);
    *out = reinterpret_cast<cu::Function>(function);
    return error;
  });
}

FAKE_EXPORT cu::Result cuLaunchKernel(cu::Function function, unsigned grid_x, unsigned grid_y,
                                      unsigned grid_z, unsigned block_x, unsigned block_y,
                                      unsigned block_z, unsigned, cu::Stream handle,
                                      void** arguments, void** extra) {
  return on_stream(__func__, handle, [&](Stream* stream, Context* context) {
    const unsigned groups[] = {grid_x, grid_y, grid_z};
    const unsigned group_size[] = {block_x, block_y, block_z};
    return launch(object<Function>(function), context, stream, groups, group_size, arguments,
                  extra);
  });
}

// ---- superseded symbols ---------------------------------------------------------------------------

// The plain names of versioned functions are the ABI of CUDA 3, with 32-bit addresses: who gets them
// by dlsym corrupts memory.
#define SUPERSEDED(name) \
  FAKE_EXPORT cu::Result name() { die("%s is the ABI of CUDA 3", __func__); }
SUPERSEDED(cuCtxCreate)
SUPERSEDED(cuCtxDestroy)
SUPERSEDED(cuCtxPopCurrent)
SUPERSEDED(cuCtxPushCurrent)
SUPERSEDED(cuDevicePrimaryCtxRelease)
SUPERSEDED(cuDevicePrimaryCtxReset)
SUPERSEDED(cuDeviceGetUuid)
SUPERSEDED(cuDeviceTotalMem)
SUPERSEDED(cuEventDestroy)
SUPERSEDED(cuMemAlloc)
SUPERSEDED(cuMemAllocHost)
SUPERSEDED(cuMemFree)
SUPERSEDED(cuMemGetAddressRange)
SUPERSEDED(cuMemGetInfo)
SUPERSEDED(cuMemHostGetDevicePointer)
SUPERSEDED(cuMemHostRegister)
SUPERSEDED(cuMemcpyDtoD)
SUPERSEDED(cuMemcpyDtoDAsync)
SUPERSEDED(cuMemcpyDtoH)
SUPERSEDED(cuMemcpyDtoHAsync)
SUPERSEDED(cuMemcpyHtoD)
SUPERSEDED(cuMemcpyHtoDAsync)
SUPERSEDED(cuModuleGetGlobal)
SUPERSEDED(cuStreamBeginCapture)
SUPERSEDED(cuStreamDestroy)
SUPERSEDED(cuStreamGetCaptureInfo)

// All that dlx looks up is here, with the signature that it is called by.
#define DLX_DRIVER_FUNCTION(name, symbol, need, ...) \
  static_assert(std::is_same_v<decltype(&symbol), decltype(cu::Functions{}.name.call)>, #symbol);
#include "src/driver/cuda.inc"
#undef DLX_DRIVER_FUNCTION
