// The fake libcuda.so.1: initialisation, devices and contexts.
#include "tests/stubs/fake_cuda.h"

using namespace fake;

namespace fake {

Context* current_context() {
  const auto& stack = this_thread().stack;
  return stack.empty() ? nullptr : stack.back();
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

}  // namespace fake

namespace {

int stack_pop(cu::Context* out) {
  auto& stack = this_thread().stack;
  if (stack.empty()) return kInvalidContext;
  if (out != nullptr) *out = reinterpret_cast<cu::Context>(stack.back());
  stack.pop_back();
  return kOk;
}

}  // namespace

// ---- the driver --------------------------------------------------------------------------------

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

// ---- devices -----------------------------------------------------------------------------------

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

FAKE_EXPORT cu::Result cuDeviceGetName(char* name, int capacity, cu::Device device) {
  return of_device(__func__, device, [&](Device*) {
    const char* slice = engine().sliced ? " MIG 1g.10gb" : "";
    std::snprintf(name, static_cast<size_t>(capacity), "Fake GPU %d%s", device, slice);
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

// ---- contexts ----------------------------------------------------------------------------------

FAKE_EXPORT cu::Result cuDevicePrimaryCtxRetain(cu::Context* out, cu::Device device) {
  return of_device(__func__, device, [&](Device* d) {
    // Creating it allocates.
    if (const int error = d->retains == 0 ? unsafe_call() : kOk; error != kOk) return error;
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

// ---- what HIP has otherwise --------------------------------------------------------------------

FAKE_EXPORT cu::Result cuStreamGetCtx(cu::Stream handle, cu::Context* out) {
  return on_stream(__func__, handle, [&](Stream* stream, Context*) {
    *out = reinterpret_cast<cu::Context>(stream->context);
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

// ---- superseded symbols ------------------------------------------------------------------------

// Numba looks these up before it calls anything, and calls none of them here.
#define LOOKED_UP_ONLY(name) \
  FAKE_EXPORT cu::Result name() { return kNotSupported; }
LOOKED_UP_ONLY(cuIpcCloseMemHandle)
LOOKED_UP_ONLY(cuIpcGetMemHandle)
LOOKED_UP_ONLY(cuIpcOpenMemHandle)
LOOKED_UP_ONLY(cuProfilerStop)
LOOKED_UP_ONLY(cuStreamAddCallback)

// A versioned function without its suffix has the ABI of CUDA 3, with 32-bit addresses: a caller
// that looks it up with dlsym corrupts memory.
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
