/* Section "tensor" of dlx.h: wrapping memory, getters, references. Allocation: test_tensor_empty.c */
#include "util.h"

/* The getters return the parts of the description. */
static void wrap_keeps_the_description(void **state) {
  (void)state;
  float data[12];
  DLTensor description = describe(data, dtype_of(kDLFloat, 32), 2, EXTENTS(2, 3), EXTENTS(4, 1));
  dlx_tensor *tensor = NULL;

  assert_ok(dlx_tensor_wrap(&description, 0, NULL, NULL, &tensor));

  assert_shape(tensor, 2, EXTENTS(2, 3));
  assert_strides(tensor, EXTENTS(4, 1));
  assert_ptr_equal(dlx_tensor_data(tensor), data);
  assert_memory_equal(dlx_tensor_dtype(tensor), &description.dtype, sizeof(DLDataType));
  assert_int_equal(dlx_tensor_device_type(tensor), kDLCPU);
  assert_int_equal(dlx_tensor_device_id(tensor), 0);
  assert_int_equal(dlx_tensor_flags(tensor), 0);
  assert_int_equal(dlx_tensor_size(tensor), 6);
  assert_int_equal(dlx_tensor_nbytes(tensor), 24);
  dlx_tensor_release(tensor);
}

/* The description is copied: the caller's arrays may be destroyed. */
static void wrap_copies_the_description(void **state) {
  (void)state;
  int32_t data[6];
  int64_t shape[2] = {2, 3}, strides[2] = {3, 1};
  DLTensor description = describe(data, dtype_of(kDLInt, 32), 2, shape, strides);
  dlx_tensor *tensor = NULL;
  assert_ok(dlx_tensor_wrap(&description, 0, NULL, NULL, &tensor));

  memset(shape, 0xff, sizeof shape);
  memset(strides, 0xff, sizeof strides);
  memset(&description, 0xff, sizeof description);

  assert_shape(tensor, 2, EXTENTS(2, 3));
  assert_strides(tensor, EXTENTS(3, 1));
  assert_ptr_equal(dlx_tensor_data(tensor), data);
  dlx_tensor_release(tensor);
}

/* dlx_tensor_dltensor says the same as the getters of its parts. */
static void dltensor_agrees_with_the_getters(void **state) {
  (void)state;
  int32_t data[6];
  dlx_tensor *tensor = wrap_int32(data, 2, EXTENTS(2, 3));
  const DLTensor *dl = dlx_tensor_dltensor(tensor);

  assert_int_equal(dl->ndim, dlx_tensor_ndim(tensor));
  assert_ptr_equal(dl->shape, dlx_tensor_shape(tensor));
  assert_ptr_equal(dl->strides, dlx_tensor_strides(tensor));
  assert_ptr_equal(dl->data, dlx_tensor_data(tensor));
  assert_int_equal(dl->byte_offset, 0);
  dlx_tensor_release(tensor);
}

/* NULL strides mean compact C order, and are filled. */
static void wrap_fills_null_strides(void **state) {
  (void)state;
  int32_t data[24];
  dlx_tensor *tensor = wrap_int32(data, 3, EXTENTS(2, 3, 4));

  assert_strides(tensor, EXTENTS(12, 4, 1));
  dlx_tensor_release(tensor);
}

/* byte_offset is folded into the address. */
static void wrap_folds_the_byte_offset(void **state) {
  (void)state;
  int32_t data[4] = {10, 11, 12, 13};
  DLTensor description = describe(data, dtype_of(kDLInt, 32), 1, EXTENTS(2), NULL);
  description.byte_offset = 8;
  dlx_tensor *tensor = NULL;

  assert_ok(dlx_tensor_wrap(&description, 0, NULL, NULL, &tensor));

  assert_ptr_equal(dlx_tensor_data(tensor), data + 2);
  assert_int_equal(dlx_tensor_dltensor(tensor)->byte_offset, 0);
  dlx_tensor_release(tensor);
}

/* If data is a handle, byte_offset is kept. */
static void wrap_keeps_the_byte_offset_of_a_handle(void **state) {
  (void)state;
  static const int handles[] = {kDLOpenCL, kDLVulkan, kDLMetal, kDLWebGPU};

  for (size_t i = 0; i < COUNT_OF(handles); ++i) {
    DLTensor description = describe(POISON, dtype_of(kDLInt, 32), 1, EXTENTS(2), NULL);
    description.device.device_type = handles[i];
    description.device.device_id = 3;
    description.byte_offset = 8;
    dlx_tensor *tensor = NULL;
    assert_ok(dlx_tensor_wrap(&description, 0, NULL, NULL, &tensor));

    assert_ptr_equal(dlx_tensor_data(tensor), POISON);
    assert_int_equal(dlx_tensor_dltensor(tensor)->byte_offset, 8);
    assert_int_equal(dlx_tensor_device_type(tensor), handles[i]);
    assert_int_equal(dlx_tensor_device_id(tensor), 3);
    dlx_tensor_release(tensor);
  }
}

/* A tensor without axes has one element; it needs neither shape nor strides. */
static void wrap_takes_a_scalar_without_shape(void **state) {
  (void)state;
  int32_t data = 7;
  dlx_tensor *tensor = wrap(&data, dtype_of(kDLInt, 32), 0, NULL, NULL, 0);

  assert_int_equal(dlx_tensor_ndim(tensor), 0);
  assert_int_equal(dlx_tensor_size(tensor), 1);
  assert_int_equal(dlx_tensor_nbytes(tensor), 4);
  assert_int_equal(dlx_tensor_is_contiguous(tensor, DLX_ORDER_C), 1);
  assert_int32s(tensor, 1, &data);
  dlx_tensor_release(tensor);
}

/* The deleter is called once, with the data as described (before byte_offset) and user_data. */
static void *seen_data, *seen_user_data;
static int seen;
static void see(void *data, void *user_data) {
  seen_data = data;
  seen_user_data = user_data;
  ++seen;
}
static void deleter_gets_the_described_data_once(void **state) {
  (void)state;
  int32_t data[4];
  DLTensor description = describe(data, dtype_of(kDLInt, 32), 1, EXTENTS(2), NULL);
  description.byte_offset = 8;
  dlx_tensor *tensor = NULL;
  seen = 0;
  assert_ok(dlx_tensor_wrap(&description, 0, see, POISON, &tensor));
  assert_int_equal(seen, 0);

  dlx_tensor_release(tensor);

  assert_int_equal(seen, 1);
  assert_ptr_equal(seen_data, data);
  assert_ptr_equal(seen_user_data, POISON);
}

/* The deleter may be NULL. */
static void wrap_takes_no_deleter(void **state) {
  (void)state;
  int32_t data[2] = {1, 2};
  dlx_tensor *tensor = wrap_int32(data, 1, EXTENTS(2));

  dlx_tensor_release(tensor);

  assert_int_equal(data[0], 1);
}

/* An empty tensor needs no data; its deleter is called all the same. */
static void wrap_takes_an_empty_tensor_without_data(void **state) {
  (void)state;
  int released = 0;
  dlx_tensor *tensor = wrap_counted(NULL, 3, EXTENTS(2, 0, 3), &released);

  assert_int_equal(dlx_tensor_size(tensor), 0);
  assert_int_equal(dlx_tensor_nbytes(tensor), 0);
  dlx_tensor_release(tensor);
  assert_int_equal(released, 1);
}

/* A failed call takes no ownership: the deleter is not called. */
static void failed_wrap_does_not_call_the_deleter(void **state) {
  (void)state;
  int32_t data[2];
  int released = 0;
  DLTensor good = describe(data, dtype_of(kDLInt, 32), 1, EXTENTS(2), NULL), bad = good;
  dlx_tensor *out = POISON_TENSOR;

  assert_int_not_equal(dlx_tensor_wrap(NULL, 0, count_release, &released, &out), DLX_OK);
  assert_null(out);
  assert_int_not_equal(dlx_tensor_wrap(&good, 0, count_release, &released, NULL), DLX_OK);
  assert_int_not_equal(dlx_tensor_wrap(&good, 1u << 20, count_release, &released, &out), DLX_OK);
  bad.dtype.code = 99;
  assert_int_not_equal(dlx_tensor_wrap(&bad, 0, count_release, &released, &out), DLX_OK);
  bad = good;
  bad.data = NULL;
  assert_int_not_equal(dlx_tensor_wrap(&bad, 0, count_release, &released, &out), DLX_OK);
  bad = good;
  bad.ndim = -1;
  assert_int_not_equal(dlx_tensor_wrap(&bad, 0, count_release, &released, &out), DLX_OK);

  assert_int_equal(released, 0);
}

/* READ_ONLY and IS_SUBBYTE_TYPE_PADDED are kept. */
static void wrap_keeps_its_flags(void **state) {
  (void)state;
  uint8_t data[8];
  const uint64_t both = DLPACK_FLAG_BITMASK_READ_ONLY | DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;
  dlx_tensor *tensor = wrap(data, dtype_of(kDLInt, 4), 1, EXTENTS(8), NULL, both);

  assert_int_equal(dlx_tensor_flags(tensor), both);
  dlx_tensor_release(tensor);
}

/* Unknown flags, and IS_COPIED, which is not a property of memory, are refused. */
static void wrap_refuses_other_flags(void **state) {
  (void)state;
  int32_t data[2];
  const DLTensor description = describe(data, dtype_of(kDLInt, 32), 1, EXTENTS(2), NULL);
  const uint64_t strangers[] = {DLPACK_FLAG_BITMASK_IS_COPIED, 8, UINT64_C(1) << 63};

  for (size_t i = 0; i < COUNT_OF(strangers); ++i) {
    dlx_tensor *out = POISON_TENSOR;
    assert_fails(dlx_tensor_wrap(&description, strangers[i], NULL, NULL, &out),
                 DLX_ERROR_UNSUPPORTED, "`flags`");
    assert_null(out);
  }
}

/* Packed sub-byte elements count in bits, padded ones in bytes. */
static void nbytes_of_sub_byte_elements_depend_on_padding(void **state) {
  (void)state;
  uint8_t data[9];
  dlx_tensor *packed = wrap(data, dtype_of(kDLUInt, 1), 1, EXTENTS(9), NULL, 0);
  dlx_tensor *padded = wrap(data, dtype_of(kDLUInt, 1), 1, EXTENTS(9), NULL,
                            DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED);

  assert_int_equal(dlx_tensor_nbytes(packed), 2);
  assert_int_equal(dlx_tensor_nbytes(padded), 9);
  dlx_tensor_release(packed);
  dlx_tensor_release(padded);
}

static int contiguous(int32_t ndim, const int64_t *shape, const int64_t *strides, int32_t order) {
  static int32_t data[64];
  dlx_tensor *tensor = wrap(data + 32, dtype_of(kDLInt, 32), ndim, shape, strides, 0);
  const int result = dlx_tensor_is_contiguous(tensor, order);
  dlx_tensor_release(tensor);
  return result;
}

/* Compact means: without gaps, in that order. */
static void is_contiguous_means_compact_in_that_order(void **state) {
  (void)state;

  assert_int_equal(contiguous(2, EXTENTS(2, 3), EXTENTS(3, 1), DLX_ORDER_C), 1);
  assert_int_equal(contiguous(2, EXTENTS(2, 3), EXTENTS(3, 1), DLX_ORDER_F), 0);
  assert_int_equal(contiguous(2, EXTENTS(2, 3), EXTENTS(1, 2), DLX_ORDER_F), 1);
  assert_int_equal(contiguous(2, EXTENTS(2, 3), EXTENTS(1, 2), DLX_ORDER_C), 0);
  assert_int_equal(contiguous(2, EXTENTS(2, 3), EXTENTS(4, 1), DLX_ORDER_C), 0);
  assert_int_equal(contiguous(1, EXTENTS(4), EXTENTS(-1), DLX_ORDER_C), 0);
  assert_int_equal(contiguous(1, EXTENTS(4), EXTENTS(0), DLX_ORDER_C), 0);
  assert_int_equal(contiguous(2, EXTENTS(2, 3), EXTENTS(3, 1), 7), 1); /* as DLX_ORDER_C */
}

/* The stride of an axis of extent 1 is ignored. */
static void is_contiguous_ignores_axes_of_extent_1(void **state) {
  (void)state;

  assert_int_equal(contiguous(3, EXTENTS(2, 1, 3), EXTENTS(3, -77, 1), DLX_ORDER_C), 1);
  assert_int_equal(contiguous(2, EXTENTS(1, 4), EXTENTS(0, 1), DLX_ORDER_C), 1);
  assert_int_equal(contiguous(2, EXTENTS(1, 4), EXTENTS(0, 1), DLX_ORDER_F), 1);
  assert_int_equal(contiguous(1, EXTENTS(1), EXTENTS(INT64_MIN), DLX_ORDER_C), 1);
}

/* Empty tensors are compact in both orders, with any strides. */
static void is_contiguous_holds_for_empty_tensors(void **state) {
  (void)state;

  assert_int_equal(contiguous(2, EXTENTS(0, 3), EXTENTS(7, -7), DLX_ORDER_C), 1);
  assert_int_equal(contiguous(2, EXTENTS(3, 0), EXTENTS(INT64_MAX, INT64_MIN), DLX_ORDER_F), 1);
}

/* Retaining returns the tensor, and each reference is released separately. */
static void each_reference_is_given_back(void **state) {
  (void)state;
  int32_t data[2];
  int released = 0;
  dlx_tensor *tensor = wrap_counted(data, 1, EXTENTS(2), &released);

  assert_ptr_equal(dlx_tensor_retain(tensor), tensor);
  assert_ptr_equal(dlx_tensor_retain(tensor), tensor);
  dlx_tensor_release(tensor);
  dlx_tensor_release(tensor);
  assert_int_equal(released, 0);
  dlx_tensor_release(tensor);

  assert_int_equal(released, 1);
}

/* Retaining and releasing NULL does nothing. */
static void retain_and_release_ignore_null(void **state) {
  (void)state;

  assert_null(dlx_tensor_retain(NULL));
  dlx_tensor_release(NULL);
}

/* On the CPU there is one device; another number for it is not kept. */
static void cpu_tensors_are_on_device_0(void **state) {
  (void)state;
  int32_t data[2];
  DLTensor description = describe(data, dtype_of(kDLInt, 32), 1, EXTENTS(2), NULL);
  description.device.device_id = 5;
  dlx_tensor *tensor = NULL;

  assert_ok(dlx_tensor_wrap(&description, 0, NULL, NULL, &tensor));

  assert_int_equal(dlx_tensor_device_id(tensor), 0);
  dlx_tensor_release(tensor);
}

/* A NULL is named with its function. */
static void null_parameters_are_named(void **state) {
  (void)state;
  int32_t data[2];
  const DLTensor description = describe(data, dtype_of(kDLInt, 32), 1, EXTENTS(2), NULL);
  dlx_tensor *out = POISON_TENSOR;

  assert_null_named(dlx_tensor_wrap, (NULL, 0, NULL, NULL, &out), "description");
  assert_null(out);
  assert_null_named(dlx_tensor_wrap, (&description, 0, NULL, NULL, NULL), "out");
}

/* The getters return NULL or 0 for NULL. */
static void getters_of_null_tell_null_or_0(void **state) {
  (void)state;
  assert_null(dlx_tensor_dltensor(NULL));
  assert_int_equal(dlx_tensor_flags(NULL), 0);
  assert_int_equal(dlx_tensor_ndim(NULL), 0);
  assert_null(dlx_tensor_shape(NULL));
  assert_null(dlx_tensor_strides(NULL));
  assert_null(dlx_tensor_dtype(NULL));
  assert_int_equal(dlx_tensor_device_type(NULL), 0);
  assert_int_equal(dlx_tensor_device_id(NULL), 0);
  assert_null(dlx_tensor_data(NULL));
  assert_int_equal(dlx_tensor_size(NULL), 0);
  assert_int_equal(dlx_tensor_nbytes(NULL), 0);
  assert_int_equal(dlx_tensor_is_contiguous(NULL, DLX_ORDER_C), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(wrap_keeps_the_description),
      cmocka_unit_test(wrap_copies_the_description),
      cmocka_unit_test(dltensor_agrees_with_the_getters),
      cmocka_unit_test(wrap_fills_null_strides),
      cmocka_unit_test(wrap_folds_the_byte_offset),
      cmocka_unit_test(wrap_keeps_the_byte_offset_of_a_handle),
      cmocka_unit_test(wrap_takes_a_scalar_without_shape),
      cmocka_unit_test(deleter_gets_the_described_data_once),
      cmocka_unit_test(wrap_takes_no_deleter),
      cmocka_unit_test(wrap_takes_an_empty_tensor_without_data),
      cmocka_unit_test(failed_wrap_does_not_call_the_deleter),
      cmocka_unit_test(wrap_keeps_its_flags),
      cmocka_unit_test(wrap_refuses_other_flags),
      cmocka_unit_test(nbytes_of_sub_byte_elements_depend_on_padding),
      cmocka_unit_test(is_contiguous_means_compact_in_that_order),
      cmocka_unit_test(is_contiguous_ignores_axes_of_extent_1),
      cmocka_unit_test(is_contiguous_holds_for_empty_tensors),
      cmocka_unit_test(each_reference_is_given_back),
      cmocka_unit_test(retain_and_release_ignore_null),
      cmocka_unit_test(cpu_tensors_are_on_device_0),
      cmocka_unit_test(null_parameters_are_named),
      cmocka_unit_test(getters_of_null_tell_null_or_0),
  };
  return cmocka_run_group_tests_name("tensor", tests, NULL, NULL);
}
