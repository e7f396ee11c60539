// Order between streams: dlx's, and those of another library that writes and reads the same memory.
#include <algorithm>
#include <thread>

#include "tests/device/suite.h"

using namespace dlx_test;

namespace {

constexpr int32_t kSevens = 0x07070707, kNines = 0x09090909;

/// All elements equal `value`.
bool holds(World& world, const Tensor& tensor, int32_t value) {
  for (const int32_t element : world.download(tensor)) {
    if (element != value) return false;
  }
  return true;
}

/// What the memory's first byte is at this moment, behind everybody's back.
bool is_now(World& world, const Tensor& tensor, unsigned char value) {
  unsigned char got = 0;
  CHECK(world.fake->peek(reinterpret_cast<uint64_t>(tensor.data()), &got, 1));
  return got == value;
}

/// What a consumer writes on a stream of its own, which `order` puts behind all else, is what
/// stays.
void consumer_writes_last(World& world, const Tensor& tensor,
                          const std::function<void(int64_t consumer)>& order, int32_t device = 0) {
  void* consumer = nullptr;
  world.foreign(device, [&] { consumer = world.foreign_stream(); });
  order(number(consumer));
  world.foreign(device, [&] {
    world.foreign_set(tensor.data(), 9, 1024, consumer);
    world.foreign_wait(consumer);
  });
  world.finish();  // other work that was not waited for would come now
  CHECK(holds(world, tensor, kNines));
  world.foreign(device, [&] { world.foreign_destroy(consumer); });
}

void transfers_see_what_a_side_stream_writes(World& world) {
  const Written written = fill_elsewhere(world, 7);
  CHECK(holds(world, written.tensor, kSevens));
  end(world, written);
}

/// Views share what the memory waits for.
void views_wait_for_the_same(World& world) {
  const Written written = fill_elsewhere(world, 7);
  Tensor view;
  OK(dlx_tensor_slice(written.tensor.get(), 0, 0, 256, 2, view.out()));
  CHECK(holds(world, view, kSevens));
  end(world, written);
}

/// Two streams that write parts of the same memory, unknown to each other: readers wait for both.
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

/// A per-thread default stream is another one in every thread: the thread that hears of the work
/// later waits for that of the one that gave it.
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

/// The other library's stream may be gone when somebody waits for what it did.
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

/// What comes from elsewhere, into memory that a side stream still writes, comes after that.
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

/// The same between devices; and the source, which a stream of its own device still writes, is
/// waited for.
void peers_wait_for_both_sides(World& world) {
  const Written source = fill_elsewhere(world, 7, 1);
  arrivals_wait_for_earlier_writers(world, source.tensor);
  end(world, source, 1);
}

/// A copy that is still to be done finds its source as it was: who writes there next comes after
/// it.
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

/// The same where another device reads.
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

/// The same where the CPU writes next.
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

/// What two operands both wait for is waited for once: the default stream, where nothing else is
/// known.
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

/// wait_on_stream: the consumer's own work comes after the producer's.
void consumers_streams_are_ordered(World& world) {
  const Written written = fill_elsewhere(world, 7);
  consumer_writes_last(world, written.tensor, [&](int64_t consumer) {
    OK(dlx_tensor_wait_on_stream(written.tensor.get(), consumer));
  });
  end(world, written);
}

/// An export for a stream orders that stream; one with -1 orders nothing, and waits for nothing.
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

/// The default stream takes over from a side stream: readers come after its work, not just the
/// other's.
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

/// A copy that is handed out, to the same or another device, runs on dlx's current stream where its
/// consumer names none; he works on the default one, and comes after.
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

/// What dlx made on its own stream is ready for a consumer on another one.
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

/// Everything that dlx does goes on while another stream has work that never ends.
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

/// A thread's current stream is where its copies run; other threads keep the default.
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
  // Read back on the default stream: behind the event that `target` remembers.
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

/// The host waits: for a tensor, for a stream.
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
}

/// A tensor may come from a device that is not here. Nothing can be put in order with its work.
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

/// Streams of any device write and read the memory that all of them reach.
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

/// Nothing is left in the drivers by the refusal either.
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
        "cannot be ordered");
  FAILS(dlx_tensor_written_on_stream(tensor.get(), stream), DLX_ERROR_UNSUPPORTED,
        "cannot be ordered");
  world.destroy(stream);
}

/// What a copy held is given back by the call that waited for it, not by the next copy.
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

}  // namespace

int main() {
  return run_suite({
      {"arguments are checked", arguments_are_checked, kOneSchedule},
      {"waiting for a stream lets go", waiting_for_a_stream_lets_go, kNeedsFake},
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
      {"current streams are used", current_streams_are_used, kEachWait},
      {"streams wait for streams", streams_wait_for_streams, kNeedsFake | kEachWait},
      {"the host waits for what it names", the_host_waits_for_what_it_names,
       kNeedsFake | kEachWait},
      {"impossible streams are refused", impossible_streams_are_refused, 0},
      {"work of missing devices has no order", work_of_missing_devices_has_no_order, 0},
      {"pinned memory is every device's", pinned_memory_is_every_devices, kTwoDevices | kEachWait},
      {"streams of another device are refused", streams_of_another_device_are_refused, kTwoDevices},
  });
}
