// The life of a process: drivers that are missing, forks, and the end.
#include <cstdlib>
#include <cstring>
#include <memory>

#include "tests/device/suite.h"

using namespace dlx_test;

namespace {

/// There is no device, and the reason names the file.
void no_devices(World& world, const char* words) {
  if (std::strstr(dlx_backend_reason(world.api.device), words) == nullptr) {
    std::fprintf(stderr, "no \"%s\" in \"%s\"\n", words, dlx_backend_reason(world.api.device));
    _exit(1);
  }
  CHECK_EQUAL(dlx_device_count(world.api.device), 0);
  const DLDataType dtype = world.int32();
  Tensor tensor;
  FAILS(dlx_tensor_empty(0, nullptr, &dtype, world.api.device, 0, nullptr, tensor.out()),
        DLX_ERROR_UNAVAILABLE, words);
  int here = 0;
  int32_t type = 0, id = 0;
  OK(dlx_device_of_pointer(&here, &type, &id));
  CHECK_EQUAL(type, kDLCPU);
}

void missing_drivers_are_named(World& world) {
  setenv(world.api.variable, "/nonexistent/driver.so", 1);
  no_devices(world, "/nonexistent/driver.so");
}

/// The toolkit's stub library, which is only for linking.
void stub_libraries_are_no_drivers(World& world) {
  world.fake->set_stub(1);
  no_devices(world, "34");
}

void machines_may_have_no_devices(World& world) {
  world.fake->set_devices(0);
  no_devices(world, world.api.is_cuda() ? "CUDA_ERROR_NO_DEVICE" : "hipErrorNoDevice");
}

void old_drivers_are_refused(World& world) {
  world.fake->set_version(world.api.is_cuda() ? 11020 : 40500000);
  no_devices(world, "too old");
}

/// The device that a description without an index means.
int32_t current_device(World& world) {
  DLTensor description{};
  description.device = {static_cast<DLDeviceType>(world.api.device), 255};
  description.dtype = world.int32();
  int64_t none[] = {0};
  description.ndim = 1;
  description.shape = none;
  Tensor tensor;
  OK(dlx_tensor_wrap(&description, 0, nullptr, nullptr, tensor.out()));
  return dlx_tensor_device_id(tensor.get());
}

/// Nothing initialises a driver but work for it, and a driver that cannot tell is asked no more.
void asking_for_the_current_device_starts_nothing(World& world) {
  CHECK_EQUAL(current_device(world), 0);
  CHECK_EQUAL(world.fake->calls("hipGetDevice"), 0);
  CHECK_EQUAL(dlx_device_count(world.api.device), 2);
  world.foreign(1, [&] { CHECK_EQUAL(current_device(world), 1); });
  if (world.api.is_cuda()) return;
  int (*peek)() = nullptr;
  world.fake->load("hipPeekAtLastError", &peek);
  world.fake->fail_calls_of("hipGetDevice", 999);
  CHECK_EQUAL(current_device(world), 0);
  CHECK_EQUAL(peek(), 0);
}

/// A child of a process that uses the driver: clear errors, and releases that do nothing.
void forked_children_cannot_use_the_driver(World& world) {
  std::vector<int32_t> data = numbers(256);
  const int64_t stream = world.stream();
  auto device = std::make_unique<Tensor>(world.upload(data, {256}));
  const Outcome child = run_forked([&] {
    const DLDataType dtype = world.int32();
    Tensor none;
    FAILS(dlx_tensor_empty(0, nullptr, &dtype, world.api.device, 0, nullptr, none.out()),
          DLX_ERROR_DRIVER, "fork");
    FAILS(dlx_tensor_to_device(device->get(), kDLCPU, 0, nullptr, none.out()), DLX_ERROR_DRIVER,
          "fork");
    FAILS(dlx_tensor_synchronize(device->get()), DLX_ERROR_DRIVER, "fork");
    FAILS(dlx_stream_synchronize(world.api.device, 0, stream), DLX_ERROR_DRIVER, "fork");
    FAILS(dlx_device_synchronize(world.api.device, 0), DLX_ERROR_DRIVER, "fork");
    dlx_device_properties properties{};
    properties.struct_size = sizeof properties;
    FAILS(dlx_device_info(world.api.device, 0, &properties), DLX_ERROR_DRIVER, "fork");
    const int64_t calls = world.fake == nullptr ? 0 : world.fake->all_calls();
    int32_t type = 0, id = 0;
    OK(dlx_device_of_pointer(device->data(), &type, &id));
    CHECK_EQUAL(type, kDLCPU);
    CHECK_EQUAL(current_device(world), 0);
    if (world.fake != nullptr) CHECK_EQUAL(world.fake->all_calls(), calls);
    device->release();
    OK(dlx_stream_destroy(world.api.device, 0, stream));
    OK(dlx_tensor_empty(0, nullptr, &dtype, kDLCPU, 0, nullptr, none.out()));
  });
  if (!child.passed()) std::fprintf(stderr, "%s", child.output.c_str());
  CHECK(child.passed());
  CHECK(world.download(*device) == data);  // the parent goes on
  device->release();
  world.destroy(stream);
}

/// After the driver has shut down: calls fail with its code, and releases are silent.
void drivers_shut_down_before_dlx(World& world) {
  std::vector<int32_t> data = numbers(256);
  Tensor device = world.upload(data, {256});
  Tensor pinned = world.empty({4}, 0, world.api.pinned);
  const int64_t stream = world.stream();
  OK(dlx_tensor_written_on_stream(device.get(), stream));
  world.fake->shutdown();
  Tensor host;
  FAILS(dlx_tensor_to_device(device.get(), kDLCPU, 0, nullptr, host.out()), DLX_ERROR_DRIVER, "4");
  int32_t type = 0, id = 0;
  OK(dlx_device_of_pointer(device.data(), &type, &id));
  device.release();
  pinned.release();
  OK(dlx_stream_destroy(world.api.device, 0, stream));
}

/// Tensors that are released while the process ends, such as static objects.
void tensors_may_outlive_exit(World& world) {
  const Outcome child = run_forked([&] {
    static Tensor last;  // goes after all that the driver registers at its start
    static Tensor left;
    std::vector<int32_t> data = numbers(256);
    left = world.upload(data, {256});
    last = world.empty({256});
    std::atexit([] { left.release(); });
    std::exit(0);
  });
  if (!child.passed()) std::fprintf(stderr, "%s", child.output.c_str());
  CHECK(child.passed());
}

}  // namespace

int main() {
  return run_suite({
      {"missing drivers are named", missing_drivers_are_named, kNeedsFake | kLeavesThings},
      {"stub libraries are no drivers", stub_libraries_are_no_drivers, kNeedsFake | kLeavesThings},
      {"machines may have no devices", machines_may_have_no_devices, kNeedsFake | kLeavesThings},
      {"old drivers are refused", old_drivers_are_refused, kNeedsFake | kLeavesThings},
      {"asking for the current device starts nothing", asking_for_the_current_device_starts_nothing,
       kNeedsFake | kTwoDevices | kLeavesThings},
      {"forked children cannot use the driver", forked_children_cannot_use_the_driver, 0},
      {"drivers shut down before dlx", drivers_shut_down_before_dlx, kNeedsFake | kLeavesThings},
      {"tensors may outlive exit", tensors_may_outlive_exit, kLeavesThings},
  });
}
