// The strided-copy kernels compared with a naive copy: on an OpenCL device, and by carrying out
// their launches on the host.
#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <string>

#include "kernel_copy.h"
#include "tests/src/copy/random_copy.h"

extern "C" {
#include <cmocka.h>
}
#undef fail  // its macro would hide dlx::fail

namespace {

using dlx_test::Choices;
using dlx_test::KernelCopy;
using dlx_test::OpenClDevice;
using dlx_test::RandomCopy;

void run_random_copies(OpenClDevice* device, uint64_t first_seed, int count, int64_t max_elements) {
  for (uint64_t seed = first_seed; seed < first_seed + static_cast<uint64_t>(count); ++seed) {
    Choices choices(seed);
    RandomCopy copy(choices, choices.one_in(16) ? max_elements * 20 : max_elements);
    dlx::gpu::Limits limits{};
    if (choices.one_in(8)) limits.max_group_size = 64;
    if (choices.one_in(8)) limits.max_groups = 1 + static_cast<uint64_t>(choices.below(2000));
    KernelCopy kernels(device, limits);
    std::string trouble;
    try {
      trouble = copy.run(std::ref(kernels));
    } catch (const std::exception& error) {
      trouble = error.what();
    }
    if (!trouble.empty()) {
      print_error("seed %llu: %s\n%s\n", static_cast<unsigned long long>(seed), trouble.c_str(),
                  copy.describe().c_str());
    }
    assert_string_equal(trouble.c_str(), "");
  }
}

void launches_mean_the_copy(void**) { run_random_copies(nullptr, 1, 3000, 1500); }

void kernels_equal_the_naive_copy(void**) {
  run_random_copies(OpenClDevice::find_or_skip(), 1, 1500, 1500);
}

void fresh_random_copies_equal_the_naive_copy(void**) {
  const uint64_t seed = static_cast<uint64_t>(std::time(nullptr)) * 1000003u;
  run_random_copies(OpenClDevice::find_or_skip(), seed, 500, 1500);
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(launches_mean_the_copy),
      cmocka_unit_test(kernels_equal_the_naive_copy),
      cmocka_unit_test(fresh_random_copies_equal_the_naive_copy),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
