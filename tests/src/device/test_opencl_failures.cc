// Every call of a real OpenCL fails in turn: the error names it, nothing leaks, and the same
// operation succeeds afterwards. The test replaces dlx's table of OpenCL functions by functions
// that count and fail.
#include <cstring>
#include <functional>
#include <string>
#include <tuple>

#include "src/base/error.h"
#include "src/gpu/kernels.h"
#include "tests/src/device/opencl_fixture.h"
#include "tests/stubs/forked.h"
#include "tests/support/opencl_leaks.h"

namespace {

using namespace dlx_test;
using dlx::DeviceAddress;

constexpr cl::Result kRefused = -59;  // CL_INVALID_OPERATION

/// Counters and the failure to inject.
struct Watch {
  int64_t calls = 0;
  int64_t fails = 0;        ///< the number of the call that is refused; 0: none
  const char* failed = "";  ///< its name
  int64_t live = 0;         ///< objects and events that were made and not released
  int64_t released_null = 0;
};
Watch watch;

bool begins(const char* text, const char* with) {
  return std::strncmp(text, with, std::strlen(with)) == 0;
}

/// One function of the table. `Name` tells functions of the same signature apart.
template <typename Name, typename Signature>
struct Watched;
template <typename Name, typename R, typename First, typename... Rest>
struct Watched<Name, R(First, Rest...)> {
  static inline dlx::DriverFunction<R(First, Rest...)> real;

  static R call(First first, Rest... rest) {
    constexpr bool kMakes = !std::is_same_v<R, cl::Result>;
    if (++watch.calls == watch.fails) {
      watch.failed = real.symbol;
      if constexpr (kMakes) {
        *std::get<sizeof...(rest) - 1>(std::tie(rest...)) = kRefused;  // its place comes last
        return nullptr;
      } else {
        return kRefused;
      }
    }
    if constexpr (std::is_pointer_v<First>) {
      const bool releases = begins(real.symbol, "clRelease");
      if (releases) --watch.live;
      if (releases && first == nullptr) ++watch.released_null;
    }
    const R result = real(first, rest...);
    if constexpr (kMakes) watch.live += result != nullptr ? 1 : 0;
    if (is("clEnqueueMarkerWithWaitList")) ++watch.live;
    return result;
  }

  static bool is(const char* symbol) { return std::strcmp(real.symbol, symbol) == 0; }
};

void watch_all() {
  auto& table = const_cast<cl::Functions&>(*cl::functions(nullptr));
#define DLX_DRIVER_FUNCTION(name, symbol, need, ...) \
  {                                                  \
    using namespace cl;                              \
    struct Name {};                                  \
    using Entry = Watched<Name, __VA_ARGS__>;        \
    Entry::real = table.name;                        \
    table.name.call = Entry::call;                   \
  }
#include "src/driver/opencl.inc"
#undef DLX_DRIVER_FUNCTION
}

/// Calls every function of the backend once and releases everything, whatever fails.
void do_everything(Backend& backend, cl::Memory foreign) {
  struct Cleanup {
    std::vector<std::function<void()>> steps;
    ~Cleanup() {
      for (size_t k = steps.size(); k-- > 0;) steps[k]();
    }
  } cleanup;
  constexpr size_t kSize = 20 * 700;
  static std::vector<uint8_t> host(kSize);  // a refused wait leaves it in use
  void* data[2];
  for (void*& each : data) {
    each = backend.allocate(kDLOpenCL, 0, kSize, 64);
    cleanup.steps.emplace_back([&backend, each] { backend.deallocate(kDLOpenCL, 0, each); });
  }
  const DeviceAddress first = {data[0], 0}, second = {data[1], 0};
  backend.copy_from_host(0, 0, first, host.data(), kSize);
  backend.copy_on_device(0, second, 0, first, 0, kSize);
  backend.copy_strided(0, 0, second, first, plan_of({100, 110}, {110, 1}, {1, 100}, 1));
  backend.copy_strided(0, 0, second, first, plan_of({20, 600}, {600, 1}, {700, 1}, 1));
  backend.copy_on_device(0, {foreign, 0}, 0, first, 0, 64);
  backend.copy_to_host(0, 0, host.data(), {foreign, 0}, 64);
  dlx::EventHandle event = backend.record(0, 0);
  cleanup.steps.emplace_back([&backend, event] { backend.release_event(0, event); });
  backend.wait(0, 0, event);
  backend.wait_on_host(0, event);
  backend.is_done(0, event);
  backend.copy_to_host(0, 0, host.data(), first, kSize);
  backend.synchronize(0);
  dlx_device_properties properties = {};
  backend.describe(0, &properties);
}

/// The kernels of the family that do_everything() needs.
int64_t kernels_of_transposition() {
  int64_t count = 0;
  for (int32_t k = 0; k < dlx::gpu::kernel_count(); ++k) {
    count += dlx::gpu::family_of(k) == dlx::gpu::kTurn;
  }
  return count;
}

std::string error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const dlx::Error& error) {
    return error.what();
  }
  return "";
}

/// Runs a case in its own process, in which OpenCL is not loaded yet.
void passes(const std::function<void(Backend&, cl::Memory)>& body) {
  const Outcome outcome = run_forked([&] {
    CHECK(opencl().count() > 0);  // OpenCL is set up before calls are counted
    Foreign library;
    const cl::Memory foreign = library.memory(std::vector<uint8_t>(64));
    watch_all();
    body(dlx::opencl_backend(), foreign);
    CHECK_EQUAL(watch.released_null, 0);
  });
  if (!outcome.passed()) print_error("%s", outcome.output.c_str());
  assert_true(outcome.passed());
}

/// Refuses one call after the other. The context, the queue and the kernels are kept: `kept` counts them, of
/// `all`. Returns the number of refused calls.
int64_t refuse_each(Backend& backend, cl::Memory foreign, int64_t all, int64_t* kept) {
  for (int64_t n = 1;; ++n) {
    watch.calls = 0;
    watch.failed = "";
    watch.fails = n;
    const std::string text = error_of([&] { do_everything(backend, foreign); });
    watch.fails = 0;
    const std::string failed = watch.failed;
    if (failed.empty()) return n - 1;
    if (begins(failed.c_str(), "clRelease")) {
      --watch.live;  // lost: nobody can do more
    } else if (text.find(failed + " failed: CL_INVALID_OPERATION (-59)") == std::string::npos) {
      std::fprintf(stderr, "call %d, %s, was refused: \"%s\"\n", static_cast<int>(n),
                   failed.c_str(), text.c_str());
      CHECK(false);
    }
    if (watch.live < *kept || (watch.live != *kept && watch.live != 2 && watch.live != all)) {
      std::fprintf(stderr, "call %d, %s, was refused: %d objects live\n", static_cast<int>(n),
                   failed.c_str(), static_cast<int>(watch.live));
      CHECK(false);
    }
    *kept = watch.live;
  }
}

// The first round ends once the kernels are built, because there are fewer calls from then on: the second
// one reaches those that come after.
void every_call_may_fail(void**) {
  need_opencl();
  passes([](Backend& backend, cl::Memory foreign) {
    const int64_t all = 2 + kernels_of_transposition();
    int64_t kept = 0;
    CHECK(refuse_each(backend, foreign, all, &kept) > 2 * kernels_of_transposition());
    CHECK_EQUAL(kept, all);
    CHECK(refuse_each(backend, foreign, all, &kept) > 30);
    CHECK_EQUAL(watch.live, all);
  });
}

cl::Result (*build_well)(cl::Program, cl::Uint, const cl::Device*, const char*, cl::Notify, void*);

/// Compiler options that make every compiler fail.
cl::Result build_badly(cl::Program program, cl::Uint count, const cl::Device* devices, const char*,
                       cl::Notify notify, void* user) {
  return build_well(program, count, devices, "-D__kernel=no_such_word", notify, user);
}

// Without kernels the copy still works, the program is released, and the reason is known.
void kernels_that_cannot_be_built(void**) {
  need_opencl();
  passes([](Backend& backend, cl::Memory foreign) {
    dlx_device_properties properties = {};
    backend.describe(0, &properties);
    CHECK_EQUAL(std::strlen(properties.no_kernels), 0);
    auto& build = const_cast<cl::Functions&>(*cl::functions(nullptr)).build_program.call;
    build_well = build;
    build = build_badly;
    do_everything(backend, foreign);
    CHECK_EQUAL(watch.live, 2);
    backend.describe(0, &properties);
    const char* failed = "turn: clBuildProgram failed: CL_BUILD_PROGRAM_FAILURE: ";
    CHECK(begins(properties.no_kernels, failed));
    CHECK(std::strstr(properties.no_kernels, "no_such_word") != nullptr);
    // dlx does not try again.
    build = build_well;
    const int64_t before = watch.calls;
    do_everything(backend, foreign);
    CHECK(watch.calls > before);
    CHECK_EQUAL(watch.live, 2);
  });
}

// If the compiler is out of memory, or anything else fails, only that copy fails: the next one
// tries again.
void a_build_that_fails_otherwise_is_tried_again(void**) {
  need_opencl();
  passes([](Backend& backend, cl::Memory foreign) {
    for (int64_t n = 1; std::strcmp(watch.failed, "clBuildProgram") != 0; ++n) {
      watch.calls = 0;
      watch.fails = n;
      error_of([&] { do_everything(backend, foreign); });
      CHECK(watch.live <= 2);  // no kernels yet
    }
    watch.fails = 0;
    do_everything(backend, foreign);
    CHECK_EQUAL(watch.live, 2 + kernels_of_transposition());
    dlx_device_properties properties = {};
    backend.describe(0, &properties);
    CHECK_EQUAL(std::strlen(properties.no_kernels), 0);
  });
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {cmocka_unit_test(every_call_may_fail),
                              cmocka_unit_test(kernels_that_cannot_be_built),
                              cmocka_unit_test(a_build_that_fails_otherwise_is_tried_again)};
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
