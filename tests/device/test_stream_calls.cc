// The calls of section "stream" of dlx.h: current streams, waits of streams and of the host, errors.
#include <dlx/call.h>

#include <thread>

#include "tests/device/stream_checks.h"
#include "tests/device/suite.h"

using namespace dlx_test;

namespace {

/// Copies run on the thread's current stream; other threads keep the default stream.
void current_streams_are_used(World& world) {
  const int64_t stream = world.stream();
  OK(dlx_stream_set_current(world.api.device, 0, stream));
  int64_t current = -1;
  OK(dlx_stream_get_current(world.api.device, 0, &current));
  CHECK_EQUAL(current, stream);
  std::thread([&] {
    OK(dlx_stream_get_current(world.api.device, 0, &current));
    CHECK_EQUAL(current, world.api.default_stream);
  }).join();
  const Written source = fill_elsewhere(world, 7), target = fill_elsewhere(world, 9);
  OK(dlx_tensor_copy_from(target.tensor.get(), source.tensor.get(), nullptr));
  // Reads back on the default stream, after the recorded event of `target`.
  OK(dlx_stream_reset_current(world.api.device, 0));
  OK(dlx_stream_get_current(world.api.device, 0, &current));
  CHECK_EQUAL(current, world.api.default_stream);
  CHECK(holds(world, target.tensor, kSevens));
  world.finish();
  CHECK(holds(world, target.tensor, kSevens));
  world.destroy(stream);
  end(world, source);
  end(world, target);
}

void streams_wait_for_streams(World& world) {
  const Tensor tensor = world.empty({256});
  const int64_t one = world.stream(), other = world.stream();
  world.foreign(0, [&] {
    world.foreign_set(tensor.data(), 7, 1024, reinterpret_cast<void*>(one));
    OK(dlx_stream_wait(world.api.device, 0, other, one));
    world.foreign_set(tensor.data(), 9, 1024, reinterpret_cast<void*>(other));
  });
  OK(dlx_stream_synchronize(world.api.device, 0, other));
  CHECK(is_now(world, tensor, 9));
  world.finish();
  CHECK(holds(world, tensor, kNines));
  world.destroy(one);
  world.destroy(other);
}

/// The host waits for a tensor, and for a stream.
void the_host_waits_for_what_it_names(World& world) {
  const Written written = fill_elsewhere(world, 7);
  OK(dlx_tensor_synchronize(written.tensor.get()));
  CHECK(is_now(world, written.tensor, 7));
  const int64_t stream = world.stream();
  world.foreign(0, [&] {
    world.foreign_set(written.tensor.data(), 9, 1024, reinterpret_cast<void*>(stream));
  });
  OK(dlx_stream_synchronize(world.api.device, 0, stream));
  CHECK(is_now(world, written.tensor, 9));
  world.destroy(stream);
  end(world, written);
}

void impossible_streams_are_refused(World& world) {
  const Tensor tensor = world.empty({4});
  for (const int64_t bad : {int64_t{-1}, int64_t{-2}}) {
    const char* words = bad == -1 ? "`stream` is not a stream (got -1" : "`stream` is not a";
    const dlx_copy_options options = on(bad);
    FAILS(dlx_tensor_copy_from(tensor.get(), tensor.get(), &options), DLX_ERROR_INVALID_ARGUMENT,
          words);
    FAILS(dlx_stream_synchronize(world.api.device, 0, bad), DLX_ERROR_INVALID_ARGUMENT, words);
    FAILS(dlx_tensor_written_on_stream(tensor.get(), bad), DLX_ERROR_INVALID_ARGUMENT, words);
  }
  for (const int64_t bad : {world.api.is_cuda() ? 0 : 1, world.api.is_cuda() ? -2 : 2}) {
    FAILS(dlx_tensor_wait_on_stream(tensor.get(), bad), DLX_ERROR_INVALID_ARGUMENT, "`stream`");
    FAILS(dlx_stream_set_current(world.api.device, 0, bad), DLX_ERROR_INVALID_ARGUMENT, "`stream`");
  }
  FAILS(dlx_stream_synchronize(world.api.device, 9, world.api.default_stream),
        DLX_ERROR_UNAVAILABLE, "9");
  // CUDA has two default streams.
  for (int64_t k = 0; k < (world.api.is_cuda() ? 2 : 1); ++k) {
    FAILS(dlx_stream_destroy(world.api.device, 0, world.api.default_stream + k),
          DLX_ERROR_INVALID_ARGUMENT, "is a default stream, which cannot be destroyed");
  }
}

/// A tensor may be on a device that this machine does not have. dlx cannot order its work.
void work_of_missing_devices_has_no_order(World& world) {
  DLTensor description{};
  description.device = {static_cast<DLDeviceType>(world.api.device), 9};
  description.dtype = world.int32();
  int32_t data = 0;
  description.data = &data;
  Tensor tensor;
  OK(dlx_tensor_wrap(&description, 0, nullptr, nullptr, tensor.out()));
  const int64_t stream = world.stream();
  FAILS(dlx_tensor_wait_on_stream(tensor.get(), stream), DLX_ERROR_UNSUPPORTED, "no such device");
  FAILS(dlx_tensor_written_on_stream(tensor.get(), stream), DLX_ERROR_UNSUPPORTED,
        "no such device");
  OK(dlx_tensor_synchronize(tensor.get()));  // as far as dlx knows of it
  world.destroy(stream);
}

/// Streams of any device write and read memory that all devices can access.
void pinned_memory_is_every_devices(World& world) {
  for (const int32_t writer : {0, 1}) {
    const Tensor tensor = world.empty({256}, 0, world.api.pinned);
    void* stream = nullptr;
    world.foreign(writer, [&] {
      stream = world.foreign_stream();
      world.foreign_set(tensor.data(), 7, 1024, stream);
    });
    OK(dlx_tensor_written_on_stream(tensor.get(), number(stream)));
    consumer_writes_last(
        world, tensor,
        [&](int64_t consumer) { OK(dlx_tensor_wait_on_stream(tensor.get(), consumer)); },
        1 - writer);
    world.foreign(writer, [&] { world.foreign_destroy(stream); });
  }
}

/// The refusal leaves nothing behind in the driver.
void streams_of_another_device_are_refused(World& world) {
  const Tensor tensor = world.empty({4}, 0);
  const int64_t stream = world.stream(1);
  FAILS(dlx_tensor_wait_on_stream(tensor.get(), stream), DLX_ERROR_INVALID_ARGUMENT, "device");
  FAILS(dlx_stream_synchronize(world.api.device, 0, stream), DLX_ERROR_INVALID_ARGUMENT, "device");
  FAILS(dlx_stream_destroy(world.api.device, 0, stream), DLX_ERROR_INVALID_ARGUMENT, "device");
  OK(dlx_stream_synchronize(world.api.device, 1, stream));
  world.destroy(stream, 1);
}

void arguments_are_checked(World& world) {
  const int32_t type = world.api.device;
  const int64_t stream = world.stream();
  FAILS(dlx_stream_wait(type, 0, stream, -1), DLX_ERROR_INVALID_ARGUMENT,
        "`stream` is not a stream (got -1");
  FAILS(dlx_stream_create(type, 0, nullptr), DLX_ERROR_INVALID_ARGUMENT, "`out_stream`");
  FAILS(dlx_stream_get_current(type, 0, nullptr), DLX_ERROR_INVALID_ARGUMENT, "`out_stream`");
  FAILS(dlx_tensor_wait_on_stream(nullptr, stream), DLX_ERROR_INVALID_ARGUMENT, "`tensor`");
  FAILS(dlx_tensor_written_on_stream(nullptr, stream), DLX_ERROR_INVALID_ARGUMENT, "`tensor`");
  // The first device that does not exist.
  int64_t shape[] = {4};
  DLTensor beyond{};
  beyond.data = &shape;
  beyond.device = {static_cast<DLDeviceType>(type), dlx_device_count(type)};
  beyond.ndim = 1;
  beyond.dtype = world.int32();
  beyond.shape = shape;
  Tensor tensor;
  OK(dlx_tensor_wrap(&beyond, 0, nullptr, nullptr, tensor.out()));
  FAILS(dlx_tensor_wait_on_stream(tensor.get(), stream), DLX_ERROR_UNSUPPORTED,
        "cannot wait for the data");
  FAILS(dlx_tensor_written_on_stream(tensor.get(), stream), DLX_ERROR_UNSUPPORTED,
        "cannot wait for the data");
  world.destroy(stream);
}

/// A call that waits for a copy releases its operands, not only the next copy.
void waiting_for_a_stream_lets_go(World& world) {
  std::vector<int32_t> data = numbers(256);
  const int64_t stream = world.stream();
  const dlx_copy_options options = on(stream);
  const Tensor target = world.empty({256});
  Tensor source = world.upload(data, {256});
  OK(dlx_tensor_copy_from(target.get(), source.get(), &options));
  source.release();
  const int64_t before = world.fake->report().allocations;
  OK(dlx_stream_synchronize(world.api.device, 0, stream));
  CHECK_EQUAL(world.fake->report().allocations, before - 1);
  world.destroy(stream);
}

/// Fills its argument on the stream that it gets.
dlx_status fill_argument(void* context, const dlx_argument* arguments) {
  auto& world = *static_cast<World*>(context);
  const auto stream = reinterpret_cast<void*>(arguments[0].integer);
  world.foreign(0, [&] { world.foreign_set(arguments[1].array->data, 9, 1024, stream); });
  return DLX_OK;
}

/// What is behind on the stream that it gets has come: sevens.
dlx_status see_sevens(void* context, const dlx_argument* arguments) {
  auto& world = *static_cast<World*>(context);
  world.foreign(0, [&] { world.foreign_wait(reinterpret_cast<void*>(arguments[0].integer)); });
  unsigned char got = 0;
  CHECK(world.fake->peek(reinterpret_cast<uint64_t>(arguments[1].array->data), &got, 1));
  CHECK_EQUAL(got, 7);
  return DLX_OK;
}

/// Calls a function with a contract on `stream`.
void call_on(World& world, int64_t stream, dlx_function function, const Tensor& x) {
  dlx_contract* contract = nullptr;
  OK(dlx_contract_create("f(s: stream, x: int32[n] writable anywhere)", &contract));
  OK(dlx_stream_set_current(world.api.device, 0, stream));
  dlx_tensor* const tensors[] = {nullptr, x.get()};
  OK(dlx_contract_call(contract, function, &world, tensors, nullptr, nullptr));
  OK(dlx_stream_reset_current(world.api.device, 0));
  dlx_contract_release(contract);
}

void functions_wait_for_their_arguments(World& world) {
  const Written x = fill_elsewhere(world, 7);
  const int64_t stream = world.stream();
  call_on(world, stream, see_sevens, x.tensor);
  world.destroy(stream);
  end(world, x);
}

void readers_wait_for_functions(World& world) {
  const Tensor x = world.empty({256});
  const int64_t stream = world.stream();
  call_on(world, stream, fill_argument, x);
  CHECK(holds(world, x, kNines));
  world.destroy(stream);
}

}  // namespace

int main() {
  return run_suite({
      {"arguments are checked", arguments_are_checked, kOneSchedule},
      {"waiting for a stream lets go", waiting_for_a_stream_lets_go, kNeedsFake},
      {"current streams are used", current_streams_are_used, kEachWait},
      {"functions wait for their arguments", functions_wait_for_their_arguments, kNeedsFake},
      {"readers wait for functions", readers_wait_for_functions, 0},
      {"streams wait for streams", streams_wait_for_streams, kNeedsFake | kEachWait},
      {"the host waits for what it names", the_host_waits_for_what_it_names,
       kNeedsFake | kEachWait},
      {"impossible streams are refused", impossible_streams_are_refused, 0},
      {"work of missing devices has no order", work_of_missing_devices_has_no_order, 0},
      {"pinned memory is every device's", pinned_memory_is_every_devices, kTwoDevices | kEachWait},
      {"streams of another device are refused", streams_of_another_device_are_refused, kTwoDevices},
  });
}
