// The common beginning of the calls of a fake driver, based on its own plain() (no requirement) and
// in_context() (requires a context); and the common parts of memory calls.
#ifndef DLX_TESTS_STUBS_CALLS_H_
#define DLX_TESTS_STUBS_CALLS_H_

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <type_traits>
#include <utility>

#include "tests/stubs/engine.h"

namespace fake {

/// Defined by fake_cuda.h and fake_hip.h.
template <typename Body>
int plain(const char* name, Body body);
template <typename Body>
int in_context(const char* name, Body body);

/// A call that requires a context and that some captures forbid.
template <typename Body>
int unsafe(const char* name, Body body) {
  return in_context(name, [&](Context* context) -> int {
    if (const int error = unsafe_call(); error != kOk) return error;
    return body(context);
  });
}

/// A call that has a stream as an argument.
template <typename Body>
int on_stream(const char* name, void* handle, Body body) {
  return in_context(name, [&](Context* context) -> int {
    Stream* stream = nullptr;
    if (const int error = find_stream(handle, context, &stream); error != kOk) return error;
    return body(stream, context);
  });
}

template <typename Body>
int of_device(const char* name, int ordinal, Body body) {
  return plain(name, [&]() -> int {
    Device* device = find_device(ordinal);
    return device == nullptr ? static_cast<int>(kInvalidDevice) : body(device);
  });
}

/// Device memory is a number in CUDA, a pointer in HIP.
inline uint64_t address(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }
inline uint64_t address(uint64_t pointer) { return pointer; }

/// The allocation of an address, for attributes; it must not be freed.
inline Allocation* live_memory(uint64_t pointer) {
  Allocation* allocation = find_memory(pointer);
  return allocation != nullptr && !allocation->freed ? allocation : nullptr;
}

/// Whether the CPU can access an address, as the source of HtoD and the target of DtoH must be.
inline bool is_host(const void* pointer) {
  const Allocation* allocation = find_memory(address(pointer));
  return allocation == nullptr || !is_device_only(allocation);
}

}  // namespace fake

#endif  // DLX_TESTS_STUBS_CALLS_H_
