// What the CUDA and HIP backends promise (src/device/backend.h), on the fake drivers.
#include <algorithm>
#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

extern "C" {
#include <cmocka.h>
}
#undef fail

#include "src/base/error.h"
#include "src/copy/plan.h"
#include "src/device/backend.h"
#include "src/driver/cuda.h"
#include "src/driver/hip.h"
#include "tests/stubs/control.h"
#include "tests/stubs/forked.h"

namespace {

using dlx::Backend;
using dlx::DeviceAddress;
using dlx::EventHandle;
using dlx_test::Fake;
using dlx_test::Outcome;
using dlx_test::run_forked;

/// One driver's backend on its fake.
struct Kind {
  const char* file;
  const char* variable;
  int32_t type;
  int32_t host_type;
  Backend& (*backend)();
};

constexpr Kind kKinds[] = {
    {"tests/stubs/fake_libcuda.so", "DLX_CUDA_PATH", kDLCUDA, kDLCUDAHost, dlx::cuda_backend},
    {"tests/stubs/fake_libamdhip64.so", "DLX_HIP_PATH", kDLROCM, kDLROCMHost, dlx::hip_backend},
    {"tests/stubs/fake_libamdhip64_5.so", "DLX_HIP_PATH", kDLROCM, kDLROCMHost, dlx::hip_backend},
};

struct Gpu : Fake {
  explicit Gpu(const Kind& kind_in) : Fake(kind_in.file), kind(kind_in), backend(kind.backend()) {
    setenv(kind.variable, path().c_str(), 1);
  }

  void* memory(size_t size, int32_t id = 0) {
    void* data = backend.allocate(kind.type, id, size, 64);
    CHECK(data != nullptr);
    return data;
  }
  void free(void* data, int32_t id = 0) { backend.deallocate(kind.type, id, data); }
  int64_t stream() const { return backend.default_stream(); }

  const Kind& kind;
  Backend& backend;
};

/// A case for each driver, in a process of its own.
void passes(const std::function<void(Gpu&)>& body) {
  for (const Kind& kind : kKinds) {
    const Outcome outcome = run_forked([&] {
      Gpu gpu(kind);
      body(gpu);
    });
    if (!outcome.passed()) print_error("%s: %s", kind.file, outcome.output.c_str());
    assert_true(outcome.passed());
  }
}

std::string error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const dlx::Error& error) {
    return error.what();
  }
  return "";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

DeviceAddress at(void* data) { return {data, 0}; }

std::vector<unsigned char> pattern(size_t size) {
  std::vector<unsigned char> out(size);
  for (size_t k = 0; k < size; ++k) out[k] = static_cast<unsigned char>(k * 37 + 11);
  return out;
}

// Counting and describing make no context, and describing tells all that the driver knows.
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
    CHECK(properties.memory_total > 0);
    if (gpu.kind.type == kDLCUDA) {
      CHECK_EQUAL(properties.memory_free, -1);
      CHECK_EQUAL(gpu.calls("cuDevicePrimaryCtxRetain"), 0);
    }
    void* data = gpu.memory(1 << 20, 1);
    gpu.backend.describe(1, &properties);
    CHECK(properties.memory_free > 0 && properties.memory_free < properties.memory_total);
    gpu.free(data, 1);
  });
}

// Bytes go to the device, across it and back, on a stream that nothing else waits for.
void copies_there_and_back(void**) {
  passes([](Gpu& gpu) {
    gpu.set_schedule("latest");
    const std::vector<unsigned char> sent = pattern(1000);
    std::vector<unsigned char> received(1000);
    void* first = gpu.memory(1000);
    void* second = gpu.memory(1000);
    const int64_t stream = gpu.backend.create_stream(0);
    gpu.backend.copy_from_host(0, stream, at(first), sent.data(), 1000);
    gpu.backend.copy_on_device(0, at(second), 0, {first, 8}, stream, 992);
    EventHandle between = gpu.backend.record(0, stream);
    const int64_t other = gpu.backend.create_stream(0);
    gpu.backend.wait(0, other, between);
    gpu.backend.release_event(0, between);
    gpu.backend.copy_to_host(0, other, received.data(), at(second), 992);
    EventHandle done = gpu.backend.record(0, other);
    gpu.backend.wait_on_host(0, done);
    CHECK(gpu.backend.is_done(0, done));
    gpu.backend.release_event(0, done);
    CHECK(std::memcmp(received.data(), sent.data() + 8, 992) == 0);
    gpu.backend.destroy_stream(0, stream);
    gpu.backend.destroy_stream(0, other);
    gpu.free(first);
    gpu.free(second);
    const fake_report report = gpu.report();
    CHECK_EQUAL(report.allocations, 0);
    CHECK_EQUAL(report.streams, 0);
    CHECK_EQUAL(report.pushed, 0);
    CHECK_EQUAL(report.double_frees + report.used_when_dead + report.out_of_bounds, 0);
  });
}

// Work on one device leaves another current, and pinned memory makes no context where one is.
void callers_device_stays_current(void**) {
  passes([](Gpu& gpu) {
    gpu.set_devices(2);
    gpu.backend.count();
    void* data = gpu.memory(64, 1);
    CHECK_EQUAL(gpu.backend.current_device(), 0);
    void* pinned = gpu.backend.allocate_pinned(4096);
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

// Addresses are told apart without initialising anything.
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
    gpu.backend.deallocate(gpu.kind.host_type, 1, pinned);
    gpu.free(data, 1);
  });
}

// Alignments beyond the driver's are met, and the memory is given back whole.
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

// No room is NULL, not an error.
void no_room(void**) {
  passes([](Gpu& gpu) {
    gpu.backend.count();
    gpu.set_memory(0, 1 << 20);
    gpu.set_host_memory(1 << 20);
    CHECK(gpu.backend.allocate(gpu.kind.type, 0, size_t{1} << 30, 64) == nullptr);
    CHECK(gpu.backend.allocate(gpu.kind.host_type, 0, size_t{1} << 30, 64) == nullptr);
    CHECK(gpu.backend.allocate_pinned(size_t{1} << 30) == nullptr);
    CHECK(gpu.backend.allocate_temporary(0, gpu.stream(), size_t{1} << 30) == nullptr);
  });
}

// A released event is recorded again only when its work is done, and one that is not holds up no
// other; synchronize() waits for those that were released too.
void events_are_used_again(void**) {
  passes([](Gpu& gpu) {
    gpu.set_schedule("latest");
    void* data = gpu.memory(64);
    const std::vector<unsigned char> sent = pattern(64);
    const int64_t slow = gpu.backend.create_stream(0), quick = gpu.backend.create_stream(0);
    gpu.backend.copy_from_host(0, slow, at(data), sent.data(), 64);
    EventHandle pending = gpu.backend.record(0, slow);
    gpu.backend.release_event(0, pending);
    for (int k = 0; k < 100; ++k) {
      EventHandle event = gpu.backend.record(0, quick);
      CHECK(event != pending);
      gpu.backend.wait_on_host(0, event);
      gpu.backend.release_event(0, event);
    }
    CHECK(gpu.report().events <= 3);
    CHECK(gpu.report().pending > 0);
    gpu.backend.synchronize(0);
    CHECK_EQUAL(gpu.report().pending, 0);
    gpu.free(data);
  });
}

// An error names the driver's call, its code and its text.
void errors_have_the_drivers_words(void**) {
  passes([](Gpu& gpu) {
    void* data = gpu.memory(64);
    gpu.set_schedule("latest");
    const int64_t stream = gpu.backend.create_stream(0);
    unsigned char bytes[64] = {};
    gpu.break_next_work(700);
    gpu.backend.copy_to_host(0, stream, bytes, at(data), 64);
    const std::string text = error_of([&] { gpu.backend.synchronize_stream(0, stream); });
    const bool cuda = gpu.kind.type == kDLCUDA;
    CHECK(contains(text, cuda ? "cuStreamSynchronize failed: CUDA_ERROR_ILLEGAL_ADDRESS (700): "
                              : "hipStreamSynchronize failed: hipErrorIllegalAddress (700): "));
    CHECK_EQUAL(gpu.report().pushed, 0);
  });
}

/// All that a backend does, once: what it gets is given back, whatever fails.
void do_everything(Gpu& gpu) {
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
  void* pinned = backend.allocate_pinned(4096);
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
}

// Each call of the driver fails in turn: the error names it, nothing leaks, the caller's context
// stays, and the next use works.
void every_call_may_fail(void**) {
  passes([](Gpu& gpu) {
    gpu.backend.count();
    do_everything(gpu);  // what is made once stays: contexts, pool, pooled events
    gpu.clear_log();
    do_everything(gpu);
    const int64_t calls = gpu.all_calls();
    CHECK(calls > 40);
    int64_t named = 0;
    for (int64_t n = 1; n <= calls; ++n) {
      const fake_report before = gpu.report();
      gpu.fail_nth_call(n, 1);
      const std::string text = error_of([&] { do_everything(gpu); });
      const std::string failed = gpu.failed_call();
      gpu.fail_nth_call(0, 0);
      if (!text.empty()) {
        CHECK(contains(text, failed + " failed: "));
        ++named;
      }
      // Where giving back itself fails, nobody can do more.
      if (text.empty()) continue;
      const fake_report after = gpu.report();
      if (after.allocations != before.allocations || after.streams != before.streams ||
          after.host_allocations != before.host_allocations || after.pushed != before.pushed ||
          after.events > before.events + 1) {
        std::fprintf(stderr, "leaked by call %lld, %s: %s\n", static_cast<long long>(n),
                     failed.c_str(), text.c_str());
        CHECK(false);
      }
    }
    CHECK(named > calls / 4);
    CHECK(error_of([&] { do_everything(gpu); }).empty());
  });
}

// In a forked child work is refused in words, and giving memory back is quiet.
void forked_child(void**) {
  passes([](Gpu& gpu) {
    void* data = gpu.memory(64);
    EventHandle event = gpu.backend.record(0, gpu.stream());
    const Outcome child = run_forked([&] {
      gpu.clear_log();
      const std::string text = error_of([&] { gpu.backend.allocate(gpu.kind.type, 0, 64, 64); });
      CHECK(contains(text, "before this process was forked"));
      CHECK(contains(error_of([&] { gpu.backend.is_done(0, event); }), "forked"));
      dlx::PointerInfo info = {};
      CHECK(!gpu.backend.locate(data, &info));
      gpu.backend.release_event(0, event);
      gpu.free(data);
      CHECK_EQUAL(gpu.all_calls(), 0);
    });
    if (!child.passed()) std::fprintf(stderr, "%s", child.output.c_str());
    CHECK(child.passed());
    gpu.backend.release_event(0, event);
    gpu.free(data);
    CHECK_EQUAL(gpu.report().allocations, 0);
  });
}

// After the driver's end memory is given back quietly.
void driver_has_shut_down(void**) {
  passes([](Gpu& gpu) {
    void* data = gpu.memory(64);
    void* pinned = gpu.backend.allocate_pinned(64);
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

// A stream of another device is refused, and nothing is left current.
void streams_of_another_device(void**) {
  passes([](Gpu& gpu) {
    gpu.set_devices(2);
    const int64_t other = gpu.backend.create_stream(1);
    const std::string text = error_of([&] { gpu.backend.record(0, other); });
    if (std::strstr(gpu.kind.file, "_5") != nullptr) return;  // ROCm 5 cannot tell
    CHECK(contains(text, "`stream` belongs to another device"));
    CHECK_EQUAL(gpu.report().pushed, 0);
  });
}

/// Transposes 40 x 24 items of 4 bytes on the device, and says whether kernels did it.
bool transpose(Gpu& gpu, int64_t stream) {
  constexpr int64_t kRows = 40, kColumns = 24, kSize = kRows * kColumns * 4;
  const std::vector<unsigned char> sent = pattern(kSize);
  void* src = gpu.memory(kSize);
  void* dst = gpu.memory(kSize);
  gpu.backend.copy_from_host(0, stream, at(src), sent.data(), kSize);
  int64_t shape[] = {kColumns, kRows}, dst_strides[] = {kRows, 1}, src_strides[] = {1, kColumns};
  DLTensor to = {}, from = {};
  to.ndim = from.ndim = 2;
  to.shape = from.shape = shape;
  to.data = dst;
  to.strides = dst_strides;
  from.data = src;
  from.strides = src_strides;
  to.dtype = from.dtype = {kDLFloat, 32, 1};
  const dlx::CopyPlan plan(to, from, {4, 4, 4, 1, false});
  const bool done = gpu.backend.copy_strided(0, stream, {nullptr, 0}, {nullptr, 0}, plan);
  if (done) {
    std::vector<unsigned char> received(kSize);
    gpu.backend.copy_to_host(0, stream, received.data(), at(dst), kSize);
    gpu.backend.synchronize_stream(0, stream);
    for (int64_t c = 0; c < kColumns; ++c) {
      for (int64_t r = 0; r < kRows; ++r) {
        CHECK(std::memcmp(&received[static_cast<size_t>(4 * (c * kRows + r))],
                          &sent[static_cast<size_t>(4 * (r * kColumns + c))], 4) == 0);
      }
    }
  }
  gpu.backend.synchronize_stream(0, stream);
  gpu.free(src);
  gpu.free(dst);
  return done;
}

const char* module_load(const Gpu& gpu) {
  return gpu.kind.type == kDLCUDA ? "cuModuleLoadData" : "hipModuleLoadData";
}

// The kernels are loaded once, and do what the plan says.
void strided_copies(void**) {
  passes([](Gpu& gpu) {
    gpu.set_schedule("latest");
    const int64_t stream = gpu.backend.create_stream(0);
    CHECK(transpose(gpu, stream));
    CHECK(transpose(gpu, stream));
    CHECK_EQUAL(gpu.calls(module_load(gpu)), 1);
  });
}

/// The calls of a first transpose(), in order.
std::vector<std::string> calls_of_transpose(const Kind& kind) {
  const Outcome outcome = run_forked([&] {
    Gpu gpu(kind);
    gpu.backend.count();
    gpu.clear_log();
    transpose(gpu, gpu.stream());
    std::fprintf(stderr, "%s", gpu.call_log());
  });
  std::istringstream lines(outcome.output);
  std::vector<std::string> calls;
  for (std::string line; std::getline(lines, line);) calls.push_back(line);
  return calls;
}

// A driver that cannot compile or load them is remembered; a failure of another kind is an error,
// and is tried again.
void kernels_that_cannot_be_loaded(void**) {
  passes([](Gpu& gpu) {
    const std::vector<std::string> calls = calls_of_transpose(gpu.kind);
    const auto load = std::find(calls.begin(), calls.end(), module_load(gpu));
    CHECK(load != calls.end());
    const int64_t number = load - calls.begin() + 1;
    gpu.backend.count();
    for (int code : {700, 209}) {
      std::string text;
      bool done = true;
      // The second time fewer calls come before it: the context is there.
      for (int64_t n = number; n > 0; --n) {
        gpu.fail_nth_call(n, code);
        text = error_of([&] { done = transpose(gpu, gpu.stream()); });
        if (std::strcmp(gpu.failed_call(), module_load(gpu)) == 0) break;
        CHECK(!done || !text.empty());
      }
      gpu.fail_nth_call(0, 0);
      CHECK(code == 700 ? contains(text, module_load(gpu)) : !done);
    }
    gpu.clear_log();
    CHECK(!transpose(gpu, gpu.stream()));
    CHECK_EQUAL(gpu.calls(module_load(gpu)), 0);
  });
}

/// A capture of `stream`, in the mode that forbids the most; `body` must not break it.
void while_capturing(Gpu& gpu, int64_t stream, const std::function<void()>& body) {
  const bool cuda = gpu.kind.type == kDLCUDA;
  int (*begin)(void*, int) = nullptr;
  int (*end)(void*, void**) = nullptr;
  gpu.load(cuda ? "cuStreamBeginCapture_v2" : "hipStreamBeginCapture", &begin);
  gpu.load(cuda ? "cuStreamEndCapture" : "hipStreamEndCapture", &end);
  void* graph = nullptr;
  if (cuda) {  // a context has to be current
    int (*retain)(void**, int) = nullptr;
    int (*push)(void*) = nullptr;
    void* context = nullptr;
    gpu.load("cuDevicePrimaryCtxRetain", &retain);
    gpu.load("cuCtxPushCurrent_v2", &push);
    CHECK_EQUAL(retain(&context, 0), 0);
    CHECK_EQUAL(push(context), 0);
  }
  CHECK_EQUAL(begin(reinterpret_cast<void*>(stream), dlx::cuda::kCaptureNone), 0);
  body();
  CHECK_EQUAL(end(reinterpret_cast<void*>(stream), &graph), 0);
  CHECK(graph != nullptr);
  CHECK_EQUAL(gpu.report().captures_broken, 0);
}

// While a stream is captured dlx allocates, frees, records elsewhere, asks events, and loads no
// kernels for it: the capture goes on.
void captures_go_on(void**) {
  passes([](Gpu& gpu) {
    const int64_t stream = gpu.backend.create_stream(0), other = gpu.backend.create_stream(0);
    void* data = gpu.memory(256);
    CHECK(!gpu.backend.capture(0, stream).capturing);
    while_capturing(gpu, stream, [&] {
      CHECK(gpu.backend.capture(0, stream).capturing);
      CHECK(!gpu.backend.capture(0, other).capturing);
      const unsigned char bytes[64] = {};
      EventHandle event = gpu.backend.record(0, other);
      gpu.backend.copy_from_host(0, other, at(data), bytes, 64);
      gpu.backend.is_done(0, event);
      gpu.backend.wait_on_host(0, event);
      gpu.backend.release_event(0, event);
      void* more = gpu.memory(64);
      gpu.free(more);
      gpu.backend.deallocate_pinned(gpu.backend.allocate_pinned(64));
      dlx_device_properties properties = {};
      gpu.backend.describe(0, &properties);
      DLTensor to = {}, from = {};
      int64_t shape[] = {4, 4}, to_strides[] = {4, 1}, from_strides[] = {1, 4};
      to.ndim = from.ndim = 2;
      to.shape = from.shape = shape;
      to.strides = to_strides;
      from.strides = from_strides;
      to.data = data;
      from.data = static_cast<char*>(data) + 64;
      const dlx::CopyPlan plan(to, from, {4, 4, 4, 1, false});
      CHECK(!gpu.backend.copy_strided(0, stream, {nullptr, 0}, {nullptr, 0}, plan));
      CHECK_EQUAL(gpu.calls(module_load(gpu)), 0);
      CHECK(gpu.backend.copy_strided(0, other, {nullptr, 0}, {nullptr, 0}, plan));
      CHECK(gpu.backend.copy_strided(0, stream, {nullptr, 0}, {nullptr, 0}, plan));
    });
    gpu.free(data);
  });
}

// A stream of a context that somebody else made. Its events outlive the context.
void streams_of_other_contexts(void**) {
  passes([](Gpu& gpu) {
    if (gpu.kind.type != kDLCUDA) return;
    namespace cu = dlx::cuda;
    cu::Result (*create)(cu::Context*, unsigned, int) = nullptr;
    cu::Result (*destroy)(cu::Context) = nullptr;
    cu::Result (*create_stream)(int64_t*, unsigned) = nullptr;
    gpu.load("cuCtxCreate_v2", &create);
    gpu.load("cuCtxDestroy_v2", &destroy);
    gpu.load("cuStreamCreate", &create_stream);
    gpu.set_schedule("latest");
    gpu.backend.count();
    void* data = gpu.memory(64);
    cu::Context context = nullptr;
    CHECK_EQUAL(create(&context, 0, 0), 0);
    int64_t stream = 0;
    CHECK_EQUAL(create_stream(&stream, cu::kStreamNonBlocking), 0);
    const std::vector<unsigned char> sent = pattern(64);
    gpu.backend.copy_from_host(0, stream, at(data), sent.data(), 64);
    EventHandle event = gpu.backend.record(0, stream);
    gpu.backend.wait(0, gpu.stream(), event);
    CHECK(!gpu.backend.is_done(0, event));
    gpu.backend.wait_on_host(0, event);
    unsigned char first = 0;
    CHECK(gpu.peek(reinterpret_cast<uint64_t>(data), &first, 1) == 1 && first == sent[0]);
    CHECK(!transpose(gpu, stream));  // kernels are in the primary context
    EventHandle late = gpu.backend.record(0, stream);
    gpu.backend.release_event(0, event);
    CHECK_EQUAL(destroy(context), 0);
    gpu.backend.wait_on_host(0, late);
    gpu.backend.release_event(0, late);
    gpu.free(data);
    CHECK(gpu.report().events <= 2);
    CHECK_EQUAL(gpu.report().allocations, 0);
  });
}

// Between two devices.
void peer_copies(void**) {
  passes([](Gpu& gpu) {
    gpu.set_devices(2);
    gpu.set_schedule("latest");
    const std::vector<unsigned char> sent = pattern(100);
    std::vector<unsigned char> received(100);
    void* here = gpu.memory(100, 0);
    void* there = gpu.memory(100, 1);
    gpu.backend.copy_from_host(0, gpu.stream(), at(here), sent.data(), 100);
    EventHandle ready = gpu.backend.record(0, gpu.stream());
    gpu.backend.wait(1, gpu.stream(), ready);
    gpu.backend.copy_on_device(1, at(there), 0, at(here), gpu.stream(), 100);
    gpu.backend.copy_to_host(1, gpu.stream(), received.data(), at(there), 100);
    gpu.backend.synchronize_stream(1, gpu.stream());
    CHECK(received == sent);
    gpu.backend.release_event(0, ready);
    gpu.free(here, 0);
    gpu.free(there, 1);
    CHECK_EQUAL(gpu.report().pushed, 0);
  });
}

// Numbers of streams by the standard.
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

// What is absent or unsuitable is told in words, and is no error.
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
      setenv(c.name, c.value, 1);
      CHECK_EQUAL(gpu.backend.count(), 0);
      const std::string reason = gpu.backend.reason();
      std::fprintf(stderr, "%s\n", reason.c_str());
      CHECK(contains(reason, gpu.kind.type == kDLCUDA ? c.cuda : c.hip));
      CHECK(contains(reason, gpu.path()));
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
      cmocka_unit_test(copies_there_and_back),
      cmocka_unit_test(callers_device_stays_current),
      cmocka_unit_test(locating),
      cmocka_unit_test(large_alignments),
      cmocka_unit_test(no_room),
      cmocka_unit_test(events_are_used_again),
      cmocka_unit_test(errors_have_the_drivers_words),
      cmocka_unit_test(every_call_may_fail),
      cmocka_unit_test(forked_child),
      cmocka_unit_test(driver_has_shut_down),
      cmocka_unit_test(streams_of_another_device),
      cmocka_unit_test(strided_copies),
      cmocka_unit_test(kernels_that_cannot_be_loaded),
      cmocka_unit_test(captures_go_on),
      cmocka_unit_test(streams_of_other_contexts),
      cmocka_unit_test(peer_copies),
      cmocka_unit_test(stream_numbers),
      cmocka_unit_test(reasons),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
