// Order between streams: those of dlx and of another library that writes and reads the same memory.
#include <algorithm>
#include <thread>

#include "tests/device/stream_checks.h"
#include "tests/device/suite.h"

using namespace dlx_test;

namespace {

void transfers_see_what_a_side_stream_writes(World& world) {
  const Written written = fill_elsewhere(world, 7);
  CHECK(holds(world, written.tensor, kSevens));
  end(world, written);
}

/// Views share the pending work of their memory.
void views_wait_for_the_same(World& world) {
  const Written written = fill_elsewhere(world, 7);
  Tensor view;
  OK(dlx_tensor_slice(written.tensor.get(), 0, 0, 256, 2, view.out()));
  CHECK(holds(world, view, kSevens));
  end(world, written);
}

/// Two independent streams write parts of the same memory: readers wait for both.
void all_writers_are_waited_for(World& world) {
  const Tensor tensor = world.empty({256});
  void* streams[2] = {};
  for (size_t k = 0; k < 2; ++k) {
    world.foreign(0, [&] {
      streams[k] = world.foreign_stream();
      world.foreign_set(static_cast<char*>(tensor.data()) + 512 * k, k == 0 ? 7 : 9, 512,
                        streams[k]);
    });
    OK(dlx_tensor_written_on_stream(tensor.get(), number(streams[k])));
  }
  const std::vector<int32_t> found = world.download(tensor);
  CHECK_EQUAL(found[0], kSevens);
  CHECK_EQUAL(found[127], kSevens);
  CHECK_EQUAL(found[128], kNines);
  CHECK_EQUAL(found[255], kNines);
  for (void* stream : streams) world.foreign(0, [&] { world.foreign_destroy(stream); });
}

/// The per-thread default stream differs in each thread: another thread waits for the stream of the
/// thread that submitted the work.
void per_thread_streams_are_their_threads(World& world) {
  const Tensor tensor = world.empty({256});
  const auto per_thread = reinterpret_cast<void*>(2);
  std::thread([&] {
    world.foreign(0, [&] { world.foreign_set(tensor.data(), 7, 1024, per_thread); });
    OK(dlx_tensor_written_on_stream(tensor.get(), 2));
  }).join();
  consumer_writes_last(world, tensor, [&](int64_t consumer) {
    OK(dlx_tensor_wait_on_stream(tensor.get(), consumer));
  });
}

/// The other library's stream may be destroyed before a consumer waits for its work.
void streams_may_be_destroyed_meanwhile(World& world) {
  const Written written = fill_elsewhere(world, 7);
  end(world, written);
  CHECK(holds(world, written.tensor, kSevens));
}

void copies_wait_for_both_sides(World& world) {
  const Written source = fill_elsewhere(world, 7), target = fill_elsewhere(world, 9);
  const int64_t stream = world.stream();
  const dlx_copy_options options = on(stream);
  OK(dlx_tensor_copy_from(target.tensor.get(), source.tensor.get(), &options));
  world.foreign(0, [&] { world.foreign_wait(reinterpret_cast<void*>(stream)); });
  world.finish();
  CHECK(holds(world, target.tensor, kSevens));
  world.destroy(stream);
  end(world, source);
  end(world, target);
}

/// A copy into memory that another stream still writes runs after that work.
void arrivals_wait_for_earlier_writers(World& world, const Tensor& source) {
  const Written target = fill_elsewhere(world, 9);
  OK(dlx_tensor_copy_from(target.tensor.get(), source.get(), nullptr));
  world.foreign(0, [&] { world.foreign_wait(nullptr); });
  world.finish();
  CHECK(holds(world, target.tensor, kSevens));
  end(world, target);
}

void uploads_wait_for_earlier_writers(World& world) {
  std::vector<int32_t> data(256, kSevens);
  arrivals_wait_for_earlier_writers(world, world.wrap(data, {256}));
  const Tensor pinned = world.empty({256}, 0, world.api.pinned);
  std::fill_n(static_cast<int32_t*>(pinned.data()), 256, kSevens);
  arrivals_wait_for_earlier_writers(world, pinned);
}

/// The same between devices; it also waits for a stream that still writes the source.
void peers_wait_for_both_sides(World& world) {
  const Written source = fill_elsewhere(world, 7, 1);
  arrivals_wait_for_earlier_writers(world, source.tensor);
  end(world, source, 1);
}

/// A later write to the source of a pending copy waits for that copy.
void sources_stay_until_they_are_read(World& world) {
  const Written source = fill_elsewhere(world, 7), target = fill_elsewhere(world, 5);
  const int64_t stream = world.stream();
  const dlx_copy_options options = on(stream);
  OK(dlx_tensor_copy_from(target.tensor.get(), source.tensor.get(), &options));
  consumer_writes_last(world, source.tensor, [&](int64_t consumer) {
    OK(dlx_tensor_wait_on_stream(source.tensor.get(), consumer));
  });
  CHECK(holds(world, target.tensor, kSevens));
  world.destroy(stream);
  end(world, source);
  end(world, target);
}

/// The same if another device reads.
void peers_read_what_was_there(World& world) {
  const Written source = fill_elsewhere(world, 7);
  const Tensor target = world.empty({256}, 1);
  OK(dlx_tensor_copy_from(target.get(), source.tensor.get(), nullptr));
  consumer_writes_last(world, source.tensor, [&](int64_t consumer) {
    OK(dlx_tensor_wait_on_stream(source.tensor.get(), consumer));
  });
  CHECK(holds(world, target, kSevens));
  end(world, source);
}

/// The same if the CPU writes next.
void pinned_memory_stays_until_it_is_read(World& world) {
  const Written pinned = fill_elsewhere(world, 7, 0, world.api.pinned);
  const Tensor target = world.empty({256}, 1);
  OK(dlx_tensor_copy_from(target.get(), pinned.tensor.get(), nullptr));
  std::vector<int32_t> nines(256, kNines);
  OK(dlx_tensor_copy_from(pinned.tensor.get(), world.wrap(nines, {256}).get(), nullptr));
  world.finish();
  CHECK(holds(world, target, kSevens));
  CHECK(holds(world, pinned.tensor, kNines));
  end(world, pinned);
}

/// If both operands wait for the default stream, dlx makes one wait.
void one_wait_serves_both_operands(World& world) {
  std::vector<int32_t> data = numbers(256);
  const Tensor source = world.upload(data, {256}), target = world.empty({256});
  const int64_t stream = world.stream();
  const dlx_copy_options options = on(stream);
  world.foreign(0, [&] { world.foreign_set(source.data(), 7, 1024, nullptr); });
  const int64_t before = world.fake->waits();
  OK(dlx_tensor_copy_from(target.get(), source.get(), &options));
  CHECK_EQUAL(world.fake->waits() - before, 1);
  OK(dlx_tensor_copy_from(target.get(), source.get(),
                          &options));  // `target` has an event of its own
  CHECK_EQUAL(world.fake->waits() - before, 3);
  world.foreign(0, [&] { world.foreign_wait(reinterpret_cast<void*>(stream)); });
  CHECK(is_now(world, target, 7));
  world.destroy(stream);
}

/// wait_on_stream: the consumer's work runs after the producer's.
void consumers_streams_are_ordered(World& world) {
  const Written written = fill_elsewhere(world, 7);
  consumer_writes_last(world, written.tensor, [&](int64_t consumer) {
    OK(dlx_tensor_wait_on_stream(written.tensor.get(), consumer));
  });
  end(world, written);
}

/// An export for a stream makes that stream wait; an export for -1 makes nothing wait.
void exports_order_the_consumers_stream(World& world) {
  const Written written = fill_elsewhere(world, 7);
  DLManagedTensorVersioned* managed = nullptr;
  consumer_writes_last(world, written.tensor, [&](int64_t consumer) {
    const dlx_export_options options = export_on(consumer);
    OK(dlx_tensor_to_dlpack_versioned(written.tensor.get(), &options, &managed));
  });
  CHECK(managed->dl_tensor.data == written.tensor.data());
  managed->deleter(managed);
  end(world, written);
}

/// Work on the default stream follows work on another stream: readers wait for both.
void the_last_writer_is_waited_for(World& world) {
  const Written written = fill_elsewhere(world, 7);
  std::vector<int32_t> data = numbers(256);
  const Tensor source = world.upload(data, {256});
  OK(dlx_tensor_copy_from(written.tensor.get(), source.get(), nullptr));
  consumer_writes_last(world, written.tensor, [&](int64_t consumer) {
    OK(dlx_tensor_wait_on_stream(written.tensor.get(), consumer));
  });
  end(world, written);
}

/// An exported copy runs on dlx's current stream if the consumer passes no stream. The consumer's
/// work on the default stream waits for it.
void exported_copies_are_behind_the_default_stream(World& world) {
  std::vector<int32_t> data(256, kSevens);
  const Tensor source = world.upload(data, {256}, 0);
  for (int32_t device = 0; device < world.devices; ++device) {
    for (const bool minus_one : {false, true}) {
      dlx_export_options options = DLX_EXPORT_OPTIONS_INIT;
      if (minus_one) options = export_on(-1);
      options.flags |= DLX_HAS_DEVICE;
      options.device_type = world.api.device;
      options.device_id = device;
      options.copy = DLX_COPY_ALWAYS;
      const int64_t stream = world.stream(device);
      OK(dlx_stream_set_current(world.api.device, device, stream));
      DLManagedTensorVersioned* managed = nullptr;
      OK(dlx_tensor_to_dlpack_versioned(source.get(), &options, &managed));
      OK(dlx_stream_reset_current(world.api.device, device));
      world.foreign(device, [&] {
        world.foreign_set(managed->dl_tensor.data, 9, 1024, nullptr);
        world.foreign_wait(nullptr);
      });
      world.finish();  // other work that was not waited for would come now
      Tensor taken;
      int32_t consumed = 0;
      OK(dlx_tensor_from_dlpack_versioned(managed, &consumed, taken.out()));
      CHECK(holds(world, taken, kNines));
      world.destroy(stream, device);
    }
  }
}

void exports_with_minus_one_call_nothing(World& world) {
  const Written written = fill_elsewhere(world, 7);
  const dlx_export_options options = export_on(-1);
  DLManagedTensorVersioned* managed = nullptr;
  world.fake->clear_log();
  OK(dlx_tensor_to_dlpack_versioned(written.tensor.get(), &options, &managed));
  CHECK_EQUAL(world.fake->waits(), 0);
  CHECK_EQUAL(world.fake->calls("cuEventRecord") + world.fake->calls("hipEventRecord"), 0);
  managed->deleter(managed);
  world.finish();
  end(world, written);
}

/// A tensor that dlx made on its own stream is ready for a consumer on another stream.
void own_copies_are_ordered_for_others(World& world) {
  std::vector<int32_t> data(256, kSevens);
  const Tensor source = world.upload(data, {256});
  const int64_t stream = world.stream();
  const dlx_copy_options options = on(stream);
  const Tensor copy = world.empty({256});
  OK(dlx_tensor_copy_from(copy.get(), source.get(), &options));
  consumer_writes_last(
      world, copy, [&](int64_t consumer) { OK(dlx_tensor_wait_on_stream(copy.get(), consumer)); });
  world.destroy(stream);
}

/// Every operation of dlx completes while another stream has work that never ends.
void nothing_waits_for_unrelated_work(World& world) {
  void* endless = nullptr;
  world.foreign(0, [&] {
    endless = world.foreign_stream();
    world.fake->block_stream(endless);
  });
  {
    std::vector<int32_t> data = numbers(3000);
    const Tensor device = world.upload(data, {30, 100});
    CHECK(world.download(device) == data);
    const Written written = fill_elsewhere(world, 7);
    CHECK(holds(world, written.tensor, kSevens));
    end(world, written);
    const int64_t stream = world.stream();
    OK(dlx_stream_synchronize(world.api.device, 0, stream));
    OK(dlx_device_synchronize(world.api.device, 0));
    world.destroy(stream);
  }
  CHECK_EQUAL(world.fake->report().waited_for_blocked, 0);
  world.fake->unblock();
  world.foreign(0, [&] { world.foreign_destroy(endless); });
}

}  // namespace

int main() {
  return run_suite({
      {"transfers see what a side stream writes", transfers_see_what_a_side_stream_writes,
       kEachWait},
      {"views wait for the same", views_wait_for_the_same, kEachWait},
      {"streams may be destroyed meanwhile", streams_may_be_destroyed_meanwhile, kAnyDriver},
      // HIP waits itself before it destroys one.
      {"streams may be destroyed with work", streams_may_be_destroyed_meanwhile,
       kEachWait | kNeedsCuda},
      {"all writers are waited for", all_writers_are_waited_for, kEachWait},
      {"per-thread streams are their threads'", per_thread_streams_are_their_threads,
       kNeedsCuda | kEachWait},
      {"copies wait for both sides", copies_wait_for_both_sides, kEachWait},
      {"uploads wait for earlier writers", uploads_wait_for_earlier_writers, kEachWait},
      {"peers wait for both sides", peers_wait_for_both_sides, kTwoDevices | kEachWait},
      {"sources stay until they are read", sources_stay_until_they_are_read, kEachWait},
      {"peers read what was there", peers_read_what_was_there, kTwoDevices | kEachWait},
      {"pinned memory stays until it is read", pinned_memory_stays_until_it_is_read,
       kTwoDevices | kEachWait},
      {"one wait serves both operands", one_wait_serves_both_operands, kNeedsFake},
      {"consumers' streams are ordered", consumers_streams_are_ordered, kEachWait},
      {"exports order the consumer's stream", exports_order_the_consumers_stream, kEachWait},
      {"the last writer is waited for", the_last_writer_is_waited_for, kEachWait},
      {"exported copies are behind the default stream",
       exported_copies_are_behind_the_default_stream, kUpToTwoDevices},
      {"exports with -1 call nothing", exports_with_minus_one_call_nothing, kNeedsFake},
      {"own copies are ordered for others", own_copies_are_ordered_for_others, 0},
      {"nothing waits for unrelated work", nothing_waits_for_unrelated_work, kNeedsFake},
  });
}
