// The fake libamdhip64.so: initialisation and devices.
// FAKE_VERSION chooses the major version, whose differences are those of ROCm 5 and 6;
// fake_libamdhip64_5.so also lacks what ROCm 5 lacks.
#include <unistd.h>

#include "tests/stubs/fake_hip.h"

#include <cstdlib>

using namespace fake;

namespace fake {

/// The context of the thread's current device. HIP creates it on first use.
Context* current_context() {
  Device* device = find_device(this_thread().device);
  if (device == nullptr) return nullptr;
  if (device->primary == nullptr) device->primary = make_context(device, true);
  return device->primary;
}

int version() {
  const int chosen = engine().version;
#if defined(FAKE_ROCM_5)
  return chosen != 0 ? chosen : 50731921;
#else
  return chosen != 0 ? chosen : 60342134;
#endif
}

namespace {
bool is_gone = false;
}

void start() {
  initialize();
  std::atexit([] { is_gone = true; });
}

void require_no_exit(const char* name) {
  if (is_gone) die("%s: after exit() has torn HIP down", name);
}

hip::Result finish(int error) {
  // Up to ROCm 6, success overwrites a pending error. Later, "not ready" does not count as an
  // error.
  if (major() < 7 || (error != kOk && error != kNotReady)) this_thread().last_error = error;
  return error;
}

hip::Result unknown_capture(hip::Stream handle) {
  if (handle == nullptr && version() < 50500000) return kUnknown;
  const auto number = reinterpret_cast<uintptr_t>(handle);
  if (number <= 2 || engine().handles.count(handle) == 0) return kOk;
  const auto* stream = dynamic_cast<Stream*>(reinterpret_cast<Object*>(handle));
  if (stream == nullptr || stream->alive) return kOk;
  return version() < 50500000 ? kInvalidValue : kContextDestroyed;
}

int ask_stream(const char* name, const Event* event) {
  const Stream* stream = event->stream;
  if (version() < 60200000 || stream == nullptr || stream->implicit) return kOk;
  if (!stream->alive) die("%s: the event's stream was destroyed", name);
  if (stream->capture != nullptr) return invalidate(stream->capture, kCapturedEvent);
  return kOk;
}

int attribute_of(const Device& device, int attribute) {
  const auto found = device.attributes.find(attribute);
  if (found != device.attributes.end()) return found->second;
  switch (attribute) {
    case hip::kMaxGridX: return 0x7fffffff;
    case hip::kMaxThreadsPerBlock: return 1024;
    case hip::kMultiprocessorCount: return 4;
    case hip::kMemoryPoolsSupported: return 1;
    default: return 0;
  }
}

}  // namespace fake

// ---- the driver --------------------------------------------------------------------------------

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

/// Of libhsa-runtime64: reports whether the runtime is initialised.
FAKE_EXPORT int hsa_system_get_info(int attribute, void* value) {
  if (engine().pid != getpid()) return 0x100B;  // not initialised
  if (engine().fail_name == __func__) return engine().fail_code;
  const uint16_t one = 1;
  if (attribute == hip::kHsaVersionMajor) std::memcpy(value, &one, sizeof one);
  return 0;
}

// ---- devices -----------------------------------------------------------------------------------

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
#if defined(FAKE_ROCM_5)
    const std::string& text = engine().arch;
#else
    const std::string text = "of ROCm 5";  // kept for old programs: who asks it has missed the newer one
#endif
    std::snprintf(out->architecture, sizeof out->architecture, "%s", text.c_str());
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

// ---- what CUDA has otherwise -------------------------------------------------------------------

FAKE_EXPORT hip::Result hipStreamGetDevice(hip::Stream handle, int* out) {
  return on_stream(__func__, handle, [&](Stream* stream, Context*) {
    *out = stream->context->device->ordinal;
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

FAKE_EXPORT hip::Result hipStreamGetCaptureInfo(hip::Stream handle, int* status, uint64_t* id) {
  return hipStreamGetCaptureInfo_v2(handle, status, id, nullptr, nullptr, nullptr);
}

// ---- hiprtc, which is a library of its own in ROCm 6 -------------------------------------------

#if defined(FAKE_ROCM_5)
namespace {
/// Its code is the options behind the beginning of an ELF file.
struct Program {
  std::string code;
};
}  // namespace

FAKE_EXPORT int hiprtcCreateProgram(Program** out, const char* source, const char*, int,
                                    const char**, const char**) {
  return plain(__func__, [&]() -> int {
    if (source == nullptr || *source == '\0') return kInvalidValue;
    *out = new Program;
    return kOk;
  });
}

FAKE_EXPORT int hiprtcDestroyProgram(Program** program) {
  return plain(__func__, [&] {
    delete std::exchange(*program, nullptr);
    return kOk;
  });
}

FAKE_EXPORT int hiprtcCompileProgram(Program* program, int count, const char** options) {
  return plain(__func__, [&] {
    program->code = "\177ELF";
    for (int k = 0; k < count; ++k) program->code += std::string(" ") + options[k];
    return kOk;
  });
}

FAKE_EXPORT int hiprtcGetCodeSize(Program* program, size_t* size) {
  return plain(__func__, [&] {
    *size = program->code.size();
    return kOk;
  });
}

FAKE_EXPORT int hiprtcGetCode(Program* program, char* code) {
  return plain(__func__, [&] {
    std::memcpy(code, program->code.data(), program->code.size());
    return kOk;
  });
}
#endif
