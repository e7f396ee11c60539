/* The data of the tests of copying functions: a small tensor and its transpose. */
#ifndef DLX_TESTS_CAPI_COPY_FIXTURE_H_
#define DLX_TESTS_CAPI_COPY_FIXTURE_H_

#include "util.h"

static int32_t data[24];
static dlx_tensor *tensor;     /* 2 x 3 x 4, of 0 … 23, compact */
static dlx_tensor *transposed; /* 4 x 3 x 2, the axes reversed */
static dlx_tensor *out;
static dlx_copy_options options;

static int set_up(void **state) {
  (void)state;
  const dlx_copy_options defaults = DLX_COPY_OPTIONS_INIT;
  for (int i = 0; i < 24; ++i) data[i] = i;
  options = defaults;
  tensor = wrap_int32(data, 3, EXTENTS(2, 3, 4));
  assert_ok(dlx_tensor_permute(tensor, NULL, &transposed));
  out = POISON_TENSOR;
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  dlx_tensor_release(tensor);
  dlx_tensor_release(transposed);
  return 0;
}

static int shares_memory(const dlx_tensor *view) {
  const char *address = dlx_tensor_data(view);
  return address >= (char *)data && address < (char *)(data + 24);
}

/* The values of `transposed` in C order. */
static int32_t transposed_value(int64_t position) {
  return (int32_t)(position / 6 + 4 * (position / 2 % 3) + 12 * (position % 2));
}

static void assert_transposed_values(const dlx_tensor *view) {
  int32_t expected[24];
  for (int i = 0; i < 24; ++i) expected[i] = transposed_value(i);
  assert_int32s(view, 24, expected);
}

static void assert_refused(dlx_status status, dlx_status expected, const char *words) {
  assert_fails(status, expected, words);
  assert_null(out);
  out = POISON_TENSOR;
}

#endif /* DLX_TESTS_CAPI_COPY_FIXTURE_H_ */
