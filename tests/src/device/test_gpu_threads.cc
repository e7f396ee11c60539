// Several threads use one driver, from its first use on.
#include <atomic>
#include <thread>

#include "gpu_fixture.h"

namespace {

using namespace dlx_test;

// Each thread has its own stream and reads its own bytes; nothing leaks.
void threads_share_a_driver(void**) {
  passes([](Gpu& gpu) {
    constexpr int kThreads = 4, kRounds = 50;
    gpu.set_devices(2);
    std::atomic<int> right{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&gpu, &right, t] {
        Backend& backend = gpu.backend;
        if (backend.count() != 2) return;
        const int32_t id = t % 2;
        const int64_t stream = backend.create_stream(id);
        for (int k = 0; k < kRounds; ++k) {
          std::vector<unsigned char> sent(512, static_cast<unsigned char>(16 * t + k));
          std::vector<unsigned char> received(512);
          void* data = backend.allocate(gpu.kind.type, id, 512, 1 << 12);
          void* temporary = backend.allocate_temporary(id, stream, 512);
          backend.copy_from_host(id, stream, at(data), sent.data(), 512);
          backend.copy_on_device(id, at(temporary), id, at(data), stream, 512);
          backend.copy_to_host(id, stream, received.data(), at(temporary), 512);
          EventHandle event = backend.record(id, stream);
          backend.wait(id, backend.default_stream(), event);
          if (k % 3 == 0) backend.synchronize(id);
          backend.wait_on_host(id, event);
          backend.release_event(id, event);
          backend.deallocate_temporary(id, stream, temporary);
          backend.deallocate(gpu.kind.type, id, data);
          dlx::PointerInfo info = {};
          if (!backend.locate(received.data(), &info) && received == sent) ++right;
        }
        backend.synchronize_stream(id, stream);
        backend.destroy_stream(id, stream);
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK_EQUAL(right, kThreads * kRounds);
    CHECK_EQUAL(gpu.report().streams, 0);
    CHECK_EQUAL(gpu.report().allocations, 0);
    CHECK_EQUAL(gpu.report().double_frees + gpu.report().used_when_dead, 0);
  });
}

// A process may fork while another thread holds a lock of dlx, which then stays locked in the
// child: releases in the child take no lock.
void forked_children_take_no_locks(void**) {
  passes([](Gpu& gpu) {
    constexpr int kForks = 60;
    EventHandle event = gpu.backend.record(0, gpu.stream());
    void* data = gpu.memory(64);
    std::atomic<bool> over{false};
    std::thread busy([&] {
      while (!over) gpu.backend.release_event(0, gpu.backend.record(0, gpu.stream()));
    });
    int hung = 0;
    for (int k = 0; k < kForks; ++k) {
      const Outcome child = run_forked([&] {
        alarm(2);
        gpu.backend.release_event(0, event);
        gpu.free(data);
      });
      hung += child.passed() ? 0 : 1;
    }
    over = true;
    busy.join();
    CHECK_EQUAL(hung, 0);
    gpu.backend.release_event(0, event);
    gpu.free(data);
  });
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {cmocka_unit_test(threads_share_a_driver),
                              cmocka_unit_test(forked_children_take_no_locks)};
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
