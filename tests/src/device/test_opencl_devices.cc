// Two OpenCL devices, which PoCL can provide; skipped with the reason if there are fewer.
#include <algorithm>
#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "src/device/backend.h"
#include "tests/support/opencl_leaks.h"

extern "C" {
#include <cmocka.h>
}
#undef fail

namespace {

using dlx::Backend;

// Two queues of two devices: one waits for the other's pending work before it uses the data.
void devices_wait_for_each_other(void**) {
  setenv("POCL_DEVICES", "pthread pthread", 1);
  Backend& backend = dlx::opencl_backend();
  if (backend.count() < 2) {
    print_message("skipped: there are no two OpenCL devices\n");
    skip();
  }
  constexpr size_t kSize = size_t{64} << 20;
  const std::vector<uint8_t> ones(kSize, 1), twos(kSize, 2);
  std::vector<uint8_t> host(kSize);
  void* first = backend.allocate(kDLOpenCL, 0, kSize, 64);
  void* second = backend.allocate(kDLOpenCL, 1, kSize, 64);
  backend.copy_from_host(0, 0, {first, 0}, ones.data(), kSize);
  backend.copy_on_device(1, {second, 0}, 0, {first, 0}, 0, kSize);
  backend.copy_to_host(1, 0, host.data(), {second, 0}, kSize);
  backend.synchronize(1);
  assert_true(host == ones);

  backend.copy_from_host(0, 0, {first, 0}, twos.data(), kSize);
  backend.copy_to_host(0, 0, host.data(), {first, 0}, kSize);
  dlx::EventHandle there = backend.record(0, 0);
  backend.wait(1, 0, there);
  backend.copy_from_host(1, 0, {second, 0}, host.data(), kSize);
  backend.synchronize(1);
  std::fill(host.begin(), host.end(), uint8_t{0});
  backend.copy_to_host(1, 0, host.data(), {second, 0}, kSize);
  backend.synchronize(1);
  assert_true(host == twos);
  backend.release_event(0, there);
  backend.deallocate(kDLOpenCL, 0, first);
  backend.deallocate(kDLOpenCL, 1, second);
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {cmocka_unit_test(devices_wait_for_each_other)};
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
