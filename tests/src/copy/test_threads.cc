// The thread pool runs every index once: for one caller or several, after fork(), and with the
// host's executor.
#include "src/copy/threads/threads.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <numeric>
#include <thread>
#include <vector>

#include "copy_test.h"
#include "dlx/dlx.h"
#include "src/copy/copy.h"
#include "src/copy/schedule/machine.h"

namespace {

using dlx_test::Described;

constexpr int64_t kCount = 1000;

struct Counts {
  std::atomic<int32_t> of[kCount] = {};
};

void count_index(void* data, int64_t index) { ++static_cast<Counts*>(data)->of[index]; }

bool each_once(const Counts& counts) {
  for (const auto& count : counts.of) {
    if (count != 1) return false;
  }
  return true;
}

// 0 restores the default, which is at least one thread.
void num_threads_is_what_was_set(void**) {
  dlx::set_num_threads(3);
  assert_int_equal(dlx::num_threads(), 3);
  dlx::set_num_threads(0);
  assert_true(dlx::num_threads() >= 1);
}

// Every index runs once, however many threads there are.
void every_index_runs_once(void**) {
  for (const int32_t threads : {1, 2, 7}) {
    dlx::set_num_threads(threads);
    for (int round = 0; round < 50; ++round) {
      Counts counts;
      dlx::parallel_for(kCount, count_index, &counts);
      assert_true(each_once(counts));
    }
  }
  dlx::set_num_threads(0);
}

// All work is done for callers on several threads at once.
void callers_do_not_disturb_each_other(void**) {
  dlx::set_num_threads(4);
  std::atomic<int32_t> right{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&right] {
      for (int round = 0; round < 50; ++round) {
        Counts counts;
        dlx::parallel_for(kCount, count_index, &counts);
        right += each_once(counts);
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  dlx::set_num_threads(0);

  assert_int_equal(right, 200);
}

// A child of fork() has none of the parent's threads, and starts its own.
void the_pool_survives_fork(void**) {
#if defined(__SANITIZE_THREAD__)
  print_message("skipped: ThreadSanitizer allows no threads after fork()\n");
  skip();
#endif
  dlx::set_num_threads(3);
  Counts before;
  dlx::parallel_for(kCount, count_index, &before);

  const pid_t child = fork();
  if (child == 0) {
    alarm(20);  // a child that hangs is a failure, not a hanging test
    Counts counts;
    dlx::parallel_for(kCount, count_index, &counts);
    _exit(each_once(counts) ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  dlx::set_num_threads(0);

  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
}

struct Host {
  int calls = 0;
  int64_t indices = 0;
};

void run_in_order(int64_t count, dlx_parallel_task_fn task, void* task_data, void* user_data) {
  Host& host = *static_cast<Host*>(user_data);
  ++host.calls;
  host.indices += count;
  for (int64_t index = 0; index < count; ++index) task(task_data, index);
}

// The host's executor is used instead of the pool, until NULL restores the pool.
void the_host_can_run_the_work(void**) {
  Host host;
  Counts with_host;
  Counts without;

  dlx::set_parallel_for(run_in_order, &host);
  dlx::parallel_for(kCount, count_index, &with_host);
  dlx::set_parallel_for(nullptr, nullptr);
  dlx::parallel_for(kCount, count_index, &without);

  assert_int_equal(host.calls, 1);
  assert_true(each_once(with_host));
  assert_true(each_once(without));
}

// Lanes of 4 and of 2 bits every 12 bits, from byte 0 and from byte 1 on: distinct, but in the same bytes.
void lanes_of_both_operands_in_one_byte_are_one_threads(void**) {
  constexpr int64_t kLanes = 1 << 22;
  std::vector<uint8_t> memory(kLanes * 12 / 8 + 8);
  std::vector<uint8_t> others(kLanes * 12 / 8 + 8);
  for (size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<uint8_t>(i * 37);
  const std::vector<uint8_t> before = memory;
  Described wide(memory.data(), {kLanes}, {3}, {kDLUInt, 4, 1});
  Described narrow(memory.data() + 1, {kLanes}, {6}, {kDLUInt, 2, 1});
  Described elsewhere(others.data(), {kLanes}, {3}, {kDLUInt, 4, 1});
  Host host;
  dlx::set_num_threads(4);
  dlx::set_parallel_for(run_in_order, &host);

  dlx::copy_tensor(wide.tensor, false, narrow.tensor, false);
  assert_int_equal(host.calls, 0);
  dlx::copy_tensor(elsewhere.tensor, false, narrow.tensor, false);
  assert_int_equal(host.calls, 1);

  dlx::set_parallel_for(nullptr, nullptr);
  dlx::set_num_threads(0);
  const auto bits = [](const std::vector<uint8_t>& from, int64_t bit, int width) {
    return from[static_cast<size_t>(bit / 8)] >> (bit % 8) & ((1 << width) - 1);
  };
  for (int64_t i = 0; i < kLanes; ++i) {
    const int expected = bits(before, 8 + 12 * i, 2);
    assert_int_equal(bits(memory, 12 * i, 4), expected);
    assert_int_equal(bits(others, 12 * i, 4), expected);
  }
}

/// The number of threads of this process.
int64_t count_threads() {
  int64_t count = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    count += !task.path().empty();
  }
  return count;
}

// However many threads are allowed, a copy starts at most as many as the cores can use.
void the_pool_has_an_upper_limit(void**) {
  const size_t bytes = 24 << 20;
  std::vector<uint8_t> dst(bytes);
  std::vector<uint8_t> src(bytes, 7);
  int64_t shape[] = {static_cast<int64_t>(bytes)};
  DLTensor from{};
  from.data = src.data();
  from.device = {kDLCPU, 0};
  from.ndim = 1;
  from.dtype = {kDLUInt, 8, 1};
  from.shape = shape;
  DLTensor to = from;
  to.data = dst.data();
  const int64_t sanitizer = 1;  // may have a thread of its own

  dlx::set_num_threads(INT32_MAX);
  dlx::copy_tensor(to, false, from, false);
  dlx::set_num_threads(0);

  assert_true(dst == src);
  assert_true(count_threads() <= dlx::kThreadsPerCore * dlx::available_cores() + sanitizer);
}

/// The number of pieces for 4 threads of a copy of int32 from `steps` (in elements) to C order.
/// Asserts that all elements arrive.
int64_t pieces_of(const std::vector<int64_t>& shape, const std::vector<int64_t>& steps) {
  int64_t elements = 1;
  int64_t last = 0;
  for (size_t k = 0; k < shape.size(); ++k) {
    elements *= shape[k];
    last += (shape[k] - 1) * steps[k];
  }
  std::vector<int32_t> src(static_cast<size_t>(last + 1));
  std::iota(src.begin(), src.end(), 1);
  std::vector<int32_t> dst(static_cast<size_t>(elements));
  const Described from(src.data(), shape, steps);
  const Described to(dst.data(), shape);
  Host host;
  dlx::set_num_threads(4);
  dlx::set_parallel_for(run_in_order, &host);
  dlx::copy_tensor(to.tensor, false, from.tensor, false);
  dlx::set_parallel_for(nullptr, nullptr);
  dlx::set_num_threads(0);
  int64_t wrong = 0;
  for (int64_t i = 0; i < elements; ++i) {
    int64_t rest = i;
    int64_t from_first = 0;
    for (size_t k = shape.size(); k-- > 0; rest /= shape[k]) {
      from_first += rest % shape[k] * steps[k];
    }
    wrong += dst[static_cast<size_t>(i)] != from_first + 1;
  }
  assert_int_equal(wrong, 0);
  return host.indices;
}

// A large copy with any axes has work for all threads: at least two pieces for each.
void every_layout_is_shared_out(void**) {
  std::vector<int64_t> steps(20);
  for (size_t k = 0; k < steps.size(); ++k) steps[k] = int64_t{1} << k;
  assert_true(pieces_of(std::vector<int64_t>(20, 2), steps) >= 8);
  assert_true(pieces_of({12, 22, 14, 16, 12}, {14, 2016, 1, 44352, 168}) >= 8);
  assert_true(pieces_of({3, 500000}, {1, 3}) >= 8);
  assert_true(pieces_of({500000, 3}, {1, 500000}) >= 8);
  assert_true(pieces_of({2, 500000}, {600000, 1}) >= 8);
  assert_true(pieces_of({1000000}, {1}) >= 8);
}

// Copies on several threads at once, each cut into pieces: every element arrives.
void parallel_copies_are_exact(void**) {
  const dlx::Machine before = dlx::machine();
  dlx::machine().parallel_bytes = 0;
  dlx::machine().stream_bytes = 0;
  dlx::set_num_threads(4);
  std::atomic<int32_t> wrong{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 3; ++caller) {
    callers.emplace_back([&wrong] {
      const int64_t rows = 257;
      const int64_t columns = 301;
      std::vector<uint16_t> src(static_cast<size_t>(rows * columns));
      std::iota(src.begin(), src.end(), static_cast<uint16_t>(0));
      int64_t shape[] = {columns, rows};
      int64_t strides[] = {1, columns};
      for (int round = 0; round < 10; ++round) {
        std::vector<uint16_t> dst(src.size());
        DLTensor from{};
        from.data = src.data();
        from.device = {kDLCPU, 0};
        from.ndim = 2;
        from.dtype = {kDLUInt, 16, 1};
        from.shape = shape;
        from.strides = strides;
        DLTensor to = from;
        to.data = dst.data();
        to.strides = nullptr;
        dlx::copy_tensor(to, false, from, false);
        for (int64_t i = 0; i < columns; ++i) {
          for (int64_t j = 0; j < rows; ++j) {
            wrong +=
                dst[static_cast<size_t>(i * rows + j)] != src[static_cast<size_t>(j * columns + i)];
          }
        }
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  dlx::set_num_threads(0);
  dlx::machine() = before;

  assert_int_equal(wrong, 0);
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(num_threads_is_what_was_set),
      cmocka_unit_test(every_index_runs_once),
      cmocka_unit_test(callers_do_not_disturb_each_other),
      cmocka_unit_test(the_pool_survives_fork),
      cmocka_unit_test(the_host_can_run_the_work),
      cmocka_unit_test(lanes_of_both_operands_in_one_byte_are_one_threads),
      cmocka_unit_test(the_pool_has_an_upper_limit),
      cmocka_unit_test(every_layout_is_shared_out),
      cmocka_unit_test(parallel_copies_are_exact),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
