// What the files of the fake libamdhip64.so share: how a call begins, and the functions that dlx looks up.
#ifndef DLX_TESTS_STUBS_FAKE_HIP_H_
#define DLX_TESTS_STUBS_FAKE_HIP_H_

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <type_traits>
#include <utility>

#include "src/driver/hip.h"
#include "tests/stubs/engine.h"

namespace hip = dlx::hip;

// With the signature that dlx calls them by: a definition that differs does not compile.
#define DLX_DRIVER_FUNCTION(name, symbol, need, ...) \
  FAKE_EXPORT std::remove_pointer_t<decltype(hip::Functions{}.name.call)> symbol;
#include "src/driver/hip.inc"
#undef DLX_DRIVER_FUNCTION

namespace fake {

/// An attribute of a device by libamdhip64.so's number.
int attribute_of(const Device& device, int attribute);

/// As hipRuntimeGetVersion tells it, and its first number.
int version();
inline int major() { return version() / 10000000; }

/// Leaves the error for hipGetLastError.
hip::Result finish(int error);

/// HIP is gone when exit() comes to what it registered at its start: a call after that ends the process.
void start();
void require_no_exit(const char* name);

/// Every call initialises HIP.
template <typename Body>
hip::Result plain(const char* name, Body body) {
  require_no_exit(name);
  const Call call(name, Call::kNothing);
  if (call.error() != kOk) return finish(call.error());
  if (engine().pid == 0) start();
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

inline uint64_t address(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

inline const Allocation* live_memory(const void* pointer) {
  const Allocation* allocation = find_memory(address(pointer));
  return allocation != nullptr && !allocation->freed ? allocation : nullptr;
}

inline bool is_host(const void* pointer) {
  const Allocation* allocation = find_memory(address(pointer));
  return allocation == nullptr || !is_device_only(allocation);
}

}  // namespace fake

#endif  // DLX_TESTS_STUBS_FAKE_HIP_H_
