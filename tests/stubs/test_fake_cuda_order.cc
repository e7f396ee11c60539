// The rules that the fake libcuda models, one by one: the order of work, and captures.
#include "tests/stubs/fake_cuda_fixture.h"

namespace {

using namespace dlx_test;

/// A case with memory and two independent streams.
void with_streams(const char* schedule,
                  const std::function<void(Cuda&, cu::DevicePointer data, cu::Stream one,
                                           cu::Stream other)>& body) {
  passes([&](Cuda& cuda) {
    cuda.start(schedule);
    const cu::DevicePointer data = cuda.memory(64);
    const cu::Stream one = cuda.stream(), other = cuda.stream();
    body(cuda, data, one, other);
  });
}

// ---- order -------------------------------------------------------------------------------------

/// "latest" does only the work that a wait needs.
void work_waits_for_the_host(void**) {
  with_streams("latest", [](Cuda& cuda, cu::DevicePointer data, cu::Stream one, cu::Stream other) {
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

/// The legacy stream is ordered with blocking streams and the per-thread stream only.
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

/// Event waits order streams; an event covers the work that its stream had when it was recorded.
void events_are_snapshots(void**) {
  with_streams("latest", [](Cuda& cuda, cu::DevicePointer data, cu::Stream one, cu::Stream other) {
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

/// Without the event, the copy runs before the other work with some seeds, and after it with
/// others.
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
  with_streams("latest", [](Cuda& cuda, cu::DevicePointer data, cu::Stream one, cu::Stream other) {
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
  with_streams("eager", [](Cuda& cuda, cu::DevicePointer data, cu::Stream one, cu::Stream other) {
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

// ---- captures ----------------------------------------------------------------------------------

void captured_work_runs_with_its_graph(void**) {
  with_streams("eager", [](Cuda& cuda, cu::DevicePointer data, cu::Stream one, cu::Stream other) {
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

/// Each forbidden call returns its error and invalidates the capture.
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

}  // namespace

int main() {
  const CMUnitTest tests[] = {
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
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
