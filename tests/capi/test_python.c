/* dlx/python.h in a process without Python. tests/python/raw/test_raw_python.py has the rest. */
#include <dlx/python.h>

#include "util.h"

static int32_t data[6];

static void wrap_needs_an_interpreter(void **state) {
  (void)state;
  int released = 0;
  dlx_tensor *tensor = wrap_counted(data, 1, EXTENTS(6), &released);
  void *object = POISON;

  assert_fails(dlx_python_wrap(tensor, &object), DLX_ERROR_UNAVAILABLE,
               "dlx_python_wrap: no Python interpreter is attached: import dlx first");

  assert_null(object);
  assert_int_equal(released, 0);
  dlx_tensor_release(tensor);
  assert_int_equal(released, 1);
}

static void unwrap_needs_an_interpreter(void **state) {
  (void)state;
  dlx_tensor *out = POISON_TENSOR;

  assert_fails(dlx_python_unwrap(data, &out), DLX_ERROR_UNAVAILABLE,
               "dlx_python_unwrap: no Python interpreter is attached: import dlx first");

  assert_null(out);
}

static void null_is_refused(void **state) {
  (void)state;
  int released = 0;
  dlx_tensor *tensor = wrap_counted(data, 1, EXTENTS(6), &released), *out = POISON_TENSOR;
  void *object = POISON;

  assert_null_named(dlx_python_wrap, (NULL, &object), "tensor");
  assert_null(object);
  assert_null_named(dlx_python_wrap, (tensor, NULL), "out");
  assert_null_named(dlx_python_unwrap, (NULL, &out), "object");
  assert_null(out);
  assert_null_named(dlx_python_unwrap, (data, NULL), "out");
  assert_null_named(dlx_python_attach, (NULL, data), "object_type");
  assert_null_named(dlx_python_attach, (data, NULL), "namespace_dict");

  assert_int_equal(released, 0);
  dlx_tensor_release(tensor);
}

static void attach_needs_cpython(void **state) {
  (void)state;

  assert_fails(dlx_python_attach(data, data), DLX_ERROR_UNAVAILABLE, "is not a CPython");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(wrap_needs_an_interpreter),
      cmocka_unit_test(unwrap_needs_an_interpreter),
      cmocka_unit_test(null_is_refused),
      cmocka_unit_test(attach_needs_cpython),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
