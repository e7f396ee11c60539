// Shared by the files of the fake libamdhip64.so: the beginning of a call, and the functions that
// dlx looks up.
#ifndef DLX_TESTS_STUBS_FAKE_HIP_H_
#define DLX_TESTS_STUBS_FAKE_HIP_H_

#include "src/driver/hip.h"
#include "tests/stubs/calls.h"

namespace hip = dlx::hip;

// Declared with dlx's signatures, so that a different definition does not compile.
#define DLX_DRIVER_FUNCTION(name, symbol, need, ...) \
  FAKE_EXPORT std::remove_pointer_t<decltype(hip::Functions{}.name.call)> symbol;
#include "src/driver/hip.inc"
#undef DLX_DRIVER_FUNCTION

namespace fake {

/// An attribute of a device by libamdhip64.so's number.
int attribute_of(const Device& device, int attribute);

/// The version as hipRuntimeGetVersion returns it, and its major version.
int version();
inline int major() { return version() / 10000000; }

/// Makes the error pending for hipGetLastError.
hip::Result finish(int error);

/// The error of hipStreamGetCaptureInfo_v2 for destroyed streams, and before ROCm 5.5 for the
/// default stream.
hip::Result unknown_capture(hip::Stream handle);

/// From ROCm 6.2 on, querying an event also queries its stream. That ends a capture which has begun
/// on the stream since. If the stream was destroyed, HIP reads freed memory; here the process ends.
int ask_stream(const char* name, const Event* event);

/// HIP shuts down in its exit handler: a later call ends the process.
void start();
void require_no_exit(const char* name);

/// A call; every call initialises HIP.
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

}  // namespace fake

#endif  // DLX_TESTS_STUBS_FAKE_HIP_H_
