/* Section "views" of dlx.h: dlx_tensor_bitcast. */
#include "util.h"

static _Alignas(16) uint8_t data[64];

static const DLDataType int8 = {kDLInt, 8, 1}, uint8 = {kDLUInt, 8, 1}, uint16 = {kDLUInt, 16, 1},
                        uint32 = {kDLUInt, 32, 1}, float32 = {kDLFloat, 32, 1},
                        uint4 = {kDLUInt, 4, 1}, uint1 = {kDLUInt, 1, 1},
                        float32x2 = {kDLFloat, 32, 2}, handle = {kDLOpaqueHandle, 64, 1};

static void assert_refused(dlx_tensor *tensor, const DLDataType *dtype, dlx_status status) {
  dlx_tensor *out = POISON_TENSOR;
  assert_fails(dlx_tensor_bitcast(tensor, dtype, &out), status, "`dtype`");
  assert_null(out);
}

/* Makes a tensor, bitcasts it to `to`, and compares shape, strides and address. */
static void assert_bitcast(DLDataType from, int32_t ndim, const int64_t *shape,
                           const int64_t *strides, DLDataType to, const int64_t *expected_shape,
                           const int64_t *expected_strides) {
  dlx_tensor *tensor = wrap(data, from, ndim, shape, strides, 0), *view = NULL;
  assert_ok(dlx_tensor_bitcast(tensor, &to, &view));
  assert_memory_equal(dlx_tensor_dtype(view), &to, sizeof to);
  assert_shape(view, ndim, expected_shape);
  assert_strides(view, expected_strides);
  assert_ptr_equal(dlx_tensor_data(view), data);
  assert_int_equal(dlx_tensor_nbytes(view), dlx_tensor_nbytes(tensor));
  dlx_tensor_release(view);
  dlx_tensor_release(tensor);
}

/* Elements of the same size keep any shape and strides. */
static void same_size_keeps_shape_and_strides(void **state) {
  (void)state;
  assert_bitcast(float32, 2, EXTENTS(2, 3), EXTENTS(1, 4), uint32, EXTENTS(2, 3), EXTENTS(1, 4));
  assert_bitcast(int8, 1, EXTENTS(5), EXTENTS(3), uint8, EXTENTS(5), EXTENTS(3));
}

/* A scalar keeps its size, too. */
static void same_size_of_a_scalar(void **state) {
  (void)state;
  assert_bitcast(float32, 0, NULL, NULL, uint32, NULL, NULL);
}

/* Larger elements: the last axis shrinks, the other strides with it. */
static void larger_elements_shrink_the_last_axis(void **state) {
  (void)state;
  assert_bitcast(uint8, 2, EXTENTS(2, 8), EXTENTS(12, 1), uint32, EXTENTS(2, 2), EXTENTS(3, 1));
  assert_bitcast(float32, 1, EXTENTS(4), EXTENTS(1), float32x2, EXTENTS(2), EXTENTS(1));
}

/* Smaller elements: the last axis grows. */
static void smaller_elements_stretch_the_last_axis(void **state) {
  (void)state;
  assert_bitcast(uint32, 2, EXTENTS(2, 2), EXTENTS(3, 1), uint8, EXTENTS(2, 8), EXTENTS(12, 1));
  assert_bitcast(uint32, 1, EXTENTS(1), EXTENTS(1), uint16, EXTENTS(2), EXTENTS(1));
}

/* Packed sub-byte elements, both ways. */
static void packed_elements_are_scaled_too(void **state) {
  (void)state;
  assert_bitcast(uint8, 2, EXTENTS(2, 3), EXTENTS(4, 1), uint4, EXTENTS(2, 6), EXTENTS(8, 1));
  assert_bitcast(uint1, 1, EXTENTS(16), EXTENTS(1), uint8, EXTENTS(2), EXTENTS(1));
}

/* The bytes are the same, and so is who owns them. */
static void bytes_are_shared(void **state) {
  (void)state;
  int32_t numbers[2] = {0x01020304, -1};
  int released = 0;
  dlx_tensor *tensor = wrap_counted(numbers, 1, EXTENTS(2), &released), *view = NULL;
  assert_ok(dlx_tensor_bitcast(tensor, &uint8, &view));

  dlx_tensor_release(tensor);
  assert_int_equal(released, 0);
  assert_memory_equal(dlx_tensor_data(view), numbers, sizeof numbers);
  dlx_tensor_release(view);
  assert_int_equal(released, 1);
}

/* READ_ONLY is inherited. */
static void read_only_is_inherited(void **state) {
  (void)state;
  dlx_tensor *locked = wrap(data, float32, 1, EXTENTS(2), NULL, DLPACK_FLAG_BITMASK_READ_ONLY);
  dlx_tensor *view = NULL;
  assert_ok(dlx_tensor_bitcast(locked, &uint8, &view));

  assert_int_equal(dlx_tensor_flags(view), DLPACK_FLAG_BITMASK_READ_ONLY);
  dlx_tensor_release(view);
  dlx_tensor_release(locked);
}

/* Empty tensors scale like others. */
static void empty_tensors_are_scaled(void **state) {
  (void)state;
  assert_bitcast(uint8, 2, EXTENTS(0, 8), EXTENTS(8, 1), uint32, EXTENTS(0, 2), EXTENTS(2, 1));
  assert_bitcast(uint32, 1, EXTENTS(0), EXTENTS(1), uint8, EXTENTS(0), EXTENTS(1));
  assert_bitcast(uint8, 2, EXTENTS(2, 0), EXTENTS(3, 1), uint32, EXTENTS(2, 0), EXTENTS(1, 1));
}

/* Another size needs a last axis. */
static void another_size_of_a_scalar_is_refused(void **state) {
  (void)state;
  dlx_tensor *scalar = wrap(data, uint32, 0, NULL, NULL, 0);

  assert_refused(scalar, &uint8, DLX_ERROR_INVALID_ARGUMENT);
  dlx_tensor_release(scalar);
}

/* Another size needs a compact last axis. */
static void another_size_of_a_strided_last_axis_is_refused(void **state) {
  (void)state;
  dlx_tensor *strided = wrap(data, uint8, 1, EXTENTS(4), EXTENTS(2), 0);
  dlx_tensor *backwards = wrap(data + 8, uint8, 1, EXTENTS(4), EXTENTS(-1), 0);
  dlx_tensor *repeated = wrap(data, uint8, 1, EXTENTS(4), EXTENTS(0), 0);

  assert_refused(strided, &uint16, DLX_ERROR_INVALID_ARGUMENT);
  assert_refused(backwards, &uint16, DLX_ERROR_INVALID_ARGUMENT);
  assert_refused(repeated, &uint4, DLX_ERROR_INVALID_ARGUMENT);
  dlx_tensor_release(strided);
  dlx_tensor_release(backwards);
  dlx_tensor_release(repeated);
}

/* An extent or stride that is not a multiple cannot be scaled. */
static void what_does_not_divide_is_refused(void **state) {
  (void)state;
  dlx_tensor *odd_extent = wrap(data, uint8, 1, EXTENTS(6), NULL, 0);
  dlx_tensor *odd_stride = wrap(data, uint8, 2, EXTENTS(2, 4), EXTENTS(6, 1), 0);

  assert_refused(odd_extent, &uint32, DLX_ERROR_INVALID_ARGUMENT);
  assert_refused(odd_stride, &uint32, DLX_ERROR_INVALID_ARGUMENT);
  dlx_tensor_release(odd_extent);
  dlx_tensor_release(odd_stride);
}

/* The stride of an axis of extent 1 is ignored, even if it is large. */
static void strides_that_are_not_walked_do_not_count(void **state) {
  (void)state;
  const int64_t strides[] = {3, INT64_MAX, INT64_MIN};

  for (size_t i = 0; i < COUNT_OF(strides); ++i) {
    dlx_tensor *row = wrap(data, uint8, 2, EXTENTS(1, 4), EXTENTS(strides[i], 1), 0), *view = NULL;
    assert_ok(dlx_tensor_bitcast(row, &uint32, &view));
    assert_shape(view, 2, EXTENTS(1, 1));
    dlx_tensor_release(view);
    assert_ok(dlx_tensor_bitcast(row, &uint1, &view));
    assert_shape(view, 2, EXTENTS(1, 32));
    dlx_tensor_release(view);
    dlx_tensor_release(row);

    dlx_tensor *column = wrap(data, uint8, 2, EXTENTS(4, 1), EXTENTS(1, strides[i]), 0);
    assert_ok(dlx_tensor_bitcast(column, &uint1, &view));
    assert_shape(view, 2, EXTENTS(4, 8));
    assert_strides(view, EXTENTS(8, 1));
    dlx_tensor_release(view);
    dlx_tensor_release(column);
  }
}

/* An overflow of the number of elements is refused. */
static void too_many_small_elements_are_refused(void **state) {
  (void)state;
  dlx_tensor *one = wrap(data, uint8, 2, EXTENTS(1, 8), NULL, 0), *many = NULL;
  assert_ok(dlx_tensor_broadcast_to(one, 2, EXTENTS(INT64_C(1) << 59, 8), &many));

  assert_refused(many, &uint1, DLX_ERROR_INVALID_ARGUMENT);
  dlx_tensor_release(many);
  dlx_tensor_release(one);
}

/* Padded elements cannot be reinterpreted. */
static void padded_elements_are_unsupported(void **state) {
  (void)state;
  dlx_tensor *padded =
      wrap(data, uint4, 1, EXTENTS(8), NULL, DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED);

  assert_refused(padded, &uint8, DLX_ERROR_UNSUPPORTED);
  assert_refused(padded, &uint1, DLX_ERROR_UNSUPPORTED);
  dlx_tensor_release(padded);

  /* Lanes that would fill whole bytes if they were packed are no exception. */
  const DLDataType uint4x8 = {kDLUInt, 4, 8};
  padded = wrap(data, uint4x8, 1, EXTENTS(1), NULL, DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED);
  assert_refused(padded, &uint1, DLX_ERROR_UNSUPPORTED);
  assert_refused(padded, &uint4, DLX_ERROR_UNSUPPORTED);
  dlx_tensor_release(padded);
}

/* The flag on whole bytes means nothing, and must not pad the elements of a view: it would reach
 * beyond the memory. */
static void padding_of_whole_bytes_does_not_pad_a_view(void **state) {
  (void)state;
  dlx_tensor *bytes =
      wrap(data, uint8, 1, EXTENTS(8), NULL, DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED);
  dlx_tensor *view = NULL;
  assert_ok(dlx_tensor_bitcast(bytes, &uint4, &view));

  assert_int_equal(dlx_tensor_size(view), 16);
  assert_int_equal(dlx_tensor_nbytes(view), 8);
  assert_int_equal(dlx_tensor_flags(view) & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED, 0);
  dlx_tensor_release(view);
  dlx_tensor_release(bytes);
}

/* Opaque handles cannot be reinterpreted, in either direction. */
static void opaque_handles_are_unsupported(void **state) {
  (void)state;
  dlx_tensor *handles = wrap(data, handle, 1, EXTENTS(2), NULL, 0);
  dlx_tensor *bytes = wrap(data, uint8, 1, EXTENTS(8), NULL, 0);

  assert_refused(handles, &uint8, DLX_ERROR_UNSUPPORTED);
  assert_refused(bytes, &handle, DLX_ERROR_UNSUPPORTED);
  dlx_tensor_release(handles);
  dlx_tensor_release(bytes);
}

/* An unknown dtype is refused. */
static void unknown_dtype_is_unsupported(void **state) {
  (void)state;
  const DLDataType unknown = {99, 8, 1}, no_lanes = {kDLInt, 8, 0};
  dlx_tensor *bytes = wrap(data, uint8, 1, EXTENTS(8), NULL, 0);

  assert_refused(bytes, &unknown, DLX_ERROR_UNSUPPORTED);
  assert_refused(bytes, &no_lanes, DLX_ERROR_UNSUPPORTED);
  dlx_tensor_release(bytes);
}

/* A NULL is named with its function. */
static void null_parameters_are_named(void **state) {
  (void)state;
  dlx_tensor *bytes = wrap(data, uint8, 1, EXTENTS(8), NULL, 0), *out = POISON_TENSOR;

  assert_null_named(dlx_tensor_bitcast, (NULL, &uint8, &out), "tensor");
  assert_null(out);
  assert_null_named(dlx_tensor_bitcast, (bytes, NULL, &out), "dtype");
  assert_null_named(dlx_tensor_bitcast, (bytes, &uint8, NULL), "out");
  dlx_tensor_release(bytes);
}

/* Without elements no stride matters, and nothing leads away from the address. */
static void without_elements_the_address_stays(void **state) {
  (void)state;
  DLTensor description = describe(data, uint32, 2, EXTENTS(3, 0), NULL);
  description.byte_offset = 8;
  dlx_tensor *empty, *row;
  assert_ok(dlx_tensor_wrap(&description, 0, NULL, NULL, &empty));
  assert_ptr_equal(dlx_tensor_data(empty), data);
  dlx_tensor_release(empty);

  empty = wrap(data, uint32, 2, EXTENTS(3, 0), EXTENTS(4, 1), 0);
  assert_ok(dlx_tensor_select(empty, 0, 2, &row));
  assert_ptr_equal(dlx_tensor_data(row), data);
  dlx_tensor_release(row);
  dlx_tensor_release(empty);

  assert_bitcast(uint32, 2, EXTENTS(0, 4), EXTENTS(8, 2), uint8, EXTENTS(0, 16), EXTENTS(32, 1));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(without_elements_the_address_stays),
      cmocka_unit_test(same_size_keeps_shape_and_strides),
      cmocka_unit_test(same_size_of_a_scalar),
      cmocka_unit_test(larger_elements_shrink_the_last_axis),
      cmocka_unit_test(smaller_elements_stretch_the_last_axis),
      cmocka_unit_test(packed_elements_are_scaled_too),
      cmocka_unit_test(bytes_are_shared),
      cmocka_unit_test(read_only_is_inherited),
      cmocka_unit_test(empty_tensors_are_scaled),
      cmocka_unit_test(another_size_of_a_scalar_is_refused),
      cmocka_unit_test(another_size_of_a_strided_last_axis_is_refused),
      cmocka_unit_test(what_does_not_divide_is_refused),
      cmocka_unit_test(strides_that_are_not_walked_do_not_count),
      cmocka_unit_test(too_many_small_elements_are_refused),
      cmocka_unit_test(padded_elements_are_unsupported),
      cmocka_unit_test(padding_of_whole_bytes_does_not_pad_a_view),
      cmocka_unit_test(opaque_handles_are_unsupported),
      cmocka_unit_test(unknown_dtype_is_unsupported),
      cmocka_unit_test(null_parameters_are_named),
  };
  return cmocka_run_group_tests_name("views_bitcast", tests, NULL, NULL);
}
