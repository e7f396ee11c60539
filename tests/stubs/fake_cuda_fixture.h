// The fake libcuda for its own tests: the driver's functions, the controls, and checked shorthands.
#ifndef DLX_TESTS_STUBS_FAKE_CUDA_FIXTURE_H_
#define DLX_TESTS_STUBS_FAKE_CUDA_FIXTURE_H_

#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

extern "C" {
#include <cmocka.h>
}
#undef fail

#include "src/driver/cuda.h"
#include "src/gpu/strided_copy.h"
#include "tests/stubs/control.h"
#include "tests/stubs/forked.h"

namespace dlx_test {

namespace cu = dlx::cuda;

/// The fake with dlx's function table, and the functions that only tests call.
struct Cuda : Fake, cu::Functions {
  Cuda() : Fake("tests/stubs/fake_libcuda.so") {
#define DLX_DRIVER_FUNCTION(name, symbol, need, ...) \
  Fake::load(#symbol, &this->cu::Functions::name.call);
#include "src/driver/cuda.inc"
#undef DLX_DRIVER_FUNCTION
    Fake::load("cuCtxCreate_v2", &context_create);
    Fake::load("cuCtxDestroy_v2", &context_destroy);
    Fake::load("cuCtxSynchronize", &context_synchronize);
    Fake::load("cuMemsetD8Async", &set_bytes);
    Fake::load("cuMemcpyDtoH_v2", &copy_to_host_now);
    Fake::load("cuMemAllocAsync", &allocate_async_default);
    Fake::load("cuPointerGetAttribute", &pointer_attribute);
    Fake::load("cuStreamBeginCapture_v2", &capture_begin);
    Fake::load("cuStreamEndCapture", &capture_end);
    Fake::load("cuGraphInstantiateWithFlags", &graph_instantiate);
    Fake::load("cuGraphLaunch", &graph_launch);
  }
  cu::Result (*context_create)(cu::Context*, unsigned, int);
  cu::Result (*context_destroy)(cu::Context);
  cu::Result (*context_synchronize)();
  cu::Result (*set_bytes)(cu::DevicePointer, unsigned char, size_t, cu::Stream);
  cu::Result (*copy_to_host_now)(void*, cu::DevicePointer, size_t);
  cu::Result (*allocate_async_default)(cu::DevicePointer*, size_t, cu::Stream);
  cu::Result (*pointer_attribute)(void*, int, cu::DevicePointer);
  cu::Result (*capture_begin)(cu::Stream, int);
  cu::Result (*capture_end)(cu::Stream, void**);
  cu::Result (*graph_instantiate)(void**, void*, unsigned long long);
  cu::Result (*graph_launch)(void*, cu::Stream);

  // Each of these checks that the call succeeds.
  cu::Context start(const char* schedule, int devices = 1) {
    set_schedule(schedule);
    set_devices(devices);
    CHECK_EQUAL(init(0), 0);
    return retain(0);
  }
  cu::Context retain(int device) {
    cu::Context context = nullptr;
    CHECK_EQUAL(primary_retain(&context, device), 0);
    CHECK_EQUAL(context_push(context), 0);
    return context;
  }
  cu::DevicePointer memory(size_t size) {
    cu::DevicePointer data = 0;
    CHECK_EQUAL(allocate(&data, size), 0);
    return data;
  }
  cu::Stream stream(unsigned flags = cu::kStreamNonBlocking) {
    cu::Stream result = nullptr;
    CHECK_EQUAL(stream_create(&result, flags), 0);
    return result;
  }
  cu::Event event(cu::Stream recorded_on) {
    cu::Event result = nullptr;
    CHECK_EQUAL(event_create(&result, cu::kEventDisableTiming), 0);
    CHECK_EQUAL(event_record(result, recorded_on), 0);
    return result;
  }
  void set(cu::DevicePointer data, int value, cu::Stream stream) {
    CHECK_EQUAL(set_bytes(data, static_cast<unsigned char>(value), 1, stream), 0);
  }
  void copy(cu::DevicePointer dst, cu::DevicePointer src, cu::Stream stream) {
    CHECK_EQUAL(copy_on_device(dst, src, 1, stream), 0);
  }
  int byte(cu::DevicePointer data) {
    unsigned char result = 0;
    CHECK(peek(data, &result, 1));
    return result;
  }
};

inline cu::Stream number(uintptr_t handle) { return reinterpret_cast<cu::Stream>(handle); }

/// A case, which loads the fake in a child, so that every case starts fresh.
inline void passes(const std::function<void(Cuda&)>& body) {
  const Outcome outcome = run_forked([&] {
    Cuda cuda;
    body(cuda);
  });
  if (!outcome.passed()) print_error("%s", outcome.output.c_str());
  assert_true(outcome.passed());
}

inline void aborts(const char* message, const std::function<void(Cuda&)>& body) {
  const Outcome outcome = run_forked([&] {
    Cuda cuda;
    body(cuda);
  });
  assert_true(outcome.aborted());
  assert_non_null(std::strstr(outcome.output.c_str(), message));
}

}  // namespace dlx_test

#endif  // DLX_TESTS_STUBS_FAKE_CUDA_FIXTURE_H_
