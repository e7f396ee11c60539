// Devices, their memory, and the caller's state that dlx restores.
#include <cstring>
#include <thread>

#include "tests/device/suite.h"

using namespace dlx_test;

namespace {

struct Found {
  int32_t type = -1, id = -1, ordinal = -1;
};

Found find(const void* pointer) {
  Found found;
  OK(dlx_device_of_pointer(pointer, &found.type, &found.id));
  OK(dlx_device_ordinal_of_pointer(pointer, &found.ordinal));
  return found;
}

/// More elements than the memory holds; the error names the number of bytes.
void no_room_for(World& world, int64_t count, int32_t type) {
  const DLDataType dtype = world.int32();
  Tensor none;
  FAILS(dlx_tensor_empty(1, &count, &dtype, type, 0, nullptr, none.out()), DLX_ERROR_OUT_OF_MEMORY,
        std::to_string(4 * count).c_str());
}

dlx_device_properties info(World& world, int32_t device = 0) {
  dlx_device_properties out{};
  out.struct_size = sizeof out;
  OK(dlx_device_info(world.api.device, device, &out));
  return out;
}

/// Without a context, and without creating one.
void devices_are_described(World& world) {
  CHECK_EQUAL(dlx_device_count(world.api.device), world.devices);
  CHECK(std::strcmp(dlx_backend_reason(world.api.device), "") == 0);
  const dlx_device_properties before = info(world, world.devices - 1);
  CHECK(before.name[0] != '\0' && before.uuid[0] != '\0');
  CHECK(std::strncmp(before.architecture, world.api.is_cuda() ? "sm_" : "gfx", 3) == 0);
  CHECK(before.pci_id[0] != '\0' && before.driver_version[0] != '\0');
  CHECK(before.memory_total > 0);
  if (world.fake != nullptr) {
    CHECK_EQUAL(before.memory_free, -1);
    CHECK_EQUAL(world.fake->report().primary_retains, 0);
  }
  const Tensor tensor = world.empty({1000}, world.devices - 1);
  const dlx_device_properties after = info(world, world.devices - 1);
  CHECK(after.memory_free >= 0 && after.memory_free < after.memory_total);
  FAILS(dlx_tensor_to_device(tensor.get(), world.api.device, 99, nullptr, Tensor().out()),
        DLX_ERROR_UNAVAILABLE, "99");
}

/// All memory is the CPU's while the driver is not initialised, and asking does not initialise it.
void asking_for_a_pointer_initialises_nothing(World& world) {
  int here = 0;
  const Found found = find(&here);
  CHECK_EQUAL(found.type, kDLCPU);
  CHECK_EQUAL(world.fake->calls("cuInit") + world.fake->calls("hipInit"), 0);
  // A child that is forked now can use the driver.
  CHECK(run_forked([&] {
          std::vector<int32_t> data = numbers(100);
          CHECK(world.download(world.upload(data, {100})) == data);
        }).passed());
}

/// Another library uses the driver and dlx does not yet: its memory is found, and nothing is
/// initialised.
void memory_of_others_is_known_at_once(World& world) {
  world.foreign(0, [&] {
    void* memory = world.foreign_memory(64);
    const int64_t starts = world.fake->calls("cuInit") + world.fake->calls("hipInit");
    const Found found = find(memory);
    CHECK_EQUAL(found.type, world.api.device);
    CHECK_EQUAL(found.id, 0);
    CHECK_EQUAL(world.fake->calls("cuInit") + world.fake->calls("hipInit"), starts);
    world.foreign_free(memory);
  });
}

void pointers_are_told_apart(World& world) {
  const int32_t last = world.devices - 1;
  const Tensor device = world.empty({1000}, last);
  const Tensor pinned = world.empty({1000}, 0, world.api.pinned);
  const Found on_device = find(static_cast<char*>(device.data()) + 3999);
  CHECK_EQUAL(on_device.type, world.api.device);
  CHECK_EQUAL(on_device.id, last);
  CHECK_EQUAL(on_device.ordinal, last);
  const Found in_pinned = find(static_cast<char*>(pinned.data()) + 3999);
  CHECK_EQUAL(in_pinned.type, world.api.pinned);
  CHECK_EQUAL(in_pinned.id, 0);
  int here = 0;
  CHECK_EQUAL(find(&here).type, kDLCPU);
  if (world.api.is_cuda()) {
    const Tensor managed = world.empty({1000}, last, kDLCUDAManaged);
    CHECK_EQUAL(find(managed.data()).type, kDLCUDAManaged);
    CHECK_EQUAL(find(managed.data()).id, 0);
    CHECK_EQUAL(find(managed.data()).ordinal, last);
  }
  // Another library initialised the driver: its memory is found too.
  world.foreign(last, [&] {
    void* foreign = world.foreign_memory(64);
    CHECK_EQUAL(find(foreign).ordinal, last);
    world.foreign_free(foreign);
  });
}

/// Pinned and managed memory has DLPack id 0, but stays on the device that it was allocated for.
void host_and_managed_memory_have_the_id_0(World& world) {
  for (const int32_t type : {world.api.pinned, static_cast<int32_t>(kDLCUDAManaged)}) {
    if (type == kDLCUDAManaged && !world.api.is_cuda()) continue;
    const Tensor tensor = world.empty({1000}, 1, type);
    Tensor clone, same;
    OK(dlx_tensor_clone(tensor.get(), nullptr, clone.out()));
    for (const Tensor* each : {&tensor, static_cast<const Tensor*>(&clone)}) {
      CHECK_EQUAL(dlx_tensor_device_type(each->get()), type);
      CHECK_EQUAL(dlx_tensor_device_id(each->get()), 0);
      CHECK_EQUAL(find(each->data()).ordinal, 1);
    }
    for (const int32_t id : {0, 1}) {
      OK(dlx_tensor_to_device(tensor.get(), type, id, nullptr, same.out()));
      CHECK(same.data() == tensor.data());
    }
  }
  // No context of device 0 is created.
  CHECK_EQUAL(world.fake->report().primary_retains, world.api.is_cuda() ? 1 : 0);
}

/// The thread's current context or device is restored, also if it is another one, or none.
void what_is_current_stays(World& world) {
  const auto use = [&](int32_t device) {
    const intptr_t before = world.foreign_current();
    {
      std::vector<int32_t> data = numbers(12);
      const Tensor tensor = world.upload(data, {3, 4}, device);
      CHECK_EQUAL(world.foreign_current(), before);
      const Tensor view = transpose(tensor), packed = compact(view);
      const std::vector<int32_t> turned = {0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11};
      CHECK(world.download(packed) == turned);
      CHECK(world.download(view) == turned);
      OK(dlx_tensor_copy_from(view.get(), packed.get(), nullptr));
      const Tensor pinned = world.empty({3, 4}, 0, world.api.pinned);
      OK(dlx_tensor_copy_from(pinned.get(), tensor.get(), nullptr));
      CHECK_EQUAL(static_cast<int32_t*>(pinned.data())[11], 11);
      OK(dlx_tensor_copy_from(tensor.get(), pinned.get(), nullptr));
      Tensor other;
      OK(dlx_tensor_to_device(tensor.get(), world.api.device, world.devices - 1 - device, nullptr,
                              other.out()));
      CHECK(world.download(other) == data);
      const int64_t stream = world.stream(device);
      OK(dlx_tensor_written_on_stream(tensor.get(), stream));
      OK(dlx_tensor_wait_on_stream(tensor.get(), stream));
      const dlx_export_options options = export_on(stream);
      DLManagedTensorVersioned* managed = nullptr;
      OK(dlx_tensor_to_dlpack_versioned(tensor.get(), &options, &managed));
      managed->deleter(managed);
      CHECK_EQUAL(world.foreign_current(), before);
      OK(dlx_tensor_synchronize(tensor.get()));
      OK(dlx_stream_synchronize(world.api.device, device, stream));
      world.destroy(stream, device);
      find(tensor.data());
      info(world, device);
      CHECK_EQUAL(world.foreign_current(), before);
    }
    CHECK_EQUAL(world.foreign_current(), before);
  };
  const int32_t last = world.devices - 1;
  use(last);  // nothing is current yet
  world.foreign(0, [&] { use(last); });
  world.foreign(last, [&] { use(0); });
  std::thread([&] { use(last); }).join();
}

/// Another library destroys its own context with everything in it: dlx keeps nothing there.
void contexts_of_others_may_go(World& world) {
  int (*create)(void**, unsigned, int) = nullptr;
  int (*destroy)(void*) = nullptr;
  world.load("cuCtxCreate_v2", &create);
  world.load("cuCtxDestroy_v2", &destroy);
  CHECK_EQUAL(dlx_device_count(world.api.device), world.devices);
  void* context = nullptr;
  CHECK_EQUAL(create(&context, 0, 0), 0);  // current from now on
  std::vector<int32_t> data = numbers(100);
  const Tensor tensor = world.upload(data, {10, 10});
  const Tensor turned = transpose(tensor);
  Tensor packed = compact(turned);
  const Tensor pinned = world.empty({100}, 0, world.api.pinned);
  OK(dlx_tensor_written_on_stream(tensor.get(), 2));
  CHECK(world.download(tensor) == data);
  CHECK_EQUAL(destroy(context), 0);
  CHECK(world.download(tensor) == data);
  CHECK(world.download(world.upload(data, {100})) == data);
  packed = compact(turned);
  static_cast<int32_t*>(pinned.data())[99] = 1;
  CHECK(world.download(packed).size() == 100);
}

/// HIP's pending error belongs to the caller. dlx's failures leave none. From ROCm 7 on, where
/// success does not overwrite it, an earlier pending error is kept.
void last_errors_stay(World& world) {
  if (world.api.is_cuda()) return;
  int (*peek)() = nullptr;
  int (*set_device)(int) = nullptr;
  world.fake->load("hipPeekAtLastError", &peek);
  world.fake->load("hipSetDevice", &set_device);
  CHECK(run_forked([&] {
          world.fake->set_version(70000000);
          CHECK_EQUAL(dlx_device_count(world.api.device), 1);
          world.fake->set_memory(0, 1000);
          no_room_for(world, 1000, world.api.device);
          CHECK_EQUAL(peek(), 0);
          CHECK_EQUAL(set_device(7), 101);
          std::vector<int32_t> data = numbers(12);
          CHECK(world.download(world.upload(data, {12})) == data);
          const int64_t stream = world.stream();
          world.destroy(stream);
          info(world);
          find(data.data());
          CHECK_EQUAL(peek(), 101);
        }).passed());
  {
    const Tensor tensor = world.empty({100});
    int here = 0;
    find(&here);
    CHECK_EQUAL(peek(), 0);
    world.fake->fail_calls_of("hipPointerGetAttributes", 1);
    find(&here);
    CHECK_EQUAL(peek(), 0);
    world.fake->fail_calls_of(nullptr, 0);
    world.fake->set_memory(0, 1000);
    no_room_for(world, 1000, world.api.device);
    CHECK_EQUAL(peek(), 0);
  }
}

void memory_runs_out(World& world) {
  world.fake->set_memory(0, 100000);
  const Tensor tensor = world.empty({10000});
  no_room_for(world, 20000, world.api.device);
  CHECK_EQUAL(world.fake->report().allocations, 1);
  world.fake->set_host_memory(1000);
  no_room_for(world, 20000, world.api.pinned);
  CHECK_EQUAL(world.fake->report().host_allocations, 0);
}

/// An allocation releases the objects that finished copies hold.
void finished_copies_make_room(World& world) {
  world.fake->set_memory(0, 100000);
  const int64_t stream = world.stream();
  const dlx_copy_options options = on(stream);
  {
    std::vector<int32_t> data = numbers(20000);
    const Tensor target = world.empty({20000});
    OK(dlx_tensor_copy_from(target.get(), world.wrap(data, {20000}).get(), &options));
  }
  world.finish();  // dlx is not told
  world.empty({20000});
  world.destroy(stream);
}

/// A transfer without memory for its pinned buffer or temporary fails and leaks nothing.
void transfers_run_out_of_memory(World& world) {
  const Tensor tensor = world.empty({100, 100});
  const Tensor view = transpose(tensor);
  world.fake->set_host_memory(0);
  std::vector<int32_t> data = numbers(10000);
  const Tensor host = world.wrap(data, {100, 100});
  FAILS(dlx_tensor_copy_from(tensor.get(), host.get(), nullptr), DLX_ERROR_OUT_OF_MEMORY, "");
  world.fake->set_host_memory(size_t{1} << 30);
  world.fake->set_memory(0, 40100);
  Tensor none;
  FAILS(dlx_tensor_to_device(view.get(), kDLCPU, 0, nullptr, none.out()), DLX_ERROR_OUT_OF_MEMORY,
        "temporary");
  OK(dlx_tensor_copy_from(tensor.get(), host.get(), nullptr));
}

/// Pinned memory is exported as CPU memory without a copy, after the work that writes it.
void pinned_memory_becomes_the_cpus(World& world) {
  const Written pinned = fill_elsewhere(world, 7, 0, world.api.pinned);
  Tensor host;
  OK(dlx_tensor_to_device(pinned.tensor.get(), kDLCPU, 0, nullptr, host.out()));
  CHECK(host.data() == pinned.tensor.data());
  CHECK_EQUAL(static_cast<int32_t*>(host.data())[255], 0x07070707);
  end(world, pinned);
}

/// An export to the CPU shares the memory, also with DLX_COPY_NEVER.
void pinned_memory_is_exported_as_the_cpus(World& world) {
  const Tensor pinned = world.empty({256}, 0, world.api.pinned);
  for (const int32_t copy : {DLX_COPY_IF_NEEDED, DLX_COPY_NEVER}) {
    dlx_export_options options = DLX_EXPORT_OPTIONS_INIT;
    options.flags = DLX_HAS_DEVICE;
    options.device_type = kDLCPU;
    options.copy = copy;
    DLManagedTensorVersioned* managed = nullptr;
    OK(dlx_tensor_to_dlpack_versioned(pinned.get(), &options, &managed));
    CHECK_EQUAL(managed->dl_tensor.device.device_type, kDLCPU);
    CHECK(managed->dl_tensor.data == pinned.data());
    CHECK_EQUAL(managed->flags & DLPACK_FLAG_BITMASK_IS_COPIED, 0);
    managed->deleter(managed);
  }
}

/// A copy to the CPU does not use the consumer's stream.
void pinned_memory_is_copied_for_any_stream(World& world) {
  const Tensor pinned = world.empty({256}, 0, world.api.pinned);
  static_cast<int32_t*>(pinned.data())[255] = 7;
  dlx_export_options options = export_on(world.api.default_stream);
  options.copy = DLX_COPY_ALWAYS;
  DLManagedTensorVersioned* managed = nullptr;
  OK(dlx_tensor_to_dlpack_versioned(pinned.get(), &options, &managed));
  CHECK((managed->flags & DLPACK_FLAG_BITMASK_IS_COPIED) != 0);
  CHECK_EQUAL(static_cast<int32_t*>(managed->dl_tensor.data)[255], 7);
  managed->deleter(managed);
}

/// A tensor's memory belongs to a context, not to a pool, so that other libraries can map it.
void memory_of_users_is_of_no_pool(World& world) {
  int (*attribute)(void*, int, uint64_t) = nullptr;
  world.load("cuPointerGetAttribute", &attribute);
  const auto check = [&](const Tensor& tensor) {
    void* context = nullptr;
    CHECK_EQUAL(attribute(&context, 1, reinterpret_cast<uint64_t>(tensor.data())), 0);
    CHECK(context != nullptr);
  };
  std::vector<int32_t> data = numbers(12);
  const Tensor device = world.upload(data, {3, 4});
  const Tensor view = transpose(device);
  Tensor clone, other;
  OK(dlx_tensor_clone(view.get(), nullptr, clone.out()));
  OK(dlx_tensor_to_device(view.get(), world.api.device, world.devices - 1, nullptr, other.out()));
  check(device);
  check(compact(view));
  check(clone);
  check(other);
  CHECK(world.download(view).size() == 12);
  if (world.fake == nullptr) return;
  // Temporaries come from dlx's own pool, never from the device's default pool.
  CHECK(world.fake->calls("cuMemAllocFromPoolAsync") > 0);
  CHECK_EQUAL(world.fake->calls("cuMemAllocAsync"), 0);
}

/// Exports managed memory to the CPU without a copy if the CPU may access it while the device
/// works.
void managed_memory_becomes_the_cpus(World& world) {
  for (const bool concurrent : {true, false}) {
    world.fake->set_attribute(0, 89, concurrent ? 1 : 0);
    const Tensor managed = world.empty({256}, 0, kDLCUDAManaged);
    world.foreign(0, [&] { world.foreign_set(managed.data(), 7, 1024, nullptr); });
    dlx_export_options options = DLX_EXPORT_OPTIONS_INIT;
    options.flags = DLX_HAS_DEVICE;
    options.device_type = kDLCPU;
    DLManagedTensorVersioned* managed_export = nullptr;
    OK(dlx_tensor_to_dlpack_versioned(managed.get(), &options, &managed_export));
    CHECK_EQUAL(managed_export->dl_tensor.device.device_type, kDLCPU);
    CHECK_EQUAL(managed_export->dl_tensor.data == managed.data(), concurrent);
    CHECK_EQUAL((managed_export->flags & DLPACK_FLAG_BITMASK_IS_COPIED) == 0, concurrent);
    CHECK_EQUAL(static_cast<int32_t*>(managed_export->dl_tensor.data)[255], 0x07070707);
    managed_export->deleter(managed_export);
    options.copy = DLX_COPY_NEVER;
    const dlx_status never =
        dlx_tensor_to_dlpack_versioned(managed.get(), &options, &managed_export);
    CHECK_EQUAL(never == DLX_OK, concurrent);
    if (never == DLX_OK) managed_export->deleter(managed_export);
  }
}

void alignment_is_kept(World& world) {
  dlx_empty_options options = DLX_EMPTY_OPTIONS_INIT;
  options.alignment = size_t{1} << 16;
  const DLDataType dtype = world.int32();
  const int64_t shape[] = {100};
  Tensor tensor;
  OK(dlx_tensor_empty(1, shape, &dtype, world.api.device, 0, &options, tensor.out()));
  CHECK_EQUAL(reinterpret_cast<uintptr_t>(tensor.data()) % options.alignment, 0);
}

}  // namespace

int main() {
  return run_suite({
      {"devices are described", devices_are_described, kUpToTwoDevices},
      {"asking for a pointer initialises nothing", asking_for_a_pointer_initialises_nothing,
       kNeedsFake},
      {"memory of others is known at once", memory_of_others_is_known_at_once, kNeedsFake},
      {"pointers are told apart", pointers_are_told_apart, kUpToTwoDevices},
      {"host and managed memory have the id 0", host_and_managed_memory_have_the_id_0,
       kNeedsFake | kTwoDevices},
      {"what is current stays", what_is_current_stays, kUpToTwoDevices},
      {"contexts of others may go", contexts_of_others_may_go, kNeedsCuda},
      {"last errors stay", last_errors_stay, kNeedsFake},
      {"memory runs out", memory_runs_out, kNeedsFake},
      {"finished copies make room", finished_copies_make_room, kNeedsFake},
      {"transfers run out of memory", transfers_run_out_of_memory, kNeedsFake},
      {"pinned memory becomes the CPU's", pinned_memory_becomes_the_cpus, kEachWait},
      {"pinned memory is exported as the CPU's", pinned_memory_is_exported_as_the_cpus, 0},
      {"pinned memory is copied for any stream", pinned_memory_is_copied_for_any_stream, 0},
      {"memory of users is of no pool", memory_of_users_is_of_no_pool,
       kNeedsCuda | kUpToTwoDevices},
      {"managed memory becomes the CPU's", managed_memory_becomes_the_cpus,
       kNeedsFake | kNeedsCuda},
      {"alignment is kept", alignment_is_kept, 0},
  });
}
