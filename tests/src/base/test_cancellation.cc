// The end of a thread, told from an exception, and put off.
#include "src/base/cancellation.h"

#include <pthread.h>
#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>

// CMocka needs <csetjmp>, <cstdarg>, <cstddef> and <cstdint> first, and does not say that it is C.
extern "C" {
#include <cmocka.h>
}

namespace {

int cancel_state() {
  int state, ignored;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
  pthread_setcancelstate(state, &ignored);
  return state;
}

void cancellation_is_off_within_a_scope(void**) {
  assert_int_equal(cancel_state(), PTHREAD_CANCEL_ENABLE);
  {
    dlx::WithoutCancellation outer;
    {
      dlx::WithoutCancellation inner;
      assert_int_equal(cancel_state(), PTHREAD_CANCEL_DISABLE);
    }
    assert_int_equal(cancel_state(), PTHREAD_CANCEL_DISABLE);
  }
  assert_int_equal(cancel_state(), PTHREAD_CANCEL_ENABLE);
}

void an_exception_does_not_end_the_thread(void**) {
  bool ends = true;

  try {
    throw 1;
  } catch (...) {
    ends = dlx::thread_is_being_ended();
  }

  assert_false(ends);
}

void* leave(void* seen) {
  try {
    pthread_exit(nullptr);
  } catch (...) {
    *static_cast<bool*>(seen) = dlx::thread_is_being_ended();
    throw;
  }
}

void pthread_exit_ends_the_thread(void**) {
  bool seen = false;
  pthread_t thread;

  assert_int_equal(pthread_create(&thread, nullptr, leave, &seen), 0);
  pthread_join(thread, nullptr);

  assert_true(seen);
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(cancellation_is_off_within_a_scope),
      cmocka_unit_test(an_exception_does_not_end_the_thread),
      cmocka_unit_test(pthread_exit_ends_the_thread),
  };
  return cmocka_run_group_tests_name("cancellation", tests, nullptr, nullptr);
}
