/* Section "dlpack" of dlx.h: a tensor that is exported and imported many times, as in a loop that
 * passes its result to itself. */
#include <pthread.h>

#include "util.h"

enum { kRounds = 50000 };

static void *release(void *tensor) {
  dlx_tensor_release(tensor);
  return NULL;
}

static dlx_tensor *pass_on(dlx_tensor *tensor) {
  DLManagedTensorVersioned *managed = NULL;
  dlx_tensor *back = NULL;
  assert_ok(dlx_tensor_to_dlpack_versioned(tensor, NULL, &managed));
  assert_ok(dlx_tensor_from_dlpack_versioned(managed, NULL, &back));
  return back;
}

static dlx_tensor *pass_on_as_legacy(dlx_tensor *tensor) {
  DLManagedTensor *managed = NULL;
  dlx_tensor *back = NULL;
  assert_ok(dlx_tensor_to_dlpack(tensor, NULL, &managed));
  assert_ok(dlx_tensor_from_dlpack(managed, 0, &back));
  return back;
}

/* The release of a long chain needs little stack. */
static void assert_freed_on_a_small_stack(dlx_tensor *(*pass)(dlx_tensor *)) {
  static int32_t data[2];
  int released = 0;
  dlx_tensor *tensor = wrap_counted(data, 1, EXTENTS(2), &released);
  pthread_attr_t small;
  pthread_t thread;
  for (int round = 0; round < kRounds; ++round) {
    dlx_tensor *back = pass(tensor);
    dlx_tensor_release(tensor);
    tensor = back;
  }

  assert_int_equal(pthread_attr_init(&small), 0);
  assert_int_equal(pthread_attr_setstacksize(&small, 256 * 1024), 0);
  assert_int_equal(pthread_create(&thread, &small, release, tensor), 0);
  pthread_join(thread, NULL);
  pthread_attr_destroy(&small);

  assert_int_equal(released, 1);
}

static void long_chains_are_freed_on_a_small_stack(void **state) {
  (void)state;
  assert_freed_on_a_small_stack(pass_on);
}

static void long_chains_of_legacy_structs_are_freed_on_a_small_stack(void **state) {
  (void)state;
  assert_freed_on_a_small_stack(pass_on_as_legacy);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(long_chains_are_freed_on_a_small_stack),
      cmocka_unit_test(long_chains_of_legacy_structs_are_freed_on_a_small_stack),
  };
  return cmocka_run_group_tests_name("dlpack_chain", tests, NULL, NULL);
}
