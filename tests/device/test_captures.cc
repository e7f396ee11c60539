// Stream captures (CUDA graphs): dlx never breaks a capture, and records copies into it if it can.
#include <algorithm>
#include <thread>

#include "dlx/arrow.h"
#include "tests/device/suite.h"

using namespace dlx_test;

namespace {

constexpr int kGlobal = 0, kRelaxed = 2;

/// A capture by another library, in the strictest mode, on a non-blocking stream.
class Capture {
 public:
  explicit Capture(World& world, int mode = kGlobal, bool blocking = false,
                   void* used_stream = nullptr)
      : stream(used_stream), world_(world) {
    world.foreign(0, [&] {
      if (stream == nullptr) stream = world.foreign_stream(blocking);
      CHECK_EQUAL(world.foreign_begin_capture(stream, mode), 0);
    });
  }
  /// Ends the capture successfully and runs the graph.
  void end_and_run() {
    world_.foreign(0, [&] {
      void* graph = nullptr;
      CHECK_EQUAL(world_.foreign_end_capture(stream, &graph), 0);
      CHECK(graph != nullptr);
      world_.foreign_launch(graph, stream);
      world_.foreign_wait(stream);
      world_.foreign_destroy(stream);
    });
  }
  void* stream;

 private:
  World& world_;
};

/// Everything that dlx does on other streams, from the capturing thread and from another one.
void captures_survive_unrelated_work(World& world) {
  const auto use = [&] {
    std::vector<int32_t> data = numbers(12);
    const Tensor tensor = world.upload(data, {3, 4});
    CHECK(world.download(compact(transpose(tensor))).size() == 12);
    const int64_t stream = world.stream();
    OK(dlx_tensor_written_on_stream(tensor.get(), stream));
    OK(dlx_tensor_synchronize(tensor.get()));
    OK(dlx_stream_synchronize(world.api.device, 0, stream));
    OK(dlx_device_synchronize(world.api.device, 0));
    world.destroy(stream);
    int32_t type = 0, id = 0;
    OK(dlx_device_of_pointer(tensor.data(), &type, &id));
    const Tensor pinned = world.empty({4}, 0, world.api.pinned);
  };
  Capture capture(world);  // dlx meets the driver for the first time in it
  use();
  std::thread(use).join();
  capture.end_and_run();
}

/// From ROCm 6.2 on, querying an event also queries its stream. dlx does not query it while the
/// stream is captured.
void captures_survive_questions_about_earlier_work(World& world) {
  std::vector<int32_t> data = numbers(256);
  const Tensor target = world.upload(data, {256});
  const Tensor used = world.upload(data, {256});
  OK(dlx_device_synchronize(world.api.device, 0));
  void* stream = nullptr;
  world.foreign(0, [&] { stream = world.foreign_stream(); });
  const dlx_copy_options options = on(number(stream));
  for (int k = 0; k < 6; ++k) {  // one keeps its event, the others' are used again
    const Tensor tensor = world.upload(data, {256});
    OK(dlx_tensor_copy_from(tensor.get(), target.get(), &options));
  }
  OK(dlx_tensor_written_on_stream(used.get(), number(stream)));
  world.foreign(0, [&] { world.foreign_wait(stream); });
  Capture capture(world, kGlobal, false, stream);
  CHECK(world.download(compact(transpose(world.upload(data, {16, 16})))).size() == 256);
  const int64_t other = world.stream();
  OK(dlx_tensor_written_on_stream(target.get(), other));
  OK(dlx_tensor_synchronize(target.get()));
  world.destroy(other);
  // ROCm cannot tell whether this is done.
  const dlx_status status = dlx_tensor_synchronize(used.get());
  CHECK(status == DLX_OK || status == DLX_ERROR_UNSUPPORTED);
  capture.end_and_run();
  OK(dlx_tensor_synchronize(used.get()));
}

/// A device that was not used before.
void captures_survive_new_devices(World& world) {
  Capture capture(world);
  std::vector<int32_t> data = numbers(12);
  CHECK(world.download(world.upload(data, {12}, 1)) == data);
  capture.end_and_run();
}

/// A copy on the device is recorded into the graph: it runs when the graph runs, not before.
void copies_can_be_captured(World& world) {
  std::vector<int32_t> data = numbers(256);
  const Tensor source = world.upload(data, {256});
  const Tensor target = world.upload(data, {256});
  OK(dlx_tensor_synchronize(source.get()));
  OK(dlx_tensor_synchronize(target.get()));
  world.foreign(0, [&] { world.foreign_set(target.data(), 0, 1024, nullptr); });
  OK(dlx_device_synchronize(world.api.device, 0));
  world.foreign(0, [&] { world.foreign_wait(nullptr); });
  Capture capture(world);
  const dlx_copy_options options = on(number(capture.stream));
  OK(dlx_tensor_copy_from(target.get(), source.get(), &options));
  capture.end_and_run();
  CHECK(world.download(target) == data);
}

/// Work that `source` waits for cannot be waited for inside the capture, by a copy or by
/// wait_on_stream.
void refuses_to_wait(const Capture& capture, const Tensor& target, const Tensor& source) {
  const dlx_copy_options options = on(number(capture.stream));
  FAILS(dlx_tensor_copy_from(target.get(), source.get(), &options), DLX_ERROR_UNSUPPORTED,
        "captured");
  FAILS(dlx_tensor_wait_on_stream(source.get(), number(capture.stream)), DLX_ERROR_UNSUPPORTED,
        "captured");
}

/// A graph cannot wait for pending work outside it: the call is refused before it touches the
/// capture.
void captures_wait_for_nothing_outside(World& world) {
  const Tensor source = world.empty({256});
  const Tensor target = world.empty({256});
  void* writer = nullptr;
  world.foreign(0, [&] {
    writer = world.foreign_stream();
    world.fake->block_stream(writer);
    world.foreign_set(source.data(), 7, 1024, writer);
  });
  OK(dlx_tensor_written_on_stream(source.get(), number(writer)));
  Capture capture(world);
  refuses_to_wait(capture, target, source);
  world.fake->unblock();
  world.finish();
  const dlx_copy_options options = on(number(capture.stream));
  OK(dlx_tensor_copy_from(target.get(), source.get(), &options));  // done by now
  capture.end_and_run();
  CHECK(world.download(target) == std::vector<int32_t>(256, 0x07070707));
  world.foreign(0, [&] { world.foreign_destroy(writer); });
}

/// Nor can it wait for the default stream, which memory without recorded work waits for.
void captures_do_not_wait_for_the_default_stream(World& world) {
  const Tensor source = world.empty({256}), target = world.empty({256});
  world.foreign(0, [&] {
    world.fake->block_stream(nullptr);
    world.foreign_set(source.data(), 7, 1024, nullptr);
  });
  Capture capture(world);
  refuses_to_wait(capture, target, source);
  world.fake->unblock();
  capture.end_and_run();
}

/// Work that a graph cannot contain is refused with a reason, and the capture stays valid.
void host_transfers_are_refused(World& world) {
  std::vector<int32_t> data = numbers(256);
  const Tensor device = world.upload(data, {256});
  OK(dlx_tensor_synchronize(device.get()));
  Capture capture(world);
  const dlx_copy_options options = on(number(capture.stream));
  Tensor host;
  FAILS(dlx_tensor_to_device(device.get(), kDLCPU, 0, &options, host.out()), DLX_ERROR_UNSUPPORTED,
        "captured");
  FAILS(dlx_tensor_copy_from(device.get(), world.wrap(data, {256}).get(), &options),
        DLX_ERROR_UNSUPPORTED, "captured");
  capture.end_and_run();
}

/// Memory written in a capture is ready within that capture, independent of other streams' work.
void captured_writes_stay_inside(World& world) {
  const Tensor tensor = world.empty({256}), other = world.empty({256});
  world.foreign(0, [&] { world.foreign_set(other.data(), 1, 1024, nullptr); });
  Capture capture(world);
  world.foreign(0, [&] { world.foreign_set(tensor.data(), 7, 1024, capture.stream); });
  OK(dlx_tensor_written_on_stream(tensor.get(), number(capture.stream)));
  OK(dlx_tensor_wait_on_stream(tensor.get(), number(capture.stream)));
  capture.end_and_run();
  CHECK(world.download(tensor) == std::vector<int32_t>(256, 0x07070707));
}

/// A tensor released while its stream is captured: the capture does not record the free.
void releases_do_not_break_captures(World& world) {
  std::vector<int32_t> data = numbers(256);
  Tensor device = world.upload(data, {256});
  Tensor pinned = world.empty({4}, 0, world.api.pinned);
  Capture capture(world);
  device.release();
  pinned.release();
  capture.end_and_run();
}

/// The default stream waits for blocking streams, so work on it would break their capture: dlx
/// submits none. Other streams continue.
void captures_of_blocking_streams_survive(World& world) {
  std::vector<int32_t> data = numbers(256);
  const Tensor device = world.upload(data, {256});
  CHECK(world.download(device) == data);
  const Tensor target = world.upload(data, {256});
  CHECK(world.download(target) == data);
  const int64_t stream = world.stream();
  Capture capture(world, kGlobal, true);
  Tensor host;
  FAILS(dlx_tensor_to_device(device.get(), kDLCPU, 0, nullptr, host.out()), DLX_ERROR_UNSUPPORTED,
        "906");
  FAILS(dlx_tensor_copy_from(target.get(), device.get(), nullptr), DLX_ERROR_UNSUPPORTED, "906");
  const dlx_copy_options options = on(number(capture.stream));
  FAILS(dlx_tensor_copy_from(target.get(), device.get(), &options), DLX_ERROR_UNSUPPORTED, "906");
  capture.end_and_run();
  CHECK(world.download(target) == data);
  world.destroy(stream);
}

/// The same for calls that make a stream or the host wait for the default stream.
void waits_spare_captures_of_blocking_streams(World& world) {
  std::vector<int32_t> data = numbers(256);
  const Tensor device = world.upload(data, {256});
  const Tensor pinned = world.empty({256}, 0, world.api.pinned);
  const int64_t stream = world.stream();
  OK(dlx_tensor_synchronize(device.get()));
  Capture capture(world, kGlobal, true);
  FAILS(dlx_tensor_synchronize(device.get()), DLX_ERROR_UNSUPPORTED, "906");
  FAILS(dlx_tensor_wait_on_stream(device.get(), stream), DLX_ERROR_UNSUPPORTED, "906");
  const dlx_copy_options options = on(stream);
  FAILS(dlx_tensor_copy_from(device.get(), pinned.get(), &options), DLX_ERROR_UNSUPPORTED, "906");
  FAILS(dlx_stream_wait(world.api.device, 0, stream, world.api.default_stream),
        DLX_ERROR_UNSUPPORTED, "906");
  FAILS(dlx_stream_wait(world.api.device, 0, world.api.default_stream, stream),
        DLX_ERROR_UNSUPPORTED, "906");
  FAILS(dlx_stream_synchronize(world.api.device, 0, world.api.default_stream),
        DLX_ERROR_UNSUPPORTED, "906");
  Tensor host;
  FAILS(dlx_tensor_to_device(pinned.get(), kDLCPU, 0, nullptr, host.out()), DLX_ERROR_UNSUPPORTED,
        "906");
  capture.end_and_run();
  world.destroy(stream);
}

/// dlx makes no other stream join a capture, and no captured stream wait for work outside it.
void streams_stay_on_their_side_of_a_capture(World& world) {
  const int64_t outside = world.stream();
  Capture capture(world);
  const int64_t inside = number(capture.stream);
  FAILS(dlx_stream_wait(world.api.device, 0, outside, inside), DLX_ERROR_UNSUPPORTED, "captured");
  OK(dlx_stream_wait(world.api.device, 0, inside, outside));  // has nothing to wait for
  FAILS(dlx_stream_synchronize(world.api.device, 0, inside), DLX_ERROR_UNSUPPORTED, "captured");
  FAILS(dlx_stream_destroy(world.api.device, 0, inside), DLX_ERROR_UNSUPPORTED, "captured");
  capture.end_and_run();
  world.destroy(outside);
}

void captured_streams_do_not_wait_for_busy_ones(World& world) {
  const Tensor tensor = world.empty({256});
  const int64_t outside = world.stream();
  world.foreign(0, [&] {
    world.fake->block_stream(reinterpret_cast<void*>(outside));
    world.foreign_set(tensor.data(), 7, 1024, reinterpret_cast<void*>(outside));
  });
  Capture capture(world);
  FAILS(dlx_stream_wait(world.api.device, 0, number(capture.stream), outside),
        DLX_ERROR_UNSUPPORTED, "captured");
  world.fake->unblock();
  capture.end_and_run();
  OK(dlx_stream_synchronize(world.api.device, 0, outside));
  world.destroy(outside);
}

/// A copy that needs temporaries is refused before anything is recorded, if the target's or the
/// source's stream is captured.
void copies_by_temporaries_are_refused(World& world) {
  std::vector<int32_t> data = numbers(12);
  const Tensor here = world.upload(data, {3, 4}), there = world.upload(data, {3, 4}, 1);
  const Tensor turned = transpose(here), target = world.empty({4, 3}, 1);
  compact(turned);  // loads the kernels
  Tensor front, behind;
  OK(dlx_tensor_slice(here.get(), 0, 0, 2, 1, front.out()));
  OK(dlx_tensor_slice(here.get(), 0, 1, 3, 1, behind.out()));
  for (int32_t device : {0, 1}) OK(dlx_device_synchronize(world.api.device, device));
  Capture capture(world);
  world.fake->clear_log();
  const dlx_copy_options options = on(number(capture.stream));
  const auto refused = [&](const Tensor& dst, const Tensor& src, const dlx_copy_options* how) {
    FAILS(dlx_tensor_copy_from(dst.get(), src.get(), how), DLX_ERROR_UNSUPPORTED, "captured");
  };
  refused(here, there, &options);
  refused(behind, front, &options);
  OK(dlx_stream_set_current(world.api.device, 0, number(capture.stream)));
  refused(target, turned, nullptr);
  OK(dlx_stream_reset_current(world.api.device, 0));
  for (const char* call : {"cuLaunchKernel", "hipModuleLaunchKernel", "cuMemAllocFromPoolAsync",
                           "hipMallocFromPoolAsync", "cuEventRecord", "hipEventRecord"}) {
    CHECK_EQUAL(world.fake->calls(call), 0);
  }
  capture.end_and_run();
  CHECK(world.download(here) == data);
}

/// Loaded kernels are recorded. Kernels are not loaded during a capture, and a copy through the
/// host cannot be recorded.
void strided_copies_need_loaded_kernels(World& world) {
  std::vector<int32_t> data = numbers(12);
  const Tensor source = world.upload(data, {3, 4}), target = world.upload(data, {4, 3});
  const Tensor turned = transpose(source);
  OK(dlx_tensor_synchronize(source.get()));
  OK(dlx_tensor_synchronize(target.get()));
  Capture first(world);
  const dlx_copy_options in_first = on(number(first.stream));
  FAILS(dlx_tensor_copy_from(target.get(), turned.get(), &in_first), DLX_ERROR_UNSUPPORTED,
        "before the capture");
  first.end_and_run();
  CHECK(world.download(target) == data);
  OK(dlx_tensor_copy_from(target.get(), turned.get(), nullptr));
  const std::vector<int32_t> expected = world.download(target);
  world.foreign(0, [&] {
    world.foreign_set(target.data(), 0, 48, nullptr);
    world.foreign_wait(nullptr);
  });
  OK(dlx_device_synchronize(world.api.device, 0));
  Capture second(world);
  const dlx_copy_options in_second = on(number(second.stream));
  OK(dlx_tensor_copy_from(target.get(), turned.get(), &in_second));
  second.end_and_run();
  CHECK(world.download(target) == expected && expected[1] == 4);
}

/// Work of one graph is not ordered with another graph: the memory is treated as if it waited for
/// the default stream only.
void graphs_are_strangers_to_each_other(World& world) {
  const Tensor source = world.empty({256}), target = world.empty({256});
  Capture first(world);
  const dlx_copy_options in_first = on(number(first.stream));
  OK(dlx_tensor_copy_from(target.get(), source.get(), &in_first));
  first.end_and_run();
  world.foreign(0, [&] { world.fake->block_stream(nullptr); });
  Capture second(world);
  FAILS(dlx_tensor_wait_on_stream(target.get(), number(second.stream)), DLX_ERROR_UNSUPPORTED,
        "captured");
  world.fake->unblock();
  second.end_and_run();
}

/// Arrow's events stand for work outside of a graph.
void arrow_arrays_do_not_cross_a_capture(World& world) {
  std::vector<int32_t> data = numbers(4);
  const Tensor tensor = world.upload(data, {4});
  ArrowDeviceArray array{}, other{};
  ArrowSchema schema{}, ignored{};
  OK(dlx_tensor_to_arrow_device(tensor.get(), nullptr, &array, &schema));
  CHECK(array.sync_event != nullptr);
  Capture capture(world);
  OK(dlx_stream_set_current(world.api.device, 0, number(capture.stream)));
  Tensor imported;
  FAILS(dlx_tensor_from_arrow_device(&array, &schema, nullptr, nullptr, imported.out()),
        DLX_ERROR_UNSUPPORTED, "import before the capture begins");
  const Tensor fresh = world.empty({4});
  FAILS(dlx_tensor_to_arrow_device(fresh.get(), nullptr, &other, &ignored), DLX_ERROR_UNSUPPORTED,
        "before the capture begins");
  OK(dlx_stream_reset_current(world.api.device, 0));
  capture.end_and_run();
  if (array.array.release != nullptr) array.array.release(&array.array);
  if (schema.release != nullptr) schema.release(&schema);
}

/// dlx also works in a thread with a relaxed capture.
void relaxed_captures_survive(World& world) {
  Capture capture(world, kRelaxed);
  std::vector<int32_t> data = numbers(256);
  CHECK(world.download(world.upload(data, {256})) == data);
  capture.end_and_run();
}

}  // namespace

int main() {
  return run_suite({
      {"captures survive unrelated work", captures_survive_unrelated_work, 0},
      {"captures survive questions about earlier work",
       captures_survive_questions_about_earlier_work, 0},
      {"captures survive new devices", captures_survive_new_devices, kTwoDevices},
      {"copies can be captured", copies_can_be_captured, 0},
      {"captures wait for nothing outside", captures_wait_for_nothing_outside, kNeedsFake},
      {"captures do not wait for the default stream", captures_do_not_wait_for_the_default_stream,
       kNeedsFake},
      {"host transfers are refused", host_transfers_are_refused, 0},
      {"captured writes stay inside", captured_writes_stay_inside, 0},
      {"releases do not break captures", releases_do_not_break_captures, 0},
      {"captures of blocking streams survive", captures_of_blocking_streams_survive, 0},
      {"waits spare captures of blocking streams", waits_spare_captures_of_blocking_streams, 0},
      {"streams stay on their side of a capture", streams_stay_on_their_side_of_a_capture, 0},
      {"captured streams do not wait for busy ones", captured_streams_do_not_wait_for_busy_ones,
       kNeedsFake},
      {"copies by temporaries are refused", copies_by_temporaries_are_refused,
       kNeedsFake | kTwoDevices},
      {"strided copies need loaded kernels", strided_copies_need_loaded_kernels, 0},
      {"graphs are strangers to each other", graphs_are_strangers_to_each_other, kNeedsFake},
      {"arrow arrays do not cross a capture", arrow_arrays_do_not_cross_a_capture, 0},
      {"relaxed captures survive", relaxed_captures_survive, 0},
  });
}
