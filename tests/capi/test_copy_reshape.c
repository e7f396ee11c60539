/* Section "copy" of dlx.h: dlx_tensor_reshape, a view if strides can express it, else a copy. */
#include "copy_fixture.h"

/* A compact tensor takes any shape of as many elements, without a copy. */
static void reshape_of_a_compact_tensor_is_a_view(void **state) {
  (void)state;
  options.copy = DLX_COPY_NEVER;
  assert_ok(dlx_tensor_reshape(tensor, 2, EXTENTS(4, 6), &options, &out));

  assert_shape(out, 2, EXTENTS(4, 6));
  assert_strides(out, EXTENTS(6, 1));
  assert_ptr_equal(dlx_tensor_data(out), data);
  assert_int32s(out, 24, data);
  dlx_tensor_release(out);
}

/* One extent may be -1. */
static void reshape_fills_one_open_extent(void **state) {
  (void)state;
  assert_ok(dlx_tensor_reshape(tensor, 3, EXTENTS(2, -1, 2), NULL, &out));
  assert_shape(out, 3, EXTENTS(2, 6, 2));
  dlx_tensor_release(out);

  assert_ok(dlx_tensor_reshape(tensor, 1, EXTENTS(-1), NULL, &out));
  assert_shape(out, 1, EXTENTS(24));
  dlx_tensor_release(out);
}

/* Axes can be split and merged where their strides allow it: a view of a view. */
static void reshape_of_a_strided_tensor_is_a_view_if_it_can(void **state) {
  (void)state;
  dlx_tensor *strided = NULL;
  assert_ok(dlx_tensor_slice(tensor, 2, 0, 2, 1, &strided)); /* 2 x 3 x 2, strides 12 4 1 */
  options.copy = DLX_COPY_NEVER;
  assert_ok(dlx_tensor_reshape(strided, 2, EXTENTS(6, 2), &options, &out));
  assert_strides(out, EXTENTS(4, 1));
  dlx_tensor_release(out);
  assert_ok(dlx_tensor_reshape(strided, 5, EXTENTS(1, 2, 3, 1, 2), &options, &out));
  assert_int32s(out, 12, INT32S(0, 1, 4, 5, 8, 9, 12, 13, 16, 17, 20, 21));
  dlx_tensor_release(out);

  dlx_tensor_release(strided);
}

/* The stride of an axis of extent 1 does not prevent merging its neighbours. */
static void reshape_merges_across_axes_of_extent_1(void **state) {
  (void)state;
  dlx_tensor *odd = wrap(data, dtype_of(kDLInt, 32), 3, EXTENTS(2, 1, 3), EXTENTS(3, -99, 1), 0);
  options.copy = DLX_COPY_NEVER;
  assert_ok(dlx_tensor_reshape(odd, 1, EXTENTS(6), &options, &out));

  assert_strides(out, EXTENTS(1));
  assert_int32s(out, 6, data);
  dlx_tensor_release(out);
  dlx_tensor_release(odd);

  odd = wrap(data, dtype_of(kDLInt, 32), 2, EXTENTS(6, 1), EXTENTS(1, -99), 0);
  assert_ok(dlx_tensor_reshape(odd, 2, EXTENTS(2, 3), &options, &out));
  assert_int32s(out, 6, data);
  dlx_tensor_release(out);
  dlx_tensor_release(odd);
}

/* If strides cannot express it, the result is a compact copy, or refused. */
static void reshape_copies_where_no_strides_can_do(void **state) {
  (void)state;
  assert_ok(dlx_tensor_reshape(transposed, 1, EXTENTS(24), NULL, &out));
  assert_false(shares_memory(out));
  assert_transposed_values(out);
  dlx_tensor_release(out);

  options.copy = DLX_COPY_NEVER;
  out = POISON_TENSOR;
  assert_refused(dlx_tensor_reshape(transposed, 1, EXTENTS(24), &options, &out),
                 DLX_ERROR_COPY_REFUSED, "");
}

/* DLX_COPY_ALWAYS copies also if a view is possible; the copy is in C order, and `order` is
 * ignored. */
static void reshape_always_copies_if_told_so(void **state) {
  (void)state;
  options.copy = DLX_COPY_ALWAYS;
  options.order = DLX_ORDER_F;
  assert_ok(dlx_tensor_reshape(tensor, 2, EXTENTS(6, 4), &options, &out));

  assert_false(shares_memory(out));
  assert_int32s(out, 24, data);
  dlx_tensor_release(out);
}

/* One element can have any shape of ones, and no axes. */
static void reshape_of_one_element(void **state) {
  (void)state;
  dlx_tensor *one = wrap_int32(data, 2, EXTENTS(1, 1));
  assert_ok(dlx_tensor_reshape(one, 0, NULL, NULL, &out));
  assert_int_equal(dlx_tensor_ndim(out), 0);
  dlx_tensor *scalar = out;
  assert_ok(dlx_tensor_reshape(scalar, 3, EXTENTS(1, -1, 1), NULL, &out));
  assert_shape(out, 3, EXTENTS(1, 1, 1));
  dlx_tensor_release(out);
  dlx_tensor_release(scalar);
  dlx_tensor_release(one);
}

/* An empty tensor can have any shape with a 0, but -1 beside the 0 is ambiguous. */
static void reshape_of_no_elements(void **state) {
  (void)state;
  dlx_tensor *none = wrap_int32(NULL, 2, EXTENTS(0, 3));
  assert_ok(dlx_tensor_reshape(none, 3, EXTENTS(7, 0, 2), NULL, &out));
  assert_shape(out, 3, EXTENTS(7, 0, 2));
  dlx_tensor_release(out);
  assert_ok(dlx_tensor_reshape(none, 2, EXTENTS(5, -1), NULL, &out));
  assert_shape(out, 2, EXTENTS(5, 0));
  dlx_tensor_release(out);

  assert_refused(dlx_tensor_reshape(none, 2, EXTENTS(0, -1), NULL, &out),
                 DLX_ERROR_INVALID_ARGUMENT, "`shape`");
  dlx_tensor_release(none);
}

/* A view inherits READ_ONLY, a copy does not. */
static void reshape_inherits_read_only_unless_it_copies(void **state) {
  (void)state;
  dlx_tensor *locked = NULL;
  assert_ok(dlx_tensor_as_readonly(tensor, &locked));
  assert_ok(dlx_tensor_reshape(locked, 1, EXTENTS(24), NULL, &out));
  assert_int_equal(dlx_tensor_flags(out), DLPACK_FLAG_BITMASK_READ_ONLY);
  dlx_tensor_release(out);
  options.copy = DLX_COPY_ALWAYS;
  assert_ok(dlx_tensor_reshape(locked, 1, EXTENTS(24), &options, &out));
  assert_int_equal(dlx_tensor_flags(out), 0);
  dlx_tensor_release(out);

  dlx_tensor_release(locked);
}

/* Another number of elements, two extents of -1, negative and impossible extents. */
static void reshape_refuses_what_does_not_fit(void **state) {
  (void)state;
  const struct {
    int32_t ndim;
    int64_t shape[3];
  } shapes[] = {{2, {5, 5}},   {0, {0}},      {2, {-1, -1}},
                {2, {5, -1}},  {2, {24, -2}}, {1, {INT64_MIN}},
                {2, {0, -1}},  {2, {48, 0}},  {3, {INT64_MAX, INT64_MAX, -1}},
                {2, {-24, -1}}};

  for (size_t i = 0; i < COUNT_OF(shapes); ++i) {
    assert_refused(dlx_tensor_reshape(tensor, shapes[i].ndim, shapes[i].shape, NULL, &out),
                   DLX_ERROR_INVALID_ARGUMENT, "`shape`");
  }
  assert_refused(dlx_tensor_reshape(tensor, -1, EXTENTS(24), NULL, &out),
                 DLX_ERROR_INVALID_ARGUMENT, "`ndim`");
}

/* A NULL is named with its function. */
static void null_parameters_are_named(void **state) {
  (void)state;
  assert_null_named(dlx_tensor_reshape, (NULL, 1, EXTENTS(24), NULL, &out), "tensor");
  assert_null(out);
  assert_null_named(dlx_tensor_reshape, (tensor, 1, NULL, NULL, &out), "shape");
  assert_null_named(dlx_tensor_reshape, (tensor, 1, EXTENTS(24), NULL, NULL), "out");
}

#define reshape_test(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      reshape_test(reshape_of_a_compact_tensor_is_a_view),
      reshape_test(reshape_fills_one_open_extent),
      reshape_test(reshape_of_a_strided_tensor_is_a_view_if_it_can),
      reshape_test(reshape_merges_across_axes_of_extent_1),
      reshape_test(reshape_copies_where_no_strides_can_do),
      reshape_test(reshape_always_copies_if_told_so),
      reshape_test(reshape_of_one_element),
      reshape_test(reshape_of_no_elements),
      reshape_test(reshape_inherits_read_only_unless_it_copies),
      reshape_test(reshape_refuses_what_does_not_fit),
      reshape_test(null_parameters_are_named),
  };
  return cmocka_run_group_tests_name("copy_reshape", tests, NULL, NULL);
}
