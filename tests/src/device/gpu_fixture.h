#ifndef DLX_TESTS_SRC_DEVICE_GPU_FIXTURE_H_
#define DLX_TESTS_SRC_DEVICE_GPU_FIXTURE_H_

#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

extern "C" {
#include <cmocka.h>
}
#undef fail

#include "src/base/error.h"
#include "src/copy/plan/plan.h"
#include "src/device/backend.h"
#include "src/driver/cuda.h"
#include "src/driver/hip.h"
#include "tests/stubs/control.h"
#include "tests/stubs/forked.h"

namespace dlx_test {

using dlx::Backend;
using dlx::DeviceAddress;
using dlx::EventHandle;

/// One driver's backend on its fake.
struct Kind {
  const char* file;
  const char* variable;
  int32_t type;
  int32_t host_type;
  Backend& (*backend)();
  int version;  ///< 0: the fake's own
};

constexpr Kind kKinds[] = {
    {"tests/stubs/fake_libcuda.so", "DLX_CUDA_PATH", kDLCUDA, kDLCUDAHost, dlx::cuda_backend, 0},
    {"tests/stubs/fake_libamdhip64.so", "DLX_HIP_PATH", kDLROCM, kDLROCMHost, dlx::hip_backend, 0},
    // The oldest, which does not report captures of the default stream.
    {"tests/stubs/fake_libamdhip64_5.so", "DLX_HIP_PATH", kDLROCM, kDLROCMHost, dlx::hip_backend,
     50221153},
    // Its errors stay pending until they are read; in 5 and 6 the next call overwrites them.
    {"tests/stubs/fake_libamdhip64.so", "DLX_HIP_PATH", kDLROCM, kDLROCMHost, dlx::hip_backend,
     70000000},
};

struct Gpu : Fake {
  explicit Gpu(const Kind& kind_in) : Fake(kind_in.file), kind(kind_in), backend(kind.backend()) {
    setenv(kind.variable, path().c_str(), 1);
    if (kind.version != 0) set_version(kind.version);
  }

  void* memory(size_t size, int32_t id = 0) {
    void* data = backend.allocate(kind.type, id, size, 64);
    CHECK(data != nullptr);
    return data;
  }
  void free(void* data, int32_t id = 0) { backend.deallocate(kind.type, id, data); }
  int64_t stream() const { return backend.default_stream(); }
  /// CUDA: makes device 0's primary context current, as other libraries do.
  void push_primary() const {
    int (*retain)(void**, int) = nullptr;
    int (*push)(void*) = nullptr;
    void* context = nullptr;
    load("cuDevicePrimaryCtxRetain", &retain);
    load("cuCtxPushCurrent_v2", &push);
    CHECK(retain(&context, 0) == 0 && push(context) == 0);
  }

  const Kind& kind;
  Backend& backend;
};

/// A case for each driver, in its own process.
inline void passes(const std::function<void(Gpu&)>& body) {
  for (const Kind& kind : kKinds) {
    const Outcome outcome = run_forked([&] {
      Gpu gpu(kind);
      body(gpu);
    });
    if (!outcome.passed()) print_error("%s: %s", kind.file, outcome.output.c_str());
    assert_true(outcome.passed());
  }
}

inline std::string error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const dlx::Error& error) {
    return error.what();
  }
  return "";
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

inline DeviceAddress at(void* data) { return {data, 0}; }

inline std::vector<unsigned char> pattern(size_t size) {
  std::vector<unsigned char> out(size);
  for (size_t k = 0; k < size; ++k) out[k] = static_cast<unsigned char>(k * 37 + 11);
  return out;
}

/// Transposes 40 x 24 items of 4 bytes on the device; returns whether kernels did it.
inline bool transpose(Gpu& gpu, int64_t stream) {
  constexpr int64_t kRows = 40, kColumns = 24, kSize = kRows * kColumns * 4;
  const std::vector<unsigned char> sent = pattern(kSize);
  void* src = gpu.memory(kSize);
  void* dst = gpu.memory(kSize);
  gpu.backend.copy_from_host(0, stream, at(src), sent.data(), kSize);
  int64_t shape[] = {kColumns, kRows}, dst_strides[] = {kRows, 1}, src_strides[] = {1, kColumns};
  DLTensor to = {}, from = {};
  to.ndim = from.ndim = 2;
  to.shape = from.shape = shape;
  to.data = dst;
  to.strides = dst_strides;
  from.data = src;
  from.strides = src_strides;
  to.dtype = from.dtype = {kDLFloat, 32, 1};
  const dlx::CopyPlan plan(to, from, {4, 4, 4, 1, false});
  const bool done = gpu.backend.copy_strided(0, stream, {nullptr, 0}, {nullptr, 0}, plan);
  if (done) {
    std::vector<unsigned char> received(kSize);
    gpu.backend.copy_to_host(0, stream, received.data(), at(dst), kSize);
    gpu.backend.synchronize_stream(0, stream);
    for (int64_t c = 0; c < kColumns; ++c) {
      for (int64_t r = 0; r < kRows; ++r) {
        CHECK(std::memcmp(&received[static_cast<size_t>(4 * (c * kRows + r))],
                          &sent[static_cast<size_t>(4 * (r * kColumns + c))], 4) == 0);
      }
    }
  }
  gpu.backend.synchronize_stream(0, stream);
  gpu.free(src);
  gpu.free(dst);
  return done;
}

inline const char* module_load(const Gpu& gpu) {
  return gpu.kind.type == kDLCUDA ? "cuModuleLoadData" : "hipModuleLoadData";
}

}  // namespace dlx_test

#endif  // DLX_TESTS_SRC_DEVICE_GPU_FIXTURE_H_
