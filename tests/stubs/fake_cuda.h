// What the files of the fake libcuda.so.1 share: how a call begins, and the functions that dlx looks up.
#ifndef DLX_TESTS_STUBS_FAKE_CUDA_H_
#define DLX_TESTS_STUBS_FAKE_CUDA_H_

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <type_traits>
#include <utility>

#include "src/driver/cuda.h"
#include "tests/stubs/engine.h"

namespace cu = dlx::cuda;

// With the signature that dlx calls them by: a definition that differs does not compile.
#define DLX_DRIVER_FUNCTION(name, symbol, need, ...) \
  FAKE_EXPORT std::remove_pointer_t<decltype(cu::Functions{}.name.call)> symbol;
#include "src/driver/cuda.inc"
#undef DLX_DRIVER_FUNCTION

namespace fake {

/// An attribute of a device by libcuda.so.1's number.
int attribute_of(const Device& device, int attribute);

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

template <typename Body>
cu::Result of_device(const char* name, cu::Device ordinal, Body body) {
  return plain(name, [&]() -> int {
    Device* device = find_device(ordinal);
    return device == nullptr ? static_cast<int>(kInvalidDevice) : body(device);
  });
}

inline uint64_t address(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

/// Memory that lives: what attributes tell of.
inline const Allocation* live_memory(uint64_t pointer) {
  const Allocation* allocation = find_memory(pointer);
  return allocation != nullptr && !allocation->freed ? allocation : nullptr;
}

/// Whether an address is the CPU's: what HtoD copies from and DtoH copies to.
inline bool is_host(const void* pointer) {
  const Allocation* allocation = find_memory(address(pointer));
  return allocation == nullptr || !is_device_only(allocation);
}

}  // namespace fake

#endif  // DLX_TESTS_STUBS_FAKE_CUDA_H_
