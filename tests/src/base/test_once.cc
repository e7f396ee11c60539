// Work that runs once, also when threads ask for it at the same time.
#include "src/base/once.h"

#include <atomic>
#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <thread>
#include <vector>

// CMocka needs <csetjmp>, <cstdarg>, <cstddef> and <cstdint> first, and does not say that it is C.
extern "C" {
#include <cmocka.h>
}

namespace {

void later_calls_do_nothing(void**) {
  dlx::Once once;
  int runs = 0;

  for (int i = 0; i < 3; ++i) once.run([&] { ++runs; });

  assert_int_equal(runs, 1);
}

void the_next_call_tries_again_after_a_throw(void**) {
  dlx::Once once;
  int runs = 0;
  bool thrown = false;

  try {
    once.run([] { throw std::runtime_error("first"); });
  } catch (const std::runtime_error&) {
    thrown = true;
  }
  once.run([&] { ++runs; });
  once.run([&] { ++runs; });

  assert_true(thrown);
  assert_int_equal(runs, 1);
}

// No thread returns before the work is done.
void threads_wait_for_the_one_that_runs(void**) {
  for (int round = 0; round < 50; ++round) {
    dlx::Once once;
    int runs = 0, value = 0;
    std::atomic<int> early{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        once.run([&] {
          std::this_thread::yield();
          ++runs;
          value = 7;
        });
        if (value != 7) ++early;
      });
    }
    for (std::thread& thread : threads) thread.join();

    assert_int_equal(runs, 1);
    assert_int_equal(early.load(), 0);
  }
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(later_calls_do_nothing),
      cmocka_unit_test(the_next_call_tries_again_after_a_throw),
      cmocka_unit_test(threads_wait_for_the_one_that_runs),
  };
  return cmocka_run_group_tests_name("once", tests, nullptr, nullptr);
}
