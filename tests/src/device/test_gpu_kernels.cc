// Strided copies by kernels, and drivers that cannot load them.
#include "gpu_fixture.h"

#include <algorithm>
#include <sstream>

namespace {

using namespace dlx_test;

// The kernels are loaded once, and copy as the plan says.
void strided_copies(void**) {
  passes([](Gpu& gpu) {
    gpu.set_schedule("latest");
    const int64_t stream = gpu.backend.create_stream(0);
    CHECK(transpose(gpu, stream));
    CHECK(transpose(gpu, stream));
    CHECK_EQUAL(gpu.calls(module_load(gpu)), 1);
  });
}

// No launch is larger than the device allows.
void launches_keep_to_the_limits(void**) {
  passes([](Gpu& gpu) {
    const bool cuda = gpu.kind.type == kDLCUDA;
    const char* launch = cuda ? "cuLaunchKernel" : "hipModuleLaunchKernel";
    int threads = dlx::cuda::kMaxThreadsPerBlock, groups = dlx::cuda::kMaxGridX;
    if (!cuda) {
      threads = dlx::hip::kMaxThreadsPerBlock;
      groups = dlx::hip::kMaxGridX;
    }
    gpu.set_attribute(0, threads, 64);
    gpu.set_attribute(0, groups, 1);
    CHECK(transpose(gpu, gpu.stream()));
    CHECK(gpu.calls(launch) > 1);
  });
}

/// The calls of a first transpose(), in order.
std::vector<std::string> calls_of_transpose(const Kind& kind) {
  const Outcome outcome = run_forked([&] {
    Gpu gpu(kind);
    gpu.backend.count();
    gpu.clear_log();
    transpose(gpu, gpu.stream());
    std::fprintf(stderr, "%s", gpu.call_log());
  });
  std::istringstream lines(outcome.output);
  std::vector<std::string> calls;
  for (std::string line; std::getline(lines, line);) calls.push_back(line);
  return calls;
}

// If the driver cannot compile or load the kernels, dlx does not try again. Any other failure is an
// error, and the next copy tries again.
void kernels_that_cannot_be_loaded(void**) {
  passes([](Gpu& gpu) {
    const std::vector<std::string> calls = calls_of_transpose(gpu.kind);
    const auto load = std::find(calls.begin(), calls.end(), module_load(gpu));
    CHECK(load != calls.end());
    const int64_t number = load - calls.begin() + 1;
    gpu.backend.count();
    for (int code : {700, 209}) {
      std::string text;
      bool done = true;
      // The second time there are fewer calls before it, because the context exists.
      for (int64_t n = number; n > 0; --n) {
        gpu.fail_nth_call(n, code);
        text = error_of([&] { done = transpose(gpu, gpu.stream()); });
        if (std::strcmp(gpu.failed_call(), module_load(gpu)) == 0) break;
        CHECK(!done || !text.empty());
      }
      gpu.fail_nth_call(0, 0);
      CHECK(code == 700 ? contains(text, module_load(gpu)) : !done);
    }
    gpu.clear_log();
    CHECK(!transpose(gpu, gpu.stream()));
    CHECK_EQUAL(gpu.calls(module_load(gpu)), 0);
    // The device's properties have the reason.
    dlx_device_properties properties = {};
    gpu.backend.describe(0, &properties);
    CHECK(contains(properties.no_kernels, module_load(gpu)));
    CHECK(contains(properties.no_kernels, "(209)"));
  });
}

// A module that lacks a kernel is unloaded, whether it cannot run here or the lookup is an error.
void modules_without_a_kernel_go(void**) {
  passes([](Gpu& gpu) {
    const char* find = gpu.kind.type == kDLCUDA ? "cuModuleGetFunction" : "hipModuleGetFunction";
    for (int code : {700, 209}) {
      gpu.fail_calls_of(find, code);
      bool done = true;
      const std::string text = error_of([&] { done = transpose(gpu, gpu.stream()); });
      CHECK(code == 700 ? contains(text, find) : !done && text.empty());
      CHECK_EQUAL(gpu.report().modules, 0);
    }
    CHECK_EQUAL(gpu.calls(module_load(gpu)), 2);
  });
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(strided_copies),
      cmocka_unit_test(launches_keep_to_the_limits),
      cmocka_unit_test(kernels_that_cannot_be_loaded),
      cmocka_unit_test(modules_without_a_kernel_go),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
