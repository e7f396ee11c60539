/* Section "views" of dlx.h: slice, select, permute, squeeze, expand_dims, as_readonly. Others are
 * in test_views_broadcast.c and test_views_bitcast.c, random chains of all in test_views_random.c. */
#include "util.h"

static int32_t data[24];
static dlx_tensor *tensor; /* 2 x 3 x 4, of 0 … 23 */
static dlx_tensor *view;
static int released;

static int set_up(void **state) {
  (void)state;
  for (int i = 0; i < 24; ++i) data[i] = i;
  released = 0;
  tensor = wrap_counted(data, 3, EXTENTS(2, 3, 4), &released);
  view = POISON_TENSOR;
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  dlx_tensor_release(tensor);
  return 0;
}

/* The call fails with INVALID_ARGUMENT naming `words`, and leaves no handle. */
#define assert_refused(call, words)                        \
  do {                                                     \
    view = POISON_TENSOR;                                  \
    assert_fails(call, DLX_ERROR_INVALID_ARGUMENT, words); \
    assert_null(view);                                     \
  } while (0)

/* A slice shares the memory. */
static void slice_shares_the_memory(void **state) {
  (void)state;
  assert_ok(dlx_tensor_slice(tensor, 1, 1, 3, 1, &view));

  assert_shape(view, 3, EXTENTS(2, 2, 4));
  assert_strides(view, EXTENTS(12, 4, 1));
  assert_ptr_equal(dlx_tensor_data(view), data + 4);
  data[4] = 99;
  assert_int_equal(int32_at(view, EXTENTS(0, 0, 0)), 99);
  dlx_tensor_release(view);
}

/* Without elements nothing is walked: the address stays, also NULL, and so does a stride that overflows. */
static void slices_of_nothing_stay_where_they_are(void **state) {
  (void)state;
  dlx_tensor *empty = wrap_int32(NULL, 2, EXTENTS(0, 4));
  assert_ok(dlx_tensor_slice(empty, 1, 2, 4, 1, &view));
  assert_shape(view, 2, EXTENTS(0, 2));
  assert_null(dlx_tensor_data(view));
  dlx_tensor_release(view);
  assert_ok(dlx_tensor_slice(tensor, 0, 0, 1, INT64_MAX / 32, &view));
  assert_int_equal(dlx_tensor_strides(view)[0], dlx_tensor_strides(tensor)[0]);
  dlx_tensor_release(view);
  dlx_tensor_release(empty);
}

/* A negative step reverses the elements. */
static void slice_with_a_negative_step_walks_backwards(void **state) {
  (void)state;
  assert_ok(dlx_tensor_slice(tensor, -1, DLX_SLICE_OPEN, DLX_SLICE_OPEN, -2, &view));

  assert_shape(view, 3, EXTENTS(2, 3, 2));
  assert_strides(view, EXTENTS(12, 4, -2));
  assert_int_equal(int32_at(view, EXTENTS(1, 2, 0)), 23);
  assert_int_equal(int32_at(view, EXTENTS(1, 2, 1)), 21);
  dlx_tensor_release(view);
}

/* Python's rules by definition: checks for every element whether it is in the slice. */
static int64_t model_slice(int64_t extent, int64_t start, int64_t stop, int64_t step,
                           int32_t *elements) {
  if (start == DLX_SLICE_OPEN)
    start = step > 0 ? 0 : extent - 1;
  else if (start < 0)
    start = start + extent < 0 ? (step > 0 ? 0 : -1) : start + extent;
  else if (start >= extent)
    start = step > 0 ? extent : extent - 1;
  if (stop == DLX_SLICE_OPEN)
    stop = step > 0 ? extent : -1;
  else if (stop < 0)
    stop = stop + extent < 0 ? -1 : stop + extent;
  else if (stop > extent)
    stop = extent;
  int64_t count = 0;
  for (int64_t i = start; step > 0 ? i < stop : i > stop; i += step) {
    elements[count++] = (int32_t)i;
    if (step > extent || step < -extent) break; /* the next one would be out, and may overflow */
  }
  return count;
}

/* All slices with positions from -8 to 8 or omitted, and steps from -4 to 4, of 0 to 5 elements. */
static void slice_follows_pythons_rules(void **state) {
  (void)state;
  for (int64_t extent = 0; extent <= 5; ++extent) {
    dlx_tensor *row = wrap_int32(data, 1, EXTENTS(extent));
    for (int64_t code = 0; code < 18 * 18 * 9; ++code) {
      const int64_t a = code % 18 - 9, b = code / 18 % 18 - 9, step = code / 324 - 4;
      const int64_t start = a == -9 ? DLX_SLICE_OPEN : a, stop = b == -9 ? DLX_SLICE_OPEN : b;
      int32_t expected[8];
      if (step == 0) continue;
      const int64_t count = model_slice(extent, start, stop, step, expected);
      assert_ok(dlx_tensor_slice(row, 0, start, stop, step, &view));
      assert_int32s(view, count, expected);
      dlx_tensor_release(view);
    }
    dlx_tensor_release(row);
  }
}

/* The smallest and largest int64 are valid positions. */
static void slice_takes_the_largest_numbers(void **state) {
  (void)state;
  static const int64_t edges[] = {INT64_MIN, INT64_MIN + 1, -1, 0, 1, INT64_MAX - 1, INT64_MAX};
  dlx_tensor *row = wrap_int32(data, 1, EXTENTS(5));

  for (size_t code = 0; code < 7 * 7 * 7; ++code) {
    const int64_t start = edges[code % 7], stop = edges[code / 7 % 7], step = edges[code / 49];
    int32_t expected[8];
    if (step == 0) continue;
    const int64_t count = model_slice(5, start, stop, step, expected);
    assert_ok(dlx_tensor_slice(row, 0, start, stop, step, &view));
    assert_int32s(view, count, expected);
    dlx_tensor_release(view);
  }
  dlx_tensor_release(row);
}

/* A step of 0 is refused. */
static void slice_refuses_a_step_of_0(void **state) {
  (void)state;
  assert_refused(dlx_tensor_slice(tensor, 0, 0, 1, 0, &view), "`step`");
}

/* Selecting removes the axis; a negative index counts from the end. */
static void select_drops_the_axis(void **state) {
  (void)state;
  assert_ok(dlx_tensor_select(tensor, 1, -1, &view));

  assert_shape(view, 2, EXTENTS(2, 4));
  assert_strides(view, EXTENTS(12, 1));
  assert_int_equal(int32_at(view, EXTENTS(1, 0)), 20);
  dlx_tensor_release(view);
}

/* An index out of range is refused, not clamped. */
static void select_refuses_an_index_out_of_range(void **state) {
  (void)state;
  dlx_tensor *none = wrap_int32(data, 1, EXTENTS(0));

  assert_refused(dlx_tensor_select(tensor, 0, 2, &view), "`index`");
  assert_refused(dlx_tensor_select(tensor, 0, -3, &view), "`index`");
  assert_refused(dlx_tensor_select(tensor, 0, INT64_MIN, &view), "`index`");
  assert_refused(dlx_tensor_select(tensor, 0, INT64_MAX, &view), "`index`");
  assert_refused(dlx_tensor_select(none, 0, 0, &view), "`index`");
  dlx_tensor_release(none);
}

/* Axis i of the view is axis axes[i] of the tensor; negative ones count from the end. */
static void permute_reorders_the_axes(void **state) {
  (void)state;
  assert_ok(dlx_tensor_permute(tensor, AXES(-1, 0, 1), &view));

  assert_shape(view, 3, EXTENTS(4, 2, 3));
  assert_strides(view, EXTENTS(1, 12, 4));
  dlx_tensor_release(view);
}

/* NULL reverses the axes; without axes there is nothing to reorder. */
static void permute_by_null_reverses_the_axes(void **state) {
  (void)state;
  dlx_tensor *scalar = wrap_int32(data, 0, NULL);
  assert_ok(dlx_tensor_permute(tensor, NULL, &view));
  assert_shape(view, 3, EXTENTS(4, 3, 2));
  assert_strides(view, EXTENTS(1, 4, 12));
  dlx_tensor_release(view);

  assert_ok(dlx_tensor_permute(scalar, NULL, &view));
  assert_int_equal(dlx_tensor_ndim(view), 0);
  dlx_tensor_release(view);
  dlx_tensor_release(scalar);
}

/* Each axis must be named once. */
static void permute_refuses_what_is_no_permutation(void **state) {
  (void)state;
  assert_refused(dlx_tensor_permute(tensor, AXES(0, 1, 1), &view), "`axes`");
  assert_refused(dlx_tensor_permute(tensor, AXES(0, 1, -2), &view), "`axes`");
  assert_refused(dlx_tensor_permute(tensor, AXES(0, 1, 3), &view), "`axes`");
  assert_refused(dlx_tensor_permute(tensor, AXES(0, 1, -4), &view), "`axes`");
}

/* The named axes of extent 1 are removed; without names, all of them. */
static void squeeze_drops_axes_of_extent_1(void **state) {
  (void)state;
  dlx_tensor *padded = wrap_int32(data, 5, EXTENTS(1, 3, 1, 2, 1));
  assert_ok(dlx_tensor_squeeze(padded, 2, AXES(-1, 0), &view));
  assert_shape(view, 3, EXTENTS(3, 1, 2));
  dlx_tensor_release(view);

  assert_ok(dlx_tensor_squeeze(padded, 0, NULL, &view));
  assert_shape(view, 2, EXTENTS(3, 2));
  assert_int32s(view, 6, INT32S(0, 1, 2, 3, 4, 5));
  dlx_tensor_release(view);
  dlx_tensor_release(padded);
}

/* An empty list is not NULL: it removes nothing. */
static void squeeze_of_no_axes_drops_none(void **state) {
  (void)state;
  dlx_tensor *row = wrap_int32(data, 2, EXTENTS(1, 3));
  assert_ok(dlx_tensor_squeeze(row, 0, AXES(0), &view));

  assert_shape(view, 2, EXTENTS(1, 3));
  dlx_tensor_release(view);
  dlx_tensor_release(row);
}

/* An axis of another extent, a repeated axis and a missing axis are refused. */
static void squeeze_refuses_other_axes(void **state) {
  (void)state;
  dlx_tensor *padded = wrap_int32(data, 3, EXTENTS(1, 3, 1));

  assert_refused(dlx_tensor_squeeze(padded, 1, AXES(1), &view), "`axes`");
  assert_refused(dlx_tensor_squeeze(padded, 2, AXES(0, 0), &view), "`axes`");
  assert_refused(dlx_tensor_squeeze(padded, 2, AXES(0, -3), &view), "`axes`");
  assert_refused(dlx_tensor_squeeze(padded, 1, AXES(3), &view), "`axes`");
  assert_refused(dlx_tensor_squeeze(padded, -1, AXES(0), &view), "`count`");
  assert_refused(dlx_tensor_squeeze(padded, 1, NULL, &view), "`axes` is NULL");
  dlx_tensor_release(padded);
}

/* The new axis becomes axis `axis`, from either end, and a compact tensor stays compact. */
static void expand_dims_inserts_an_axis_of_extent_1(void **state) {
  (void)state;
  static const int32_t axes[] = {0, 1, 2, 3, -1, -2, -3, -4};
  static const int32_t places[] = {0, 1, 2, 3, 3, 2, 1, 0};

  for (size_t i = 0; i < COUNT_OF(axes); ++i) {
    int64_t expected[4], old[] = {2, 3, 4};
    for (int32_t axis = 0, next = 0; axis < 4; ++axis) {
      expected[axis] = axis == places[i] ? 1 : old[next++];
    }
    assert_ok(dlx_tensor_expand_dims(tensor, axes[i], &view));
    assert_shape(view, 4, expected);
    assert_int_equal(dlx_tensor_is_contiguous(view, DLX_ORDER_C), 1);
    assert_int32s(view, 24, data);
    /* Also that of the new axis: some readers compare it. */
    int64_t compact = 1;
    for (int32_t axis = 3; axis >= 0; compact *= expected[axis--]) {
      assert_int_equal(dlx_tensor_strides(view)[axis], compact);
    }
    dlx_tensor_release(view);
  }
}

/* Every function refuses an axis that is out of range. */
static void axes_out_of_range_are_refused(void **state) {
  (void)state;
  static const int32_t axes[] = {3, -4, INT32_MAX, INT32_MIN};
  dlx_tensor *scalar = wrap_int32(data, 0, NULL);

  for (size_t i = 0; i < COUNT_OF(axes); ++i) {
    assert_refused(dlx_tensor_slice(tensor, axes[i], 0, 1, 1, &view), "`axis`");
    assert_refused(dlx_tensor_select(tensor, axes[i], 0, &view), "`axis`");
    if (axes[i] != 3 && axes[i] != -4) {
      assert_refused(dlx_tensor_expand_dims(tensor, axes[i], &view), "`axis`");
    }
  }
  assert_refused(dlx_tensor_expand_dims(tensor, 4, &view), "`axis`");
  assert_refused(dlx_tensor_expand_dims(tensor, -5, &view), "`axis`");
  assert_refused(dlx_tensor_slice(scalar, 0, 0, 1, 1, &view), "`axis`");
  assert_refused(dlx_tensor_select(scalar, -1, 0, &view), "`axis`");
  dlx_tensor_release(scalar);
}

/* No function makes a tensor with more than DLX_MAX_NDIM axes. */
static void expand_dims_stops_at_the_largest_ndim(void **state) {
  (void)state;
  static int64_t shape[DLX_MAX_NDIM];
  for (size_t i = 0; i < COUNT_OF(shape); ++i) shape[i] = 1;
  dlx_tensor *largest = wrap_int32(data, DLX_MAX_NDIM, shape);

  assert_refused(dlx_tensor_expand_dims(largest, 0, &view),
                 "`tensor` already has the largest number of axes (4096)");
  dlx_tensor_release(largest);
}

/* Every view of a read-only view is read-only; the original tensor stays writable. */
static void as_readonly_is_inherited(void **state) {
  (void)state;
  dlx_tensor *locked = NULL, *made[5] = {NULL};
  assert_ok(dlx_tensor_as_readonly(tensor, &locked));
  assert_ok(dlx_tensor_slice(locked, 0, 0, 1, 1, &made[0]));
  assert_ok(dlx_tensor_select(locked, 0, 0, &made[1]));
  assert_ok(dlx_tensor_permute(locked, NULL, &made[2]));
  assert_ok(dlx_tensor_squeeze(locked, 0, NULL, &made[3]));
  assert_ok(dlx_tensor_expand_dims(locked, 0, &made[4]));

  assert_int_equal(dlx_tensor_flags(tensor), 0);
  assert_int_equal(dlx_tensor_flags(locked), DLPACK_FLAG_BITMASK_READ_ONLY);
  assert_ptr_equal(dlx_tensor_data(locked), data);
  for (int i = 0; i < 5; ++i) {
    assert_int_equal(dlx_tensor_flags(made[i]), DLPACK_FLAG_BITMASK_READ_ONLY);
    dlx_tensor_release(made[i]);
  }
  dlx_tensor_release(locked);
}

/* A view, and a view of a view, keep the memory after the tensor is released. */
static void views_keep_the_memory(void **state) {
  (void)state;
  dlx_tensor *second = NULL;
  assert_ok(dlx_tensor_slice(tensor, 0, 1, 2, 1, &view));
  assert_ok(dlx_tensor_select(view, 2, 3, &second));

  dlx_tensor_release(tensor);
  dlx_tensor_release(view);
  tensor = NULL;
  assert_int_equal(released, 0);
  assert_int32s(second, 3, INT32S(15, 19, 23));
  dlx_tensor_release(second);

  assert_int_equal(released, 1);
}

/* A view that starts inside a byte is unsupported; one that starts at a byte is valid. */
static void packed_elements_start_at_whole_bytes(void **state) {
  (void)state;
  dlx_tensor *packed = wrap(data, dtype_of(kDLInt, 4), 1, EXTENTS(8), NULL, 0);
  dlx_tensor *padded = wrap(data, dtype_of(kDLInt, 4), 1, EXTENTS(8), NULL,
                            DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED);

  assert_fails(dlx_tensor_slice(packed, 0, 1, 3, 1, &view), DLX_ERROR_UNSUPPORTED, "byte");
  assert_null(view);
  assert_fails(dlx_tensor_select(packed, 0, 7, &view), DLX_ERROR_UNSUPPORTED, "byte");
  assert_null(view);
  assert_ok(dlx_tensor_slice(packed, 0, 2, 5, 1, &view));
  assert_ptr_equal(dlx_tensor_data(view), (char *)data + 1);
  dlx_tensor_release(view);
  assert_ok(dlx_tensor_slice(padded, 0, 1, 3, 1, &view));
  assert_ptr_equal(dlx_tensor_data(view), (char *)data + 1);
  dlx_tensor_release(view);

  dlx_tensor_release(packed);
  dlx_tensor_release(padded);
}

/* If data is a handle, views change byte_offset. */
static void views_of_a_handle_move_the_byte_offset(void **state) {
  (void)state;
  DLTensor description = describe(POISON, dtype_of(kDLInt, 32), 1, EXTENTS(8), NULL);
  description.device.device_type = kDLOpenCL;
  description.byte_offset = 100;
  dlx_tensor *buffer = NULL;
  assert_ok(dlx_tensor_wrap(&description, 0, NULL, NULL, &buffer));
  assert_ok(dlx_tensor_slice(buffer, 0, 3, 5, 1, &view));

  assert_ptr_equal(dlx_tensor_data(view), POISON);
  assert_int_equal(dlx_tensor_dltensor(view)->byte_offset, 112);
  dlx_tensor_release(view);
  dlx_tensor_release(buffer);
}

/* A NULL is named with its function. */
static void null_parameters_are_named(void **state) {
  (void)state;
  assert_null_named(dlx_tensor_slice, (NULL, 0, 0, 1, 1, &view), "tensor");
  assert_null(view);
  assert_null_named(dlx_tensor_slice, (tensor, 0, 0, 1, 1, NULL), "out");
  assert_null_named(dlx_tensor_select, (NULL, 0, 0, &view), "tensor");
  assert_null_named(dlx_tensor_select, (tensor, 0, 0, NULL), "out");
  assert_null_named(dlx_tensor_permute, (NULL, NULL, &view), "tensor");
  assert_null_named(dlx_tensor_permute, (tensor, NULL, NULL), "out");
  assert_null_named(dlx_tensor_squeeze, (NULL, 0, NULL, &view), "tensor");
  assert_null_named(dlx_tensor_squeeze, (tensor, 0, NULL, NULL), "out");
  assert_null_named(dlx_tensor_expand_dims, (NULL, 0, &view), "tensor");
  assert_null_named(dlx_tensor_expand_dims, (tensor, 0, NULL), "out");
  assert_null_named(dlx_tensor_as_readonly, (NULL, &view), "tensor");
  assert_null_named(dlx_tensor_as_readonly, (tensor, NULL), "out");
}

#define view_test(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      view_test(slice_shares_the_memory),
      view_test(slices_of_nothing_stay_where_they_are),
      view_test(slice_with_a_negative_step_walks_backwards),
      view_test(slice_follows_pythons_rules),
      view_test(slice_takes_the_largest_numbers),
      view_test(slice_refuses_a_step_of_0),
      view_test(select_drops_the_axis),
      view_test(select_refuses_an_index_out_of_range),
      view_test(permute_reorders_the_axes),
      view_test(permute_by_null_reverses_the_axes),
      view_test(permute_refuses_what_is_no_permutation),
      view_test(squeeze_drops_axes_of_extent_1),
      view_test(squeeze_of_no_axes_drops_none),
      view_test(squeeze_refuses_other_axes),
      view_test(expand_dims_inserts_an_axis_of_extent_1),
      view_test(axes_out_of_range_are_refused),
      view_test(expand_dims_stops_at_the_largest_ndim),
      view_test(as_readonly_is_inherited),
      view_test(views_keep_the_memory),
      view_test(packed_elements_start_at_whole_bytes),
      view_test(views_of_a_handle_move_the_byte_offset),
      view_test(null_parameters_are_named),
  };
  return cmocka_run_group_tests_name("views", tests, NULL, NULL);
}
