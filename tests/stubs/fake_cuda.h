// Shared by the files of the fake libcuda.so.1: the beginning of a call, and the functions that dlx
// looks up.
#ifndef DLX_TESTS_STUBS_FAKE_CUDA_H_
#define DLX_TESTS_STUBS_FAKE_CUDA_H_

#include "src/driver/cuda.h"
#include "tests/stubs/calls.h"

namespace cu = dlx::cuda;

// Declared with dlx's signatures, so that a different definition does not compile.
#define DLX_DRIVER_FUNCTION(name, symbol, need, ...) \
  FAKE_EXPORT std::remove_pointer_t<decltype(cu::Functions{}.name.call)> symbol;
#include "src/driver/cuda.inc"
#undef DLX_DRIVER_FUNCTION

namespace fake {

/// An attribute of a device by libcuda.so.1's number.
int attribute_of(const Device& device, int attribute);

/// A call that requires only cuInit.
template <typename Body>
cu::Result plain(const char* name, Body body) {
  const Call call(name, Call::kInitialized);
  return call.error() != kOk ? call.error() : body();
}

/// A call that requires a current context that is not lost.
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

}  // namespace fake

#endif  // DLX_TESTS_STUBS_FAKE_CUDA_H_
