// Unusual platforms and devices, simulated by replacing functions in dlx's table of OpenCL. A
// platform or device whose queries fail is ignored, the others are used.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "src/base/error.h"
#include "tests/src/device/opencl_fixture.h"
#include "tests/stubs/forked.h"
#include "tests/support/opencl_leaks.h"

namespace {

using namespace dlx_test;

char bad_things[2];
const auto bad_platform = reinterpret_cast<cl::Platform>(&bad_things[0]);
const auto bad_device = reinterpret_cast<cl::Device>(&bad_things[1]);

/// What the bad platform does, its error codes, and what it says of its device.
struct Bad {
  cl::Result name = 0, count = 0, list = 0, device = 0;
  const char* version = "OpenCL 1.1 old";
  cl::Uint available = 1, little_endian = 1, devices = 1;
};
Bad bad;
bool memory_runs_out = false;  ///< once, while dlx looks at a good device
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
  if (count != nullptr) *count = bad.devices;
  if (out == nullptr) return bad.count;
  *out = bad_device;
  return bad.list;
}

cl::Result device_info(cl::Device device, cl::Uint what, size_t capacity, void* value,
                       size_t* size) {
  if (device != bad_device) {
    if (std::exchange(memory_runs_out, false)) throw std::bad_alloc();
    return real.device_info(device, what, capacity, value, size);
  }
  if (bad.device != 0) return bad.device;
  if (what == cl::kDeviceVersion) return tell(bad.version, capacity, value, size);
  const bool available = what == cl::kDeviceAvailable;
  *static_cast<cl::Uint*>(value) = available ? bad.available : bad.little_endian;
  return cl::kSuccess;
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

/// Devices of OpenCL 1.2 and newer are found.
void new_devices_are_used(void**) {
  need_opencl();
  for (const char* version : {"OpenCL 1.2 X", "OpenCL 1.10", "OpenCL 2.0 X", "OpenCL 3.0 X"}) {
    Bad good;
    good.version = version;
    beside(good, [](Backend& backend) { CHECK_EQUAL(backend.count(), 2); });
  }
}

// What was found before memory ran out is not found twice.
void devices_are_counted_once(void**) {
  need_opencl();
  Bad good;
  good.version = "OpenCL 3.0";
  beside(good, [](Backend& backend) {
    memory_runs_out = true;
    bool thrown = false;
    try {
      backend.count();
    } catch (const std::bad_alloc&) {
      thrown = true;
    }
    CHECK(thrown);
    CHECK_EQUAL(backend.count(), 2);
    CHECK_EQUAL(std::strlen(backend.reason()), 0);
  });
}

/// Only the bad platform, or that one several times.
cl::Uint bad_platforms = 1;
cl::Result only_the_bad_one(cl::Uint, cl::Platform* out, cl::Uint* count) {
  if (count != nullptr) *count = bad_platforms;
  if (out != nullptr) std::fill_n(out, bad_platforms, bad_platform);
  return cl::kSuccess;
}

void the_reason_says_what_each_platform_said(void**) {
  need_opencl();
  const char* const good = "OpenCL 3.0";
  const struct {
    Bad how;
    const char* words;
    cl::Uint platforms = 1;
  } cases[] = {
      {{0, -5, 0, 0}, "no OpenCL device: Bad: clGetDeviceIDs failed: CL_OUT_OF_RESOURCES (-5)"},
      {{0, 0, 0, -5}, "no OpenCL device: Bad: clGetDeviceInfo failed: CL_OUT_OF_RESOURCES (-5)"},
      {{0, 0, 0, 0}, "Bad: a device of \"OpenCL 1.1 old\", which is older than OpenCL 1.2"},
      {{0, 0, 0, 0, "OpenCL 0.9"}, "Bad: a device of \"OpenCL 0.9\", which is older"},
      {{0, 0, 0, 0, "OpenGL 3.0"}, "Bad: a device of \"OpenGL 3.0\", which is older"},
      {{0, 0, 0, 0, good, 0}, "no OpenCL device: Bad: a device that is not available"},
      {{0, 0, 0, 0, good, 1, 0}, "no OpenCL device: Bad: a big-endian device"},
      {{0, 0, 0, 0, good, 1, 1, 0}, "no OpenCL device: Bad: no devices"},
      {{0, 0, 0, 0, good, 0}, "Bad: a device that is not available; Bad: a device that is not", 2},
      {{-5, 0, 0, 0}, "a platform without a name: clGetPlatformInfo failed"},
      {{0, 0, 0, 0}, "no OpenCL platform is installed", 0},
  };
  for (const auto& c : cases) {
    beside(c.how, [&](Backend& backend) {
      const_cast<cl::Functions*>(cl::functions(nullptr))->platform_ids.call = only_the_bad_one;
      bad_platforms = c.platforms;
      CHECK_EQUAL(backend.count(), 0);
      std::fprintf(stderr, "%s\n", backend.reason());
      CHECK(std::strstr(backend.reason(), c.words) != nullptr);
    });
  }
}

/// A kernel that uses so many resources that a group can hold only few work items.
constexpr size_t kFew = 64;
bool takes_few;
size_t largest_group;
cl::Result kernel_group_info(cl::Kernel kernel, cl::Device device, cl::Uint what, size_t capacity,
                             void* value, size_t* size) {
  const cl::Result code = real.kernel_group_info(kernel, device, what, capacity, value, size);
  if (takes_few && what == cl::kKernelWorkGroupSize) *static_cast<size_t*>(value) = kFew;
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
    const auto copy = [&](const dlx::CopyPlan& plan) {
      largest_group = 0;
      CHECK(backend.copy_strided(0, 0, {memory[0], 0}, {memory[1], 0}, plan));
    };
    const dlx::CopyPlan turned = plan_of({600, 700}, {1, 600}, {700, 1}, 1);
    takes_few = true;
    copy(turned);
    CHECK(largest_group > 0 && largest_group <= kFew);
    copy(plan_of({3, 5000}, {5000, 1}, {1, 3}, 1));
    CHECK(largest_group <= kFew);
    dlx_device_properties properties = {};
    backend.describe(0, &properties);
    CHECK(std::string(properties.no_kernels) == "turn, few: its groups have 64 work items at most");
    // Another family that takes more does not change what this one takes.
    takes_few = false;
    copy(plan_of({40, 50}, {51, 1}, {300, 3}, 8));
    copy(turned);
    CHECK(largest_group <= kFew);
    backend.synchronize(0);
    for (void* each : memory) backend.deallocate(kDLOpenCL, 0, each);
  });
}

/// A device that says of itself what the case wants, in these two properties.
cl::Uint has_compiler;
uint64_t local_memory;
cl::Result lacking_device_info(cl::Device device, cl::Uint what, size_t capacity, void* value,
                               size_t* size) {
  const cl::Result code = device_info(device, what, capacity, value, size);
  if (what == cl::kDeviceCompilerAvailable) *static_cast<cl::Uint*>(value) = has_compiler;
  if (what == cl::kDeviceLocalMemSize) *static_cast<uint64_t*>(value) = local_memory;
  return code;
}
cl::Result no_compiler(cl::Program, cl::Uint, const cl::Device*, const char*, cl::Notify, void*) {
  return cl::kCompilerNotAvailable;
}

// Strided copies are left to the host, and the description says why.
void devices_without_kernels_say_why(void**) {
  need_opencl();
  const struct {
    cl::Uint compiler;
    uint64_t local;
    bool installed;
    const char* words;
  } cases[] = {
      {0, 65536, true, ": the device has no compiler"},
      {1, 32767, true, ": the device has 32767 bytes of local memory"},
      {1, 65536, false, ": clBuildProgram failed: CL_COMPILER_NOT_AVAILABLE: "},
      {1, 32768, true, ""},
  };
  for (const auto& c : cases) {
    beside(Bad{}, [&](Backend& backend) {
      CHECK_EQUAL(backend.count(), 1);
      auto& table = const_cast<cl::Functions&>(*cl::functions(nullptr));
      has_compiler = c.compiler;
      local_memory = c.local;
      table.device_info.call = lacking_device_info;
      if (!c.installed) table.build_program.call = no_compiler;
      void* memory[] = {backend.allocate(kDLOpenCL, 0, 11000, 64),
                        backend.allocate(kDLOpenCL, 0, 11000, 64)};
      const bool works = *c.words == '\0';
      CHECK_EQUAL(backend.copy_strided(0, 0, {memory[0], 0}, {memory[1], 0},
                                       plan_of({100, 110}, {110, 1}, {1, 100}, 1)),
                  works);
      dlx_device_properties properties = {};
      backend.describe(0, &properties);
      std::fprintf(stderr, "%s\n", properties.no_kernels);
      CHECK(std::strstr(properties.no_kernels, c.words) != nullptr);
      CHECK(works || std::strncmp(properties.no_kernels, "turn", 4) == 0);
      CHECK_EQUAL(std::strlen(properties.no_kernels) == 0, works);
      backend.synchronize(0);
      for (void* each : memory) backend.deallocate(kDLOpenCL, 0, each);
    });
  }
}

cl::Result allocation_error;
cl::Memory no_buffer(cl::Context, cl::Bits, size_t, void*, cl::Result* error) {
  *error = allocation_error;
  return nullptr;
}

void exhausted_memory_is_no_error(void**) {
  need_opencl();
  // CL_MEM_OBJECT_ALLOCATION_FAILURE, CL_OUT_OF_RESOURCES, CL_OUT_OF_HOST_MEMORY, CL_INVALID_BUFFER_SIZE
  for (const cl::Result code : {-4, -5, -6, -61}) {
    beside(Bad{}, [&](Backend& backend) {
      CHECK_EQUAL(backend.count(), 1);
      const_cast<cl::Functions&>(*cl::functions(nullptr)).create_buffer.call = no_buffer;
      allocation_error = code;
      CHECK(backend.allocate(kDLOpenCL, 0, 64, 64) == nullptr);
    });
  }
}

std::string error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const dlx::Error& error) {
    return error.what();
  }
  return "";
}

/// A device that starts nothing before it is told to.
cl::Result status_of_marker;
bool flushed;
cl::Result event_info(cl::Event event, cl::Uint what, size_t capacity, void* value, size_t* size) {
  const cl::Result code = real.event_info(event, what, capacity, value, size);
  *static_cast<cl::Result*>(value) = status_of_marker;
  return code;
}
cl::Result enqueue_marker(cl::Queue queue, cl::Uint wait_count, const cl::Event* wait,
                          cl::Event* event) {
  flushed = false;
  return real.enqueue_marker(queue, wait_count, wait, event);
}
cl::Result flush(cl::Queue queue) {
  flushed = true;
  return real.flush(queue);
}
cl::Result wait_for_events(cl::Uint, const cl::Event*) { return -14; }

// Nobody may wait for an event but ask for it again and again.
void events_are_done_in_the_end(void**) {
  need_opencl();
  beside(Bad{}, [](Backend& backend) {
    CHECK_EQUAL(backend.count(), 1);
    auto& table = const_cast<cl::Functions&>(*cl::functions(nullptr));
    table.event_info.call = event_info;
    table.enqueue_marker.call = enqueue_marker;
    table.flush.call = flush;
    dlx::EventHandle event = backend.record(0, 0);
    CHECK(flushed);
    table.wait_for_events.call = wait_for_events;
    backend.wait(0, 0, event);  // the queue is in order: the host waits for nothing
    for (status_of_marker = 3; status_of_marker >= 0; --status_of_marker) {
      CHECK_EQUAL(backend.is_done(0, event), status_of_marker == 0);
    }
    status_of_marker = -14;
    CHECK(error_of([&] { backend.is_done(0, event); }) ==
          "a command failed: CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST (-14)");
    backend.release_event(0, event);
  });
}

/// A device that sees whether two threads use a kernel at a time: its arguments are part of it.
std::atomic<int> threads_inside;
std::atomic<bool> together;
cl::Result set_kernel_arg(cl::Kernel kernel, cl::Uint index, size_t size, const void* value) {
  if (index == 0 && threads_inside.fetch_add(1) != 0) together = true;
  std::this_thread::sleep_for(std::chrono::microseconds(200));
  return real.set_kernel_arg(kernel, index, size, value);
}
cl::Result enqueue_and_leave(cl::Queue queue, cl::Kernel kernel, cl::Uint dimensions,
                             const size_t* offset, const size_t* global, const size_t* local,
                             cl::Uint wait_count, const cl::Event* wait, cl::Event* event) {
  --threads_inside;
  return real.enqueue_kernel(queue, kernel, dimensions, offset, global, local, wait_count, wait,
                             event);
}

void threads_take_turns_with_kernels(void**) {
  need_opencl();
  beside(Bad{}, [](Backend& backend) {
    CHECK_EQUAL(backend.count(), 1);
    auto& table = const_cast<cl::Functions&>(*cl::functions(nullptr));
    table.set_kernel_arg.call = set_kernel_arg;
    table.enqueue_kernel.call = enqueue_and_leave;
    const auto copy = [&] {
      void* memory[] = {backend.allocate(kDLOpenCL, 0, 11000, 64),
                        backend.allocate(kDLOpenCL, 0, 11000, 64)};
      for (int k = 0; k < 20; ++k) {
        backend.copy_strided(0, 0, {memory[0], 0}, {memory[1], 0},
                             plan_of({100, 110}, {110, 1}, {1, 100}, 1));
      }
      for (void* each : memory) backend.deallocate(kDLOpenCL, 0, each);
    };
    std::thread other(copy);
    copy();
    other.join();
    backend.synchronize(0);
    CHECK(!together);
  });
}

cl::Result release_too_late(void*) {
  std::fprintf(stderr, "released although the driver is gone\n");
  std::fflush(nullptr);
  _exit(1);
}

Backend* last_backend;
void* last_memory;
dlx::EventHandle last_event;
void release_everything() {
  last_backend->release_event(0, last_event);
  last_backend->deallocate(kDLOpenCL, 0, last_memory);
}

/// Makes memory and an event; their release is a failure from then on.
void prepare_releases(Backend& backend) {
  CHECK_EQUAL(backend.count(), 1);
  last_backend = &backend;
  last_memory = backend.allocate(kDLOpenCL, 0, 64, 64);
  last_event = backend.record(0, 0);
  backend.synchronize(0);
  auto& table = const_cast<cl::Functions&>(*cl::functions(nullptr));
  table.release_memory.call = [](cl::Memory memory) { return release_too_late(memory); };
  table.release_event.call = [](cl::Event event) { return release_too_late(event); };
}

// Neither in a forked child nor after exit() may dlx call the driver.
void nothing_is_released_without_a_driver(void**) {
  need_opencl();
  beside(Bad{}, [](Backend& backend) {
    prepare_releases(backend);
    const Outcome child = run_forked([&] {
      const char* words = "before this process was forked";
      const auto is_told = [&](const std::function<void()>& body) {
        return error_of(body).find(words) != std::string::npos;
      };
      CHECK(is_told([&] { backend.wait_on_host(0, last_event); }));
      CHECK(is_told([&] { backend.is_done(0, last_event); }));
      CHECK(is_told([&] { backend.record(0, 0); }));
      release_everything();
    });
    if (!child.passed()) std::fprintf(stderr, "%s", child.output.c_str());
    CHECK(child.passed());
  });
  beside(Bad{}, [](Backend& backend) {
    std::atexit([] {  // runs after what dlx registers next
      release_everything();
      std::fflush(nullptr);
      _exit(0);
    });
    prepare_releases(backend);
    std::exit(1);
  });
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {cmocka_unit_test(a_bad_platform_hides_no_good_one),
                              cmocka_unit_test(the_reason_says_what_each_platform_said),
                              cmocka_unit_test(new_devices_are_used),
                              cmocka_unit_test(devices_are_counted_once),
                              cmocka_unit_test(groups_are_no_larger_than_the_kernels_take),
                              cmocka_unit_test(devices_without_kernels_say_why),
                              cmocka_unit_test(exhausted_memory_is_no_error),
                              cmocka_unit_test(events_are_done_in_the_end),
                              cmocka_unit_test(threads_take_turns_with_kernels),
                              cmocka_unit_test(nothing_is_released_without_a_driver)};
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
