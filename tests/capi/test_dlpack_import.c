/* Section "dlpack" of dlx.h: imports of both structs; ownership on every path. Malformed structs
 * are in test_dlpack_malformed.c. */
#include "util.h"

static dlx_tensor *import(DLManagedTensorVersioned *managed) {
  dlx_tensor *out = NULL;
  int32_t consumed = -1;
  assert_ok(dlx_tensor_from_dlpack_versioned(managed, &consumed, &out));
  assert_int_equal(consumed, 1);
  return out;
}

static DLTensor three_by_two(int32_t *data) {
  static const int64_t shape[] = {3, 2}, strides[] = {2, 1};
  return describe(data, dtype_of(kDLInt, 32), 2, shape, strides);
}

/* On success the struct is consumed: its deleter runs once, after the last release. */
static void versioned_import_calls_the_deleter_at_the_end(void **state) {
  (void)state;
  int32_t data[6] = {0, 1, 2, 3, 4, 5};
  int released = 0;
  DLManagedTensorVersioned managed = versioned(three_by_two(data), 0, &released);

  dlx_tensor *tensor = import(&managed);
  assert_int32s(tensor, 6, data);
  assert_ptr_equal(dlx_tensor_data(tensor), data);
  assert_int_equal(released, 0);
  dlx_tensor_release(tensor);

  assert_int_equal(released, 1);
}

/* The same for the struct of DLPack before 1.0. */
static void legacy_import_calls_the_deleter_at_the_end(void **state) {
  (void)state;
  int32_t data[6] = {0, 1, 2, 3, 4, 5};
  int released = 0;
  DLManagedTensor managed = legacy(three_by_two(data), &released);
  dlx_tensor *tensor = NULL;

  assert_ok(dlx_tensor_from_dlpack(&managed, 0, &tensor));
  assert_int32s(tensor, 6, data);
  assert_int_equal(dlx_tensor_flags(tensor), 0);
  assert_int_equal(released, 0);
  dlx_tensor_release(tensor);

  assert_int_equal(released, 1);
}

/* A view keeps the producer's memory after its root is released. */
static void views_outlive_the_import(void **state) {
  (void)state;
  int32_t data[6] = {0, 1, 2, 3, 4, 5};
  int released = 0;
  DLManagedTensorVersioned managed = versioned(three_by_two(data), 0, &released);
  dlx_tensor *tensor = import(&managed), *row = NULL, *element = NULL;
  assert_ok(dlx_tensor_select(tensor, 0, 1, &row));
  assert_ok(dlx_tensor_select(row, 0, 1, &element));

  dlx_tensor_release(tensor);
  dlx_tensor_release(row);
  assert_int_equal(released, 0);
  assert_int32s(element, 1, INT32S(3));
  dlx_tensor_release(element);

  assert_int_equal(released, 1);
}

/* A NULL deleter is valid, and nothing is called. */
static void imports_take_a_null_deleter(void **state) {
  (void)state;
  int32_t data[6] = {0};
  DLManagedTensorVersioned managed = versioned(three_by_two(data), 0, NULL);
  DLManagedTensor old = legacy(three_by_two(data), NULL);
  managed.deleter = NULL;
  old.deleter = NULL;
  dlx_tensor *tensor = NULL;

  dlx_tensor_release(import(&managed));
  assert_ok(dlx_tensor_from_dlpack(&old, 0, &tensor));
  dlx_tensor_release(tensor);
}

/* For another major version only the deleter is called; nothing else is read. */
static void another_major_version_is_given_back_unread(void **state) {
  (void)state;
  const uint32_t majors[] = {0, 2, 3, UINT32_MAX};

  for (size_t i = 0; i < COUNT_OF(majors); ++i) {
    int released = 0;
    int32_t consumed = -1;
    DLManagedTensorVersioned managed;
    dlx_tensor *out = POISON_TENSOR;
    memset(&managed, 0x11, sizeof managed);
    managed.version.major = majors[i];
    managed.version.minor = 7;
    managed.manager_ctx = &released;
    managed.deleter = count_versioned;

    assert_fails(dlx_tensor_from_dlpack_versioned(&managed, &consumed, &out), DLX_ERROR_UNSUPPORTED,
                 ".7");

    assert_null(out);
    assert_int_equal(consumed, 1);
    assert_int_equal(released, 1);
  }
}

/* The struct of another major version may be smaller than ours: dlx reads nothing after the
 * deleter, which the sanitizers and valgrind check. */
static void another_major_version_may_be_a_smaller_struct(void **state) {
  (void)state;
  int released = 0;
  int32_t consumed = -1;
  dlx_tensor *out = POISON_TENSOR;
  const size_t size = offsetof(DLManagedTensorVersioned, flags);
  DLManagedTensorVersioned *managed = malloc(size);
  managed->version.major = 2;
  managed->version.minor = 0;
  managed->manager_ctx = &released;
  managed->deleter = count_versioned;

  assert_int_equal(dlx_tensor_from_dlpack_versioned(managed, &consumed, &out),
                   DLX_ERROR_UNSUPPORTED);

  assert_int_equal(released, 1);
  free(managed);
}

/* Another major version without a deleter is consumed too. */
static void another_major_version_without_a_deleter_is_consumed(void **state) {
  (void)state;
  int32_t consumed = -1;
  dlx_tensor *out = POISON_TENSOR;
  DLManagedTensorVersioned managed;
  memset(&managed, 0x11, sizeof managed);
  managed.version.major = 2;
  managed.deleter = NULL;

  assert_int_equal(dlx_tensor_from_dlpack_versioned(&managed, &consumed, &out),
                   DLX_ERROR_UNSUPPORTED);

  assert_int_equal(consumed, 1);
  assert_null(out);
}

/* Any minor version of 1 is accepted, because minor versions only add values. */
static void newer_minor_versions_are_read(void **state) {
  (void)state;
  const uint32_t minors[] = {0, 1, 2, 3, 4, UINT32_MAX};

  for (size_t i = 0; i < COUNT_OF(minors); ++i) {
    int32_t data[6] = {0};
    int released = 0;
    DLManagedTensorVersioned managed = versioned(three_by_two(data), 0, &released);
    managed.version.minor = minors[i];
    dlx_tensor_release(import(&managed));
    assert_int_equal(released, 1);
  }
}

/* After any other failure the caller still owns the struct: the deleter is not called. */
static void failed_import_leaves_the_struct_to_the_caller(void **state) {
  (void)state;
  int32_t data[6] = {0};
  int released = 0;
  int32_t consumed = -1;
  DLManagedTensorVersioned managed = versioned(three_by_two(data), 0, &released);
  dlx_tensor *out = POISON_TENSOR;
  managed.dl_tensor.dtype.bits = 33;

  assert_int_equal(dlx_tensor_from_dlpack_versioned(&managed, &consumed, &out),
                   DLX_ERROR_UNSUPPORTED);

  assert_null(out);
  assert_int_equal(consumed, 0);
  assert_int_equal(released, 0);

  managed.dl_tensor.dtype.bits = 32;
  dlx_tensor_release(import(&managed));
  assert_int_equal(released, 1);
}

/* NULL arguments are such failures: nothing is consumed, and out_consumed is 0. */
static void null_parameters_are_named_and_consume_nothing(void **state) {
  (void)state;
  int32_t data[6] = {0};
  int released = 0;
  int32_t consumed = -1;
  DLManagedTensorVersioned managed = versioned(three_by_two(data), 0, &released);
  DLManagedTensor old = legacy(three_by_two(data), &released);
  dlx_tensor *out = POISON_TENSOR;

  assert_null_named(dlx_tensor_from_dlpack_versioned, (NULL, &consumed, &out), "managed");
  assert_null(out);
  assert_int_equal(consumed, 0);
  consumed = -1;
  assert_null_named(dlx_tensor_from_dlpack_versioned, (&managed, &consumed, NULL), "out");
  assert_int_equal(consumed, 0);
  out = POISON_TENSOR;
  assert_null_named(dlx_tensor_from_dlpack, (NULL, 0, &out), "managed");
  assert_null(out);
  assert_null_named(dlx_tensor_from_dlpack, (&old, 0, NULL), "out");

  assert_int_equal(released, 0);
}

/* out_consumed may be NULL, on success and on failure. */
static void out_consumed_may_be_null(void **state) {
  (void)state;
  int32_t data[6] = {0};
  int released = 0;
  DLManagedTensorVersioned managed = versioned(three_by_two(data), 8, &released);
  dlx_tensor *out = NULL;

  assert_int_equal(dlx_tensor_from_dlpack_versioned(&managed, NULL, &out), DLX_ERROR_UNSUPPORTED);
  managed.flags = 0;
  assert_ok(dlx_tensor_from_dlpack_versioned(&managed, NULL, &out));
  dlx_tensor_release(out);

  assert_int_equal(released, 1);
}

/* NULL strides are compact C order, in both structs and every version. */
static void imports_fill_null_strides(void **state) {
  (void)state;
  int32_t data[6] = {0, 1, 2, 3, 4, 5};
  int released = 0;
  DLManagedTensorVersioned managed = versioned(three_by_two(data), 0, &released);
  DLManagedTensor old = legacy(three_by_two(data), &released);
  managed.dl_tensor.strides = NULL;
  old.dl_tensor.strides = NULL;
  dlx_tensor *first = import(&managed), *second = NULL;
  assert_ok(dlx_tensor_from_dlpack(&old, 0, &second));

  assert_strides(first, EXTENTS(2, 1));
  assert_strides(second, EXTENTS(2, 1));
  dlx_tensor_release(first);
  dlx_tensor_release(second);
}

/* byte_offset applies: the first element is that many bytes after data. */
static void imports_honour_the_byte_offset(void **state) {
  (void)state;
  int32_t data[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  int released = 0;
  DLManagedTensorVersioned managed = versioned(three_by_two(data), 0, &released);
  managed.dl_tensor.byte_offset = 2 * sizeof data[0];
  dlx_tensor *tensor = import(&managed);

  assert_int32s(tensor, 6, data + 2);
  assert_int_equal(dlx_tensor_dltensor(tensor)->byte_offset, 0);
  dlx_tensor_release(tensor);
}

/* An empty tensor may have any data and byte_offset. */
static void imports_take_empty_tensors_with_and_without_data(void **state) {
  (void)state;
  int32_t data[6];
  int released = 0;
  DLManagedTensorVersioned without = versioned(
      describe(NULL, dtype_of(kDLInt, 32), 2, EXTENTS(0, 3), EXTENTS(3, 1)), 0, &released);
  DLManagedTensorVersioned with =
      versioned(describe(data, dtype_of(kDLInt, 32), 2, EXTENTS(3, 0), NULL), 0, &released);
  without.dl_tensor.byte_offset = 64;
  with.dl_tensor.byte_offset = 8;

  dlx_tensor_release(import(&without));
  dlx_tensor_release(import(&with));

  assert_int_equal(released, 2);
}

/* READ_ONLY and IS_SUBBYTE_TYPE_PADDED are properties of the memory and are kept; IS_COPIED is a
 * property of the export and is dropped. */
static void imports_keep_the_flags_of_memory(void **state) {
  (void)state;
  uint8_t data[8];
  int released = 0;
  const DLTensor tensor = describe(data, dtype_of(kDLUInt, 4), 1, EXTENTS(8), EXTENTS(1));
  const uint64_t kept = DLPACK_FLAG_BITMASK_READ_ONLY | DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;
  DLManagedTensorVersioned managed =
      versioned(tensor, kept | DLPACK_FLAG_BITMASK_IS_COPIED, &released);
  dlx_tensor *imported = import(&managed);

  assert_int_equal(dlx_tensor_flags(imported), kept);
  dlx_tensor_release(imported);
}

/* A flag that DLPack 1.3 does not define may change what the bytes mean. */
static void imports_refuse_unknown_flags(void **state) {
  (void)state;
  int32_t data[6];
  int released = 0;

  for (int bit = 3; bit < 64; ++bit) {
    DLManagedTensorVersioned managed = versioned(three_by_two(data), UINT64_C(1) << bit, &released);
    dlx_tensor *out = POISON_TENSOR;
    int32_t consumed = -1;
    assert_fails(dlx_tensor_from_dlpack_versioned(&managed, &consumed, &out), DLX_ERROR_UNSUPPORTED,
                 "`flags`");
    assert_null(out);
    assert_int_equal(consumed, 0);
  }

  assert_int_equal(released, 0);
}

/* The caller passes the flags that the legacy struct lacks. */
static void legacy_import_takes_flags_from_the_caller(void **state) {
  (void)state;
  uint8_t data[8];
  int released = 0;
  const uint64_t both = DLPACK_FLAG_BITMASK_READ_ONLY | DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;
  DLManagedTensor managed =
      legacy(describe(data, dtype_of(kDLUInt, 1), 1, EXTENTS(8), EXTENTS(1)), &released);
  dlx_tensor *tensor = NULL;

  assert_fails(dlx_tensor_from_dlpack(&managed, 1u << 9, &tensor), DLX_ERROR_UNSUPPORTED,
               "`flags`");
  assert_fails(dlx_tensor_from_dlpack(&managed, 0, &tensor), DLX_ERROR_UNSUPPORTED, "uint1");
  assert_int_equal(released, 0);
  assert_ok(dlx_tensor_from_dlpack(&managed, both, &tensor));

  assert_int_equal(dlx_tensor_flags(tensor), both);
  assert_int_equal(dlx_tensor_nbytes(tensor), 8);
  dlx_tensor_release(tensor);
  assert_int_equal(released, 1);
}

/* Any device is accepted and keeps its producer's id, because nothing is read. */
static void imports_take_any_device(void **state) {
  (void)state;

  for (int type = kDLCUDA; type <= DLX_DEVICE_ASCEND; ++type) {
    int released = 0;
    DLManagedTensorVersioned managed = versioned(three_by_two(POISON), 0, &released);
    managed.dl_tensor.device.device_type = type;
    managed.dl_tensor.device.device_id = 254; /* 255 of a GPU is torch's current one */
    dlx_tensor *tensor = import(&managed);

    assert_int_equal(dlx_tensor_device_type(tensor), type);
    assert_int_equal(dlx_tensor_device_id(tensor), 254);
    assert_ptr_equal(dlx_tensor_data(tensor), POISON);
    dlx_tensor_release(tensor);
    assert_int_equal(released, 1);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(versioned_import_calls_the_deleter_at_the_end),
      cmocka_unit_test(legacy_import_calls_the_deleter_at_the_end),
      cmocka_unit_test(views_outlive_the_import),
      cmocka_unit_test(imports_take_a_null_deleter),
      cmocka_unit_test(another_major_version_is_given_back_unread),
      cmocka_unit_test(another_major_version_may_be_a_smaller_struct),
      cmocka_unit_test(another_major_version_without_a_deleter_is_consumed),
      cmocka_unit_test(newer_minor_versions_are_read),
      cmocka_unit_test(failed_import_leaves_the_struct_to_the_caller),
      cmocka_unit_test(null_parameters_are_named_and_consume_nothing),
      cmocka_unit_test(out_consumed_may_be_null),
      cmocka_unit_test(imports_fill_null_strides),
      cmocka_unit_test(imports_honour_the_byte_offset),
      cmocka_unit_test(imports_take_empty_tensors_with_and_without_data),
      cmocka_unit_test(imports_keep_the_flags_of_memory),
      cmocka_unit_test(imports_refuse_unknown_flags),
      cmocka_unit_test(legacy_import_takes_flags_from_the_caller),
      cmocka_unit_test(imports_take_any_device),
  };
  return cmocka_run_group_tests_name("dlpack_import", tests, NULL, NULL);
}
