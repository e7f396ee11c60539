// Devices, their memory and its addresses, by CUDA and HIP on their fakes.
#include "gpu_fixture.h"

namespace {

using namespace dlx_test;

// Counting and describing create no context, and a description has all properties.
void describing_makes_no_context(void**) {
  passes([](Gpu& gpu) {
    gpu.set_devices(2);
    CHECK_EQUAL(gpu.backend.count(), 2);
    dlx_device_properties properties = {};
    properties.memory_free = -1;
    gpu.backend.describe(1, &properties);
    CHECK(properties.name[0] != '\0' && properties.architecture[0] != '\0');
    CHECK(properties.pci_id[0] != '\0' && contains(properties.uuid, "GPU-"));
    CHECK(properties.driver_version[0] != '\0');
    if (gpu.kind.version == 50221153) CHECK(std::string(properties.driver_version) == "5.2");
    CHECK(properties.memory_total > 0);
    if (gpu.kind.type == kDLCUDA) {
      CHECK(contains(properties.uuid, "GPU-10111213-1415-1617-1819-1a1b1c1d1e1f"));
      gpu.set_sliced(1);
      gpu.backend.describe(0, &properties);
      CHECK(contains(properties.uuid, "MIG-00010203-0405-0607-0809-0a0b0c0d0e0f"));
      CHECK_EQUAL(properties.memory_free, -1);
      CHECK_EQUAL(gpu.calls("cuDevicePrimaryCtxRetain"), 0);
    }
    void* data = gpu.memory(1 << 20, 1);
    gpu.backend.describe(1, &properties);
    CHECK(properties.memory_free > 0 && properties.memory_free < properties.memory_total);
    gpu.free(data, 1);
  });
}

// The free memory of a device that another library uses is known. Its context is released, also if
// the query fails.
void contexts_are_borrowed_for_a_moment(void**) {
  passes([](Gpu& gpu) {
    if (gpu.kind.type != kDLCUDA) return;
    int (*init)(unsigned) = nullptr;
    int (*retain)(void**, int) = nullptr;
    void* context = nullptr;
    gpu.load("cuInit", &init);
    gpu.load("cuDevicePrimaryCtxRetain", &retain);
    CHECK(init(0) == 0 && retain(&context, 0) == 0);
    dlx_device_properties properties = {};
    gpu.backend.count();
    gpu.backend.describe(0, &properties);
    CHECK(properties.memory_free > 0);
    CHECK_EQUAL(gpu.report().primary_retains, 1);
    for (const char* call : {"cuCtxPushCurrent_v2", "cuMemGetInfo_v2"}) {
      gpu.fail_calls_of(call, 999);
      CHECK(contains(error_of([&] { gpu.backend.describe(0, &properties); }), call));
      CHECK_EQUAL(gpu.report().primary_retains, 1);
    }
  });
}

// Temporaries come from one pool for each device, which keeps some memory. A pool whose setup fails
// is destroyed.
void pools_keep_a_little(void**) {
  passes([](Gpu& gpu) {
    const char* set = gpu.kind.type == kDLCUDA ? "cuMemPoolSetAttribute" : "hipMemPoolSetAttribute";
    const auto allocate = [&] {
      gpu.backend.deallocate_temporary(0, gpu.stream(),
                                       gpu.backend.allocate_temporary(0, gpu.stream(), 64));
    };
    gpu.fail_calls_of(set, 999);
    CHECK(contains(error_of(allocate), set));
    CHECK_EQUAL(gpu.report().pools, 0);
    gpu.fail_calls_of(nullptr, 0);
    allocate();
    allocate();
    CHECK_EQUAL(gpu.report().pools, 1);
    CHECK_EQUAL(gpu.report().pools_keep, 32 << 20);
  });
}

// Pinned memory is pinned for every device, not only the current one.
void pinned_memory_is_of_every_device(void**) {
  passes([](Gpu& gpu) {
    int (*get_flags)(unsigned*, void*) = nullptr;
    const bool cuda = gpu.kind.type == kDLCUDA;
    gpu.load(cuda ? "cuMemHostGetFlags" : "hipHostGetFlags", &get_flags);
    void* const all[] = {gpu.backend.allocate_pinned(0, 64),
                         gpu.backend.allocate(gpu.kind.host_type, 0, 64, 64)};
    if (cuda) gpu.push_primary();  // a context has to be current
    for (void* data : all) {
      unsigned flags = 0;
      CHECK_EQUAL(get_flags(&flags, data), 0);
      CHECK_EQUAL(flags & dlx::cuda::kHostPortable, dlx::cuda::kHostPortable);
    }
  });
}

// Memory of no device is freed on the first device.
void pinned_memory_may_be_of_no_device(void**) {
  passes([](Gpu& gpu) {
    if (gpu.kind.type != kDLCUDA) return;
    gpu.set_devices(2);
    void* data = gpu.backend.allocate(gpu.kind.host_type, 1, 64, 64);
    gpu.set_host_pools(1);
    dlx::PointerInfo info = {};
    CHECK(gpu.backend.locate(data, &info));
    CHECK_EQUAL(info.device_type, kDLCUDAHost);
    CHECK_EQUAL(info.device_id, 0);
    CHECK_EQUAL(info.ordinal, 0);
  });
}

// Work on one device keeps another device current, and pinned memory creates no context if one
// exists.
void callers_device_stays_current(void**) {
  passes([](Gpu& gpu) {
    gpu.set_devices(2);
    gpu.backend.count();
    if (gpu.kind.type == kDLROCM) {  // which makes a context of whatever device is current
      int (*set_device)(int) = nullptr;
      int (*state)(int, unsigned*, int*) = nullptr;
      gpu.load("hipSetDevice", &set_device);
      gpu.load("hipDevicePrimaryCtxGetState", &state);
      CHECK_EQUAL(set_device(1), 0);
      gpu.backend.deallocate_pinned(gpu.backend.allocate_pinned(1, 64));
      unsigned flags = 0;
      int active = 0;
      CHECK(state(0, &flags, &active) == 0 && active == 0);
      CHECK_EQUAL(set_device(0), 0);
    }
    void* data = gpu.memory(64, 1);
    CHECK_EQUAL(gpu.backend.current_device(), 0);
    void* pinned = gpu.backend.allocate_pinned(1, 4096);
    gpu.backend.copy_from_host(1, gpu.stream(), at(data), pinned, 64);
    gpu.backend.synchronize_stream(1, gpu.stream());
    gpu.backend.deallocate_pinned(pinned);
    gpu.free(data, 1);
    const fake_report report = gpu.report();
    CHECK_EQUAL(report.pushed, 0);
    CHECK_EQUAL(report.host_allocations, 0);
    if (gpu.kind.type == kDLCUDA) CHECK_EQUAL(report.primary_retains, 1);
  });
}

// Addresses are located without initialising a driver.
void locating(void**) {
  passes([](Gpu& gpu) {
    dlx::PointerInfo info = {};
    int local = 0;
    gpu.clear_log();
    CHECK(!gpu.backend.locate(&local, &info));
    CHECK_EQUAL(gpu.calls(gpu.kind.type == kDLCUDA ? "cuInit" : "hipInit"), 0);
    if (gpu.kind.type == kDLROCM) CHECK_EQUAL(gpu.calls("hipPointerGetAttributes"), 0);
    gpu.set_devices(2);
    void* data = gpu.memory(64, 1);
    CHECK(gpu.backend.locate(static_cast<char*>(data) + 63, &info));
    CHECK_EQUAL(info.device_type, gpu.kind.type);
    CHECK_EQUAL(info.device_id, 1);
    CHECK_EQUAL(info.ordinal, 1);
    void* pinned = gpu.backend.allocate(gpu.kind.host_type, 1, 64, 64);
    CHECK(gpu.backend.locate(pinned, &info));
    CHECK_EQUAL(info.device_type, gpu.kind.host_type);
    CHECK_EQUAL(info.device_id, 0);
    CHECK(!gpu.backend.locate(&local, &info));
    if (std::strstr(gpu.kind.file, "_5") != nullptr) {  // which may say so in another way
      gpu.set_version(50700000);
      CHECK(!gpu.backend.locate(&local, &info));
      CHECK(gpu.backend.locate(pinned, &info) && info.device_type == gpu.kind.host_type);
      int (*allocate_managed)(void**, size_t, unsigned) = nullptr;
      void* managed = nullptr;
      gpu.load("hipMallocManaged", &allocate_managed);
      CHECK_EQUAL(allocate_managed(&managed, 64, 1), 0);
      CHECK(gpu.backend.locate(managed, &info) && info.device_type == kDLROCM);
    }
    // dlx itself has initialised HIP, so it does not need HSA's answer.
    gpu.fail_calls_of("hsa_system_get_info", 1);
    CHECK(gpu.backend.locate(data, &info));
    gpu.fail_calls_of(nullptr, 0);
    gpu.backend.deallocate(gpu.kind.host_type, 1, pinned);
    gpu.free(data, 1);
  });
}

// Alignments larger than the driver's are met, and the driver's own address is freed.
void large_alignments(void**) {
  passes([](Gpu& gpu) {
    std::vector<void*> all;
    for (size_t alignment = 64; alignment <= size_t{1} << 20; alignment *= 2) {
      void* data = gpu.backend.allocate(gpu.kind.type, 0, 100, alignment);
      CHECK(data != nullptr && reinterpret_cast<uintptr_t>(data) % alignment == 0);
      all.push_back(data);
    }
    for (void* data : all) gpu.free(data);
    CHECK_EQUAL(gpu.report().allocations, 0);
    CHECK_EQUAL(gpu.report().double_frees, 0);
  });
}

// An address that was once an aligned address inside a block may later be the driver's own: then it
// is freed as it is.
void aligned_addresses_come_again(void**) {
  passes([](Gpu& gpu) {
    constexpr size_t kAlignment = size_t{1} << 24;
    constexpr size_t kPage = 4096;  // that the fake leaves between
    void* first = gpu.memory(1);
    void* aligned = gpu.backend.allocate(gpu.kind.type, 0, 100, kAlignment);
    gpu.free(first);
    gpu.free(aligned);
    gpu.reuse_addresses();
    const auto distance =
        static_cast<size_t>(static_cast<char*>(aligned) - static_cast<char*>(first));
    void* between = gpu.memory(distance - kPage);
    void* again = gpu.memory(64);
    CHECK(between == first && again == aligned);
    gpu.free(again);
    gpu.free(between);
    CHECK_EQUAL(gpu.report().allocations, 0);
    CHECK_EQUAL(gpu.report().double_frees, 0);
  });
}

// Exhausted memory gives NULL, not an error.
void no_room(void**) {
  passes([](Gpu& gpu) {
    gpu.backend.count();
    gpu.set_memory(0, 1 << 20);
    gpu.set_host_memory(1 << 20);
    CHECK(gpu.backend.allocate(gpu.kind.type, 0, size_t{1} << 30, 64) == nullptr);
    CHECK(gpu.backend.allocate(gpu.kind.host_type, 0, size_t{1} << 30, 64) == nullptr);
    CHECK(gpu.backend.allocate_pinned(0, size_t{1} << 30) == nullptr);
    CHECK(gpu.backend.allocate_temporary(0, gpu.stream(), size_t{1} << 30) == nullptr);
  });
}

// Stream numbers as the standard defines them.
void stream_numbers(void**) {
  Backend& cuda = dlx::cuda_backend();
  Backend& hip = dlx::hip_backend();
  for (int64_t number : {int64_t{-2}, int64_t{-1}, int64_t{0}}) {
    assert_true(contains(error_of([&] { cuda.check_stream(number); }),
                         "is not a CUDA stream (got " + std::to_string(number)));
  }
  for (int64_t number : {int64_t{-2}, int64_t{-1}, int64_t{1}, int64_t{2}}) {
    assert_true(contains(error_of([&] { hip.check_stream(number); }),
                         "is not a ROCm stream (got " + std::to_string(number)));
  }
  for (int64_t number : {1, 2, 3, 4096}) cuda.check_stream(number);
  for (int64_t number : {0, 3, 4096}) hip.check_stream(number);
  assert_int_equal(cuda.default_stream(), 1);
  assert_int_equal(hip.default_stream(), 0);
}

// A missing or unsuitable driver gives a reason, not an error.
void reasons(void**) {
  struct Case {
    const char* name;
    const char* value;
    const char* cuda;
    const char* hip;
  };
  const Case cases[] = {
      {"FAKE_STUB", "1", "CUDA_ERROR_STUB_LIBRARY (34)", "(34)"},
      {"FAKE_DEVICES", "0", "cu", "hip"},
      {"FAKE_VERSION", "10020", "too old", "too old"},
  };
  for (const Case& c : cases) {
    passes([&c](Gpu& gpu) {
      if (gpu.kind.version != 0) return;  // the environment is read at the fake's first call
      setenv(c.name, c.value, 1);
      CHECK_EQUAL(gpu.backend.count(), 0);
      const std::string reason = gpu.backend.reason();
      std::fprintf(stderr, "%s\n", reason.c_str());
      CHECK(contains(reason, gpu.kind.type == kDLCUDA ? c.cuda : c.hip));
      CHECK(contains(reason, gpu.path()));
      if (gpu.kind.type == kDLCUDA) return;
      int (*peek_last_error)() = nullptr;
      gpu.load("hipPeekAtLastError", &peek_last_error);
      CHECK_EQUAL(peek_last_error(), 0);  // dlx's own error is no one's
    });
  }
  passes([](Gpu& gpu) {
    setenv(gpu.kind.variable, "/nowhere/driver.so", 1);
    CHECK_EQUAL(gpu.backend.count(), 0);
    CHECK(contains(gpu.backend.reason(), "/nowhere/driver.so: cannot open"));
  });
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(describing_makes_no_context),
      cmocka_unit_test(contexts_are_borrowed_for_a_moment),
      cmocka_unit_test(pools_keep_a_little),
      cmocka_unit_test(pinned_memory_is_of_every_device),
      cmocka_unit_test(pinned_memory_may_be_of_no_device),
      cmocka_unit_test(callers_device_stays_current),
      cmocka_unit_test(locating),
      cmocka_unit_test(large_alignments),
      cmocka_unit_test(aligned_addresses_come_again),
      cmocka_unit_test(no_room),
      cmocka_unit_test(stream_numbers),
      cmocka_unit_test(reasons),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
