/* Section "library" of dlx.h: versions, statuses, messages. */
#include <pthread.h>

#include "util.h"

/* There is a message even before the first failure: it is never NULL. */
static void last_error_is_never_null(void **state) {
  (void)state;

  assert_non_null(dlx_last_error());
}

/* The version is that of the header, "major.minor.patch". */
static void version_is_that_of_the_header(void **state) {
  (void)state;
  char expected[64];
  snprintf(expected, sizeof expected, "%d.%d.%d", DLX_VERSION_MAJOR, DLX_VERSION_MINOR,
           DLX_VERSION_PATCH);

  assert_string_equal(dlx_version(), expected);
}

/* The ABI version is the N of libdlx.so.N; another one breaks all existing programs. */
static void abi_version_is_1(void **state) {
  (void)state;

  assert_int_equal(dlx_abi_version(), 1);
}

/* Values of statuses are stable, and each has its own name. */
static void statuses_have_fixed_numbers_and_their_names(void **state) {
  (void)state;

  assert_string_equal(dlx_status_name(0), "DLX_OK");
  assert_string_equal(dlx_status_name(1), "DLX_ERROR_INVALID_ARGUMENT");
  assert_string_equal(dlx_status_name(2), "DLX_ERROR_OUT_OF_MEMORY");
  assert_string_equal(dlx_status_name(3), "DLX_ERROR_UNSUPPORTED");
  assert_string_equal(dlx_status_name(4), "DLX_ERROR_UNAVAILABLE");
  assert_string_equal(dlx_status_name(5), "DLX_ERROR_DRIVER");
  assert_string_equal(dlx_status_name(6), "DLX_ERROR_READ_ONLY");
  assert_string_equal(dlx_status_name(7), "DLX_ERROR_COPY_REFUSED");
  assert_string_equal(dlx_status_name(8), "DLX_ERROR_DEVICE_REFUSED");
  assert_string_equal(dlx_status_name(255), "DLX_ERROR_INTERNAL");
}

/* An unknown status has a name too. */
static void status_name_of_a_stranger_says_so(void **state) {
  (void)state;

  assert_string_equal(dlx_status_name(9), "unknown status");
  assert_string_equal(dlx_status_name(254), "unknown status");
  assert_string_equal(dlx_status_name(-1), "unknown status");
  assert_string_equal(dlx_status_name(INT32_MIN), "unknown status");
}

/* A message starts with the name of the failed function. */
static void last_error_names_the_function(void **state) {
  (void)state;
  DLDataType dtype;

  assert_int_equal(dlx_dtype_parse("int33", &dtype), DLX_ERROR_INVALID_ARGUMENT);

  assert_memory_equal(dlx_last_error(), "dlx_dtype_parse: ", strlen("dlx_dtype_parse: "));
  assert_says(dlx_last_error(), "int33");
}

/* A successful call does not change the message. */
static void success_leaves_the_last_error_alone(void **state) {
  (void)state;
  DLDataType dtype;
  char before[1024];
  assert_int_not_equal(dlx_dtype_parse("no such name", &dtype), DLX_OK);
  snprintf(before, sizeof before, "%s", dlx_last_error());

  assert_ok(dlx_dtype_parse("int32", &dtype));
  dlx_tensor_release(NULL);

  assert_string_equal(dlx_last_error(), before);
}

/* Releasing the last reference does not change the message. */
static void release_leaves_the_last_error_alone(void **state) {
  (void)state;
  int32_t data[2] = {1, 2};
  int released = 0;
  char before[1024];
  dlx_tensor *tensor = wrap_counted(data, 1, EXTENTS(2), &released);
  dlx_tensor *view = NULL;
  assert_int_not_equal(dlx_tensor_select(tensor, 7, 0, &view), DLX_OK);
  snprintf(before, sizeof before, "%s", dlx_last_error());

  dlx_tensor_release(tensor);

  assert_int_equal(released, 1);
  assert_string_equal(dlx_last_error(), before);
}

/* A message with a long text of the caller is truncated and terminated. */
static void last_error_is_cut_where_the_callers_text_is_long(void **state) {
  (void)state;
  char name[5000];
  DLDataType dtype;
  memset(name, 'x', sizeof name);
  name[sizeof name - 1] = '\0';

  assert_int_equal(dlx_dtype_parse(name, &dtype), DLX_ERROR_INVALID_ARGUMENT);

  assert_in_range(strlen(dlx_last_error()), 20, 1023);
}

/* A % in a caller's text is not a format. */
static void last_error_takes_a_percent_sign_as_it_is(void **state) {
  (void)state;
  DLDataType dtype;

  assert_int_equal(dlx_dtype_parse("%s%n%d", &dtype), DLX_ERROR_INVALID_ARGUMENT);

  assert_says(dlx_last_error(), "%s%n%d");
}

static void *fail_elsewhere(void *result) {
  DLDataType dtype;
  *(int *)result = dlx_dtype_parse("from another thread", &dtype) == DLX_ERROR_INVALID_ARGUMENT &&
                   strstr(dlx_last_error(), "from another thread") != NULL;
  return NULL;
}

/* Each thread has its own message. */
static void last_error_belongs_to_its_thread(void **state) {
  (void)state;
  DLDataType dtype;
  int failed_as_expected = 0;
  pthread_t thread;
  assert_int_equal(dlx_dtype_parse("from this thread", &dtype), DLX_ERROR_INVALID_ARGUMENT);

  assert_int_equal(pthread_create(&thread, NULL, fail_elsewhere, &failed_as_expected), 0);
  pthread_join(thread, NULL);

  assert_true(failed_as_expected);
  assert_says(dlx_last_error(), "from this thread");
}

/* The getter returns the number that was set. */
static void num_threads_are_what_was_set(void **state) {
  (void)state;

  assert_ok(dlx_set_num_threads(3));

  assert_int_equal(dlx_get_num_threads(), 3);
  assert_ok(dlx_set_num_threads(0));
}

/* 0 restores the default, which is at least 1. */
static void zero_threads_restore_the_default(void **state) {
  (void)state;
  const int32_t before = dlx_get_num_threads();
  assert_ok(dlx_set_num_threads(before + 5));

  assert_ok(dlx_set_num_threads(0));

  assert_int_equal(dlx_get_num_threads(), before);
  assert_in_range(before, 1, INT32_MAX);
}

/* A negative number is refused and changes nothing. */
static void negative_threads_are_refused(void **state) {
  (void)state;
  const int32_t before = dlx_get_num_threads();

  assert_fails(dlx_set_num_threads(-1), DLX_ERROR_INVALID_ARGUMENT, "`num_threads`");
  assert_fails(dlx_set_num_threads(INT32_MIN), DLX_ERROR_INVALID_ARGUMENT, "`num_threads`");

  assert_int_equal(dlx_get_num_threads(), before);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(last_error_is_never_null), /* first: nothing has failed yet */
      cmocka_unit_test(version_is_that_of_the_header),
      cmocka_unit_test(abi_version_is_1),
      cmocka_unit_test(statuses_have_fixed_numbers_and_their_names),
      cmocka_unit_test(status_name_of_a_stranger_says_so),
      cmocka_unit_test(last_error_names_the_function),
      cmocka_unit_test(success_leaves_the_last_error_alone),
      cmocka_unit_test(release_leaves_the_last_error_alone),
      cmocka_unit_test(last_error_is_cut_where_the_callers_text_is_long),
      cmocka_unit_test(last_error_takes_a_percent_sign_as_it_is),
      cmocka_unit_test(last_error_belongs_to_its_thread),
      cmocka_unit_test(num_threads_are_what_was_set),
      cmocka_unit_test(zero_threads_restore_the_default),
      cmocka_unit_test(negative_threads_are_refused),
  };
  return cmocka_run_group_tests_name("library", tests, NULL, NULL);
}
