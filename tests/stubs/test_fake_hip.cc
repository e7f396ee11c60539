// The differences of the fake libamdhip64 from the fake libcuda: the rules of HIP in ROCm 5 and 6.
#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <thread>

extern "C" {
#include <cmocka.h>
}
#undef fail

#include "src/driver/hip.h"
#include "tests/stubs/control.h"
#include "tests/stubs/forked.h"

namespace hip = dlx::hip;
using dlx_test::Fake;
using dlx_test::Outcome;
using dlx_test::run_forked;

namespace {

struct Hip : Fake, hip::Functions {
  explicit Hip(bool rocm5) : Fake(path_of(rocm5)) {
#define DLX_DRIVER_FUNCTION(name, symbol, need, ...) \
  if (!find(#symbol, &this->hip::Functions::name.call)) CHECK(hip_is_optional(#need));
#include "src/driver/hip.inc"
#undef DLX_DRIVER_FUNCTION
    Fake::load("hipMemsetD8Async", &set_bytes);
  }
  static const char* path_of(bool rocm5) {
    return rocm5 ? "tests/stubs/fake_libamdhip64_5.so" : "tests/stubs/fake_libamdhip64.so";
  }
  static bool hip_is_optional(const char* need) { return std::strcmp(need, "kOptional") == 0; }

  hip::Result (*set_bytes)(void*, unsigned char, size_t, hip::Stream);
};

void passes(bool rocm5, const std::function<void(Hip&)>& body) {
  const Outcome outcome = run_forked([&] {
    Hip hip(rocm5);
    body(hip);
  });
  if (!outcome.passed()) print_error("%s", outcome.output.c_str());
  assert_true(outcome.passed());
}

/// Any call initialises HIP; hsa_system_get_info reports whether HIP is initialised.
void calls_initialise(void**) {
  passes(false, [](Hip& hip) {
    uint16_t major = 0;
    CHECK(hip.hsa_system_info(hip::kHsaVersionMajor, &major) != 0);
    hip::PointerAttributes attributes;
    CHECK_EQUAL(hip.pointer_attributes(&attributes, &hip), 0);
    CHECK_EQUAL(hip.hsa_system_info(hip::kHsaVersionMajor, &major), 0);
    int count = 0;
    CHECK_EQUAL(hip.device_count(&count), 0);
    CHECK_EQUAL(count, 1);
    CHECK(run_forked([&] { CHECK_EQUAL(hip.device_count(&count), 3); }).passed());
    hip.shutdown();
    CHECK_EQUAL(hip.device_count(&count), 4);
  });
  passes(false, [](Hip& hip) {
    hip.set_devices(0);
    int count = 9;
    CHECK_EQUAL(hip.device_count(&count), 100);
    CHECK_EQUAL(count, 0);
  });
}

/// Memory types have other numbers in ROCm 5, which also refuses CPU memory.
void pointer_types_differ_by_version(void**) {
  for (const bool rocm5 : {true, false}) {
    passes(rocm5, [rocm5](Hip& hip) {
      if (rocm5) hip.set_version(50221153);
      void *device = nullptr, *pinned = nullptr;
      CHECK_EQUAL(hip.allocate(&device, 64), 0);
      CHECK_EQUAL(hip.allocate_host(&pinned, 64, 0), 0);
      hip::PointerAttributes attributes;
      CHECK_EQUAL(hip.pointer_attributes(&attributes, device), 0);
      CHECK_EQUAL(attributes.type, rocm5 ? 1 : 2);
      CHECK_EQUAL(hip.pointer_attributes(&attributes, pinned), 0);
      CHECK_EQUAL(attributes.type, rocm5 ? 0 : 1);
      CHECK_EQUAL(hip.pointer_attributes(&attributes, &hip), rocm5 ? 1 : 0);
      CHECK_EQUAL(attributes.type, 0);
      int version = 0;
      CHECK_EQUAL(hip.runtime_version(&version), 0);
      CHECK_EQUAL(version / 10000000, rocm5 ? 5 : 6);
      CHECK_EQUAL(!hip.device_properties_6, rocm5);
    });
  }
}

/// Before ROCm 5.5 a query of the default stream's capture fails; a query of a destroyed stream
/// always does.
void captures_are_told_by_version(void**) {
  for (const int version : {50221153, 50731921, 60342134}) {
    passes(version < 60000000, [version](Hip& hip) {
      hip.set_version(version);
      hip::Stream stream = nullptr;
      int status = 7;
      const auto ask = [&](hip::Stream which) {
        return hip.stream_capture_info(which, &status, nullptr, nullptr, nullptr, nullptr);
      };
      CHECK_EQUAL(hip.stream_create(&stream, hip::kStreamNonBlocking), 0);
      CHECK_EQUAL(ask(nullptr), version < 50500000 ? 999 : 0);
      CHECK_EQUAL(ask(stream), 0);
      CHECK_EQUAL(hip.stream_destroy(stream), 0);
      CHECK_EQUAL(ask(stream), version < 50500000 ? 1 : 709);
    });
  }
}

/// From ROCm 6.2 on, querying an event ends a capture of its stream, and must not happen after its
/// stream was destroyed.
void events_ask_their_streams(void**) {
  for (const bool asks : {false, true}) {
    const auto recorded = [asks](Hip& hip, hip::Stream* stream, hip::Event* event) {
      hip.set_version(asks ? 60240092 : 60140093);
      CHECK_EQUAL(hip.stream_create(stream, hip::kStreamNonBlocking), 0);
      CHECK_EQUAL(hip.event_create(event, hip::kEventDisableTiming), 0);
      CHECK_EQUAL(hip.event_record(*event, *stream), 0);
    };
    passes(false, [&](Hip& hip) {
      int (*begin)(hip::Stream, int) = nullptr;
      int (*end)(hip::Stream, void**) = nullptr;
      hip.Fake::load("hipStreamBeginCapture", &begin);
      hip.Fake::load("hipStreamEndCapture", &end);
      hip::Stream stream = nullptr;
      hip::Event event = nullptr;
      recorded(hip, &stream, &event);
      CHECK_EQUAL(begin(stream, hip::kCaptureModeRelaxed), 0);
      CHECK_EQUAL(hip.event_query(event), asks ? 907 : 0);
      void* graph = nullptr;
      CHECK_EQUAL(end(stream, &graph), asks ? 901 : 0);
    });
    const Outcome outcome = run_forked([&] {
      Hip hip(false);
      hip::Stream stream = nullptr;
      hip::Event event = nullptr;
      recorded(hip, &stream, &event);
      CHECK_EQUAL(hip.stream_destroy(stream), 0);
      CHECK_EQUAL(hip.event_query(event), 0);
    });
    assert_int_equal(outcome.passed(), !asks);
  }
}

/// An error stays pending until hipGetLastError; "not ready" is not an error. Up to ROCm 6 every
/// call overwrites the pending error.
void last_errors_are_pending(void**) {
  for (const int major : {5, 6, 7}) {
    passes(major == 5, [old = major < 7, major](Hip& hip) {
      hip.set_version(major * 10000000);
      hip.set_schedule("latest");
      CHECK_EQUAL(hip.set_device(7), 101);
      CHECK_EQUAL(hip.peek_last_error(), 101);
      void* data = nullptr;
      CHECK_EQUAL(hip.allocate(&data, 64), 0);
      CHECK_EQUAL(hip.peek_last_error(), old ? 0 : 101);
      std::thread([&] { CHECK_EQUAL(hip.peek_last_error(), 0); }).join();
      CHECK_EQUAL(hip.set_bytes(data, 1, 64, nullptr), 0);
      hip::Event event = nullptr;
      CHECK_EQUAL(hip.event_create(&event, hip::kEventDisableTiming), 0);
      CHECK_EQUAL(hip.event_record(event, nullptr), 0);
      CHECK_EQUAL(hip.event_query(event), 600);
      CHECK_EQUAL(hip.last_error(), old ? 600 : 101);
      CHECK_EQUAL(hip.last_error(), 0);
    });
  }
}

/// Each thread has a current device, and work runs there.
void devices_are_current_by_thread(void**) {
  passes(false, [](Hip& hip) {
    hip.set_devices(2);
    CHECK_EQUAL(hip.set_device(1), 0);
    int device = 9;
    CHECK_EQUAL(hip.get_device(&device), 0);
    CHECK_EQUAL(device, 1);
    std::thread([&] {
      CHECK_EQUAL(hip.get_device(&device), 0);
      CHECK_EQUAL(device, 0);
    }).join();
    void* data = nullptr;
    CHECK_EQUAL(hip.allocate(&data, 64), 0);
    hip::PointerAttributes attributes;
    CHECK_EQUAL(hip.pointer_attributes(&attributes, data), 0);
    CHECK_EQUAL(attributes.device, 1);
    unsigned flags = 0;
    int active = 9;
    CHECK_EQUAL(hip.primary_state(0, &flags, &active), 0);
    CHECK_EQUAL(active, 0);
  });
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(calls_initialise),
      cmocka_unit_test(pointer_types_differ_by_version),
      cmocka_unit_test(captures_are_told_by_version),
      cmocka_unit_test(events_ask_their_streams),
      cmocka_unit_test(last_errors_are_pending),
      cmocka_unit_test(devices_are_current_by_thread),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
