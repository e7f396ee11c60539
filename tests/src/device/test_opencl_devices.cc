// Two OpenCL devices, which PoCL can provide; skipped with the reason if there are fewer.
#include <algorithm>
#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "src/device/backend.h"
#include "src/driver/opencl.h"
#include "tests/support/opencl_leaks.h"

extern "C" {
#include <cmocka.h>
}
#undef fail

namespace {

using dlx::Backend;
namespace cl = dlx::opencl;

Backend& two_devices_or_skip() {
  setenv("POCL_DEVICES", "pthread pthread", 1);
  Backend& backend = dlx::opencl_backend();
  if (backend.count() >= 2) return backend;
  print_message("skipped: there are no two OpenCL devices\n");
  skip();
  return backend;
}

// Two queues of two devices: one waits for the other's pending work before it uses the data.
void devices_wait_for_each_other(void**) {
  Backend& backend = two_devices_or_skip();
  constexpr size_t kSize = (size_t{64} << 20) + 1234;  // crosses in chunks, and a rest
  std::vector<uint8_t> first_bytes(kSize), host(kSize);
  for (size_t k = 0; k < kSize; ++k) first_bytes[k] = static_cast<uint8_t>(k * 7 + (k >> 16));
  const std::vector<uint8_t> twos(kSize, 2);
  void* first = backend.allocate(kDLOpenCL, 0, kSize, 64);
  void* second = backend.allocate(kDLOpenCL, 1, kSize, 64);
  backend.copy_from_host(0, 0, {first, 0}, first_bytes.data(), kSize);
  backend.copy_on_device(1, {second, 0}, 0, {first, 0}, 0, kSize);
  backend.copy_to_host(1, 0, host.data(), {second, 0}, kSize);
  backend.synchronize(1);
  assert_true(host == first_bytes);

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

cl::Device device_of_queue;
cl::Functions real;
cl::Queue create_queue(cl::Context context, cl::Device device, cl::Bits properties,
                       cl::Result* error) {
  device_of_queue = device;
  return real.create_queue(context, device, properties, error);
}

// A buffer of another context is used on the device itself if the context has it, and else on another one.
void foreign_memory_is_used_where_it_is(void**) {
  Backend& backend = two_devices_or_skip();
  auto& table = const_cast<cl::Functions&>(*cl::functions(nullptr));
  real = table;
  cl::Platform platform = nullptr;
  cl::Device devices[2] = {};
  real.platform_ids(1, &platform, nullptr);
  assert_int_equal(real.device_ids(platform, cl::kDeviceTypeAll, 2, devices, nullptr), 0);
  for (int32_t id = 0; id < 2; ++id) backend.synchronize(id);  // makes the queue
  table.create_queue.call = create_queue;
  for (cl::Uint count = 1; count <= 2; ++count) {
    cl::Result code = 0;
    // The second device alone, or both.
    cl::Context theirs =
        real.create_context(nullptr, count, devices + 2 - count, nullptr, nullptr, &code);
    assert_int_equal(code, 0);
    cl::Memory memory = real.create_buffer(theirs, cl::kMemReadWrite, 64, nullptr, &code);
    assert_int_equal(code, 0);
    for (int32_t id = 0; id < 2; ++id) {
      const std::vector<uint8_t> bytes(64, static_cast<uint8_t>(10 * count + 1));
      std::vector<uint8_t> result(64);
      backend.copy_from_host(id, 0, {memory, 0}, bytes.data(), 64);
      assert_ptr_equal(device_of_queue, devices[count == 1 ? 1 : id]);
      backend.copy_to_host(id, 0, result.data(), {memory, 0}, 64);
      assert_ptr_equal(device_of_queue, devices[count == 1 ? 1 : id]);
      assert_true(result == bytes);
    }
    real.release_memory(memory);
    real.release_context(theirs);
  }
  table.create_queue.call = real.create_queue.call;
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {cmocka_unit_test(devices_wait_for_each_other),
                              cmocka_unit_test(foreign_memory_is_used_where_it_is)};
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
