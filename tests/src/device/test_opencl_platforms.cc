// Unusual platforms and devices, simulated by replacing functions in dlx's table of OpenCL. A
// platform or device whose queries fail is ignored, the others are used.
#include <algorithm>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "tests/src/device/opencl_fixture.h"
#include "tests/stubs/forked.h"
#include "tests/support/opencl_leaks.h"

namespace {

using namespace dlx_test;

char bad_things[2];
const auto bad_platform = reinterpret_cast<cl::Platform>(&bad_things[0]);
const auto bad_device = reinterpret_cast<cl::Device>(&bad_things[1]);

/// What the bad platform does, and its error codes.
struct Bad {
  cl::Result name = 0, count = 0, list = 0, device = 0;
};
Bad bad;
cl::Functions real;

cl::Result platform_ids(cl::Uint capacity, cl::Platform* out, cl::Uint* count) {
  if (count != nullptr) {
    real.platform_ids(0, nullptr, count);
    ++*count;
  }
  if (out == nullptr) return cl::kSuccess;
  out[0] = bad_platform;
  return real.platform_ids(capacity - 1, out + 1, nullptr);
}

/// Returns a string as OpenCL does.
cl::Result tell(const char* text, size_t capacity, void* value, size_t* size) {
  if (size != nullptr) *size = std::strlen(text) + 1;
  if (value != nullptr) std::memcpy(value, text, capacity);
  return cl::kSuccess;
}

cl::Result platform_info(cl::Platform platform, cl::Uint what, size_t capacity, void* value,
                         size_t* size) {
  if (platform != bad_platform) return real.platform_info(platform, what, capacity, value, size);
  return bad.name != 0 ? bad.name : tell("Bad", capacity, value, size);
}

cl::Result device_ids(cl::Platform platform, cl::Bits type, cl::Uint capacity, cl::Device* out,
                      cl::Uint* count) {
  if (platform != bad_platform) return real.device_ids(platform, type, capacity, out, count);
  if (count != nullptr) *count = 1;
  if (out == nullptr) return bad.count;
  *out = bad_device;
  return bad.list;
}

cl::Result device_info(cl::Device device, cl::Uint what, size_t capacity, void* value,
                       size_t* size) {
  if (device != bad_device) return real.device_info(device, what, capacity, value, size);
  return bad.device != 0 ? bad.device : tell("OpenCL 1.1 old", capacity, value, size);
}

/// Runs the body in its own process, with the bad platform as the first of two.
void beside(const Bad& how, const std::function<void(Backend&)>& body) {
  const Outcome outcome = run_forked([&] {
    if (const char* folder = std::getenv("TEST_TMPDIR")) setenv("POCL_CACHE_DIR", folder, 0);
    setenv("POCL_DEVICES", "pthread", 1);
    auto& table = const_cast<cl::Functions&>(*cl::functions(nullptr));
    real = table;
    table.platform_ids.call = platform_ids;
    table.platform_info.call = platform_info;
    table.device_ids.call = device_ids;
    table.device_info.call = device_info;
    bad = how;
    body(dlx::opencl_backend());
  });
  if (!outcome.passed()) print_error("%s", outcome.output.c_str());
  assert_true(outcome.passed());
}

void a_bad_platform_hides_no_good_one(void**) {
  need_opencl();
  // Each query fails in turn with CL_OUT_OF_RESOURCES; then a device that is too old.
  for (const Bad& how : {Bad{-5, 0, 0, 0}, Bad{0, -5, 0, 0}, Bad{0, 0, -5, 0}, Bad{0, 0, 0, -5},
                         Bad{-5, -5, -5, -5}, Bad{}}) {
    beside(how, [](Backend& backend) {
      CHECK_EQUAL(backend.count(), 1);
      CHECK_EQUAL(std::strlen(backend.reason()), 0);
      dlx_device_properties properties = {};
      backend.describe(0, &properties);
      CHECK(std::strlen(properties.name) > 0);
      void* memory = backend.allocate(kDLOpenCL, 0, 64, 64);
      CHECK(memory != nullptr);
      backend.deallocate(kDLOpenCL, 0, memory);
    });
  }
}

/// Only the bad platform.
cl::Result only_the_bad_one(cl::Uint, cl::Platform* out, cl::Uint* count) {
  if (count != nullptr) *count = 1;
  if (out != nullptr) *out = bad_platform;
  return cl::kSuccess;
}

void the_reason_says_what_each_platform_said(void**) {
  need_opencl();
  const struct {
    Bad how;
    const char* words;
  } cases[] = {
      {{0, -5, 0, 0}, "no OpenCL device: Bad: clGetDeviceIDs failed: CL_OUT_OF_RESOURCES (-5)"},
      {{0, 0, 0, -5}, "no OpenCL device: Bad: clGetDeviceInfo failed: CL_OUT_OF_RESOURCES (-5)"},
      {{0, 0, 0, 0}, "Bad: a device of \"OpenCL 1.1 old\", which is older than OpenCL 1.2"},
      {{-5, 0, 0, 0}, "a platform without a name: clGetPlatformInfo failed"},
  };
  for (const auto& c : cases) {
    beside(c.how, [&](Backend& backend) {
      const_cast<cl::Functions*>(cl::functions(nullptr))->platform_ids.call = only_the_bad_one;
      CHECK_EQUAL(backend.count(), 0);
      std::fprintf(stderr, "%s\n", backend.reason());
      CHECK(std::strstr(backend.reason(), c.words) != nullptr);
    });
  }
}

/// A kernel that uses so many resources that a group can hold only few work items.
constexpr size_t kFew = 64;
size_t largest_group;
cl::Result kernel_group_info(cl::Kernel kernel, cl::Device device, cl::Uint what, size_t capacity,
                             void* value, size_t* size) {
  const cl::Result code = real.kernel_group_info(kernel, device, what, capacity, value, size);
  if (what == cl::kKernelWorkGroupSize && value != nullptr) *static_cast<size_t*>(value) = kFew;
  return code;
}
cl::Result enqueue_kernel(cl::Queue queue, cl::Kernel kernel, cl::Uint dimensions,
                          const size_t* offset, const size_t* global, const size_t* local,
                          cl::Uint wait_count, const cl::Event* wait, cl::Event* event) {
  largest_group = std::max(largest_group, local[0] * local[1] * local[2]);
  return real.enqueue_kernel(queue, kernel, dimensions, offset, global, local, wait_count, wait,
                             event);
}

void groups_are_no_larger_than_the_kernels_take(void**) {
  need_opencl();
  beside(Bad{}, [](Backend& backend) {
    CHECK_EQUAL(backend.count(), 1);
    auto& table = const_cast<cl::Functions&>(*cl::functions(nullptr));
    table.kernel_group_info.call = kernel_group_info;
    table.enqueue_kernel.call = enqueue_kernel;
    constexpr size_t kSize = 600 * 700;
    void* memory[] = {backend.allocate(kDLOpenCL, 0, kSize, 64),
                      backend.allocate(kDLOpenCL, 0, kSize, 64)};
    CHECK(backend.copy_strided(0, 0, {memory[0], 0}, {memory[1], 0},
                               plan_of({600, 700}, {1, 600}, {700, 1}, 1)));
    backend.synchronize(0);
    CHECK(largest_group > 0 && largest_group <= kFew);
    for (void* each : memory) backend.deallocate(kDLOpenCL, 0, each);
  });
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {cmocka_unit_test(a_bad_platform_hides_no_good_one),
                              cmocka_unit_test(the_reason_says_what_each_platform_said),
                              cmocka_unit_test(groups_are_no_larger_than_the_kernels_take)};
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
