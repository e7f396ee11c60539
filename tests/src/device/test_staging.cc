// Pinned buffers and events: the waits before they are reused, also after a failure.
#include "src/device/staging.h"

#include <atomic>
#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "scripted_backend.h"
#include "src/device/readiness.h"
#include "tests/stubs/forked.h"

extern "C" {
#include <cmocka.h>
}
#undef fail

namespace {

using dlx::StagingBuffer;
using dlx_test::ScriptedBackend;  // static ones: buffers rest with their backend for good

constexpr int kChildren = 200;

// A free block has the event of its last work; the next user waits for it.
void buffers_are_used_again_after_their_event(void**) {
  static ScriptedBackend backend;
  const char* first = nullptr;
  for (int k = 0; k < 3; ++k) {
    StagingBuffer buffer(backend, 0, 5);
    if (k == 0) first = buffer.data();
    if (k == 2) assert_false(backend.was_called("wait_on_host"));
    buffer.in_use_until(backend.record(0, 5));
  }
  assert_int_equal(backend.pinned, 3);  // better another one than to wait
  StagingBuffer buffer(backend, 0, 5);
  assert_true(backend.was_called("wait_on_host"));
  assert_ptr_equal(buffer.data(), first);
  assert_int_equal(backend.pinned, 3);
  assert_int_equal(backend.events, 2);
}

// Without an event, as after a failure, the destructor waits for the stream.
void buffers_that_are_left_in_use_wait_for_their_stream(void**) {
  static ScriptedBackend backend;
  {
    const StagingBuffer buffer(backend, 0, 5);
  }
  assert_true(backend.was_called("synchronize_stream 5"));
  const StagingBuffer again(backend, 0, 6);
  assert_int_equal(backend.pinned, 1);
}

// A block that the device may still use is leaked.
void buffers_of_a_lost_stream_are_given_up(void**) {
  static ScriptedBackend& backend = *new ScriptedBackend;  // knows at exit what was given up
  backend.failing = "synchronize_stream 5";
  const char* lost = nullptr;
  {
    const StagingBuffer buffer(backend, 0, 5);
    lost = buffer.data();
  }
  {
    StagingBuffer other(backend, 0, 6);
    assert_ptr_not_equal(other.data(), lost);
    other.in_use_until(backend.record(0, 6));
  }
  for (int k = 0; k < 2; ++k) const StagingBuffer lost_too(backend, 0, 5);
  // They are not counted any more, so another block is allocated.
  const StagingBuffer another(backend, 0, 6);
  assert_false(backend.was_called("wait_on_host"));
}

// More buffers at once than the pool keeps: the last one is freed after its work.
void only_some_buffers_are_kept(void**) {
  static ScriptedBackend backend;
  {
    std::unique_ptr<StagingBuffer> buffers[4];
    for (auto& buffer : buffers) {
      buffer = std::make_unique<StagingBuffer>(backend, 0, 5);
      buffer->in_use_until(backend.record(0, 5));
    }
    assert_int_equal(backend.pinned, 4);
  }
  assert_int_equal(backend.pinned, 3);
  assert_int_equal(backend.events, 3);
  assert_string_equal(backend.log[backend.log.size() - 2].c_str(), "wait_on_host");
}

// After a failed wait the block stays free, with its event.
void a_failing_wait_loses_no_buffer(void**) {
  static ScriptedBackend backend;
  for (int k = 0; k < 3; ++k) {
    StagingBuffer(backend, 0, 5).in_use_until(backend.record(0, 5));
  }
  backend.failing = "wait_on_host";
  try {
    const StagingBuffer none(backend, 0, 5);
    assert_true(false);
  } catch (const dlx::Error&) {
  }
  assert_int_equal(backend.events, 3);
  backend.failing = "";
  const StagingBuffer first(backend, 0, 5), second(backend, 0, 5), third(backend, 0, 5);
  assert_int_equal(backend.pinned, 3);
}

// A failed allocation is not counted.
void a_failing_allocation_is_forgotten(void**) {
  static ScriptedBackend backend;
  StagingBuffer(backend, 0, 5).in_use_until(backend.record(0, 5));
  backend.failing = "allocate_pinned";
  for (int k = 0; k < 3; ++k) {
    try {
      const StagingBuffer none(backend, 0, 5);
      assert_true(false);
    } catch (const dlx::Error&) {
    }
  }
  backend.failing = "";
  const StagingBuffer another(backend, 0, 5);
  assert_false(backend.was_called("wait_on_host"));
  assert_int_equal(backend.pinned, 2);
}

// A block whose work was waited for has no event any more.
void a_block_is_waited_for_once(void**) {
  static ScriptedBackend backend;
  {
    StagingBuffer buffer(backend, 0, 5);
    buffer.in_use_until(backend.record(0, 5));
    buffer.wait();
    assert_int_equal(backend.events, 0);
    buffer.wait();
  }
  backend.log.clear();
  const StagingBuffer again(backend, 0, 5);
  assert_false(backend.was_called("wait_on_host"));
  assert_int_equal(backend.pinned, 1);
  assert_int_equal(backend.events, 0);
}

// Blocks of two sizes are in two pools, each of which keeps as many as a transfer has wanted.
void blocks_of_two_sizes_are_not_mixed(void**) {
  static ScriptedBackend backend;
  constexpr dlx::StagingBlocks kSmall = {64, 5};
  const char* small = nullptr;
  {
    std::unique_ptr<StagingBuffer> buffers[5];
    for (auto& buffer : buffers) {
      buffer = std::make_unique<StagingBuffer>(backend, 0, 5, kSmall);
    }
    small = buffers[4]->data();  // which is returned first
  }
  assert_int_equal(backend.pinned, 5);
  const StagingBuffer large(backend, 0, 5);
  assert_int_equal(backend.pinned, 6);
  const StagingBuffer again(backend, 0, 5, kSmall);
  assert_ptr_equal(again.data(), small);
}

void use_three_blocks(ScriptedBackend& backend, int32_t id) {
  // A block that is given up keeps its event: sanitizers find it here.
  static auto& events = *new std::vector<dlx::EventHandle>;
  for (int k = 0; k < 3; ++k) {
    events.push_back(backend.record(id, 5));
    StagingBuffer(backend, id, 5).in_use_until(events.back());
  }
}

// A block of another device, which is lost, is given up. This device gets another one.
void another_devices_loss_stops_no_transfer(void**) {
  static ScriptedBackend& backend = *new ScriptedBackend;  // knows at exit what was given up
  use_three_blocks(backend, 1);
  backend.failing = "wait_on_host";
  const StagingBuffer buffer(backend, 0, 5);
  assert_int_equal(backend.pinned, 4);
}

// A block whose work cannot be waited for now stays free; another one serves.
void blocks_of_captured_streams_are_kept(void**) {
  static ScriptedBackend backend;
  use_three_blocks(backend, 0);
  backend.on_wait = [] { dlx::fail(DLX_ERROR_UNSUPPORTED, "the stream is captured"); };
  {
    const StagingBuffer buffer(backend, 0, 5);
    assert_int_equal(backend.pinned, 4);
  }
  assert_int_equal(backend.pinned, 3);
  assert_int_equal(backend.events, 3);
}

// Two threads read what a third one wrote: both wait for the write, but not for each other.
void readers_side_by_side_are_all_waited_for(void**) {
  ScriptedBackend backend;
  {
    dlx::Readiness readiness;
    readiness.end_use(backend, 0, 0, 5, 0);
    const dlx::Readiness::Note first = readiness.begin_use(backend, 0, 0, 6);
    const dlx::Readiness::Note second = readiness.begin_use(backend, 0, 0, 7);
    readiness.end_use(backend, 0, 0, 6, first);
    backend.log.clear();
    readiness.end_use(backend, 0, 0, 7, second);
    assert_true(backend.was_called("wait"));
    assert_int_equal(backend.events, 1);

    const dlx::Readiness::Note last = readiness.begin_use(backend, 0, 0, 6);
    backend.log.clear();
    readiness.end_use(backend, 0, 0, 6, last);  // which knows all that there was
    assert_false(backend.was_called("wait"));
    readiness.end_use(backend, 0, 0, 0, last);  // the default stream, which does not
    assert_true(backend.was_called("wait"));
    assert_true(readiness.is_behind_default());
  }
  assert_int_equal(backend.events, 0);
}

// Pinned memory on another device's default stream: that is not the one which its data is behind.
void default_streams_of_other_devices_are_other_streams(void**) {
  ScriptedBackend backend;
  {
    dlx::Readiness readiness;
    const dlx::Readiness::Note seen = readiness.begin_use(backend, 0, 1, 0);
    assert_true(backend.was_called("wait"));
    readiness.end_use(backend, 0, 1, 0, seen);
    assert_false(readiness.is_behind_default());
  }
  assert_int_equal(backend.events, 0);
}

// While one thread waits for a write, another one records a later write: the later one stays
// recorded.
void later_writes_are_not_forgotten(void**) {
  static ScriptedBackend backend;
  dlx::Readiness readiness;
  readiness.end_use(backend, 0, 0, 5, 0);
  backend.on_wait = [&] { readiness.end_use(backend, 0, 0, 6, 0); };
  readiness.wait_on_host(backend, 0);
  assert_false(readiness.is_behind_default());
  assert_int_equal(backend.events, 1);
  backend.on_wait = nullptr;
  readiness.wait_on_host(backend, 0);
  assert_true(readiness.is_behind_default());
  assert_int_equal(backend.events, 0);
}

// Objects are held while their work is pending, and forever if the query fails.
void what_is_held_goes_when_work_is_done(void**) {
  static ScriptedBackend backend;
  int released = 0;
  const auto count = [](void* counter) { ++*static_cast<int*>(counter); };
  dlx::hold_while_working(backend, 0, 5, count, &released);
  backend.busy = 1;
  dlx::release_all_held(backend);
  assert_int_equal(released, 0);
  backend.failing = "is_done";
  dlx::release_all_held(backend);
  assert_int_equal(released, 0);
  backend.failing = "";
  dlx::release_some_held(backend);
  assert_int_equal(released, 1);
  assert_int_equal(backend.events, 0);

  // A few pending objects end release_some_held(), one does not.
  for (int k = 0; k < 6; ++k) dlx::hold_while_working(backend, 0, 5, count, &released);
  backend.busy = 5;
  dlx::release_some_held(backend);
  assert_int_equal(released, 1);
  backend.busy = 5;
  dlx::release_all_held(backend);
  assert_int_equal(released, 2);
  dlx::release_all_held(backend);
  assert_int_equal(released, 7);

  // Nothing is held if no event can be recorded.
  backend.failing = "record";
  try {
    dlx::hold_while_working(backend, 0, 5, count, &released);
    assert_true(false);
  } catch (const dlx::Error&) {
  }
  backend.failing = "";
  dlx::release_all_held(backend);
  assert_int_equal(released, 7);
}

/// Runs `body` in many children, forked while another thread repeats `work`.
template <typename Work>
int passing_children(Work&& work, const std::function<void()>& body) {
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    while (!stop) work();
  });
  int passed = 0;
  while (passed < kChildren && dlx_test::run_forked([&] {
                                 alarm(10);
                                 body();
                               }).passed()) {
    ++passed;
  }
  stop = true;
  busy.join();
  return passed;
}

// Must be the first test, before any work is recorded.
void forked_children_may_ask_what_is_held(void**) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  print_message("skipped: the sanitizer's own locks do not survive fork()\n");
  skip();
#else
  static ScriptedBackend backend, busy;
  const int passed = passing_children(
      [] {
        dlx::hold_while_working(busy, 0, 0, [](void*) {}, nullptr);
        dlx::release_all_held(busy);
        busy.log.clear();
      },
      [] { dlx::release_all_held(backend); });
  assert_int_equal(passed, kChildren);
#endif
}

// A child that is forked while another thread holds the lock can release its objects.
void forked_children_find_no_lock(void**) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  print_message("skipped: the sanitizer's own locks do not survive fork()\n");
  skip();
#else
  static ScriptedBackend backend, busy;
  auto readiness = std::make_unique<dlx::Readiness>();
  readiness->end_use(backend, 0, 0, 5, 0);
  dlx::Readiness others;
  const int passed = passing_children(
      [&] {
        others.end_use(busy, 0, 0, 5, 0);
        busy.log.clear();
      },
      [&] { readiness.reset(); });
  assert_int_equal(passed, kChildren);
#endif
}

// Every event is released, whatever fails.
void failing_waits_keep_no_event(void**) {
  for (const char* failing : {"record", "wait", "wait_on_host", ""}) {
    ScriptedBackend backend;
    backend.failing = failing;
    for (int k = 0; k < 4; ++k) {
      dlx::Readiness readiness;
      try {
        if (k == 0) readiness.begin_use(backend, 0, 0, 5);
        if (k == 1) readiness.wait_on_host(backend, 0);
        if (k >= 2) readiness.end_use(backend, 0, 0, 5, 0);
        if (k == 3) readiness.end_use(backend, 0, 0, 6, 0);  // comes too late, and waits
        readiness.begin_use(backend, 0, 0, 6);
      } catch (const dlx::Error& error) {
        assert_string_equal(error.what(), (std::string(failing) + " fails").c_str());
      }
    }
    assert_int_equal(backend.events, 0);
  }
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(forked_children_may_ask_what_is_held),
      cmocka_unit_test(buffers_are_used_again_after_their_event),
      cmocka_unit_test(buffers_that_are_left_in_use_wait_for_their_stream),
      cmocka_unit_test(buffers_of_a_lost_stream_are_given_up),
      cmocka_unit_test(only_some_buffers_are_kept),
      cmocka_unit_test(a_failing_wait_loses_no_buffer),
      cmocka_unit_test(a_failing_allocation_is_forgotten),
      cmocka_unit_test(a_block_is_waited_for_once),
      cmocka_unit_test(blocks_of_two_sizes_are_not_mixed),
      cmocka_unit_test(another_devices_loss_stops_no_transfer),
      cmocka_unit_test(blocks_of_captured_streams_are_kept),
      cmocka_unit_test(readers_side_by_side_are_all_waited_for),
      cmocka_unit_test(default_streams_of_other_devices_are_other_streams),
      cmocka_unit_test(later_writes_are_not_forgotten),
      cmocka_unit_test(what_is_held_goes_when_work_is_done),
      cmocka_unit_test(forked_children_find_no_lock),
      cmocka_unit_test(failing_waits_keep_no_event),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
