#include "tests/device/suite.h"

#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <deque>

extern "C" {
#include <cmocka.h>
}
#undef fail

namespace dlx_test {
namespace {

constexpr Api kFakes[] = {
    {"cuda", "DLX_CUDA_PATH", "tests/stubs/fake_libcuda.so", kDLCUDA, kDLCUDAHost, 1},
    {"rocm 6", "DLX_HIP_PATH", "tests/stubs/fake_libamdhip64.so", kDLROCM, kDLROCMHost, 0},
    {"rocm 5", "DLX_HIP_PATH", "tests/stubs/fake_libamdhip64_5.so", kDLROCM, kDLROCMHost, 0},
};
constexpr Api kReal[] = {
    {"real cuda", "DLX_CUDA_PATH", nullptr, kDLCUDA, kDLCUDAHost, 1},
    {"real rocm", "DLX_HIP_PATH", nullptr, kDLROCM, kDLROCMHost, 0},
};
constexpr int kSeeds = 4;

/// Exit status if DLX_TEST_REAL finds no device.
constexpr int kNoDevice = 77;

struct Run {
  const Case* what;
  const Api* api;
  std::string schedule;
  int devices;
  std::string name;
};

Outcome run_once(const Run& run, int64_t ignored_wait) {
  return run_forked([&] {
    World world(*run.api, run.schedule, run.devices);
    if (world.fake != nullptr) world.fake->ignore_nth_wait(ignored_wait);
    run.what->run(world);
    const int64_t waits = world.fake == nullptr ? 0 : world.fake->waits();
    if ((run.what->flags & kLeavesThings) == 0) world.check_clean();
    if (world.fake == nullptr) return;
    std::fprintf(stderr, "waits=%lld left out: %s\n", static_cast<long long>(waits),
                 world.fake->ignored_wait());
  });
}

void run_case(void** state) {
  const Run& run = *static_cast<const Run*>(*state);
  const Outcome outcome = run_once(run, 0);
  if (!outcome.passed()) print_error("%s: %s", run.name.c_str(), outcome.output.c_str());
  assert_true(outcome.passed());
}

/// Leaves out each wait of a case in turn: the case must then fail, which shows that each wait is
/// needed.
void run_without_each_wait(void** state) {
  const Run& run = *static_cast<const Run*>(*state);
  const Outcome whole = run_once(run, 0);
  assert_true(whole.passed());
  const size_t at = whole.output.find("waits=");
  assert_true(at != std::string::npos);
  const long waits = std::strtol(whole.output.c_str() + at + 6, nullptr, 10);
  assert_true(waits > 0);
  for (long n = 1; n <= waits; ++n) {
    const Outcome broken = run_once(run, n);
    if (!broken.passed()) continue;
    print_error("%s: the loss of wait %ld of %ld goes unnoticed: %s\n", run.name.c_str(), n, waits,
                broken.output.c_str());
    assert_false(broken.passed());
  }
}

/// Number of devices of the machine's own driver; prints the reason if there are none.
int count_real(const Api& api) {
  const Outcome outcome = run_forked([&] {
    const int count = dlx_device_count(api.device);
    if (count == 0) {
      std::fprintf(stderr, "%s: not run: %s\n", api.name, dlx_backend_reason(api.device));
    }
    std::fflush(nullptr);
    _exit(count > 2 ? 2 : count);
  });
  if (!outcome.output.empty()) print_message("%s", outcome.output.c_str());
  return WIFEXITED(outcome.status) ? WEXITSTATUS(outcome.status) : 0;
}

}  // namespace

int run_suite(const std::vector<Case>& cases) {
  std::deque<Run> runs;
  std::vector<CMUnitTest> tests;
  const auto add = [&](const Case& what, const Api& api, const std::string& schedule, int devices,
                       CMUnitTestFunction function, const char* suffix) {
    if ((what.flags & kNeedsCuda) != 0 && !api.is_cuda()) return;
    runs.push_back({&what, &api, schedule, devices, {}});
    Run& run = runs.back();
    run.name = std::string(api.name) + ", " + schedule + ": " + what.name + suffix;
    tests.push_back({run.name.c_str(), function, nullptr, nullptr, &run});
  };
  const bool only_real = std::getenv("DLX_TEST_REAL") != nullptr;
  const char* seed_text = std::getenv("DLX_TEST_SEED");
  const int first_seed = seed_text == nullptr ? 1 : std::atoi(seed_text);
  for (const Case& what : cases) {
    if (only_real) break;
    const int devices = (what.flags & (kTwoDevices | kUpToTwoDevices)) != 0 ? 2 : 1;
    for (const Api& api : kFakes) {
      add(what, api, "latest", devices, run_case, "");
      if ((what.flags & kOneSchedule) != 0) continue;
      add(what, api, "eager", devices, run_case, "");
      for (int seed = first_seed; seed < first_seed + kSeeds; ++seed) {
        add(what, api, "random:" + std::to_string(seed), devices, run_case, "");
      }
      if ((what.flags & kEachWait) != 0) {
        add(what, api, "latest", devices, run_without_each_wait, ", without each wait");
      }
    }
  }
  for (const Api& api : kReal) {
    const int devices = count_real(api);
    for (const Case& what : cases) {
      if (devices == 0 || (what.flags & kNeedsFake) != 0) continue;
      if ((what.flags & kTwoDevices) != 0 && devices < 2) {
        print_message("%s: not run: %s: needs two devices\n", api.name, what.name);
        continue;
      }
      add(what, api, "its own order", devices, run_case, "");
    }
  }
  if (only_real && tests.empty()) return kNoDevice;
  const char* filter = std::getenv("TESTBRIDGE_TEST_ONLY");
  if (filter != nullptr && *filter != '\0') cmocka_set_test_filter(filter);
  return _cmocka_run_group_tests("devices", tests.data(), tests.size(), nullptr, nullptr);
}

}  // namespace dlx_test
