// The rules that the fake libcuda models, one by one.
#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

extern "C" {
#include <cmocka.h>
}
#undef fail

#include "src/driver/cuda.h"
#include "src/gpu/strided_copy.h"
#include "tests/stubs/control.h"
#include "tests/stubs/forked.h"

namespace cu = dlx::cuda;
using dlx_test::Fake;
using dlx_test::Outcome;
using dlx_test::run_forked;

namespace {

/// The fake with dlx's table of its functions, and those that only tests call.
struct Cuda : Fake, cu::Functions {
  Cuda() : Fake("tests/stubs/fake_libcuda.so") {
#define DLX_DRIVER_FUNCTION(name, symbol, need, ...) \
  Fake::load(#symbol, &this->cu::Functions::name.call);
#include "src/driver/cuda.inc"
#undef DLX_DRIVER_FUNCTION
    Fake::load("cuCtxCreate_v2", &context_create);
    Fake::load("cuCtxDestroy_v2", &context_destroy);
    Fake::load("cuCtxSynchronize", &context_synchronize);
    Fake::load("cuMemsetD8Async", &set_bytes);
    Fake::load("cuMemcpyDtoH_v2", &copy_to_host_now);
    Fake::load("cuMemAllocAsync", &allocate_async_default);
    Fake::load("cuPointerGetAttribute", &pointer_attribute);
    Fake::load("cuStreamBeginCapture_v2", &capture_begin);
    Fake::load("cuStreamEndCapture", &capture_end);
    Fake::load("cuGraphInstantiateWithFlags", &graph_instantiate);
    Fake::load("cuGraphLaunch", &graph_launch);
  }
  cu::Result (*context_create)(cu::Context*, unsigned, int);
  cu::Result (*context_destroy)(cu::Context);
  cu::Result (*context_synchronize)();
  cu::Result (*set_bytes)(cu::DevicePointer, unsigned char, size_t, cu::Stream);
  cu::Result (*copy_to_host_now)(void*, cu::DevicePointer, size_t);
  cu::Result (*allocate_async_default)(cu::DevicePointer*, size_t, cu::Stream);
  cu::Result (*pointer_attribute)(void*, int, cu::DevicePointer);
  cu::Result (*capture_begin)(cu::Stream, int);
  cu::Result (*capture_end)(cu::Stream, void**);
  cu::Result (*graph_instantiate)(void**, void*, unsigned long long);
  cu::Result (*graph_launch)(void*, cu::Stream);

  // Each of these checks that the call succeeds.
  cu::Context start(const char* schedule, int devices = 1) {
    set_schedule(schedule);
    set_devices(devices);
    CHECK_EQUAL(init(0), 0);
    return retain(0);
  }
  cu::Context retain(int device) {
    cu::Context context = nullptr;
    CHECK_EQUAL(primary_retain(&context, device), 0);
    CHECK_EQUAL(context_push(context), 0);
    return context;
  }
  cu::DevicePointer memory(size_t size) {
    cu::DevicePointer data = 0;
    CHECK_EQUAL(allocate(&data, size), 0);
    return data;
  }
  cu::Stream stream(unsigned flags = cu::kStreamNonBlocking) {
    cu::Stream result = nullptr;
    CHECK_EQUAL(stream_create(&result, flags), 0);
    return result;
  }
  cu::Event event(cu::Stream recorded_on) {
    cu::Event result = nullptr;
    CHECK_EQUAL(event_create(&result, cu::kEventDisableTiming), 0);
    CHECK_EQUAL(event_record(result, recorded_on), 0);
    return result;
  }
  void set(cu::DevicePointer data, int value, cu::Stream stream) {
    CHECK_EQUAL(set_bytes(data, static_cast<unsigned char>(value), 1, stream), 0);
  }
  void copy(cu::DevicePointer dst, cu::DevicePointer src, cu::Stream stream) {
    CHECK_EQUAL(copy_on_device(dst, src, 1, stream), 0);
  }
  int byte(cu::DevicePointer data) {
    unsigned char result = 0;
    CHECK(peek(data, &result, 1));
    return result;
  }
};

cu::Stream number(uintptr_t handle) { return reinterpret_cast<cu::Stream>(handle); }

/// A case: the fake is loaded in the child, so that every case finds it fresh.
void passes(const std::function<void(Cuda&)>& body) {
  const Outcome outcome = run_forked([&] {
    Cuda cuda;
    body(cuda);
  });
  if (!outcome.passed()) print_error("%s", outcome.output.c_str());
  assert_true(outcome.passed());
}

void aborts(const char* message, const std::function<void(Cuda&)>& body) {
  const Outcome outcome = run_forked([&] {
    Cuda cuda;
    body(cuda);
  });
  assert_true(outcome.aborted());
  assert_non_null(std::strstr(outcome.output.c_str(), message));
}

// ---- initialisation, contexts ---------------------------------------------------------------------

/// 3 before cuInit and in a forked child, 4 after shutdown, 34 from the stub.
void calls_need_an_initialised_driver(void**) {
  passes([](Cuda& cuda) {
    int count = 0;
    CHECK_EQUAL(cuda.device_count(&count), 3);
    CHECK_EQUAL(cuda.init(0), 0);
    CHECK_EQUAL(cuda.device_count(&count), 0);
    CHECK_EQUAL(count, 1);
    CHECK(run_forked([&] {
            CHECK_EQUAL(cuda.device_count(&count), 3);
            CHECK_EQUAL(cuda.init(0), 3);
          }).passed());
    cuda.shutdown();
    CHECK_EQUAL(cuda.device_count(&count), 4);
    cuda.set_stub(1);
    CHECK_EQUAL(cuda.init(0), 34);
  });
}

/// Threads have stacks of contexts; calls without one fail, as do launches and records in another.
void contexts_are_of_the_thread(void**) {
  passes([](Cuda& cuda) {
    const cu::Context first = cuda.start("eager", 2);
    cu::DevicePointer data = 0;
    std::thread([&] { CHECK_EQUAL(cuda.allocate(&data, 8), 201); }).join();
    const cu::Stream stream = cuda.stream();
    const cu::Context second = cuda.retain(1);
    cu::Context current = nullptr;
    CHECK_EQUAL(cuda.context_current(&current), 0);
    CHECK(current == second && current != first);
    cu::Event event = nullptr;
    CHECK_EQUAL(cuda.event_create(&event, 0), 0);
    CHECK_EQUAL(cuda.event_record(event, stream), 400);  // of the first device
    CHECK_EQUAL(cuda.context_pop(&current), 0);
    CHECK_EQUAL(cuda.event_record(event, number(1)), 400);
    CHECK_EQUAL(cuda.context_pop(&current), 0);
    CHECK_EQUAL(cuda.context_pop(&current), 201);
    CHECK_EQUAL(cuda.report().primary_retains, 2);
  });
}

void superseded_symbols_abort(void**) {
  aborts("cuMemAlloc is the ABI of CUDA 3", [](Cuda& cuda) {
    void (*old)() = nullptr;
    cuda.load("cuMemAlloc", &old);
    old();
  });
}

void stale_handles_abort(void**) {
  aborts("was destroyed", [](Cuda& cuda) {
    cuda.start("eager");
    const cu::Stream stream = cuda.stream();
    CHECK_EQUAL(cuda.stream_destroy(stream), 0);
    cuda.stream_synchronize(stream);
  });
  aborts("is no event", [](Cuda& cuda) {
    cuda.start("eager");
    cuda.event_query(reinterpret_cast<cu::Event>(cuda.stream()));
  });
}

// ---- memory ---------------------------------------------------------------------------------------

void device_memory_is_closed_to_the_cpu(void**) {
  const auto touch = [](bool write) {
    return run_forked([write] {
      Cuda cuda;
      cuda.start("eager");
      auto* data = reinterpret_cast<volatile char*>(cuda.memory(64));
      if (write) {
        data[3] = 1;
      } else {
        static_cast<void>(data[3]);
      }
    });
  };
  assert_false(touch(true).passed());
  assert_false(touch(false).passed());
}

void memory_has_a_limit_and_is_freed_once(void**) {
  passes([](Cuda& cuda) {
    cuda.start("eager");
    cuda.set_memory(0, 1000);
    const cu::DevicePointer data = cuda.memory(600);
    cu::DevicePointer more = 0;
    CHECK_EQUAL(cuda.allocate(&more, 600), 2);
    size_t free = 0, total = 0;
    CHECK_EQUAL(cuda.memory_info(&free, &total), 0);
    CHECK_EQUAL(free, 400);
    CHECK_EQUAL(cuda.report().allocations, 1);
    CHECK_EQUAL(cuda.free(data), 0);
    CHECK_EQUAL(cuda.free(data), 1);
    CHECK_EQUAL(cuda.report().allocations, 0);
    CHECK_EQUAL(cuda.report().double_frees, 1);
    CHECK_EQUAL(cuda.free(cuda.memory(600)), 0);
  });
}

/// Work that was submitted does not keep its memory: the context is lost, and it is counted.
void freed_memory_ends_the_context(void**) {
  passes([](Cuda& cuda) {
    cuda.start("latest");
    const cu::DevicePointer data = cuda.memory(64);
    const cu::Stream stream = cuda.stream();
    cuda.set(data, 7, stream);
    CHECK_EQUAL(cuda.free(data), 0);
    CHECK_EQUAL(cuda.stream_synchronize(stream), 700);
    CHECK_EQUAL(cuda.report().used_when_dead, 1);
    cu::DevicePointer more = 0;
    CHECK_EQUAL(cuda.allocate(&more, 8), 700);  // sticky
  });
}

/// ... but for work of the legacy stream, which a free waits for.
void frees_wait_for_the_legacy_stream(void**) {
  passes([](Cuda& cuda) {
    cuda.start("latest");
    const cu::DevicePointer data = cuda.memory(64), other = cuda.memory(64);
    cuda.set(other, 7, cuda.stream());
    cuda.set(data, 7, nullptr);
    CHECK_EQUAL(cuda.free(data), 0);
    CHECK_EQUAL(cuda.byte(other), 0xCD);
    CHECK_EQUAL(cuda.report().used_when_dead, 0);
  });
}

void errors_of_work_are_sticky(void**) {
  passes([](Cuda& cuda) {
    cuda.start("latest");
    const cu::DevicePointer data = cuda.memory(64);
    cuda.break_next_work(719);
    cuda.set(data, 7, nullptr);
    CHECK_EQUAL(cuda.stream_synchronize(nullptr), 719);
    CHECK_EQUAL(cuda.set_bytes(data, 7, 1, nullptr), 719);
  });
}

/// Pool memory lives from its allocation's turn to its free's turn, and its pointers have no context.
void pool_memory_is_ordered(void**) {
  passes([](Cuda& cuda) {
    const cu::Context context = cuda.start("latest");
    const cu::Stream one = cuda.stream(), other = cuda.stream();
    cu::DevicePointer data = 0;
    CHECK_EQUAL(cuda.allocate_async_default(&data, 64, one), 0);
    cu::Context of_pointer = context;
    CHECK_EQUAL(cuda.pointer_attribute(&of_pointer, 1, data), 0);
    CHECK(of_pointer == nullptr);
    CHECK_EQUAL(cuda.pointer_attribute(&of_pointer, 1, cuda.memory(8)), 0);
    CHECK(of_pointer == context);
    cuda.set(data, 7, one);
    CHECK_EQUAL(cuda.free_async(data, one), 0);
    CHECK_EQUAL(cuda.free_async(data, one), 1);
    CHECK_EQUAL(cuda.stream_synchronize(one), 0);
    CHECK_EQUAL(cuda.allocate_async_default(&data, 64, one), 0);
    cuda.set(data, 7, other);  // nothing orders it after the allocation
    CHECK_EQUAL(cuda.stream_synchronize(other), 700);
    CHECK_EQUAL(cuda.report().used_when_dead, 1);
    CHECK_EQUAL(cuda.report().double_frees, 1);
  });
}

void the_default_pool_is_not_ours(void**) {
  aborts("the default pool's attributes are not ours", [](Cuda& cuda) {
    cuda.start("eager");
    cu::Result (*get)(cu::Pool*, int) = nullptr;
    cuda.load("cuDeviceGetDefaultMemPool", &get);
    cu::Pool pool = nullptr;
    CHECK_EQUAL(get(&pool, 0), 0);
    uint64_t all = ~uint64_t{0};
    cuda.pool_set_attribute(pool, cu::kPoolReleaseThreshold, &all);
  });
}

void pointers_tell_what_they_are(void**) {
  passes([](Cuda& cuda) {
    cuda.start("eager", 2);
    cuda.retain(1);
    void* pinned = nullptr;
    CHECK_EQUAL(cuda.allocate_host(&pinned, 64, 0), 0);
    std::memset(pinned, 1, 64);
    cu::DevicePointer managed = 0;
    CHECK_EQUAL(cuda.allocate_managed(&managed, 64, cu::kAttachGlobal), 0);
    std::memset(reinterpret_cast<void*>(managed), 1, 64);
    const auto ask = [&](cu::DevicePointer pointer, unsigned type, unsigned is_managed,
                         int ordinal) {
      unsigned got_type = 9, got_managed = 9;
      int got_ordinal = 9;
      int attributes[] = {2, 8, 9};
      void* values[] = {&got_type, &got_managed, &got_ordinal};
      CHECK_EQUAL(cuda.pointer_attributes(3, attributes, values, pointer), 0);
      CHECK_EQUAL(got_type, type);
      CHECK_EQUAL(got_managed, is_managed);
      CHECK_EQUAL(got_ordinal, ordinal);
    };
    ask(cuda.memory(64) + 63, 2, 0, 1);
    ask(reinterpret_cast<cu::DevicePointer>(pinned) + 5, 1, 0, 1);
    ask(managed + 5, 2, 1, 1);
    ask(reinterpret_cast<cu::DevicePointer>(&cuda), 0, 0, -2);
    unsigned type = 0;
    CHECK_EQUAL(cuda.pointer_attribute(&type, 2, reinterpret_cast<cu::DevicePointer>(&cuda)), 1);
    CHECK_EQUAL(cuda.report().host_allocations, 1);
    CHECK_EQUAL(cuda.free_host(pinned), 0);
    CHECK_EQUAL(cuda.report().host_allocations, 0);
  });
}

/// Without concurrent access, the CPU reaches managed memory only while the device has nothing to do.
void managed_memory_may_be_closed(void**) {
  const auto touch = [](bool waits) {
    return run_forked([waits] {
      Cuda cuda;
      cuda.set_attribute(0, cu::kConcurrentManagedAccess, 0);
      cuda.start("eager");
      cu::DevicePointer managed = 0;
      CHECK_EQUAL(cuda.allocate_managed(&managed, 64, cu::kAttachGlobal), 0);
      cuda.set(managed, 7, nullptr);
      if (waits) CHECK_EQUAL(cuda.stream_synchronize(nullptr), 0);
      CHECK_EQUAL(*reinterpret_cast<volatile char*>(managed), 7);
    });
  };
  assert_true(touch(true).passed());
  assert_false(touch(false).passed());
}

// ---- order ----------------------------------------------------------------------------------------

/// "latest" does what a wait needs and no more.
void work_waits_for_the_host(void**) {
  passes([](Cuda& cuda) {
    cuda.start("latest");
    const cu::DevicePointer data = cuda.memory(64);
    const cu::Stream one = cuda.stream(), other = cuda.stream();
    cuda.set(data, 1, one);
    cuda.set(data + 1, 2, other);
    CHECK_EQUAL(cuda.byte(data), 0xCD);
    CHECK_EQUAL(cuda.stream_synchronize(other), 0);
    CHECK_EQUAL(cuda.byte(data), 0xCD);
    CHECK_EQUAL(cuda.byte(data + 1), 2);
    CHECK_EQUAL(cuda.stream_synchronize(one), 0);
    CHECK_EQUAL(cuda.byte(data), 1);
  });
}

void eager_work_is_done_at_once(void**) {
  passes([](Cuda& cuda) {
    cuda.start("eager");
    const cu::DevicePointer data = cuda.memory(64);
    cuda.set(data, 1, cuda.stream());
    CHECK_EQUAL(cuda.byte(data), 1);
  });
}

/// The legacy stream is ordered with blocking streams and the per-thread one, not with others.
void legacy_order(void**) {
  passes([](Cuda& cuda) {
    cuda.start("latest");
    const cu::DevicePointer data = cuda.memory(64);
    const cu::Stream blocking = cuda.stream(0), free = cuda.stream();
    cuda.set(data, 1, blocking);
    cuda.set(data + 1, 1, free);
    cuda.set(data + 2, 1, number(2));
    cuda.set(data + 3, 1, number(1));  // after blocking and per-thread
    cuda.set(data + 4, 1, blocking);   // after legacy
    CHECK_EQUAL(cuda.stream_synchronize(blocking), 0);
    CHECK_EQUAL(cuda.byte(data), 1);
    CHECK_EQUAL(cuda.byte(data + 1), 0xCD);
    CHECK_EQUAL(cuda.byte(data + 2), 1);
    CHECK_EQUAL(cuda.byte(data + 3), 1);
    CHECK_EQUAL(cuda.byte(data + 4), 1);
    cuda.set(data + 5, 1, free);
    CHECK_EQUAL(cuda.stream_synchronize(nullptr), 0);  // 0 is the legacy stream too
    CHECK_EQUAL(cuda.byte(data + 5), 0xCD);
  });
}

/// Event waits order streams; an event stands for what its stream had when it was recorded.
void events_are_snapshots(void**) {
  passes([](Cuda& cuda) {
    cuda.start("latest");
    const cu::DevicePointer data = cuda.memory(64);
    const cu::Stream one = cuda.stream(), other = cuda.stream();
    cuda.set(data, 1, one);
    const cu::Event event = cuda.event(one);
    CHECK_EQUAL(cuda.stream_wait_event(other, event, 0), 0);
    cuda.copy(data + 1, data, other);
    cuda.set(data, 2, one);
    CHECK_EQUAL(cuda.event_record(event, one), 0);  // `other` waits for what it was
    CHECK_EQUAL(cuda.stream_synchronize(other), 0);
    CHECK_EQUAL(cuda.byte(data + 1), 1);
    CHECK_EQUAL(cuda.byte(data), 1);
    CHECK_EQUAL(cuda.event_query(event), 600);
    CHECK_EQUAL(cuda.event_synchronize(event), 0);
    CHECK_EQUAL(cuda.byte(data), 2);
    CHECK_EQUAL(cuda.event_query(event), 0);
  });
}

/// What happens without the event: under some seed the copy comes before, under another after.
void random_schedules_differ(void**) {
  passes([](Cuda& cuda) {
    cuda.start("eager");
    int seen[2] = {0, 0};
    const cu::DevicePointer data = cuda.memory(64);
    const cu::Stream one = cuda.stream(), other = cuda.stream();
    for (int seed = 0; seed < 40; ++seed) {
      cuda.set_schedule(("random:" + std::to_string(seed)).c_str());
      cuda.set(data, 0, one);
      CHECK_EQUAL(cuda.stream_synchronize(one), 0);
      cuda.set(data, 1, one);
      cuda.copy(data + 1, data, other);
      CHECK_EQUAL(cuda.stream_synchronize(other), 0);
      CHECK_EQUAL(cuda.stream_synchronize(one), 0);
      ++seen[cuda.byte(data + 1)];
    }
    CHECK(seen[0] > 0 && seen[1] > 0);
  });
}

void one_wait_can_be_left_out(void**) {
  passes([](Cuda& cuda) {
    cuda.start("latest");
    const cu::DevicePointer data = cuda.memory(64);
    const cu::Stream one = cuda.stream(), other = cuda.stream();
    cuda.set(data, 1, one);
    cuda.ignore_nth_wait(1);
    CHECK_EQUAL(cuda.stream_wait_event(other, cuda.event(one), 0), 0);
    cuda.copy(data + 1, data, other);
    CHECK_EQUAL(cuda.stream_synchronize(other), 0);
    CHECK_EQUAL(cuda.byte(data + 1), 0xCD);
    CHECK_EQUAL(cuda.waits(), 2);
    CHECK(std::strcmp(cuda.ignored_wait(), "cuStreamWaitEvent") == 0);
  });
}

void blocked_streams_hold_up_only_who_waits(void**) {
  passes([](Cuda& cuda) {
    cuda.start("eager");
    const cu::DevicePointer data = cuda.memory(64);
    const cu::Stream one = cuda.stream(), other = cuda.stream();
    cuda.block_stream(one);
    cuda.set(data, 1, one);
    cuda.set(data + 1, 1, other);
    CHECK_EQUAL(cuda.stream_synchronize(other), 0);
    CHECK_EQUAL(cuda.report().waited_for_blocked, 0);
    CHECK_EQUAL(cuda.context_synchronize(), 702);
    CHECK_EQUAL(cuda.report().waited_for_blocked, 1);
    CHECK_EQUAL(cuda.byte(data), 0xCD);
    cuda.unblock();
    CHECK_EQUAL(cuda.byte(data), 1);
  });
}

// ---- captures -------------------------------------------------------------------------------------

void captured_work_runs_with_its_graph(void**) {
  passes([](Cuda& cuda) {
    cuda.start("eager");
    const cu::DevicePointer data = cuda.memory(64);
    const cu::Stream one = cuda.stream(), other = cuda.stream();
    CHECK_EQUAL(cuda.capture_begin(one, 0), 0);
    cuda.set(data, 1, one);
    const cu::Event fork = cuda.event(one);
    CHECK_EQUAL(cuda.stream_wait_event(other, fork, 0), 0);
    int status = 0;
    uint64_t id[2] = {};
    CHECK_EQUAL(cuda.stream_capture_info(one, &status, &id[0], nullptr, nullptr, nullptr), 0);
    CHECK_EQUAL(cuda.stream_capture_info(other, &status, &id[1], nullptr, nullptr, nullptr), 0);
    CHECK_EQUAL(status, 1);
    CHECK_EQUAL(id[0], id[1]);
    cuda.copy(data + 1, data, other);
    CHECK_EQUAL(cuda.stream_wait_event(one, cuda.event(other), 0), 0);
    void* graph = nullptr;
    CHECK_EQUAL(cuda.capture_end(one, &graph), 0);
    CHECK_EQUAL(cuda.byte(data + 1), 0xCD);
    void* executable = nullptr;
    CHECK_EQUAL(cuda.graph_instantiate(&executable, graph, 0), 0);
    CHECK_EQUAL(cuda.graph_launch(executable, one), 0);
    CHECK_EQUAL(cuda.byte(data + 1), 1);
    CHECK_EQUAL(cuda.report().captures_broken, 0);
    CHECK_EQUAL(cuda.event_query(fork), 907);
  });
}

/// Each forbidden call, its error, and that the capture is lost afterwards.
void captures_are_fragile(void**) {
  const auto breaks = [](int code, bool lost,
                         const std::function<int(Cuda&, cu::Stream, cu::DevicePointer)>& call) {
    passes([&](Cuda& cuda) {
      cuda.start("eager");
      const cu::DevicePointer data = cuda.memory(64);
      const cu::Stream stream = cuda.stream(0);
      CHECK_EQUAL(cuda.capture_begin(stream, 0), 0);
      cuda.set(data, 1, stream);
      CHECK_EQUAL(call(cuda, stream, data), code);
      void* graph = nullptr;
      CHECK_EQUAL(cuda.capture_end(stream, &graph), lost ? 901 : 0);
      CHECK_EQUAL(cuda.report().captures_broken > 0, lost);
    });
  };
  using S = cu::Stream;
  using D = cu::DevicePointer;
  breaks(900, true, [](Cuda& cuda, S, D data) { return cuda.allocate(&data, 8); });
  breaks(900, true, [](Cuda& cuda, S, D data) { return cuda.free(data); });
  breaks(900, true, [](Cuda& cuda, S, D) { return cuda.context_synchronize(); });
  breaks(900, true, [](Cuda& cuda, S stream, D) { return cuda.stream_synchronize(stream); });
  breaks(900, true, [](Cuda& cuda, S, D) { return cuda.event_query(cuda.event(cuda.stream())); });
  breaks(906, true, [](Cuda& cuda, S, D data) { return cuda.set_bytes(data, 1, 1, nullptr); });
  breaks(905, true, [](Cuda& cuda, S stream, D) {
    return cuda.stream_wait_event(stream, cuda.event(cuda.stream()), 0);
  });
  breaks(907, true, [](Cuda& cuda, S stream, D) {
    int mode = 2;
    CHECK_EQUAL(cuda.exchange_capture_mode(&mode), 0);
    CHECK_EQUAL(mode, 0);
    return cuda.event_query(cuda.event(stream));
  });
  breaks(900, true, [](Cuda& cuda, S, D data) {
    int result = 0;  // the capture's mode concerns other threads
    std::thread([&] {
      cuda.retain(0);
      result = cuda.allocate(&data, 8);
    }).join();
    return result;
  });
  breaks(0, false, [](Cuda& cuda, S, D data) {
    int mode = 2;
    CHECK_EQUAL(cuda.exchange_capture_mode(&mode), 0);
    return cuda.allocate(&data, 8) + cuda.event_query(cuda.event(cuda.stream()));
  });
  breaks(0, false, [](Cuda& cuda, S, D data) {
    return cuda.set_bytes(data, 1, 1, cuda.stream());  // another stream, not blocking
  });
  breaks(902, true, [](Cuda& cuda, S stream, D) {
    const cu::Stream second = cuda.stream();
    CHECK_EQUAL(cuda.capture_begin(second, 2), 0);
    const int result = cuda.stream_wait_event(stream, cuda.event(second), 0);
    void* graph = nullptr;
    CHECK_EQUAL(cuda.capture_end(second, &graph), 901);
    return result;
  });
}

void captures_end_where_they_began(void**) {
  passes([](Cuda& cuda) {
    cuda.start("eager");
    const cu::Stream one = cuda.stream(), other = cuda.stream();
    void* graph = nullptr;
    const cu::DevicePointer data = cuda.memory(64);
    CHECK_EQUAL(cuda.capture_begin(nullptr, 0), 900);
    CHECK_EQUAL(cuda.capture_begin(one, 0), 0);
    CHECK_EQUAL(cuda.stream_wait_event(other, cuda.event(one), 0), 0);
    std::thread([&] {
      cuda.retain(0);
      CHECK_EQUAL(cuda.capture_end(one, &graph), 908);
    }).join();
    cuda.set(data, 1, other);
    CHECK_EQUAL(cuda.capture_end(one, &graph), 904);
    CHECK_EQUAL(cuda.capture_begin(one, 0), 0);
    CHECK_EQUAL(cuda.stream_wait_event(other, cuda.event(one), 0), 0);
    CHECK_EQUAL(cuda.capture_end(other, &graph), 903);
  });
}

// ---- calls ----------------------------------------------------------------------------------------

void calls_can_be_made_to_fail(void**) {
  passes([](Cuda& cuda) {
    cuda.start("eager");
    cuda.fail_nth_call(2, 999);
    const cu::DevicePointer data = cuda.memory(64);
    CHECK_EQUAL(cuda.free(data), 999);
    CHECK(std::strcmp(cuda.failed_call(), "cuMemFree_v2") == 0);
    CHECK_EQUAL(cuda.report().allocations, 1);
    CHECK_EQUAL(cuda.free(data), 0);
    CHECK_EQUAL(cuda.calls("cuMemFree_v2"), 2);
    const char* text = nullptr;
    CHECK_EQUAL(cuda.error_name(999, &text), 0);
    CHECK(std::strcmp(text, "CUDA_ERROR_UNKNOWN") == 0);
  });
}

// ---- kernels --------------------------------------------------------------------------------------

/// The arguments are declared with the size that the struct has.
std::string ptx() {
  return ".version 5.0\n.target sm_50\n.address_size 64\n"
         ".visible .entry other(\n\t.param .u64 a\n)\n{ ret; }\n"
         ".visible .entry copy(\n\t.param .u64 .ptr .global copy_param_0,\n"
         "\t.param .u64 copy_param_1,\n\t.param .align 8 .b8 copy_param_2[" +
         std::to_string(sizeof(dlx_strided_copy)) + "]\n)\n{ ret; }\n";
}

struct Launched {
  cu::Function function = nullptr;
  cu::DevicePointer dst = 0, src = 0;
  dlx_strided_copy copy{};
  int launch(Cuda& cuda, cu::Stream stream, unsigned threads = 32) {
    void* arguments[] = {&dst, &src, &copy};
    const int result = cuda.launch(function, 1, 1, 1, threads, 1, 1, 0, stream, arguments, nullptr);
    copy = {};  // the driver has its own
    return result;
  }
};

/// A transpose of 3 x 2 items of two bytes.
Launched transpose(Cuda& cuda) {
  Launched launched;
  cu::Module module = nullptr;
  CHECK_EQUAL(cuda.module_load(&module, ptx().c_str()), 0);
  CHECK_EQUAL(cuda.module_function(&launched.function, module, "cop"), 500);
  CHECK_EQUAL(cuda.module_function(&launched.function, module, "copy"), 0);
  launched.src = cuda.memory(12);
  launched.dst = cuda.memory(12);
  launched.copy.axes = 2;
  launched.copy.item = 2;
  const int64_t extent[] = {3, 2}, dst_step[] = {2, 6}, src_step[] = {4, 2};
  for (int k = 0; k < 2; ++k) {
    launched.copy.extent[k] = extent[k];
    launched.copy.dst_step[k] = dst_step[k];
    launched.copy.src_step[k] = src_step[k];
  }
  return launched;
}

void kernels_do_what_their_parameters_say(void**) {
  passes([](Cuda& cuda) {
    cuda.start("latest");
    Launched launched = transpose(cuda);
    const uint16_t items[] = {1, 2, 3, 4, 5, 6};
    CHECK(cuda.poke(launched.src, items, sizeof items));
    CHECK_EQUAL(launched.launch(cuda, nullptr, 0), 1);
    CHECK_EQUAL(launched.launch(cuda, nullptr, 2000), 1);
    launched = transpose(cuda);
    CHECK(cuda.poke(launched.src, items, sizeof items));
    CHECK_EQUAL(launched.launch(cuda, nullptr), 0);
    CHECK_EQUAL(cuda.stream_synchronize(nullptr), 0);
    uint16_t out[6] = {};
    CHECK(cuda.peek(launched.dst, out, sizeof out));
    const uint16_t expected[] = {1, 3, 5, 2, 4, 6};
    CHECK(std::memcmp(out, expected, sizeof out) == 0);
    launched = transpose(cuda);
    launched.copy.src_step[0] = -4;
    CHECK_EQUAL(launched.launch(cuda, nullptr), 0);
    CHECK_EQUAL(cuda.stream_synchronize(nullptr), 700);
    CHECK_EQUAL(cuda.report().out_of_bounds, 1);
  });
  aborts("does not take a dlx_strided_copy", [](Cuda& cuda) {
    cuda.start("latest");
    Launched launched = transpose(cuda);
    cu::Module module = nullptr;
    CHECK_EQUAL(cuda.module_load(&module, ptx().c_str()), 0);
    CHECK_EQUAL(cuda.module_function(&launched.function, module, "other"), 0);
    launched.launch(cuda, nullptr);
  });
}

/// Copies go between devices always, kernels only with peer access.
void peers(void**) {
  const auto reads = [](bool enabled) {
    passes([enabled](Cuda& cuda) {
      const cu::Context first = cuda.start("eager", 2);
      const cu::DevicePointer there = cuda.memory(12);
      const cu::Context second = cuda.retain(1);
      Launched launched = transpose(cuda);
      CHECK_EQUAL(cuda.copy_peer(launched.dst, second, there, first, 12, nullptr), 0);
      CHECK_EQUAL(cuda.copy_peer(launched.dst, first, there, first, 12, nullptr), 1);
      launched.src = there;
      if (enabled) CHECK_EQUAL(cuda.context_enable_peer(first, 0), 0);
      CHECK_EQUAL(launched.launch(cuda, nullptr), 0);
      CHECK_EQUAL(cuda.stream_synchronize(nullptr), enabled ? 0 : 700);
    });
  };
  reads(true);
  reads(false);
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(calls_need_an_initialised_driver),
      cmocka_unit_test(contexts_are_of_the_thread),
      cmocka_unit_test(superseded_symbols_abort),
      cmocka_unit_test(stale_handles_abort),
      cmocka_unit_test(device_memory_is_closed_to_the_cpu),
      cmocka_unit_test(memory_has_a_limit_and_is_freed_once),
      cmocka_unit_test(freed_memory_ends_the_context),
      cmocka_unit_test(frees_wait_for_the_legacy_stream),
      cmocka_unit_test(errors_of_work_are_sticky),
      cmocka_unit_test(pool_memory_is_ordered),
      cmocka_unit_test(the_default_pool_is_not_ours),
      cmocka_unit_test(pointers_tell_what_they_are),
      cmocka_unit_test(managed_memory_may_be_closed),
      cmocka_unit_test(work_waits_for_the_host),
      cmocka_unit_test(eager_work_is_done_at_once),
      cmocka_unit_test(legacy_order),
      cmocka_unit_test(events_are_snapshots),
      cmocka_unit_test(random_schedules_differ),
      cmocka_unit_test(one_wait_can_be_left_out),
      cmocka_unit_test(blocked_streams_hold_up_only_who_waits),
      cmocka_unit_test(captured_work_runs_with_its_graph),
      cmocka_unit_test(captures_are_fragile),
      cmocka_unit_test(captures_end_where_they_began),
      cmocka_unit_test(calls_can_be_made_to_fail),
      cmocka_unit_test(kernels_do_what_their_parameters_say),
      cmocka_unit_test(peers),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
