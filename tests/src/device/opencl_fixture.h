#ifndef DLX_TESTS_SRC_DEVICE_OPENCL_FIXTURE_H_
#define DLX_TESTS_SRC_DEVICE_OPENCL_FIXTURE_H_

#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

extern "C" {
#include <cmocka.h>
}
#undef fail

#include "src/copy/plan/plan.h"
#include "src/device/backend.h"
#include "src/driver/opencl.h"
#include "tests/stubs/forked.h"

namespace dlx_test {

using dlx::Backend;
namespace cl = dlx::opencl;

/// The backend of this process. PoCL keeps compiled kernels in a folder that a sandbox allows.
inline Backend& opencl() {
  if (const char* folder = std::getenv("TEST_TMPDIR")) setenv("POCL_CACHE_DIR", folder, 0);
  return dlx::opencl_backend();
}

/// Whether OpenCL itself has a device.
inline bool opencl_has_devices() {
  const cl::Functions* functions = cl::functions(nullptr);
  cl::Platform platforms[8] = {};
  cl::Uint count = 0, devices = 0;
  if (functions == nullptr || functions->platform_ids(8, platforms, &count) != 0) return false;
  for (cl::Uint k = 0; k < count && k < 8; ++k) {
    cl::Uint more = 0;
    if (functions->device_ids(platforms[k], cl::kDeviceTypeAll, 0, nullptr, &more) == 0)
      devices += more;
  }
  return devices > 0;
}

/// The backend; without a device the case is skipped. skip() jumps: nothing with a destructor may live
/// in the case yet.
inline Backend& backend_or_skip() {
  Backend& backend = opencl();
  if (backend.count() > 0) return backend;
  print_message("skipped: %s\n", backend.reason());
  assert_false(opencl_has_devices());  // dlx finds them
  skip();
  return backend;
}

/// Skips the case without a device, and does not load OpenCL into this process.
inline void need_opencl() {
  static const Outcome outcome = run_forked([] {
    std::fprintf(stderr, "%s", opencl().reason());
    if (opencl().count() == 0) _exit(opencl_has_devices() ? 2 : 1);
  });
  if (outcome.passed()) return;
  print_message("skipped: %s\n", outcome.output.c_str());
  assert_int_equal(WEXITSTATUS(outcome.status),
                   1);  // or else dlx does not find a device that is there
  skip();
}

/// Memory in another library's context.
class Foreign {
 public:
  Foreign() : cl_(*cl::functions(nullptr)) {
    cl::Platform platform = nullptr;
    cl::Device device = nullptr;
    cl::Result code = 0;
    cl_.platform_ids(1, &platform, nullptr);
    cl_.device_ids(platform, cl::kDeviceTypeAll, 1, &device, nullptr);
    context_ = cl_.create_context(nullptr, 1, &device, nullptr, nullptr, &code);
    assert_int_equal(code, 0);
    queue_ = cl_.create_queue(context_, device, 0, &code);
    assert_int_equal(code, 0);
  }
  ~Foreign() {
    cl_.release_queue(queue_);
    cl_.release_context(context_);
  }
  cl::Memory memory(const std::vector<uint8_t>& bytes) {
    cl::Result code = 0;
    cl::Memory memory =
        cl_.create_buffer(context_, cl::kMemReadWrite, bytes.size(), nullptr, &code);
    assert_int_equal(code, 0);
    cl_.enqueue_write(queue_, memory, 1, 0, bytes.size(), bytes.data(), 0, nullptr, nullptr);
    return memory;
  }
  std::vector<uint8_t> read(cl::Memory memory, size_t size) {
    std::vector<uint8_t> bytes(size);
    cl_.enqueue_read(queue_, memory, 1, 0, size, bytes.data(), 0, nullptr, nullptr);
    return bytes;
  }
  void release(cl::Memory memory) { cl_.release_memory(memory); }

 private:
  const cl::Functions& cl_;
  cl::Context context_;
  cl::Queue queue_;
};

/// The plan of a copy inside two buffers.
inline dlx::CopyPlan plan_of(std::vector<int64_t> shape, std::vector<int64_t> dst_strides,
                             std::vector<int64_t> src_strides, int64_t item) {
  DLTensor dst{}, src{};
  // A plan must not contain NULL, so this starts one byte later and moves it back.
  dst.data = src.data = reinterpret_cast<void*>(1);
  dst.ndim = src.ndim = static_cast<int32_t>(shape.size());
  dst.shape = src.shape = shape.data();
  dst.strides = dst_strides.data();
  src.strides = src_strides.data();
  dst.dtype = src.dtype = {kDLUInt, 8, static_cast<uint16_t>(item)};
  return dlx::CopyPlan(dst, src, {item, item, item, 1, false}).moved(-1, -1);
}

}  // namespace dlx_test

#endif  // DLX_TESTS_SRC_DEVICE_OPENCL_FIXTURE_H_
