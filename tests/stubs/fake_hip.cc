// The fake libamdhip64.so: HIP on top of the engine. FAKE_VERSION chooses the major version, whose
// differences are those of ROCm 5 and 6; fake_libamdhip64_5.so also lacks what ROCm 5 lacks.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <type_traits>
#include <utility>

#include "src/driver/hip.h"
#include "tests/stubs/engine.h"

namespace hip = dlx::hip;
using namespace fake;

namespace fake {

/// Of the thread's current device. HIP makes it when it is first needed.
Context* current_context() {
  Device* device = find_device(this_thread().device);
  if (device == nullptr) return nullptr;
  if (device->primary == nullptr) device->primary = make_context(device, true);
  return device->primary;
}

}  // namespace fake

namespace {

int version() {
  const int chosen = engine().version;
#if defined(FAKE_ROCM_5)
  return chosen != 0 ? chosen : 50221153;
#else
  return chosen != 0 ? chosen : 60342134;
#endif
}
int major() { return version() / 10000000; }

/// Leaves the error for hipGetLastError.
hip::Result finish(int error) {
  // ROCm 5 lets a success replace an error; "not ready" is none.
  if (major() < 6 || (error != kOk && error != kNotReady)) this_thread().last_error = error;
  return error;
}

/// Every call initialises HIP.
template <typename Body>
hip::Result plain(const char* name, Body body) {
  const Call call(name, Call::kNothing);
  if (call.error() != kOk) return finish(call.error());
  if (engine().pid == 0) initialize();
  if (engine().devices.empty()) return finish(kNoDevice);
  return finish(body());
}

template <typename Body>
hip::Result in_context(const char* name, Body body) {
  return plain(name, [&]() -> int {
    Context* const context = current_context();
    return context->sticky != kOk ? context->sticky : body(context);
  });
}

/// A call that some captures forbid.
template <typename Body>
hip::Result unsafe(const char* name, Body body) {
  return in_context(name, [&](Context* context) -> int {
    if (const int error = unsafe_call(); error != kOk) return error;
    return body(context);
  });
}

template <typename Body>
hip::Result on_stream(const char* name, hip::Stream handle, Body body) {
  return in_context(name, [&](Context* context) -> int {
    Stream* stream = nullptr;
    if (const int error = find_stream(handle, context, &stream); error != kOk) return error;
    return body(stream, context);
  });
}

template <typename Body>
hip::Result of_device(const char* name, int ordinal, Body body) {
  return plain(name, [&]() -> int {
    Device* device = find_device(ordinal);
    return device == nullptr ? static_cast<int>(kInvalidDevice) : body(device);
  });
}

uint64_t address(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

const Allocation* live_memory(const void* pointer) {
  const Allocation* allocation = find_memory(address(pointer));
  return allocation != nullptr && !allocation->freed ? allocation : nullptr;
}

bool is_host(const void* pointer) {
  const Allocation* allocation = find_memory(address(pointer));
  return allocation == nullptr || !is_device_only(allocation);
}

int allocate_for(Context* context, Memory kind, size_t size, void** out) {
  uint64_t result = 0;
  *out = nullptr;
  if (size == 0) return kOk;
  const int error = allocate(context, kind, size, &result);
  *out = reinterpret_cast<void*>(result);
  return error;
}

int attribute_of(const Device& device, int attribute) {
  const auto found = device.attributes.find(attribute);
  if (found != device.attributes.end()) return found->second;
  switch (attribute) {
    case hip::kMaxGridX: return 0x7fffffff;
    case hip::kMaxGridY:
    case hip::kMaxGridZ: return 65535;
    case hip::kMaxThreadsPerBlock: return 1024;
    case hip::kMultiprocessorCount: return 4;
    case hip::kMemoryPoolsSupported: return 1;
    default: return 0;
  }
}

}  // namespace

// ---- the driver -----------------------------------------------------------------------------------

FAKE_EXPORT hip::Result hipInit(unsigned flags) {
  return plain(__func__, [&] { return flags != 0 ? kInvalidValue : kOk; });
}

FAKE_EXPORT hip::Result hipRuntimeGetVersion(int* out) {
  const Call call(__func__, Call::kNothing);
  if (call.error() != kOk) return finish(call.error());
  *out = version();
  return finish(kOk);
}

FAKE_EXPORT hip::Result hipDriverGetVersion(int* out) { return hipRuntimeGetVersion(out); }

FAKE_EXPORT const char* hipGetErrorName(hip::Result error) {
  const ErrorText* text = error_text(error);
  return text == nullptr ? "hipErrorUnknown" : text->hip;
}

FAKE_EXPORT const char* hipGetErrorString(hip::Result error) {
  const ErrorText* text = error_text(error);
  return text == nullptr ? "unknown error" : text->text;
}

FAKE_EXPORT hip::Result hipGetLastError() { return std::exchange(this_thread().last_error, 0); }
FAKE_EXPORT hip::Result hipPeekAtLastError() { return this_thread().last_error; }

/// Of libhsa-runtime64: tells whether somebody has initialised the runtime.
FAKE_EXPORT int hsa_system_get_info(int attribute, void* value) {
  if (engine().pid != getpid()) return 0x100B;  // not initialised
  const uint16_t one = 1;
  if (attribute == hip::kHsaVersionMajor) std::memcpy(value, &one, sizeof one);
  return 0;
}

// ---- devices --------------------------------------------------------------------------------------

FAKE_EXPORT hip::Result hipGetDeviceCount(int* count) {
  *count = 0;
  return plain(__func__, [&] {
    *count = static_cast<int>(engine().devices.size());
    return kOk;
  });
}

FAKE_EXPORT hip::Result hipSetDevice(int device) {
  return of_device(__func__, device, [&](Device*) {
    this_thread().device = device;
    return kOk;
  });
}

FAKE_EXPORT hip::Result hipGetDevice(int* device) {
  return plain(__func__, [&] {
    *device = this_thread().device;
    return kOk;
  });
}

FAKE_EXPORT hip::Result hipDeviceGetName(char* name, int capacity, int device) {
  return of_device(__func__, device, [&](Device*) {
    std::snprintf(name, static_cast<size_t>(capacity), "Fake GPU %d", device);
    return kOk;
  });
}

FAKE_EXPORT hip::Result hipDeviceTotalMem(size_t* bytes, int device) {
  return of_device(__func__, device, [&](Device* d) {
    *bytes = d->memory;
    return kOk;
  });
}

FAKE_EXPORT hip::Result hipDeviceGetAttribute(int* value, int attribute, int device) {
  return of_device(__func__, device, [&](Device* d) {
    *value = attribute_of(*d, attribute);
    return kOk;
  });
}

FAKE_EXPORT hip::Result hipDeviceGetUuid(hip::Uuid* uuid, int device) {
  return of_device(__func__, device, [&](Device*) {
    // AMD's UUIDs are text.
    char text[17];
    std::snprintf(text, sizeof text, "0123456789abcd%02x", device & 0xff);
    std::memcpy(uuid->bytes, text, 16);
    return kOk;
  });
}

FAKE_EXPORT hip::Result hipDeviceGetPCIBusId(char* text, int capacity, int device) {
  return of_device(__func__, device, [&](Device*) {
    std::snprintf(text, static_cast<size_t>(capacity), "0000:%02x:00.0", 0x3b + device);
    return kOk;
  });
}

FAKE_EXPORT hip::Result hipDeviceCanAccessPeer(int* can, int device, int peer) {
  return of_device(__func__, device, [&](Device*) {
    *can = find_device(peer) != nullptr && device != peer;
    return find_device(peer) == nullptr ? kInvalidDevice : kOk;
  });
}

FAKE_EXPORT hip::Result hipDeviceEnablePeerAccess(int peer, unsigned flags) {
  return in_context(__func__, [&](Context* context) {
    Device* device = find_device(peer);
    if (device == nullptr || device == context->device) return kInvalidDevice;
    if (flags != 0) return kInvalidValue;
    if (device->primary == nullptr) device->primary = make_context(device, true);
    return context->peers.insert(device->primary).second ? kOk : kPeerAlreadyEnabled;
  });
}

FAKE_EXPORT hip::Result hipDevicePrimaryCtxGetState(int device, unsigned* flags, int* active) {
  return of_device(__func__, device, [&](Device* d) {
    *flags = 0;
    *active = d->primary != nullptr;
    return kOk;
  });
}

FAKE_EXPORT hip::Result hipDeviceSynchronize() { return unsafe(__func__, context_synchronize); }

FAKE_EXPORT hip::Result hipGetDeviceProperties(hip::Properties5* out, int device) {
  return of_device(__func__, device, [&](Device*) {
    std::snprintf(out->architecture, sizeof out->architecture, "%s", engine().arch.c_str());
    return kOk;
  });
}

#if !defined(FAKE_ROCM_5)
FAKE_EXPORT hip::Result hipGetDevicePropertiesR0600(hip::Properties6* out, int device) {
  return of_device(__func__, device, [&](Device*) {
    std::snprintf(out->architecture, sizeof out->architecture, "%s", engine().arch.c_str());
    return kOk;
  });
}
#endif

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

FAKE_EXPORT hip::Result hipHostMalloc(void** data, size_t size, unsigned) {
  return unsafe(__func__,
                [&](Context* context) { return allocate_for(context, Memory::kHost, size, data); });
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

FAKE_EXPORT hip::Result hipMemPoolSetAttribute(hip::Pool pool, int, void*) {
  return plain(__func__, [&] {
    if (object<Pool>(pool)->standard) die("the default pool's attributes are not ours");
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
      // Memory that HIP does not know: an error in ROCm 5, type 0 ("unregistered") from 6 on.
      out->device = -2;
      return major() < 6 ? kInvalidValue : kOk;
    }
    const bool host = allocation->kind == Memory::kHost || allocation->kind == Memory::kRegistered;
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

// ---- streams --------------------------------------------------------------------------------------

FAKE_EXPORT hip::Result hipStreamCreateWithFlags(hip::Stream* out, unsigned flags) {
  return in_context(__func__, [&](Context* context) {
    if (flags > hip::kStreamNonBlocking) return static_cast<int>(kInvalidValue);
    Stream* stream = nullptr;
    const int error = stream_create(context, flags == 0, &stream);
    *out = reinterpret_cast<hip::Stream>(stream);
    return error;
  });
}

FAKE_EXPORT hip::Result hipStreamDestroy(hip::Stream stream) {
  return in_context(__func__, [&](Context*) { return stream_destroy(object<Stream>(stream)); });
}

FAKE_EXPORT hip::Result hipStreamSynchronize(hip::Stream handle) {
  return on_stream(__func__, handle, [](Stream* stream, Context*) -> int {
    if (const int error = stream->capture != nullptr ? kOk : unsafe_call(); error != kOk)
      return error;
    return stream_synchronize(stream);
  });
}

FAKE_EXPORT hip::Result hipStreamQuery(hip::Stream handle) {
  return on_stream(__func__, handle, [](Stream* stream, Context*) -> int {
    if (const int error = stream->capture != nullptr ? kOk : unsafe_call(); error != kOk)
      return error;
    return stream_query(stream);
  });
}

FAKE_EXPORT hip::Result hipStreamWaitEvent(hip::Stream handle, hip::Event event, unsigned) {
  return on_stream(__func__, handle, [&](Stream* stream, Context*) {
    return stream_wait(stream, object<Event>(event));
  });
}

FAKE_EXPORT hip::Result hipStreamGetDevice(hip::Stream handle, int* out) {
  return on_stream(__func__, handle, [&](Stream* stream, Context*) {
    *out = stream->context->device->ordinal;
    return kOk;
  });
}

FAKE_EXPORT hip::Result hipStreamBeginCapture(hip::Stream handle, int mode) {
  return on_stream(__func__, handle,
                   [&](Stream* stream, Context*) { return capture_begin(stream, mode); });
}

FAKE_EXPORT hip::Result hipStreamEndCapture(hip::Stream handle, void** graph) {
  return on_stream(__func__, handle, [&](Stream* stream, Context*) {
    Capture* capture = nullptr;
    const int error = capture_end(stream, &capture);
    *graph = capture;
    return error;
  });
}

FAKE_EXPORT hip::Result hipStreamIsCapturing(hip::Stream handle, int* status) {
  return on_stream(__func__, handle, [&](Stream* stream, Context*) {
    uint64_t id = 0;
    return capture_info(stream, status, &id);
  });
}

FAKE_EXPORT hip::Result hipStreamGetCaptureInfo_v2(hip::Stream handle, int* status, uint64_t* id,
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

FAKE_EXPORT hip::Result hipStreamGetCaptureInfo(hip::Stream handle, int* status, uint64_t* id) {
  return hipStreamGetCaptureInfo_v2(handle, status, id, nullptr, nullptr, nullptr);
}

FAKE_EXPORT hip::Result hipThreadExchangeStreamCaptureMode(int* mode) {
  return plain(__func__, [&] {
    if (*mode < 0 || *mode > 2) return kInvalidValue;
    std::swap(*mode, this_thread().capture_mode);
    return kOk;
  });
}

FAKE_EXPORT hip::Result hipGraphInstantiate(void** out, void* graph, void*, char*, size_t) {
  return plain(__func__, [&] {
    auto* result = engine().add<GraphExec>();
    result->nodes = object<Capture>(graph)->nodes;
    *out = result;
    return kOk;
  });
}

FAKE_EXPORT hip::Result hipGraphLaunch(void* graph, hip::Stream handle) {
  return on_stream(__func__, handle, [&](Stream* stream, Context*) {
    return graph_launch(object<GraphExec>(graph), stream);
  });
}

FAKE_EXPORT hip::Result hipGraphExecDestroy(void* graph) {
  return plain(__func__, [&] {
    object<GraphExec>(graph)->alive = false;
    return kOk;
  });
}

FAKE_EXPORT hip::Result hipGraphDestroy(void* graph) {
  return plain(__func__, [&] {
    object<Capture>(graph)->alive = false;
    return kOk;
  });
}

// ---- events ---------------------------------------------------------------------------------------

FAKE_EXPORT hip::Result hipEventCreateWithFlags(hip::Event* out, unsigned flags) {
  return in_context(__func__, [&](Context* context) {
    auto* event = engine().add<Event>();
    event->context = context;
    event->flags = flags;
    *out = reinterpret_cast<hip::Event>(event);
    return kOk;
  });
}

FAKE_EXPORT hip::Result hipEventDestroy(hip::Event event) {
  return in_context(__func__, [&](Context*) {
    object<Event>(event)->alive = false;
    return kOk;
  });
}

FAKE_EXPORT hip::Result hipEventRecord(hip::Event event, hip::Stream handle) {
  return on_stream(__func__, handle, [&](Stream* stream, Context*) {
    return event_record(object<Event>(event), stream);
  });
}

FAKE_EXPORT hip::Result hipEventQuery(hip::Event event) {
  return unsafe(__func__, [&](Context*) { return event_query(object<Event>(event)); });
}

FAKE_EXPORT hip::Result hipEventSynchronize(hip::Event event) {
  return unsafe(__func__, [&](Context*) { return event_synchronize(object<Event>(event)); });
}

// ---- kernels --------------------------------------------------------------------------------------

FAKE_EXPORT hip::Result hipModuleLoadData(hip::Module* out, const void* image) {
  return unsafe(__func__, [&](Context* context) {
    Module* module = nullptr;
    const int error = module_load(context, image, &module);
    *out = reinterpret_cast<hip::Module>(module);
    return error;
  });
}

FAKE_EXPORT hip::Result hipModuleUnload(hip::Module module) {
  return unsafe(__func__, [&](Context*) { return module_unload(object<Module>(module)); });
}

FAKE_EXPORT hip::Result hipModuleGetFunction(hip::Function* out, hip::Module module,
                                             const char* name) {
  return in_context(__func__, [&](Context*) {
    Function* function = nullptr;
    const int error = module_function(object<Module>(module), name, &function);
    *out = reinterpret_cast<hip::Function>(function);
    return error;
  });
}

FAKE_EXPORT hip::Result hipModuleLaunchKernel(hip::Function function, unsigned grid_x,
                                              unsigned grid_y, unsigned grid_z, unsigned block_x,
                                              unsigned block_y, unsigned block_z, unsigned,
                                              hip::Stream handle, void** arguments, void** extra) {
  return on_stream(__func__, handle, [&](Stream* stream, Context* context) {
    const unsigned groups[] = {grid_x, grid_y, grid_z};
    const unsigned group_size[] = {block_x, block_y, block_z};
    return launch(object<Function>(function), context, stream, groups, group_size, arguments,
                  extra);
  });
}

// All that dlx looks up is here, with the signature that it is called by.
#if !defined(FAKE_ROCM_5)
#define DLX_DRIVER_FUNCTION(name, symbol, need, ...) \
  static_assert(std::is_same_v<decltype(&symbol), decltype(hip::Functions{}.name.call)>, #symbol);
#include "src/driver/hip.inc"
#undef DLX_DRIVER_FUNCTION
#endif
