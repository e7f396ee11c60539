// Errors, fork() and the shutdown of a driver.
#include <thread>

#include "gpu_fixture.h"

namespace {

using namespace dlx_test;

// An error names the driver's function, its code and its text.
void errors_have_the_drivers_words(void**) {
  passes([](Gpu& gpu) {
    void* data = gpu.memory(64);
    gpu.set_schedule("latest");
    const int64_t stream = gpu.backend.create_stream(0);
    unsigned char bytes[64] = {};
    const bool cuda = gpu.kind.type == kDLCUDA;
    const char* query = cuda ? "cuStreamQuery" : "hipStreamQuery";
    gpu.fail_calls_of(query, 999);  // which is not taken for work that goes on
    CHECK(contains(error_of([&] { gpu.backend.is_idle(0, stream); }), query));
    gpu.fail_calls_of(nullptr, 0);
    gpu.break_next_work(700);
    gpu.backend.copy_to_host(0, stream, bytes, at(data), 64);
    const std::string text = error_of([&] { gpu.backend.synchronize_stream(0, stream); });
    CHECK(contains(text, cuda ? "cuStreamSynchronize failed: CUDA_ERROR_ILLEGAL_ADDRESS (700): "
                              : "hipStreamSynchronize failed: hipErrorIllegalAddress (700): "));
    CHECK_EQUAL(gpu.report().pushed, 0);
  });
}

/// Calls every function of a backend once and releases everything, whatever fails. Returns the
/// number of driver calls before the releases, if nothing failed.
int64_t do_everything(Gpu& gpu) {
  struct Cleanup {
    std::vector<std::function<void()>> steps;
    ~Cleanup() {
      for (auto step = steps.rbegin(); step != steps.rend(); ++step) (*step)();
    }
  } cleanup;
  Backend& backend = gpu.backend;
  std::vector<unsigned char> bytes(4096);
  dlx_device_properties properties = {};
  backend.describe(0, &properties);
  const int64_t stream = backend.create_stream(0);
  cleanup.steps.emplace_back([&backend, stream] { backend.destroy_stream(0, stream); });
  auto allocate = [&](int32_t type, size_t alignment) {
    void* data = backend.allocate(type, 0, 4096, alignment);
    if (data == nullptr) dlx::fail(DLX_ERROR_OUT_OF_MEMORY, "no room");
    cleanup.steps.emplace_back([&backend, type, data] { backend.deallocate(type, 0, data); });
    return data;
  };
  void* data = allocate(gpu.kind.type, 1 << 16);
  allocate(gpu.kind.host_type, 64);
  void* pinned = backend.allocate_pinned(0, 4096);
  if (pinned == nullptr) dlx::fail(DLX_ERROR_OUT_OF_MEMORY, "no room");
  cleanup.steps.emplace_back([&backend, pinned] { backend.deallocate_pinned(pinned); });
  void* temporary = backend.allocate_temporary(0, stream, 4096);
  if (temporary == nullptr) dlx::fail(DLX_ERROR_OUT_OF_MEMORY, "no room");
  cleanup.steps.emplace_back(
      [&backend, stream, temporary] { backend.deallocate_temporary(0, stream, temporary); });
  backend.capture(0, stream);
  backend.copy_from_host(0, stream, at(data), pinned, 4096);
  backend.copy_on_device(0, at(temporary), 0, at(data), stream, 4096);
  backend.copy_to_host(0, stream, bytes.data(), at(temporary), 4096);
  EventHandle event = backend.record(0, stream);
  cleanup.steps.emplace_back([&backend, event] { backend.release_event(0, event); });
  backend.wait(0, backend.default_stream(), event);
  backend.is_done(0, event);
  backend.wait_on_host(0, event);
  backend.synchronize_stream(0, stream);
  backend.synchronize(0);
  return gpu.all_calls();
}

/// Calls whose failure is not reported: releases, restores, and queries with a safe default.
bool may_fail_quietly(const std::string& call) {
  for (const char* part :
       {"Free", "PopCurrent", "CaptureMode", "SetDevice", "EventQuery", "LastError"}) {
    if (contains(call, part)) return true;
  }
  return call == "hipGetDevice";
}

/// The state that a driver keeps for each thread.
struct ThreadCalls {
  explicit ThreadCalls(const Gpu& gpu) {
    const bool cuda = gpu.kind.type == kDLCUDA;
    gpu.load(cuda ? "cuThreadExchangeStreamCaptureMode" : "hipThreadExchangeStreamCaptureMode",
             &exchange);
    if (!cuda) gpu.load("hipPeekAtLastError", &last_error);
  }
  int (*exchange)(int*) = nullptr;
  int (*last_error)() = nullptr;
};

/// Checks that the thread's state is restored: no pending HIP error, and the default capture mode.
bool thread_is_clean(const Gpu& gpu, const std::string& failed) {
  const bool cuda = gpu.kind.type == kDLCUDA;
  const ThreadCalls thread(gpu);
  if (!cuda && thread.last_error() != 0 && !contains(failed, "LastError")) return false;
  int mode = 0;
  return thread.exchange(&mode) != 0 || mode == 0 || contains(failed, "CaptureMode");
}

// Each driver call fails in turn: the error names it, nothing leaks, the caller's context is
// restored, and the next use works.
void every_call_may_fail(void**) {
  passes([](Gpu& gpu) {
    gpu.backend.count();
    do_everything(gpu);  // what is made once stays: contexts, pool, pooled events
    int64_t calls = 0, named = 0, looks = 0;
    for (bool more = true; more;) {
      // A failing pop leaves a context current, so each try runs in its own thread.
      std::thread([&] {
        const fake_report before = gpu.report();
        int64_t work = 0;
        gpu.clear_log();
        gpu.fail_nth_call(++calls, 1);
        const std::string text = error_of([&] { work = do_everything(gpu); });
        const std::string failed = gpu.failed_call();
        gpu.fail_nth_call(0, 0);
        more = !failed.empty();
        if (!thread_is_clean(gpu, failed)) {
          std::fprintf(stderr, "call %lld, %s, left something in the thread: %s\n",
                       static_cast<long long>(calls), failed.c_str(), text.c_str());
          CHECK(false);
        }
        if (text.empty()) {
          // On HIP, dlx queries a stream before it queries a pooled event.
          const bool look = contains(failed, "hipStreamGetCaptureInfo") && ++looks == 1;
          // A failing release leaks.
          if (calls <= work && !look && !may_fail_quietly(failed)) {
            std::fprintf(stderr, "nobody was told that call %lld failed, %s\n",
                         static_cast<long long>(calls), failed.c_str());
            CHECK(false);
          }
          return;
        }
        ++named;
        CHECK(contains(text, failed + " failed: "));
        const fake_report after = gpu.report();
        if (after.allocations != before.allocations || after.streams != before.streams ||
            after.host_allocations != before.host_allocations || after.pushed != before.pushed ||
            after.events > before.events + 1) {
          std::fprintf(stderr, "leaked by call %lld, %s: %s\n", static_cast<long long>(calls),
                       failed.c_str(), text.c_str());
          CHECK(false);
        }
      }).join();
    }
    CHECK(calls > 100 && named > calls / 3);
    CHECK(error_of([&] { do_everything(gpu); }).empty());
  });
}

// The first calls of a process, in threads without a current context, for which the driver has no
// capture mode.
void capture_modes_may_need_a_context(void**) {
  passes([](Gpu& gpu) {
    gpu.set_modes_need_context(1);
    do_everything(gpu);
    std::thread([&] { do_everything(gpu); }).join();
    CHECK_EQUAL(gpu.report().pushed, 0);
  });
}

// The same for the first calls of a process: a failed one-time initialisation is retried by the
// next use.
void every_first_call_may_fail(void**) {
  for (const Kind& kind : kKinds) {
    bool more = true;
    for (int64_t n = 1; more; ++n) {
      const Outcome outcome = run_forked([&] {
        Gpu gpu(kind);
        gpu.fail_nth_call(n, 1);
        if (gpu.backend.count() == 0) {
          CHECK(contains(gpu.backend.reason(), std::string(gpu.failed_call()) + " failed: "));
          CHECK(thread_is_clean(gpu, gpu.failed_call()));
          return;
        }
        const std::string text = error_of([&] { do_everything(gpu); });
        const std::string failed = gpu.failed_call();
        CHECK(thread_is_clean(gpu, failed));
        CHECK(text.empty() || contains(text, failed + " failed: "));
        gpu.fail_nth_call(0, 0);
        std::thread([&] {
          CHECK(error_of([&] { do_everything(gpu); }).empty());
          CHECK_EQUAL(gpu.report().pushed, 0);
        }).join();
        if (failed.empty()) _exit(77);
      });
      more = !(WIFEXITED(outcome.status) && WEXITSTATUS(outcome.status) == 77);
      if (more && !outcome.passed()) {
        print_error("%s, call %d: %s", kind.file, static_cast<int>(n), outcome.output.c_str());
        assert_true(false);
      }
    }
  }
}

// A device whose handle the driver refuses still counts, and does not affect the others.
void a_bad_device_hides_no_other(void**) {
  passes([](Gpu& gpu) {
    if (gpu.kind.type != kDLCUDA) return;  // HIP's devices are numbers
    gpu.set_devices(2);
    gpu.fail_calls_of("cuDeviceGet", 101);
    CHECK_EQUAL(gpu.backend.count(), 2);
    CHECK_EQUAL(std::strlen(gpu.backend.reason()), 0);
    const std::string text = error_of([&] { gpu.memory(64, 1); });
    CHECK(contains(text, "cuDeviceGet failed: CUDA_ERROR_INVALID_DEVICE (101)"));
    gpu.fail_calls_of(nullptr, 0);
    gpu.free(gpu.memory(64, 1), 1);
  });
}

// A failed call restores the thread's capture mode and HIP's last error.
void failures_leave_the_thread_as_it_was(void**) {
  passes([](Gpu& gpu) {
    const bool cuda = gpu.kind.type == kDLCUDA;
    const ThreadCalls thread(gpu);
    gpu.set_devices(2);
    gpu.free(gpu.memory(64, 1), 1);
    int mode = 1;  // neither the default nor dlx's
    CHECK_EQUAL(thread.exchange(&mode), 0);
    const char* calls[] = {cuda ? "cuCtxPushCurrent_v2" : "hipSetDevice",
                           cuda ? "cuMemAlloc_v2" : "hipMalloc"};
    for (const char* call : calls) {
      gpu.fail_calls_of(call, 999);
      const std::string text = error_of([&] { gpu.backend.allocate(gpu.kind.type, 1, 64, 64); });
      CHECK(contains(text, call));
      gpu.fail_calls_of(nullptr, 0);
      int found = 1;
      CHECK_EQUAL(thread.exchange(&found), 0);
      CHECK_EQUAL(found, 1);
      if (!cuda) CHECK_EQUAL(thread.last_error(), 0);
      CHECK_EQUAL(gpu.report().pushed, 0);
    }
    if (cuda) return;
    gpu.fail_calls_of("hipGetDevice", 999);
    CHECK_EQUAL(gpu.backend.current_device(), 0);
    CHECK_EQUAL(thread.last_error(), 0);
  });
}

// An event that could not be recorded is reused.
void failed_records_keep_their_event(void**) {
  passes([](Gpu& gpu) {
    gpu.backend.release_event(0, gpu.backend.record(0, gpu.stream()));
    const int64_t events = gpu.report().events;
    gpu.fail_calls_of(gpu.kind.type == kDLCUDA ? "cuEventRecord" : "hipEventRecord", 999);
    for (int k = 0; k < 10; ++k) {
      CHECK(contains(error_of([&] { gpu.backend.record(0, gpu.stream()); }), "EventRecord"));
    }
    CHECK_EQUAL(gpu.report().events, events);
  });
}

// A forked child gets an error for work; releases are silent.
void forked_child(void**) {
  passes([](Gpu& gpu) {
    void* data = gpu.memory(64);
    void* pinned = gpu.backend.allocate_pinned(0, 64);
    const int64_t stream = gpu.backend.create_stream(0);
    void* temporary = gpu.backend.allocate_temporary(0, stream, 64);
    EventHandle event = gpu.backend.record(0, gpu.stream());
    const auto give_back = [&] {
      gpu.backend.release_event(0, event);
      gpu.backend.deallocate_temporary(0, stream, temporary);
      gpu.backend.destroy_stream(0, stream);
      gpu.backend.deallocate_pinned(pinned);
      gpu.free(data);
    };
    const Outcome child = run_forked([&] {
      gpu.clear_log();
      const std::string text = error_of([&] { gpu.backend.allocate(gpu.kind.type, 0, 64, 64); });
      CHECK(contains(text, "before this process was forked"));
      CHECK(contains(error_of([&] { gpu.backend.is_done(0, event); }), "forked"));
      CHECK(contains(error_of([&] { gpu.backend.wait_on_host(0, event); }), "forked"));
      dlx::PointerInfo info = {};
      CHECK(!gpu.backend.locate(data, &info));
      CHECK_EQUAL(gpu.backend.current_device(), 0);
      give_back();
      CHECK_EQUAL(gpu.all_calls(), 0);
    });
    if (!child.passed()) std::fprintf(stderr, "%s", child.output.c_str());
    CHECK(child.passed());
    give_back();
    const fake_report report = gpu.report();
    CHECK_EQUAL(report.allocations + report.host_allocations + report.streams, 0);
  });
}

// A child of a process that uses one driver may be the first to use another.
void a_forked_child_may_start_another_driver(void**) {
  const Outcome outcome = run_forked([] {
    Gpu cuda(kKinds[0]);
    cuda.free(cuda.memory(64));
    const Outcome child = run_forked([] {
      Gpu hip(kKinds[1]);
      hip.free(hip.memory(64));
    });
    if (!child.passed()) std::fprintf(stderr, "%s", child.output.c_str());
    CHECK(child.passed());
  });
  if (!outcome.passed()) print_error("%s", outcome.output.c_str());
  assert_true(outcome.passed());
}

// After the driver has shut down, releases are silent.
void driver_has_shut_down(void**) {
  passes([](Gpu& gpu) {
    void* data = gpu.memory(64);
    void* pinned = gpu.backend.allocate_pinned(0, 64);
    void* temporary = gpu.backend.allocate_temporary(0, gpu.stream(), 64);
    EventHandle event = gpu.backend.record(0, gpu.stream());
    gpu.shutdown();
    gpu.free(data);
    gpu.backend.deallocate_pinned(pinned);
    gpu.backend.deallocate_temporary(0, gpu.stream(), temporary);
    gpu.backend.release_event(0, event);
    CHECK(contains(error_of([&] { gpu.memory(64); }), "(4): "));
  });
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(errors_have_the_drivers_words),
      cmocka_unit_test(every_call_may_fail),
      cmocka_unit_test(every_first_call_may_fail),
      cmocka_unit_test(capture_modes_may_need_a_context),
      cmocka_unit_test(a_bad_device_hides_no_other),
      cmocka_unit_test(failures_leave_the_thread_as_it_was),
      cmocka_unit_test(failed_records_keep_their_event),
      cmocka_unit_test(forked_child),
      cmocka_unit_test(a_forked_child_may_start_another_driver),
      cmocka_unit_test(driver_has_shut_down),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
