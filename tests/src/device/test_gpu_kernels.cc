// Strided copies by kernels, and drivers that cannot load them.
#include "gpu_fixture.h"

#include <string>

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

// A failure that says nothing about the code is an error of that copy, and the next one tries again.
void kernels_that_cannot_be_loaded(void**) {
  passes([](Gpu& gpu) {
    gpu.fail_calls_of(module_load(gpu), 700);
    const std::string text = error_of([&] { transpose(gpu, gpu.stream()); });
    CHECK(contains(text, module_load(gpu)));
    gpu.fail_calls_of("", 0);
    CHECK(transpose(gpu, gpu.stream()));
    dlx_device_properties properties = {};
    gpu.backend.describe(0, &properties);
    CHECK(properties.no_kernels[0] == 0);
  });
}

// Without any family the copy goes through the host. The reason names all that were tried.
void no_family_can_be_loaded(void**) {
  passes([](Gpu& gpu) {
    gpu.fail_calls_of(module_load(gpu), 209);
    CHECK(!transpose(gpu, gpu.stream()));
    gpu.fail_calls_of("", 0);
    gpu.clear_log();
    CHECK(!transpose(gpu, gpu.stream()));
    CHECK_EQUAL(gpu.calls(module_load(gpu)), 0);
    dlx_device_properties properties = {};
    gpu.backend.describe(0, &properties);
    const std::string reason = properties.no_kernels;
    CHECK(contains(reason, module_load(gpu)) && reason.find("elements: ") != std::string::npos);
    CHECK(reason.find("(209)") == reason.rfind("(209)"));  // once
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
  });
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(strided_copies),
      cmocka_unit_test(launches_keep_to_the_limits),
      cmocka_unit_test(kernels_that_cannot_be_loaded),
      cmocka_unit_test(no_family_can_be_loaded),
      cmocka_unit_test(modules_without_a_kernel_go),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
