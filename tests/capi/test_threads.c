/* Threads: one tensor in several threads, and the threads of a copy. */
#include <pthread.h>
#include <stdatomic.h>
#if !defined(_WIN32)
#include <sys/wait.h>
#include <unistd.h>
#endif

#include "arrow_util.h"
#include "dlx/call.h"

enum { kThreads = 4, kRounds = 2000 };

static int32_t data[6] = {0, 1, 2, 3, 4, 5};
static atomic_int released;
static atomic_int failures;

static void count_atomically(void *memory, void *user_data) {
  (void)memory;
  (void)user_data;
  atomic_fetch_add(&released, 1);
}

static dlx_tensor *wrap_shared(void) {
  const DLTensor description = describe(data, dtype_of(kDLInt, 32), 2, EXTENTS(2, 3), NULL);
  dlx_tensor *out = NULL;
  atomic_store(&released, 0);
  atomic_store(&failures, 0);
  assert_ok(dlx_tensor_wrap(&description, 0, count_atomically, NULL, &out));
  return out;
}

/* Runs `work` on kThreads threads, each with a reference of its own that it has to give back. */
static void run_threads(void *(*work)(void *), dlx_tensor *tensor) {
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i) dlx_tensor_retain(tensor);
  dlx_tensor_release(tensor);
  for (int i = 0; i < kThreads; ++i) {
    assert_int_equal(pthread_create(&threads[i], NULL, work, tensor), 0);
  }
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
}

/* CMocka's assertions work in the main thread only: other threads count failures. */
#define expect(condition)                             \
  do {                                                \
    if (!(condition)) atomic_fetch_add(&failures, 1); \
  } while (0)

static void *retain_and_release(void *tensor) {
  for (int i = 0; i < kRounds; ++i) {
    dlx_tensor_retain(tensor);
    expect(dlx_tensor_shape(tensor)[1] == 3);
    dlx_tensor_release(tensor);
  }
  dlx_tensor_release(tensor);
  return NULL;
}

/* References are counted correctly, and the last thread frees once. */
static void threads_retain_and_release_one_tensor(void **state) {
  (void)state;

  run_threads(retain_and_release, wrap_shared());

  assert_int_equal(atomic_load(&released), 1);
  assert_int_equal(atomic_load(&failures), 0);
}

static void *make_views(void *tensor) {
  for (int i = 0; i < kRounds; ++i) {
    dlx_tensor *row = NULL, *element = NULL;
    expect(dlx_tensor_select(tensor, 0, 1, &row) == DLX_OK);
    expect(dlx_tensor_select(row, 0, 2, &element) == DLX_OK);
    dlx_tensor_release(row);
    expect(*(int32_t *)dlx_tensor_data(element) == 5);
    dlx_tensor_release(element);
  }
  dlx_tensor_release(tensor);
  return NULL;
}

/* Views are made and released concurrently. */
static void threads_make_views_of_one_tensor(void **state) {
  (void)state;

  run_threads(make_views, wrap_shared());

  assert_int_equal(atomic_load(&released), 1);
  assert_int_equal(atomic_load(&failures), 0);
}

static void *export_and_import(void *tensor) {
  for (int i = 0; i < kRounds; ++i) {
    DLManagedTensorVersioned *managed = NULL;
    DLManagedTensor *old = NULL;
    dlx_tensor *back = NULL;
    expect(dlx_tensor_to_dlpack_versioned(tensor, NULL, &managed) == DLX_OK);
    expect(dlx_tensor_to_dlpack(tensor, NULL, &old) == DLX_OK);
    expect(dlx_tensor_from_dlpack_versioned(managed, NULL, &back) == DLX_OK);
    old->deleter(old);
    dlx_tensor_release(back);
  }
  dlx_tensor_release(tensor);
  return NULL;
}

/* Exports and imports run concurrently. */
static void threads_export_one_tensor(void **state) {
  (void)state;

  run_threads(export_and_import, wrap_shared());

  assert_int_equal(atomic_load(&released), 1);
  assert_int_equal(atomic_load(&failures), 0);
}

static void *call_deleter(void *managed) {
  DLManagedTensorVersioned *self = managed;
  self->deleter(self);
  return NULL;
}

/* An export's deleter may be called by any thread, also as the last user of the memory. */
static void export_is_deleted_by_another_thread(void **state) {
  (void)state;
  pthread_t thread;
  DLManagedTensorVersioned *managed = NULL;
  dlx_tensor *tensor = wrap_shared();
  assert_ok(dlx_tensor_to_dlpack_versioned(tensor, NULL, &managed));
  dlx_tensor_release(tensor);

  assert_int_equal(pthread_create(&thread, NULL, call_deleter, managed), 0);
  pthread_join(thread, NULL);

  assert_int_equal(atomic_load(&released), 1);
}

static void *set_policies(void *tensor) {
  for (int i = 0; i < kRounds; ++i) {
    dlx_tensor *made = NULL;
    DLDataType dtype = dtype_of(kDLInt, 32);
    expect(dlx_set_export_negative_strides(1 + i % 3) == DLX_OK);
    expect(dlx_get_export_negative_strides() >= 1);
    expect(dlx_set_allocator(kDLCPU, NULL) == DLX_OK);
    expect(dlx_set_num_threads(1 + i % 2) == DLX_OK);
    expect(dlx_get_num_threads() >= 1);
    expect(dlx_tensor_empty(0, NULL, &dtype, kDLCPU, 0, NULL, &made) == DLX_OK);
    dlx_tensor_release(made);
  }
  dlx_tensor_release(tensor);
  return NULL;
}

/* Any thread may change the settings of the process at any time. */
static void threads_set_what_holds_for_the_process(void **state) {
  (void)state;

  run_threads(set_policies, wrap_shared());
  assert_ok(dlx_set_export_negative_strides(DLX_NEGATIVE_STRIDES_DEFAULT));
  assert_ok(dlx_set_num_threads(0));

  assert_int_equal(atomic_load(&failures), 0);
}

/* ---- the threads of a copy -------------------------------------------------------------------- */

enum { kRows = 3000, kColumns = 2000 };

/* Clones the transpose of a matrix of 24 MB, and checks every element. */
static void copy_a_large_matrix(void) {
  int32_t *matrix = malloc(sizeof *matrix * kRows * kColumns);
  for (int32_t i = 0; i < kRows * kColumns; ++i) matrix[i] = i;
  dlx_tensor *tensor = wrap_int32(matrix, 2, EXTENTS(kRows, kColumns)), *transposed, *copy;
  assert_ok(dlx_tensor_permute(tensor, NULL, &transposed));

  assert_ok(dlx_tensor_clone(transposed, NULL, &copy));

  const int32_t *values = dlx_tensor_data(copy);
  for (int32_t column = 0; column < kColumns; ++column) {
    for (int32_t row = 0; row < kRows; ++row) {
      if (values[column * kRows + row] != row * kColumns + column) {
        fail_msg("element %d, %d differs", column, row);
      }
    }
  }
  dlx_tensor_release(copy);
  dlx_tensor_release(transposed);
  dlx_tensor_release(tensor);
  free(matrix);
}

/* A host's thread pool that counts, and runs the pieces out of order. */
typedef struct pool {
  int calls;
  int64_t pieces;
} pool;

static void run_backwards(int64_t count, dlx_parallel_task_fn task, void *task_data,
                          void *user_data) {
  pool *self = user_data;
  ++self->calls;
  self->pieces += count;
  for (int64_t i = count - 1; i >= 0; --i) task(task_data, i);
}

/* A large copy uses the host's pool if there is one, and is correct in any order. */
static void large_copies_use_the_hosts_pool(void **state) {
  (void)state;
  pool self = {0, 0};
  assert_ok(dlx_set_num_threads(4));
  assert_ok(dlx_set_parallel_for(run_backwards, &self));

  copy_a_large_matrix();
  assert_ok(dlx_set_parallel_for(NULL, NULL));
  assert_ok(dlx_set_num_threads(0));

  assert_in_range(self.calls, 1, INT32_MAX);
  assert_in_range(self.pieces, 2, INT32_MAX);
}

/* NULL restores dlx's own pool. */
static void null_restores_dlx_own_pool(void **state) {
  (void)state;
  pool self = {0, 0};
  assert_ok(dlx_set_num_threads(4));
  assert_ok(dlx_set_parallel_for(run_backwards, &self));
  assert_ok(dlx_set_parallel_for(NULL, NULL));

  copy_a_large_matrix();
  assert_ok(dlx_set_num_threads(0));

  assert_int_equal(self.calls, 0);
}

/* With one thread the pool is not used. */
static void one_thread_asks_no_pool(void **state) {
  (void)state;
  pool self = {0, 0};
  assert_ok(dlx_set_num_threads(1));
  assert_ok(dlx_set_parallel_for(run_backwards, &self));

  copy_a_large_matrix();
  assert_ok(dlx_set_parallel_for(NULL, NULL));
  assert_ok(dlx_set_num_threads(0));

  assert_true(self.pieces <= 1);
}

/* A huge number of threads is accepted. */
static void more_threads_than_there_can_be_are_no_failure(void **state) {
  (void)state;
  assert_ok(dlx_set_num_threads(INT32_MAX));

  copy_a_large_matrix();

  assert_ok(dlx_set_num_threads(0));
}

static void *allocate(size_t size, size_t alignment, int32_t device_type, int32_t device_id,
                      void *user_data) {
  (void)device_type;
  (void)device_id;
  (void)user_data;
  return allocate_aligned(alignment, size);
}

static void deallocate(void *memory, size_t size, int32_t device_type, int32_t device_id,
                       void *user_data) {
  (void)size;
  (void)device_type;
  (void)device_id;
  (void)user_data;
  free_aligned(memory);
}

static atomic_int stop;

static void make_one(void) {
  const DLDataType dtype = dtype_of(kDLFloat, 32);
  dlx_tensor *out = NULL;
  expect(dlx_tensor_empty(1, EXTENTS(3), &dtype, kDLCPU, 0, NULL, &out) == DLX_OK);
  dlx_tensor_release(out);
}

static void *make_tensors(void *unused) {
  (void)unused;
  while (!atomic_load(&stop)) make_one();
  return NULL;
}

#if !defined(_WIN32)
/* A forked child can allocate, whatever the parent's threads were doing. */
static void children_allocate_beside_busy_threads(void **state) {
  (void)state;
#ifdef UNDER_SANITIZER
  print_message("skipped: sanitizers have locks of their own in a child of fork()\n");
  skip();
#endif
  dlx_allocator allocator = DLX_ALLOCATOR_INIT;
  allocator.allocate = allocate;
  allocator.deallocate = deallocate;
  assert_ok(dlx_set_allocator(kDLCPU, &allocator));
  atomic_store(&stop, 0);
  atomic_store(&failures, 0);
  pthread_t busy;
  assert_int_equal(pthread_create(&busy, NULL, make_tensors, NULL), 0);

  int good = 0;
  for (int i = 0; i < 300; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20); /* a child that hangs is a failure, not a hanging test */
      make_one();
      _exit(0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    good += WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (good <= i) break;
  }
  atomic_store(&stop, 1);
  pthread_join(busy, NULL);
  assert_ok(dlx_set_allocator(kDLCPU, NULL));

  assert_int_equal(good, 300);
  assert_int_equal(atomic_load(&failures), 0);
}
#endif

static void *copy_without_end(void *large) {
  for (;;) {
    dlx_tensor *turned = NULL, *copy = NULL;
    expect(dlx_tensor_permute(large, NULL, &turned) == DLX_OK);
    expect(dlx_tensor_clone(turned, NULL, &copy) == DLX_OK);
    dlx_tensor_release(copy);
    dlx_tensor_release(turned);
    pthread_testcancel();
  }
  return NULL;
}

/* A thread that is cancelled ends after its copy, and the workers go on with those of others. */
static void a_copy_that_is_cancelled_is_finished(void **state) {
  (void)state;
#ifdef UNDER_SANITIZER
  print_message("skipped: the address sanitizer takes a cancelled thread for a fault\n");
  skip();
#endif
  const DLDataType dtype = dtype_of(kDLFloat, 32);
  dlx_tensor *large = NULL, *copy = NULL;
  assert_ok(dlx_tensor_empty(2, EXTENTS(900, 900), &dtype, kDLCPU, 0, NULL, &large));
  atomic_store(&failures, 0);
  assert_ok(dlx_set_num_threads(2));
  for (int i = 0; i < 20; ++i) {
    pthread_t copying;
    void *result = NULL;
    assert_int_equal(pthread_create(&copying, NULL, copy_without_end, large), 0);
    for (int k = 0; k < 3000 * (i % 7); ++k) make_one(); /* some milliseconds */
    assert_int_equal(pthread_cancel(copying), 0);
    assert_int_equal(pthread_join(copying, &result), 0);
    assert_ptr_equal(result, PTHREAD_CANCELED);
    assert_ok(dlx_tensor_clone(large, NULL, &copy));
    dlx_tensor_release(copy);
  }
  assert_ok(dlx_set_num_threads(0));
  dlx_tensor_release(large);
  assert_int_equal(atomic_load(&failures), 0);
}

static dlx_status doubled(void *context, const dlx_argument *arguments) {
  const DLTensor *x = arguments[0].array, *y = arguments[1].array;
  (void)context;
  if (arguments[2].integer < 0) {
    char text[64];
    snprintf(text, sizeof text, "doubled: no %lld", (long long)arguments[2].integer);
    dlx_set_last_error(text);
    return DLX_ERROR_UNSUPPORTED;
  }
  for (int64_t i = 0; i < x->shape[0]; ++i) {
    ((int32_t *)y->data)[i] = 2 * ((const int32_t *)x->data)[i];
  }
  return DLX_OK;
}

static dlx_contract *shared_contract;
static atomic_int next_number;

/* Calls that fit, calls that fail and arguments that do not fit, each with its own words. */
static void *call_by_contract(void *matrix) {
  const int number = atomic_fetch_add(&next_number, 1) + 1;
  char wanted[64];
  snprintf(wanted, sizeof wanted, "doubled: no -%d", number);
  dlx_tensor *row = NULL;
  expect(dlx_tensor_select(matrix, 0, number % 2, &row) == DLX_OK);
  for (int i = 0; i < kRounds / 10; ++i) {
    dlx_tensor *tensors[] = {row, NULL, NULL}, *out = NULL;
    dlx_argument values[3] = {{0}};
    expect(dlx_contract_call(shared_contract, doubled, NULL, tensors, values, &out) == DLX_OK);
    if (out != NULL) {
      expect(((const int32_t *)dlx_tensor_data(out))[2] == 2 * (3 * (number % 2) + 2));
      dlx_tensor_release(out);
    }
    values[2].integer = -number;
    expect(dlx_contract_call(shared_contract, doubled, NULL, tensors, values, &out) ==
           DLX_ERROR_UNSUPPORTED);
    expect(strcmp(dlx_last_error(), wanted) == 0);
    tensors[0] = matrix;
    expect(dlx_contract_call(shared_contract, doubled, NULL, tensors, values, &out) ==
           DLX_ERROR_INVALID_ARGUMENT);
    expect(strstr(dlx_last_error(), "doubled: `x` must have 1 axis") != NULL);
  }
  dlx_tensor_release(row);
  dlx_tensor_release(matrix);
  return NULL;
}

/* A contract never changes: threads share it without a lock, and each has its own last error. */
static void threads_share_a_contract(void **state) {
  (void)state;
  atomic_store(&next_number, 0);
  assert_ok(dlx_contract_create("doubled(x: int32[n], y: int32[n] result, number: int)",
                                &shared_contract));
  run_threads(call_by_contract, wrap_shared());
  dlx_contract_release(shared_contract);
  assert_int_equal(atomic_load(&failures), 0);
  assert_int_equal(atomic_load(&released), 1);
}

static void end_the_thread(void *memory, void *user_data) {
  (void)memory;
  (void)user_data;
  atomic_fetch_add(&released, 1);
  pthread_exit(NULL);
}

static void *release_arrow(void *array) {
  ((struct ArrowArray *)array)->release(array);
  return NULL;
}

static void *release_tensor(void *tensor) {
  dlx_tensor_release(tensor);
  return NULL;
}

/* Deleters of Python libraries do that when the interpreter shuts down: CPython before 3.14 ends a
 * thread that waits for the GIL then. The process goes on. */
static void deleters_may_end_their_thread(void **state) {
  (void)state;
#ifdef UNDER_SANITIZER
  print_message("skipped: the thread leaves memory behind\n");
  skip();
#endif
  const DLTensor description = describe(data, dtype_of(kDLInt, 32), 2, EXTENTS(2, 3), NULL);
  void *(*const ways[])(void *) = {release_tensor, call_deleter, release_arrow};
  atomic_store(&released, 0);
  for (size_t i = 0; i < COUNT_OF(ways); ++i) {
    pthread_t thread;
    dlx_tensor *tensor = NULL;
    DLManagedTensorVersioned *managed = NULL;
    struct ArrowArray array;
    assert_ok(dlx_tensor_wrap(&description, 0, end_the_thread, NULL, &tensor));
    assert_ok(dlx_tensor_to_dlpack_versioned(tensor, NULL, &managed));
    assert_ok(dlx_tensor_to_arrow(tensor, NULL, &array, NULL));
    /* The one of the three that goes last is another thread's. */
    if (i != 0) dlx_tensor_release(tensor);
    if (i != 1) managed->deleter(managed);
    if (i != 2) array.release(&array);
    void *const last[] = {tensor, managed, &array};
    assert_int_equal(pthread_create(&thread, NULL, ways[i], last[i]), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
  }
  assert_int_equal(atomic_load(&released), COUNT_OF(ways));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(threads_retain_and_release_one_tensor),
      cmocka_unit_test(threads_make_views_of_one_tensor),
      cmocka_unit_test(threads_export_one_tensor),
      cmocka_unit_test(export_is_deleted_by_another_thread),
      cmocka_unit_test(threads_set_what_holds_for_the_process),
      cmocka_unit_test(threads_share_a_contract),
      cmocka_unit_test(large_copies_use_the_hosts_pool),
      cmocka_unit_test(null_restores_dlx_own_pool),
      cmocka_unit_test(one_thread_asks_no_pool),
      cmocka_unit_test(more_threads_than_there_can_be_are_no_failure),
#if !defined(_WIN32)
      cmocka_unit_test(children_allocate_beside_busy_threads),
#endif
      cmocka_unit_test(a_copy_that_is_cancelled_is_finished),
      cmocka_unit_test(deleters_may_end_their_thread),
  };
  return cmocka_run_group_tests_name("threads", tests, NULL, NULL);
}
