// What the files of the fake libamdhip64.so share: how a call begins, and the functions that dlx looks up.
#ifndef DLX_TESTS_STUBS_FAKE_HIP_H_
#define DLX_TESTS_STUBS_FAKE_HIP_H_

#include "src/driver/hip.h"
#include "tests/stubs/calls.h"

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

/// What hipStreamGetCaptureInfo_v2 answers where it says nothing of captures: for destroyed streams, and
/// before ROCm 5.5 for the default one.
hip::Result unknown_capture(hip::Stream handle);

/// From ROCm 6.2 on who asks an event asks its stream, too: that ends a capture which has begun there
/// since. It reads what is freed if the stream was destroyed, which ends the process here.
int ask_stream(const char* name, const Event* event);

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

}  // namespace fake

#endif  // DLX_TESTS_STUBS_FAKE_HIP_H_
