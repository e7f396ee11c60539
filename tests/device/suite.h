// Runs cases on every driver and schedule, each in its own process.
#ifndef DLX_TESTS_DEVICE_SUITE_H_
#define DLX_TESTS_DEVICE_SUITE_H_

#include "tests/device/world.h"

namespace dlx_test {

enum : unsigned {
  kAnyDriver = 0,
  kNeedsFake = 1,  ///< uses World::fake
  kNeedsCuda = 2,  ///< about what HIP has not
  kTwoDevices = 4,
  kUpToTwoDevices = 64,  ///< two on the fakes, and what there is elsewhere
  kEachWait = 8,      ///< runs once more for each wait, which is left out: the case must fail then
  kOneSchedule = 32,  ///< "latest" alone, the hardest: a case of many processes
  kLeavesThings = 16  ///< the process ends with something left behind, on purpose
};

struct Case {
  const char* name;
  void (*run)(World& world);
  unsigned flags;
};

/// Runs the suite and returns the exit status. It runs on the fakes, and on the machine's own
/// driver if that has a device. With DLX_TEST_REAL it runs only on the own driver (DLX_CUDA_PATH
/// and DLX_HIP_PATH name its file), and returns 77 if there is no device.
int run_suite(const std::vector<Case>& cases);

}  // namespace dlx_test

#endif  // DLX_TESTS_DEVICE_SUITE_H_
