/* dlx/call.h: contracts as other callers of compiled functions use them. */
#include <dlx/call.h>
#include <string.h>

#include "util.h"

#define F32 {kDLFloat, 32, 1}

static dlx_contract *contract(const char *text) {
  dlx_contract *made;
  assert_int_equal(dlx_contract_create(text, &made), DLX_OK);
  return made;
}

static void assert_words(const char *words) {
  if (strstr(dlx_last_error(), words) == NULL) fail_msg("%s: %s", words, dlx_last_error());
}

static void parameters_describe_themselves(void **state) {
  (void)state;
  dlx_contract *c = contract("scale(x: float32[n, _] writable, f: float = 2, y: any[...] = None)");
  assert_string_equal(dlx_contract_name(c), "scale");
  assert_int_equal(dlx_contract_count(c), 3);
  dlx_parameter parameter = DLX_PARAMETER_INIT;
  assert_int_equal(dlx_contract_parameter(c, 0, &parameter), DLX_OK);
  assert_int_equal(parameter.kind, DLX_PARAMETER_ARRAY);
  assert_int_equal(parameter.flags, DLX_PARAMETER_WRITABLE);
  assert_string_equal(parameter.name, "x");
  assert_int_equal(parameter.ndim, 2);
  assert_int_equal(parameter.dtype.bits, 32);
  assert_int_equal(dlx_contract_parameter(c, 1, &parameter), DLX_OK);
  assert_int_equal(parameter.kind, DLX_PARAMETER_FLOAT);
  assert_int_equal(parameter.flags, DLX_PARAMETER_OPTIONAL);
  assert_int_equal(dlx_contract_parameter(c, 2, &parameter), DLX_OK);
  assert_int_equal(parameter.ndim, -1);
  assert_int_equal(parameter.dtype.bits, 0);
  assert_int_equal(dlx_contract_parameter(c, 3, &parameter), DLX_ERROR_INVALID_ARGUMENT);
  parameter.struct_size = 8;
  assert_int_equal(dlx_contract_parameter(c, 0, &parameter), DLX_ERROR_INVALID_ARGUMENT);
  dlx_contract_release(c);
}

static void wrong_contracts_are_refused(void **state) {
  (void)state;
  dlx_contract *c = (dlx_contract *)&c;
  assert_int_equal(dlx_contract_create("f(x: float33[n])", &c), DLX_ERROR_INVALID_ARGUMENT);
  assert_null(c);
  assert_int_equal(dlx_contract_create(NULL, &c), DLX_ERROR_INVALID_ARGUMENT);
  assert_int_equal(dlx_contract_create("f()", NULL), DLX_ERROR_INVALID_ARGUMENT);
  dlx_contract_release(NULL);
  assert_null(dlx_contract_name(NULL));
  assert_int_equal(dlx_contract_count(NULL), 0);
  dlx_parameter parameter = DLX_PARAMETER_INIT;
  c = contract("f()");
  assert_int_equal(dlx_contract_parameter(c, 0, &parameter), DLX_ERROR_INVALID_ARGUMENT);
  dlx_contract_release(c);
}

/* One array that the tests change in one thing. */
typedef struct world {
  float data[12];
  int64_t shape[2], strides[2];
  DLTensor array;
  dlx_argument arguments[3];
  uint64_t flags[3];
} world;

static void make(world *w) {
  memset(w, 0, sizeof *w);
  w->shape[0] = 3, w->shape[1] = 4, w->strides[0] = 4, w->strides[1] = 1;
  DLTensor array = {w->data, {kDLCPU, 0}, 2, F32, w->shape, w->strides, 0};
  w->array = array;
  w->arguments[0].array = &w->array;
}

static void assert_check(const char *text, world *w, dlx_status status, const char *words) {
  dlx_contract *c = contract(text);
  const dlx_status got = dlx_contract_check(c, w->arguments, w->flags);
  if (got != status) fail_msg("%s: %d, %s", text, got, dlx_last_error());
  if (status != DLX_OK) assert_words(words);
  dlx_contract_release(c);
}

static void arrays_are_checked(void **state) {
  (void)state;
  world w;
  make(&w);
  assert_check("f(x: float32[3, n] writable)", &w, DLX_OK, "");
  assert_check("f(x: any[...])", &w, DLX_OK, "");
  assert_check("f(x: int8|float32[..., 4])", &w, DLX_OK, "");
  assert_check("f(x: float64[_, _])", &w, DLX_ERROR_INVALID_ARGUMENT,
               "`x` must be float64 (got float32)");
  assert_check("f(x: float32[_])", &w, DLX_ERROR_INVALID_ARGUMENT, "1 axis");
  assert_check("f(x: float32[..., a, b, c])", &w, DLX_ERROR_INVALID_ARGUMENT, "at least 3 axes");
  assert_check("f(x: float32[n, n])", &w, DLX_ERROR_INVALID_ARGUMENT, "[n=3, n=3] (got (3, 4))");
  assert_check("f(x: float32[_, 5])", &w, DLX_ERROR_INVALID_ARGUMENT, "[_, 5] (got (3, 4))");
  w.shape[0] = 0;
  assert_check("f(x: float32[n, n])", &w, DLX_ERROR_INVALID_ARGUMENT, "[n=0, n=0] (got (0, 4))");
  w.shape[0] = 3;
  assert_check("f(x: float32[_, _] F)", &w, DLX_ERROR_COPY_REFUSED, "column-major");
  assert_check("f(x: float32[_, _] cuda, s: stream)", &w, DLX_ERROR_DEVICE_REFUSED,
               "`x` must be on cuda (got cpu)");
  w.flags[0] = DLPACK_FLAG_BITMASK_READ_ONLY;
  assert_check("f(x: float32[_, _])", &w, DLX_OK, "");
  assert_check("f(x: float32[_, _] writable)", &w, DLX_ERROR_READ_ONLY, "`x` is written to");
}

static void layouts_are_checked(void **state) {
  (void)state;
  world w;
  make(&w);
  w.strides[0] = 0;
  assert_check("f(x: float32[_, _])", &w, DLX_ERROR_COPY_REFUSED, "row-major");
  assert_check("f(x: float32[_, _] strided)", &w, DLX_OK, "");
  assert_check("f(x: float32[_, _] strided writable)", &w, DLX_ERROR_INVALID_ARGUMENT, "overlap");
  w.strides[0] = 1; /* windows */
  assert_check("f(x: float32[_, _] strided)", &w, DLX_OK, "");
  assert_check("f(x: float32[_, _] strided writable)", &w, DLX_ERROR_INVALID_ARGUMENT,
               "its elements overlap (shape (3, 4), strides (1, 1))");
  w.shape[1] = 2, w.strides[0] = -2;
  assert_check("f(x: float32[_, _] strided writable)", &w, DLX_OK, "");
  w.shape[1] = 3, w.strides[1] = 3; /* interleaved: 0 3 6, -2 1 4, -4 -1 2 */
  assert_check("f(x: float32[_, _] strided writable)", &w, DLX_OK, "");
  w.shape[0] = 4; /* and -6 -3 0 */
  assert_check("f(x: float32[_, _] strided writable)", &w, DLX_ERROR_INVALID_ARGUMENT, "overlap");
  make(&w);
  w.strides[0] = 1, w.strides[1] = 3;
  assert_check("f(x: float32[_, _] F)", &w, DLX_OK, "");
  make(&w);
  w.array.data = (char *)w.data + 2;
  assert_check("f(x: float32[_, _])", &w, DLX_ERROR_COPY_REFUSED, "aligned");
  assert_check("f(x: float32[_, _] unaligned)", &w, DLX_OK, "");
  make(&w);
  w.array.data = NULL;
  assert_check("f(x: float32[_, _])", &w, DLX_ERROR_INVALID_ARGUMENT, "no memory");
  w.shape[1] = 0;
  assert_check("f(x: float32[_, _])", &w, DLX_OK, "");
  make(&w);
  w.array.dtype.code = kDLUInt, w.array.dtype.bits = 4;
  w.flags[0] = DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;
  assert_check("f(x: uint4[_, _])", &w, DLX_ERROR_COPY_REFUSED, "packed uint4");
  make(&w);
  w.shape[1] = -4;
  assert_check("f(x: float32[_, _])", &w, DLX_ERROR_INVALID_ARGUMENT,
               "`x` has a negative extent (shape (3, -4))");
  w.array.strides = NULL;
  assert_check("f(x: float32[_, _])", &w, DLX_ERROR_INVALID_ARGUMENT, "no strides");
  w.arguments[0].array = NULL;
  assert_check("f(x: float32[_, _])", &w, DLX_ERROR_INVALID_ARGUMENT, "`x` is NULL");
  assert_check("f(x: float32[_, _] = None)", &w, DLX_OK, "");
}

/* An axis of one element has any stride, and repeats nothing. */
static void strides_of_one_element_are_not_looked_at(void **state) {
  (void)state;
  world w;
  make(&w);
  w.shape[0] = 1, w.strides[0] = 99;
  assert_check("f(x: any[_, _])", &w, DLX_OK, "");
  w.strides[0] = 0;
  assert_check("f(x: any[_, _] strided writable)", &w, DLX_OK, "");
}

/* Complex numbers as their parts; a dtype of three bytes as bytes. Only small elements are padded. */
static void alignment_is_that_of_the_parts(void **state) {
  (void)state;
  world w;
  make(&w);
  w.array.data = (char *)w.data + 4;
  w.array.dtype.code = kDLComplex, w.array.dtype.bits = 64;
  assert_check("f(x: any[_, _])", &w, DLX_OK, "");
  w.array.data = (char *)w.data + 2;
  assert_check("f(x: any[_, _])", &w, DLX_ERROR_COPY_REFUSED, "aligned");
  assert_check("f(x: any[_, _] unaligned)", &w, DLX_OK, "");
  w.array.dtype.code = kDLOpaqueHandle, w.array.dtype.bits = 24;
  assert_check("f(x: any[_, _])", &w, DLX_OK, "");
  make(&w);
  w.flags[0] = DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;
  assert_check("f(x: any[_, _])", &w, DLX_OK, "");
}

static void arrays_are_on_one_device(void **state) {
  (void)state;
  world w;
  make(&w);
  DLTensor other = w.array;
  w.arguments[1].array = &other;
  w.array.device.device_type = other.device.device_type = kDLCUDA;
  other.device.device_id = 1;
#define TWO "f(x: any[...] anywhere, y: any[...] anywhere, s: stream)"
  assert_check(TWO, &w, DLX_ERROR_DEVICE_REFUSED, "`y` must be on cuda:0 (got cuda:1)");
  w.array.device.device_id = 1;
  assert_check(TWO, &w, DLX_OK, "");
  /* The device that a parameter names comes first. */
  w.array.device.device_type = other.device.device_type = kDLCPU;
  w.array.device.device_id = other.device.device_id = 0;
  assert_check("f(x: any[...] anywhere, y: any[...] cuda, s: stream)", &w, DLX_ERROR_DEVICE_REFUSED,
               "`y` must be on cuda (got cpu)");
}

static void numbers_are_extents(void **state) {
  (void)state;
  world w;
  make(&w);
  w.arguments[1].integer = 3;
  assert_check("f(x: float32[n, _], n: int)", &w, DLX_OK, "");
  w.arguments[1].integer = 4;
  assert_check("f(x: float32[n, _], n: int)", &w, DLX_ERROR_INVALID_ARGUMENT,
               "`n` must be 3, the extent of that name (got 4)");
  w.arguments[1].integer = -1;
  assert_check("f(x: float32[n, _], n: int)", &w, DLX_ERROR_INVALID_ARGUMENT, "negative (got -1)");
}

static void results_follow_from_arguments(void **state) {
  (void)state;
  world w;
  make(&w);
  w.arguments[1].array = NULL;
  dlx_contract *c = contract("f(x: float32[h, w], y: dtype(x)[w, 2, h] result)");
  DLDataType dtype;
  int64_t shape[3];
  assert_int_equal(dlx_contract_result(c, 1, w.arguments, &dtype, shape), DLX_OK);
  assert_int_equal(dtype.bits, 32);
  assert_int_equal(shape[0], 4);
  assert_int_equal(shape[1], 2);
  assert_int_equal(shape[2], 3);
  assert_int_equal(dlx_contract_result(c, 0, w.arguments, &dtype, shape),
                   DLX_ERROR_INVALID_ARGUMENT);
  assert_words("is no result");
  dlx_contract_release(c);
  c = contract("f(x: float32[h, w] strided, y: dtype(x)[w, 2, h] result)");
  w.shape[1] = -4;
  assert_int_equal(dlx_contract_result(c, 1, w.arguments, &dtype, shape),
                   DLX_ERROR_INVALID_ARGUMENT);
  assert_words("`x` has a negative extent (shape (3, -4))");
  dlx_contract_release(c);
}

/* x * factor + sum of the labels' lengths; remembers what it got. */
static dlx_argument seen[4];
static dlx_status returned;
static dlx_status scale(void *context, const dlx_argument *arguments) {
  memcpy(seen, arguments, sizeof seen);
  ++*(int *)context;
  if (returned == DLX_ERROR_UNSUPPORTED) dlx_set_last_error("scale: not today");
  if (returned != DLX_OK) return returned;
  const DLTensor *x = arguments[0].array;
  float *y = arguments[3].array->data;
  for (int64_t i = 0; i < x->shape[0]; ++i) {
    y[i] = ((const float *)x->data)[i * x->strides[0]] * (float)arguments[1].real;
  }
  arguments[0].array->data = NULL; /* it has its own DLTensor */
  return DLX_OK;
}
#define SCALE "scale(x: float32[n] strided, factor: float, times: int8 = 1, y: float32[n] result)"

static dlx_tensor *numbers(int32_t ndim, const int64_t *shape) {
  const DLDataType f32 = F32;
  dlx_tensor *made;
  assert_int_equal(dlx_tensor_empty(ndim, shape, &f32, kDLCPU, 0, NULL, &made), DLX_OK);
  float *data = dlx_tensor_data(made);
  for (int i = 0; i < (int)dlx_tensor_size(made); ++i) data[i] = (float)i;
  return made;
}

static void tensors_are_passed_and_results_made(void **state) {
  (void)state;
  const int64_t shape[2] = {3, 2};
  dlx_tensor *matrix = numbers(2, shape), *column, *out = matrix;
  assert_int_equal(dlx_tensor_select(matrix, 1, 1, &column), DLX_OK);
  dlx_contract *c = contract(SCALE);
  dlx_tensor *tensors[4] = {column, NULL, NULL, NULL};
  dlx_argument values[4];
  int calls = 0;
  memset(values, 0, sizeof values);
  values[1].real = 10;
  values[2].integer = 7;
  returned = DLX_OK;
  assert_int_equal(dlx_contract_call(c, scale, &calls, tensors, values, &out), DLX_OK);
  assert_int_equal(calls, 1);
  assert_int_equal(seen[2].integer, 7);
  assert_int_equal(dlx_tensor_ndim(out), 1);
  const float *y = dlx_tensor_data(out);
  assert_true(y[0] == 10 && y[1] == 30 && y[2] == 50);
  assert_non_null(dlx_tensor_data(column));
  dlx_tensor_release(out);

  /* What the function says is the message; a status without words gets some. */
  returned = DLX_ERROR_UNSUPPORTED;
  assert_int_equal(dlx_contract_call(c, scale, &calls, tensors, values, &out), returned);
  assert_null(out);
  assert_string_equal(dlx_last_error(), "scale: not today");
  returned = DLX_ERROR_READ_ONLY;
  assert_int_equal(dlx_contract_call(c, scale, &calls, tensors, values, &out), returned);
  assert_string_equal(dlx_last_error(), "scale: it returned the status 6");
  returned = 77;
  assert_int_equal(dlx_contract_call(c, scale, &calls, tensors, values, &out), DLX_ERROR_INTERNAL);
  assert_words("the status 77");
  dlx_contract_release(c);
  dlx_tensor_release(column);
  dlx_tensor_release(matrix);
}

static dlx_status do_nothing(void *context, const dlx_argument *arguments) {
  (void)arguments;
  ++*(int *)context;
  return DLX_OK;
}

static void wrong_calls_are_refused(void **state) {
  (void)state;
  const int64_t shape[2] = {2, 2};
  dlx_tensor *matrix = numbers(2, shape), *readonly, *out[2] = {matrix, matrix};
  dlx_tensor *tensors[4] = {matrix, NULL, NULL, NULL};
  dlx_argument values[4];
  int calls = 0;
  memset(values, 0, sizeof values);
  assert_int_equal(dlx_tensor_as_readonly(matrix, &readonly), DLX_OK);
  returned = DLX_OK;
  dlx_contract *c = contract(SCALE);
#define REFUSED(status, words)                                                                     \
  assert_int_equal(dlx_contract_call(c, scale, &calls, tensors, values, out), DLX_ERROR_##status), \
      assert_words(words), assert_null(out[0])
  REFUSED(INVALID_ARGUMENT, "scale: `x` must have 1 axis");
  tensors[0] = NULL;
  REFUSED(INVALID_ARGUMENT, "scale: `x` is NULL");
  const int64_t three[1] = {3};
  dlx_tensor *row = numbers(1, three);
  tensors[0] = row;
  values[2].integer = 128;
  REFUSED(INVALID_ARGUMENT, "`times` does not fit into int8 (got 128)");
  values[2].integer = -129;
  REFUSED(INVALID_ARGUMENT, "(got -129)");
  assert_int_equal(dlx_contract_call(c, scale, &calls, tensors, NULL, out),
                   DLX_ERROR_INVALID_ARGUMENT);
  assert_int_equal(dlx_contract_call(c, scale, &calls, NULL, values, out),
                   DLX_ERROR_INVALID_ARGUMENT);
  assert_int_equal(dlx_contract_call(c, NULL, &calls, tensors, values, out),
                   DLX_ERROR_INVALID_ARGUMENT);
  assert_int_equal(dlx_contract_call(c, scale, &calls, tensors, values, NULL),
                   DLX_ERROR_INVALID_ARGUMENT);
  assert_int_equal(dlx_contract_call(NULL, scale, &calls, tensors, values, out),
                   DLX_ERROR_INVALID_ARGUMENT);
  dlx_contract_release(c);

  c = contract("f(x: float32[...] writable, name: str, a: uint64 = 0, b: int64 = 0)");
  tensors[0] = readonly;
  REFUSED(INVALID_ARGUMENT, "`name` is NULL");
  values[1].text = "x";
  values[2].integer = 0;
  REFUSED(READ_ONLY, "`x` is written to");
  tensors[0] = matrix;
  values[2].integer = -1;
  REFUSED(INVALID_ARGUMENT, "`a` does not fit into uint64 (got -1)");
  dlx_contract_release(c);

  c = contract("f(n: int, y: uint8[1] result, z: float32[n] result)");
  values[0].integer = INT64_MAX; /* more bytes than there can be: the first result goes as well */
  out[0] = out[1] = matrix;
  REFUSED(INVALID_ARGUMENT, "f: ");
  assert_null(out[1]);
  dlx_contract_release(c);
  c = contract("f(n: int, y: float32[n, 2] F result, z: float32[n, 2] result)");
  values[0].integer = 3;
  int done = 0;
  assert_int_equal(dlx_contract_call(c, do_nothing, &done, tensors, values, out), DLX_OK);
  assert_true(dlx_tensor_strides(out[0])[0] == 1 && dlx_tensor_strides(out[0])[1] == 3);
  assert_true(dlx_tensor_strides(out[1])[0] == 2 && dlx_tensor_strides(out[1])[1] == 1);
  for (int i = 0; i < 2; ++i) dlx_tensor_release(out[i]);
  dlx_contract_release(c);
  c = contract("f(x: float32[n] anywhere, s: stream, y: float32[n] cuda result)");
  tensors[0] = row; /* a result is made where the arguments are */
  REFUSED(DEVICE_REFUSED, "`y` must be on cuda (got cpu)");
  dlx_contract_release(c);
  c = contract("f() -> int");
  assert_int_equal(dlx_contract_call(c, scale, &calls, NULL, NULL, NULL), DLX_ERROR_UNSUPPORTED);
  dlx_contract_release(c);
  assert_int_equal(calls, 0);
  dlx_tensor_release(row);
  dlx_tensor_release(readonly);
  dlx_tensor_release(matrix);
}

static void functions_speak_through_dlx(void **state) {
  (void)state;
  dlx_set_last_error("filter: the image is too small (got 2, expected 3 or more)");
  assert_string_equal(dlx_last_error(),
                      "filter: the image is too small (got 2, expected 3 or more)");
  dlx_set_last_error(dlx_last_error());
  assert_words("too small");
  dlx_set_last_error(NULL);
  assert_string_equal(dlx_last_error(), "");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(parameters_describe_themselves),
      cmocka_unit_test(wrong_contracts_are_refused),
      cmocka_unit_test(arrays_are_checked),
      cmocka_unit_test(layouts_are_checked),
      cmocka_unit_test(strides_of_one_element_are_not_looked_at),
      cmocka_unit_test(alignment_is_that_of_the_parts),
      cmocka_unit_test(arrays_are_on_one_device),
      cmocka_unit_test(numbers_are_extents),
      cmocka_unit_test(results_follow_from_arguments),
      cmocka_unit_test(tensors_are_passed_and_results_made),
      cmocka_unit_test(wrong_calls_are_refused),
      cmocka_unit_test(functions_speak_through_dlx),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
