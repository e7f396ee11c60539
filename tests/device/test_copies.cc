// Copies between the host and devices, on one device and between two: the results, for every order
// of work that the streams allow.
#include <algorithm>

#include "tests/device/suite.h"

using namespace dlx_test;

namespace {

void arrays_go_and_come(World& world) {
  std::vector<int32_t> data = numbers(1000);
  const Tensor device = world.upload(data, {10, 100});
  CHECK_EQUAL(dlx_tensor_device_type(device.get()), world.api.device);
  const std::vector<int32_t> sent = data;
  std::fill(data.begin(), data.end(), -1);  // the call has read it
  CHECK(world.download(device) == sent);
}

/// A transpose on either side of the transfer.
std::vector<int32_t> transposed(const std::vector<int32_t>& data, int64_t rows, int64_t columns) {
  std::vector<int32_t> result;
  for (int64_t k = 0; k < columns; ++k) {
    for (int64_t i = 0; i < rows; ++i) result.push_back(data[static_cast<size_t>(i * columns + k)]);
  }
  return result;
}

void strided_host_data_is_packed(World& world) {
  std::vector<int32_t> data = numbers(12);
  const Tensor host = world.wrap(data, {3, 4});
  Tensor device;
  OK(dlx_tensor_to_device(transpose(host).get(), world.api.device, 0, nullptr, device.out()));
  CHECK(world.download(device) == transposed(data, 3, 4));
  if (world.fake == nullptr) return;  // what was packed is one run, which needs no temporary there
  CHECK_EQUAL(world.fake->calls("cuMemAllocFromPoolAsync"), 0);
  CHECK_EQUAL(world.fake->calls("hipMallocFromPoolAsync"), 0);
}

void strided_device_data_is_packed(World& world) {
  std::vector<int32_t> data = numbers(12);
  const Tensor device = world.upload(data, {3, 4});
  CHECK(world.download(transpose(device)) == transposed(data, 3, 4));
}

/// Into every second column, backwards; the columns between keep their values.
void strided_destinations_keep_their_gaps(World& world) {
  std::vector<int32_t> data = numbers(24, 100);
  const Tensor device = world.upload(data, {3, 8});
  Tensor target;
  OK(dlx_tensor_slice(device.get(), 1, 7, -9, -2, target.out()));
  std::vector<int32_t> fresh = numbers(12);
  OK(dlx_tensor_copy_from(target.get(), world.wrap(fresh, {3, 4}).get(), nullptr));
  const std::vector<int32_t> result = world.download(device);
  for (size_t i = 0; i < 3; ++i) {
    for (size_t k = 0; k < 8; ++k) {
      const int32_t expected =
          k % 2 == 0 ? data[8 * i + k] : static_cast<int32_t>(4 * i + (7 - k) / 2);
      CHECK_EQUAL(result[8 * i + k], expected);
    }
  }
}

/// More data than one buffer of pinned memory holds, both ways.
void large_arrays_cross_in_pieces(World& world) {
  std::vector<int32_t> data = numbers(1100 * 3000);
  const Tensor host = world.wrap(data, {1100, 3000});
  Tensor device;
  OK(dlx_tensor_to_device(transpose(host).get(), world.api.device, 0, nullptr, device.out()));
  CHECK(world.download(transpose(device)) == data);
}

void copies_stay_on_the_device(World& world) {
  std::vector<int32_t> data = numbers(12);
  const Tensor device = world.upload(data, {3, 4});
  Tensor clone;
  OK(dlx_tensor_clone(compact(transpose(device)).get(), nullptr, clone.out()));
  CHECK_EQUAL(dlx_tensor_device_type(clone.get()), world.api.device);
  CHECK(world.download(clone) == transposed(data, 3, 4));
}

/// A driver that compiles no PTX, or has no code for the device: plain copies give the same result.
void strided_copies_go_without_kernels(World& world) {
  const bool cuda = world.api.is_cuda();
  struct Failure {
    const char* call;
    int code;
  };
  const char* load = cuda ? "cuModuleLoadData" : "hipModuleLoadData";
  const char* find = cuda ? "cuModuleGetFunction" : "hipModuleGetFunction";
  // No code for the device, no compiler, no compiler allowed. With lazy loading, the lookup of a
  // function fails.
  const Failure failures[] = {
      {load, 209}, {load, cuda ? 221 : 200}, {load, cuda ? 223 : 218}, {find, 209}};
  for (const Failure& failure : failures) {
    const Outcome outcome = run_forked([&] {
      world.fake->fail_calls_of(failure.call, failure.code);
      std::vector<int32_t> data = numbers(12);
      const Tensor device = world.upload(data, {3, 4});
      CHECK(world.download(compact(transpose(device))) == transposed(data, 3, 4));
      CHECK(world.download(transpose(device)) == transposed(data, 3, 4));
      OK(dlx_tensor_copy_from(transpose(device).get(), world.wrap(data, {4, 3}).get(), nullptr));
      CHECK(world.download(transpose(device)) == data);
    });
    if (!outcome.passed())
      std::fprintf(stderr, "%s, %d: %s", failure.call, failure.code, outcome.output.c_str());
    CHECK(outcome.passed());
  }
}

/// Without kernels copies go through blocks of pinned memory, which another stream's copy must not take too early.
void streams_take_turns_with_blocks(World& world) {
  const char* load = world.api.is_cuda() ? "cuModuleLoadData" : "hipModuleLoadData";
  const Outcome outcome = run_forked([&] {
    world.fake->fail_calls_of(load, 209);
    constexpr int kStreams = 4;
    std::vector<int32_t> data[kStreams];
    Tensor source[kStreams], target[kStreams];
    int64_t streams[kStreams];
    for (int k = 0; k < kStreams; ++k) {
      data[k] = numbers(12, 100 * k);
      source[k] = world.upload(data[k], {3, 4});
      target[k] = world.empty({4, 3});
      streams[k] = world.stream();
      OK(dlx_tensor_synchronize(source[k].get()));
    }
    for (int k = 0; k < kStreams; ++k) {
      const dlx_copy_options options = on(streams[k]);
      OK(dlx_tensor_copy_from(target[k].get(), transpose(source[k]).get(), &options));
    }
    for (int k = 0; k < kStreams; ++k) {
      CHECK(world.download(target[k]) == transposed(data[k], 3, 4));
      world.destroy(streams[k]);
    }
  });
  if (!outcome.passed()) std::fprintf(stderr, "%s", outcome.output.c_str());
  CHECK(outcome.passed());
}

/// Rows of which one part of a transfer has four and another one, by two threads: without kernels, what is between a
/// part's rows is read and written back, and the other part's row lies there.
void parts_keep_each_others_items_without_kernels(World& world) {
  constexpr int64_t kRow = 131072;
  const char* load = world.api.is_cuda() ? "cuModuleLoadData" : "hipModuleLoadData";
  const Outcome outcome = run_forked([&] {
    world.fake->fail_calls_of(load, 209);
    std::vector<int32_t> data = numbers(30 * kRow);
    const Tensor host = world.wrap(data, {6, 5, kRow});
    for (int i = 0; i < 10; ++i) {
      const Tensor memory = world.empty({70 * kRow}, 0, world.api.device);
      int64_t shape[] = {6, 5, kRow}, strides[] = {10 * kRow, 4 * kRow, 1};
      const DLTensor rows = {memory.data(),
                             {static_cast<DLDeviceType>(world.api.device), 0},
                             3,
                             world.int32(),
                             shape,
                             strides,
                             0};
      Tensor device;
      OK(dlx_tensor_wrap(&rows, 0, nullptr, nullptr, device.out()));
      OK(dlx_tensor_copy_from(device.get(), host.get(), nullptr));
      CHECK(world.download(device) == data);
    }
  });
  if (!outcome.passed()) std::fprintf(stderr, "%s", outcome.output.c_str());
  CHECK(outcome.passed());
}

/// On a device without stream-ordered memory, a temporary is freed after its stream was
/// synchronised.
void temporaries_go_without_pools(World& world) {
  world.fake->set_attribute(0, world.api.is_cuda() ? 115 : 88, 0);
  std::vector<int32_t> data = numbers(12);
  const Tensor device = world.upload(data, {3, 4});
  const int64_t stream = world.stream();
  OK(dlx_stream_set_current(world.api.device, 0, stream));
  CHECK(world.download(transpose(device)) == transposed(data, 3, 4));
  Tensor front, behind;
  OK(dlx_tensor_slice(device.get(), 0, 0, 2, 1, front.out()));
  OK(dlx_tensor_slice(device.get(), 0, 1, 3, 1, behind.out()));
  OK(dlx_tensor_copy_from(behind.get(), front.get(), nullptr));
  OK(dlx_stream_reset_current(world.api.device, 0));
  CHECK_EQUAL(world.fake->calls("cuMemAllocFromPoolAsync"), 0);
  CHECK_EQUAL(world.fake->calls("hipMallocFromPoolAsync"), 0);
  CHECK(world.download(device) == std::vector<int32_t>({0, 1, 2, 3, 0, 1, 2, 3, 4, 5, 6, 7}));
  world.destroy(stream);
}

/// The copy runs on another stream, and its source is released immediately.
void sources_live_until_the_copy_is_done(World& world) {
  std::vector<int32_t> data = numbers(1000);
  const int64_t stream = world.stream();
  const dlx_copy_options options = on(stream);
  const Tensor target = world.empty({1000});
  world.foreign(0, [&] {  // behind the default stream, as nothing else is said
    world.foreign_set(target.data(), 7, 4000, nullptr);
  });
  {
    const Tensor source = world.upload(data, {1000});
    OK(dlx_tensor_copy_from(target.get(), source.get(), &options));
  }
  CHECK(world.download(target) == data);
  world.finish();
  CHECK(world.download(target) == data);
  world.destroy(stream);
}

/// The same for the written memory, which may belong to another library's pool.
void destinations_live_until_the_copy_is_done(World& world) {
  std::vector<int32_t> data = numbers(1000);
  const int64_t stream = world.stream();
  const dlx_copy_options options = on(stream);
  {
    const Tensor source = world.upload(data, {1000});
    const Tensor target = world.empty({1000});
    OK(dlx_tensor_copy_from(target.get(), source.get(), &options));
    const Tensor uploaded = world.empty({1000});
    OK(dlx_tensor_copy_from(uploaded.get(), world.wrap(data, {1000}).get(), &options));
  }
  world.destroy(stream);
}

/// A copy to pinned memory is done when the call returns.
void pinned_destinations_are_written_on_return(World& world) {
  const std::vector<int32_t> data = numbers(1000);
  std::vector<int32_t> sent = data;
  const Tensor device = world.upload(sent, {1000});
  const Tensor pinned = world.empty({1000}, 0, world.api.pinned);
  OK(dlx_tensor_copy_from(pinned.get(), device.get(), nullptr));
  CHECK(std::equal(data.begin(), data.end(), static_cast<int32_t*>(pinned.data())));
  // Nothing on a device copies from there to the CPU.
  const dlx_copy_options options = on(world.api.default_stream);
  FAILS(dlx_tensor_copy_from(world.wrap(sent, {1000}).get(), pinned.get(), &options),
        DLX_ERROR_INVALID_ARGUMENT, "cpu has no streams");
}

/// The device reads pinned memory later: the memory stays alive until then.
void pinned_sources_live_until_the_copy_is_done(World& world) {
  const std::vector<int32_t> data = numbers(1000);
  const int64_t stream = world.stream();
  const dlx_copy_options options = on(stream);
  const Tensor target = world.empty({1000});
  {
    const Tensor pinned = world.empty({1000}, 0, world.api.pinned);
    std::copy(data.begin(), data.end(), static_cast<int32_t*>(pinned.data()));
    OK(dlx_tensor_copy_from(target.get(), pinned.get(), &options));
  }
  CHECK(world.download(target) == data);
  const Tensor back = world.empty({1000}, 0, world.api.pinned);
  OK(dlx_tensor_copy_from(back.get(), target.get(), &options));
  CHECK(std::equal(data.begin(), data.end(), static_cast<int32_t*>(back.data())));
  world.destroy(stream);
}

/// Pageable memory is read before the call returns: it may be freed at once, even if the device is
/// busy.
void host_sources_go_at_once(World& world) {
  std::vector<int32_t> data = numbers(1000);
  const Tensor target = world.empty({1000});
  Tensor every_other;
  OK(dlx_tensor_slice(target.get(), 0, 0, 1000, 2, every_other.out()));
  const int64_t stream = world.stream();
  const dlx_copy_options options = on(stream);
  OK(dlx_tensor_copy_from(every_other.get(), every_other.get(), &options));  // loads the kernels
  world.foreign(0, [&] { world.fake->block_stream(reinterpret_cast<void*>(stream)); });
  for (const Tensor* each : {&target, static_cast<const Tensor*>(&every_other)}) {
    int released = 0;
    Tensor host;
    DLTensor description = *each->description();
    description.device = {kDLCPU, 0};
    description.data = data.data();
    description.strides = nullptr;
    const auto count = [](void*, void* user_data) { ++*static_cast<int*>(user_data); };
    OK(dlx_tensor_wrap(&description, 0, count, &released, host.out()));
    OK(dlx_tensor_copy_from(each->get(), host.get(), &options));
    host.release();
    CHECK_EQUAL(released, 1);
  }
  world.fake->unblock();
  OK(dlx_stream_synchronize(world.api.device, 0, stream));
  CHECK(world.download(every_other) == numbers(500));
  world.destroy(stream);
}

/// The next copy releases the operands of the previous one; no call waits for it.
void copies_let_go_of_what_earlier_ones_held(World& world) {
  const Tensor other = world.empty({1000}), target = world.empty({1000});
  const int64_t stream = world.stream();
  const dlx_copy_options options = on(stream);
  OK(dlx_tensor_copy_from(target.get(), world.empty({1000}).get(), &options));
  world.finish();
  CHECK_EQUAL(world.fake->report().allocations, 3);
  OK(dlx_tensor_copy_from(target.get(), other.get(), &options));
  CHECK_EQUAL(world.fake->report().allocations, 2);
  world.destroy(stream);
}

/// A new copy queries a few of the pending copies, not all of them.
void many_copies_cost_no_more_each(World& world) {
  constexpr int kCopies = 300;
  const Tensor source = world.empty({4}), target = world.empty({4});
  const int64_t stream = world.stream();
  const dlx_copy_options options = on(stream);
  world.fake->block_stream(reinterpret_cast<void*>(stream));
  for (int k = 0; k < kCopies; ++k) OK(dlx_tensor_copy_from(target.get(), source.get(), &options));
  const char* query = world.api.is_cuda() ? "cuEventQuery" : "hipEventQuery";
  CHECK(world.fake->calls(query) < 20 * kCopies);
  world.fake->unblock();
  OK(dlx_stream_synchronize(world.api.device, 0, stream));
  world.destroy(stream);
}

/// A device reads another library's pinned memory, which is of another device: the CPU writes there later.
void reads_of_pinned_memory_are_waited_for(World& world) {
  int (*allocate)(void**, size_t, unsigned) = nullptr;
  int (*release)(void*) = nullptr;
  world.load(world.api.is_cuda() ? "cuMemHostAlloc" : "hipHostMalloc", &allocate);
  world.load(world.api.is_cuda() ? "cuMemFreeHost" : "hipHostFree", &release);
  void* memory = nullptr;
  constexpr unsigned kPortable = 1;
  world.foreign(1, [&] { CHECK_EQUAL(allocate(&memory, 1024, kPortable), 0); });
  const std::vector<int32_t> data = numbers(256);
  std::copy(data.begin(), data.end(), static_cast<int32_t*>(memory));
  {
    int64_t shape[] = {256};
    DLTensor description{};
    description.data = memory;
    description.device = {static_cast<DLDeviceType>(world.api.pinned), 0};
    description.ndim = 1;
    description.dtype = world.int32();
    description.shape = shape;
    Tensor pinned;
    OK(dlx_tensor_wrap(&description, 0, nullptr, nullptr, pinned.out()));
    const Tensor target = world.empty({256}, 0);
    OK(dlx_tensor_copy_from(target.get(), pinned.get(), nullptr));
    std::vector<int32_t> later(256, -1);
    OK(dlx_tensor_copy_from(pinned.get(), world.wrap(later, {256}).get(), nullptr));
    CHECK(world.download(target) == data);
  }
  world.foreign(1, [&] { CHECK_EQUAL(release(memory), 0); });
}

/// A device still writes pinned memory that a device then reads.
void devices_wait_for_pinned_memory(World& world) {
  const Written pinned = fill_elsewhere(world, 7, 0, world.api.pinned);
  for (int32_t device = 0; device < world.devices; ++device) {
    const Tensor target = world.empty({256}, device);
    OK(dlx_tensor_copy_from(target.get(), pinned.tensor.get(), nullptr));
    CHECK(world.download(target) == std::vector<int32_t>(256, 0x07070707));
  }
  end(world, pinned);
}

/// Pinned memory without recorded work waits for the default stream of its own device.
void pinned_memory_is_of_one_device(World& world) {
  const Tensor pinned = world.empty({256}, 0, world.api.pinned);
  const Tensor target = world.empty({256}, 1);
  world.foreign(0, [&] { world.foreign_set(pinned.data(), 7, 1024, nullptr); });
  OK(dlx_tensor_copy_from(target.get(), pinned.get(), nullptr));
  CHECK(world.download(target) == std::vector<int32_t>(256, 0x07070707));
}

/// A device still writes pinned memory that the CPU then reads, packs or writes.
void the_cpu_waits_for_pinned_memory(World& world) {
  const Tensor pinned = world.empty({64}, 0, world.api.pinned);
  void* stream = nullptr;
  world.foreign(0, [&] { stream = world.foreign_stream(); });
  const auto write = [&](int value) {
    world.foreign(0, [&] { world.foreign_set(pinned.data(), value, 256, stream); });
    OK(dlx_tensor_written_on_stream(pinned.get(), reinterpret_cast<int64_t>(stream)));
  };
  std::vector<int32_t> data(64);
  write(7);
  OK(dlx_tensor_copy_from(world.wrap(data, {64}).get(), pinned.get(), nullptr));
  CHECK(data == std::vector<int32_t>(64, 0x07070707));
  write(9);
  Tensor every_other;
  OK(dlx_tensor_slice(pinned.get(), 0, 0, 64, 2, every_other.out()));
  const Tensor device = world.empty({32});
  OK(dlx_tensor_copy_from(device.get(), every_other.get(), nullptr));
  CHECK(world.download(device) == std::vector<int32_t>(32, 0x09090909));
  write(5);
  data = numbers(64);
  OK(dlx_tensor_copy_from(pinned.get(), world.wrap(data, {64}).get(), nullptr));
  world.finish();
  CHECK(std::equal(data.begin(), data.end(), static_cast<int32_t*>(pinned.data())));
  write(3);
  OK(dlx_tensor_copy_from(every_other.get(), device.get(), nullptr));
  world.finish();
  CHECK_EQUAL(static_cast<int32_t*>(pinned.data())[62], 0x09090909);
  CHECK_EQUAL(static_cast<int32_t*>(pinned.data())[63], 0x03030303);
  world.foreign(0, [&] { world.foreign_destroy(stream); });
}

/// Memory without a storage waits for the default stream.
void descriptions_are_behind_the_default_stream(World& world) {
  const Tensor pinned = world.empty({64}, 0, world.api.pinned);
  world.foreign(0, [&] { world.foreign_set(pinned.data(), 7, 256, nullptr); });
  std::vector<int32_t> data(64);
  OK(dlx_copy(world.wrap(data, {64}).description(), pinned.description(), nullptr));
  CHECK(data == std::vector<int32_t>(64, 0x07070707));
}

/// The CPU moves 4-bit elements that do not fill whole bytes; it waits for pinned memory too.
void parts_of_bytes_wait_for_pinned_memory(World& world) {
  const DLDataType int4 = {kDLInt, 4, 1};
  const int64_t many = 64, few = 32;
  Tensor pinned, device, every_other;
  OK(dlx_tensor_empty(1, &many, &int4, world.api.pinned, 0, nullptr, pinned.out()));
  OK(dlx_tensor_empty(1, &few, &int4, world.api.device, 0, nullptr, device.out()));
  OK(dlx_tensor_slice(pinned.get(), 0, 0, many, 2, every_other.out()));
  void* stream = nullptr;
  world.foreign(0, [&] { stream = world.foreign_stream(); });
  const auto write = [&](int value) {
    world.foreign(0, [&] { world.foreign_set(pinned.data(), value, 32, stream); });
    OK(dlx_tensor_written_on_stream(pinned.get(), number(stream)));
  };
  write(0x77);
  OK(dlx_tensor_copy_from(device.get(), every_other.get(), nullptr));
  write(0x33);
  OK(dlx_tensor_copy_from(every_other.get(), device.get(), nullptr));
  world.finish();
  CHECK_EQUAL(static_cast<unsigned char*>(pinned.data())[0], 0x37);
  CHECK_EQUAL(static_cast<unsigned char*>(pinned.data())[31], 0x37);
  world.foreign(0, [&] { world.foreign_destroy(stream); });
}

void overlapping_copies_are_as_if_read_first(World& world) {
  std::vector<int32_t> data = numbers(10);
  const Tensor device = world.upload(data, {10});
  Tensor front, behind;
  OK(dlx_tensor_slice(device.get(), 0, 0, 9, 1, front.out()));
  OK(dlx_tensor_slice(device.get(), 0, 1, 10, 1, behind.out()));
  OK(dlx_tensor_copy_from(behind.get(), front.get(), nullptr));
  const std::vector<int32_t> expected = {0, 0, 1, 2, 3, 4, 5, 6, 7, 8};
  CHECK(world.download(device) == expected);
}

void peers_exchange(World& world) {
  std::vector<int32_t> data = numbers(12);
  const Tensor first = world.upload(data, {3, 4}, 0);
  Tensor second, third;
  OK(dlx_tensor_to_device(first.get(), world.api.device, 1, nullptr, second.out()));
  CHECK_EQUAL(dlx_tensor_device_id(second.get()), 1);
  CHECK(world.download(second) == data);
  OK(dlx_tensor_to_device(transpose(second).get(), world.api.device, 0, nullptr, third.out()));
  CHECK(world.download(third) == transposed(data, 3, 4));
  const Tensor strided = world.empty({4, 3}, 1);
  OK(dlx_tensor_copy_from(transpose(strided).get(), first.get(), nullptr));
  CHECK(world.download(strided) == transposed(data, 3, 4));
}

/// What was packed for another device is freed in the order of its own stream, which waits for that device.
void packed_data_lives_until_it_has_crossed(World& world) {
  std::vector<int32_t> data = numbers(12);
  int64_t streams[2];
  for (const int32_t device : {0, 1}) {
    streams[device] = world.stream(device);
    OK(dlx_stream_set_current(world.api.device, device, streams[device]));
  }
  const Tensor source = world.upload(data, {3, 4}, 1);
  Tensor results[4];
  const dlx_copy_options options = on(streams[0]);  // a stream of the destination's device
  for (Tensor& result : results) {
    OK(dlx_tensor_to_device(transpose(source).get(), world.api.device, 0, &options, result.out()));
  }
  OK(dlx_stream_synchronize(world.api.device, 1, streams[1]));
  for (const Tensor& result : results) CHECK(world.download(result) == transposed(data, 3, 4));
  for (const int32_t device : {0, 1}) {
    OK(dlx_stream_reset_current(world.api.device, device));
    world.destroy(streams[device], device);
  }
}

/// The target's context gets access to the source's memory once; nothing else changes permanently.
void peers_are_read_directly(World& world) {
  const bool cuda = world.api.is_cuda();
  const Tensor source = world.empty({16}, 1), target = world.empty({16}, 0);
  for (int k = 0; k < 2; ++k) OK(dlx_tensor_copy_from(target.get(), source.get(), nullptr));
  CHECK_EQUAL(world.fake->calls(cuda ? "cuCtxEnablePeerAccess" : "hipDeviceEnablePeerAccess"), 1);
  intptr_t places[2] = {};  // contexts, or devices
  for (const int32_t device : {0, 1}) {
    world.foreign(device, [&] { places[device] = world.foreign_current(); });
  }
  int (*of_context)(void*, unsigned) = nullptr;
  int (*of_device)(int, unsigned) = nullptr;
  if (cuda) world.load("cuCtxEnablePeerAccess", &of_context);
  if (!cuda) world.load("hipDeviceEnablePeerAccess", &of_device);
  const auto enable = [&](intptr_t place) {
    return cuda ? of_context(reinterpret_cast<void*>(place), 0)
                : of_device(static_cast<int>(place), 0);
  };
  constexpr int kAlreadyEnabled = 704;
  world.foreign(0, [&] { CHECK_EQUAL(enable(places[1]), kAlreadyEnabled); });
  world.foreign(1, [&] { CHECK_EQUAL(enable(places[0]), 0); });
}

void managed_memory_is_copied(World& world) {
  std::vector<int32_t> data = numbers(12);
  const Tensor managed = world.empty({12}, 0, kDLCUDAManaged);
  OK(dlx_tensor_copy_from(managed.get(), world.wrap(data, {12}).get(), nullptr));
  CHECK(world.download(managed) == data);
  const Tensor device = world.empty({12});
  OK(dlx_tensor_copy_from(device.get(), managed.get(), nullptr));
  CHECK(world.download(device) == data);
}

void empty_tensors_copy_nothing(World& world) {
  std::vector<int32_t> data;
  const Tensor device = world.upload(data, {0, 3});
  CHECK(world.download(device).empty());
}

}  // namespace

int main() {
  return run_suite({
      {"arrays go and come", arrays_go_and_come, kEachWait},
      {"strided host data is packed", strided_host_data_is_packed, kEachWait},
      {"strided device data is packed", strided_device_data_is_packed, kEachWait},
      {"strided destinations keep their gaps", strided_destinations_keep_their_gaps, 0},
      {"large arrays cross in pieces", large_arrays_cross_in_pieces, 0},
      {"copies stay on the device", copies_stay_on_the_device, kEachWait},
      {"strided copies go without kernels", strided_copies_go_without_kernels, kNeedsFake},
      {"streams take turns with blocks", streams_take_turns_with_blocks, kNeedsFake},
      {"parts keep each other's items without kernels",
       parts_keep_each_others_items_without_kernels, kNeedsFake | kOneSchedule},
      {"temporaries go without pools", temporaries_go_without_pools, kNeedsFake},
      {"sources live until the copy is done", sources_live_until_the_copy_is_done, 0},
      {"destinations live until the copy is done", destinations_live_until_the_copy_is_done, 0},
      {"pinned sources live until the copy is done", pinned_sources_live_until_the_copy_is_done, 0},
      {"pinned destinations are written on return", pinned_destinations_are_written_on_return, 0},
      {"host sources go at once", host_sources_go_at_once, kNeedsFake},
      {"the CPU waits for pinned memory", the_cpu_waits_for_pinned_memory, kEachWait},
      {"copies let go of what earlier ones held", copies_let_go_of_what_earlier_ones_held,
       kNeedsFake},
      {"many copies cost no more each", many_copies_cost_no_more_each, kNeedsFake | kOneSchedule},
      {"devices wait for pinned memory", devices_wait_for_pinned_memory, kEachWait},
      {"pinned memory is of one device", pinned_memory_is_of_one_device, kTwoDevices | kEachWait},
      {"reads of pinned memory are waited for", reads_of_pinned_memory_are_waited_for, kTwoDevices},
      {"descriptions are behind the default stream", descriptions_are_behind_the_default_stream,
       kEachWait},
      {"parts of bytes wait for pinned memory", parts_of_bytes_wait_for_pinned_memory, kEachWait},
      {"overlapping copies are as if read first", overlapping_copies_are_as_if_read_first, 0},
      {"peers exchange", peers_exchange, kTwoDevices},
      {"packed data lives until it has crossed", packed_data_lives_until_it_has_crossed,
       kTwoDevices},
      {"peers are read directly", peers_are_read_directly, kNeedsFake | kTwoDevices},
      {"managed memory is copied", managed_memory_is_copied, kNeedsCuda},
      {"empty tensors copy nothing", empty_tensors_copy_nothing, 0},
  });
}
