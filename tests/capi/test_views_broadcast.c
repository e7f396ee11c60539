/* Section "views" of dlx.h: dlx_tensor_broadcast_to. */
#include "util.h"

static int32_t data[24];

static dlx_tensor *broadcast(dlx_tensor *tensor, int32_t ndim, const int64_t *shape) {
  dlx_tensor *out = NULL;
  assert_ok(dlx_tensor_broadcast_to(tensor, ndim, shape, &out));
  return out;
}

static void assert_refused(dlx_tensor *tensor, int32_t ndim, const int64_t *shape,
                           const char *words) {
  dlx_tensor *out = POISON_TENSOR;
  assert_fails(dlx_tensor_broadcast_to(tensor, ndim, shape, &out), DLX_ERROR_INVALID_ARGUMENT,
               words);
  assert_null(out);
}

/* An axis of extent 1 is repeated by a stride of 0, without a copy. */
static void axis_of_extent_1_is_repeated(void **state) {
  (void)state;
  for (int i = 0; i < 24; ++i) data[i] = i;
  dlx_tensor *column = wrap_int32(data, 2, EXTENTS(3, 1)),
             *view = broadcast(column, 2, EXTENTS(3, 2));

  assert_shape(view, 2, EXTENTS(3, 2));
  assert_strides(view, EXTENTS(1, 0));
  assert_ptr_equal(dlx_tensor_data(view), data);
  assert_int32s(view, 6, INT32S(0, 0, 1, 1, 2, 2));
  dlx_tensor_release(view);
  dlx_tensor_release(column);
}

/* New axes are added in front. */
static void new_axes_come_in_front(void **state) {
  (void)state;
  dlx_tensor *row = wrap_int32(data, 1, EXTENTS(3)), *view = broadcast(row, 3, EXTENTS(2, 1, 3));

  assert_shape(view, 3, EXTENTS(2, 1, 3));
  assert_int_equal(dlx_tensor_strides(view)[0], 0);
  assert_int_equal(dlx_tensor_strides(view)[2], 1);
  dlx_tensor_release(view);
  dlx_tensor_release(row);
}

/* A scalar fits any shape. */
static void scalar_is_broadcast_to_any_shape(void **state) {
  (void)state;
  data[0] = 7;
  dlx_tensor *scalar = wrap_int32(data, 0, NULL), *view = broadcast(scalar, 2, EXTENTS(2, 2));

  assert_int32s(view, 4, INT32S(7, 7, 7, 7));
  dlx_tensor_release(view);
  dlx_tensor_release(scalar);
}

/* A view whose elements share memory is read-only, and so are its views. */
static void repeated_elements_are_read_only(void **state) {
  (void)state;
  dlx_tensor *row = wrap_int32(data, 1, EXTENTS(3)), *view = broadcast(row, 2, EXTENTS(2, 3));
  dlx_tensor *first = NULL;
  assert_ok(dlx_tensor_select(view, 0, 0, &first));

  assert_int_equal(dlx_tensor_flags(view), DLPACK_FLAG_BITMASK_READ_ONLY);
  assert_int_equal(dlx_tensor_flags(first), DLPACK_FLAG_BITMASK_READ_ONLY);
  dlx_tensor_release(first);
  dlx_tensor_release(view);
  dlx_tensor_release(row);
}

/* If nothing is repeated the view stays writable: the same shape, or new axes of extent 1. */
static void unrepeated_elements_stay_writable(void **state) {
  (void)state;
  dlx_tensor *matrix = wrap_int32(data, 2, EXTENTS(2, 3));
  dlx_tensor *same = broadcast(matrix, 2, EXTENTS(2, 3)),
             *more = broadcast(matrix, 4, EXTENTS(1, 1, 2, 3));

  assert_int_equal(dlx_tensor_flags(same), 0);
  assert_int_equal(dlx_tensor_flags(more), 0);
  assert_int_equal(dlx_tensor_is_contiguous(more, DLX_ORDER_C), 1);
  dlx_tensor_release(same);
  dlx_tensor_release(more);
  dlx_tensor_release(matrix);
}

/* All pairs of up to three axes: a view is read-only if, and only if, two of its elements are one. */
static void exactly_what_is_repeated_is_read_only(void **state) {
  (void)state;
  for (int32_t ndim = 0; ndim <= 3; ++ndim) {
    for (int bits = 0; bits < 1 << (3 + ndim); ++bits) {
      int64_t target[3], source[3];
      int fits = 1, repeats = 0;
      for (int32_t i = 0; i < 3; ++i) target[i] = bits >> i & 1 ? 2 : 1;
      for (int32_t i = 0; i < ndim; ++i) {
        source[i] = bits >> (3 + i) & 1 ? 2 : 1;
        fits = fits && source[i] <= target[3 - ndim + i];
      }
      for (int32_t i = 0; i < 3; ++i) {
        repeats = repeats || target[i] > (i < 3 - ndim ? 1 : source[i - (3 - ndim)]);
      }
      if (!fits) continue;
      dlx_tensor *tensor = wrap_int32(data, ndim, source), *view = broadcast(tensor, 3, target);
      assert_int_equal(dlx_tensor_flags(view), repeats ? DLPACK_FLAG_BITMASK_READ_ONLY : 0);
      dlx_tensor_release(view);
      dlx_tensor_release(tensor);
    }
  }
}

/* READ_ONLY is inherited, repeated or not. */
static void read_only_is_inherited(void **state) {
  (void)state;
  dlx_tensor *locked =
      wrap(data, dtype_of(kDLInt, 32), 1, EXTENTS(3), NULL, DLPACK_FLAG_BITMASK_READ_ONLY);
  dlx_tensor *view = broadcast(locked, 1, EXTENTS(3));

  assert_int_equal(dlx_tensor_flags(view), DLPACK_FLAG_BITMASK_READ_ONLY);
  dlx_tensor_release(view);
  dlx_tensor_release(locked);
}

/* An extent of 1 may become 0, and an extent of 0 stays. */
static void empty_shapes_are_fine(void **state) {
  (void)state;
  dlx_tensor *one = wrap_int32(data, 1, EXTENTS(1)), *none = wrap_int32(data, 1, EXTENTS(0));
  dlx_tensor *first = broadcast(one, 2, EXTENTS(3, 0)), *second = broadcast(none, 2, EXTENTS(3, 0));

  assert_int_equal(dlx_tensor_size(first), 0);
  assert_int_equal(dlx_tensor_size(second), 0);
  dlx_tensor_release(first);
  dlx_tensor_release(second);
  dlx_tensor_release(one);
  dlx_tensor_release(none);
}

/* Other extents do not fit; the message has both shapes. */
static void other_extents_do_not_fit(void **state) {
  (void)state;
  dlx_tensor *matrix = wrap_int32(data, 2, EXTENTS(2, 3));

  assert_refused(matrix, 2, EXTENTS(2, 4), "(2, 4)");
  assert_says(dlx_last_error(), "(2, 3)");
  assert_refused(matrix, 2, EXTENTS(4, 3), "`shape`");
  assert_refused(matrix, 2, EXTENTS(2, 1), "`shape`");
  assert_refused(matrix, 2, EXTENTS(2, 0), "`shape`");
  assert_refused(matrix, 3, EXTENTS(2, 3, 1), "`shape`");
  dlx_tensor_release(matrix);
}

/* Fewer axes than the tensor has are refused. */
static void fewer_axes_do_not_fit(void **state) {
  (void)state;
  dlx_tensor *row = wrap_int32(data, 2, EXTENTS(1, 3));

  assert_refused(row, 1, EXTENTS(3), "`shape`");
  assert_refused(row, 0, NULL, "`shape`");
  dlx_tensor_release(row);
}

/* Negative extents, too many axes and sizes beyond 2^63-1 bytes are refused. */
static void impossible_shapes_are_refused(void **state) {
  (void)state;
  dlx_tensor *one = wrap_int32(data, 1, EXTENTS(1));

  assert_refused(one, 1, EXTENTS(-1), "`shape`");
  assert_refused(one, -1, EXTENTS(1), "`ndim`");
  assert_refused(one, DLX_MAX_NDIM + 1, EXTENTS(1), "`ndim`");
  assert_refused(one, 2, EXTENTS(INT64_MAX, 2), "`shape`");
  assert_refused(one, 1, EXTENTS(INT64_C(1) << 61), "`shape`");
  dlx_tensor_release(one);
}

/* Any size that does not overflow is valid, because nothing is allocated. */
static void huge_broadcasts_cost_nothing(void **state) {
  (void)state;
  dlx_tensor *one = wrap_int32(data, 1, EXTENTS(1));
  dlx_tensor *view = broadcast(one, 2, EXTENTS(INT64_C(1) << 30, INT64_C(1) << 30));

  assert_true(dlx_tensor_size(view) == INT64_C(1) << 60);
  assert_true(dlx_tensor_nbytes(view) == INT64_C(1) << 62);
  dlx_tensor_release(view);
  dlx_tensor_release(one);
}

/* A NULL is named with its function. */
static void null_parameters_are_named(void **state) {
  (void)state;
  dlx_tensor *one = wrap_int32(data, 1, EXTENTS(1)), *out = POISON_TENSOR;

  assert_null_named(dlx_tensor_broadcast_to, (NULL, 1, EXTENTS(1), &out), "tensor");
  assert_null(out);
  assert_null_named(dlx_tensor_broadcast_to, (one, 1, NULL, &out), "shape");
  assert_null_named(dlx_tensor_broadcast_to, (one, 1, EXTENTS(1), NULL), "out");
  dlx_tensor_release(one);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(axis_of_extent_1_is_repeated),
      cmocka_unit_test(new_axes_come_in_front),
      cmocka_unit_test(scalar_is_broadcast_to_any_shape),
      cmocka_unit_test(repeated_elements_are_read_only),
      cmocka_unit_test(unrepeated_elements_stay_writable),
      cmocka_unit_test(exactly_what_is_repeated_is_read_only),
      cmocka_unit_test(read_only_is_inherited),
      cmocka_unit_test(empty_shapes_are_fine),
      cmocka_unit_test(other_extents_do_not_fit),
      cmocka_unit_test(fewer_axes_do_not_fit),
      cmocka_unit_test(impossible_shapes_are_refused),
      cmocka_unit_test(huge_broadcasts_cost_nothing),
      cmocka_unit_test(null_parameters_are_named),
  };
  return cmocka_run_group_tests_name("views_broadcast", tests, NULL, NULL);
}
