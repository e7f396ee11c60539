/* Section "dlpack" of dlx.h: exports of both structs and their ownership. Options are tested in
 * test_dlpack_request.c. */
#include "util.h"

static DLManagedTensorVersioned *export(dlx_tensor *tensor, const dlx_export_options *options) {
  DLManagedTensorVersioned *out = NULL;
  assert_ok(dlx_tensor_to_dlpack_versioned(tensor, options, &out));
  assert_non_null(out);
  return out;
}

static DLManagedTensor *export_legacy(dlx_tensor *tensor, const dlx_export_options *options) {
  DLManagedTensor *out = NULL;
  assert_ok(dlx_tensor_to_dlpack(tensor, options, &out));
  assert_non_null(out);
  return out;
}

/* An export is DLPack 1.3, shares the memory, and describes all of it. */
static void export_describes_the_tensor(void **state) {
  (void)state;
  int32_t data[6];
  dlx_tensor *tensor = wrap(data, dtype_of(kDLInt, 32), 2, EXTENTS(2, 3), EXTENTS(1, 2), 0);

  DLManagedTensorVersioned *managed = export(tensor, NULL);

  assert_int_equal(managed->version.major, 1);
  assert_int_equal(managed->version.minor, 3);
  assert_int_equal(managed->flags, 0);
  assert_non_null(managed->manager_ctx);
  assert_non_null(managed->deleter);
  assert_ptr_equal(managed->dl_tensor.data, data);
  assert_int_equal(managed->dl_tensor.byte_offset, 0);
  assert_int_equal(managed->dl_tensor.device.device_type, kDLCPU);
  assert_int_equal(managed->dl_tensor.device.device_id, 0);
  assert_int_equal(managed->dl_tensor.ndim, 2);
  assert_int64s(managed->dl_tensor.shape, 2, EXTENTS(2, 3));
  assert_int64s(managed->dl_tensor.strides, 2, EXTENTS(1, 2));
  managed->deleter(managed);
  dlx_tensor_release(tensor);
}

/* Only negative strides need a copy; strides of 0 are exported. */
static void export_shares_what_repeats(void **state) {
  (void)state;
  int32_t data[2];
  dlx_tensor *tensor = wrap(data, dtype_of(kDLInt, 32), 2, EXTENTS(3, 2), EXTENTS(0, 1), 0);

  DLManagedTensorVersioned *managed = export(tensor, NULL);

  assert_int_equal(managed->flags, 0);
  assert_ptr_equal(managed->dl_tensor.data, data);
  assert_int64s(managed->dl_tensor.strides, 2, EXTENTS(0, 1));
  managed->deleter(managed);
  dlx_tensor_release(tensor);
}

/* The legacy struct has the same content, except for the flags. */
static void legacy_export_describes_the_tensor(void **state) {
  (void)state;
  int32_t data[6];
  dlx_tensor *tensor = wrap_int32(data, 2, EXTENTS(2, 3));

  DLManagedTensor *managed = export_legacy(tensor, NULL);

  assert_non_null(managed->manager_ctx);
  assert_ptr_equal(managed->dl_tensor.data, data);
  assert_int_equal(managed->dl_tensor.byte_offset, 0);
  assert_int64s(managed->dl_tensor.shape, 2, EXTENTS(2, 3));
  assert_int64s(managed->dl_tensor.strides, 2, EXTENTS(3, 1));
  managed->deleter(managed);
  dlx_tensor_release(tensor);
}

/* An export keeps the memory after the tensor is released. */
static void export_outlives_the_tensor(void **state) {
  (void)state;
  int32_t data[2] = {1, 2};
  int released = 0;
  dlx_tensor *tensor = wrap_counted(data, 1, EXTENTS(2), &released);
  DLManagedTensorVersioned *managed = export(tensor, NULL);

  dlx_tensor_release(tensor);
  assert_int_equal(released, 0);
  assert_int_equal(((int32_t *)managed->dl_tensor.data)[1], 2);
  assert_int64s(managed->dl_tensor.shape, 1, EXTENTS(2));
  managed->deleter(managed);

  assert_int_equal(released, 1);
}

/* A tensor may be exported any number of times; each export holds its own reference. */
static void exports_of_one_tensor_are_independent(void **state) {
  (void)state;
  int32_t data[2] = {1, 2};
  int released = 0;
  dlx_tensor *tensor = wrap_counted(data, 1, EXTENTS(2), &released);
  DLManagedTensorVersioned *first = export(tensor, NULL), *second = export(tensor, NULL);
  DLManagedTensor *old = export_legacy(tensor, NULL);
  assert_ptr_not_equal(first, second);

  first->deleter(first);
  dlx_tensor_release(tensor);
  old->deleter(old);
  assert_int_equal(released, 0);
  second->deleter(second);

  assert_int_equal(released, 1);
}

/* The export of a view keeps the root's memory. */
static void export_of_a_view_outlives_view_and_root(void **state) {
  (void)state;
  int32_t data[6] = {0, 1, 2, 3, 4, 5};
  int released = 0;
  dlx_tensor *tensor = wrap_counted(data, 2, EXTENTS(3, 2), &released), *view = NULL;
  assert_ok(dlx_tensor_select(tensor, 0, 2, &view));
  DLManagedTensorVersioned *managed = export(view, NULL);

  dlx_tensor_release(tensor);
  dlx_tensor_release(view);
  assert_int_equal(released, 0);
  assert_int_equal(*(int32_t *)managed->dl_tensor.data, 4);
  managed->deleter(managed);

  assert_int_equal(released, 1);
}

/* A tensor that is exported and imported repeatedly is freed once. */
static void round_trips_free_once(void **state) {
  (void)state;
  int32_t data[2] = {1, 2};
  int released = 0;
  dlx_tensor *tensor = wrap_counted(data, 1, EXTENTS(2), &released);

  for (int i = 0; i < 50; ++i) {
    dlx_tensor *back = NULL;
    if (i % 2 == 0) {
      assert_ok(dlx_tensor_from_dlpack_versioned(export(tensor, NULL), NULL, &back));
    } else {
      assert_ok(dlx_tensor_from_dlpack(export_legacy(tensor, NULL), 0, &back));
    }
    dlx_tensor_release(tensor);
    tensor = back;
    assert_ptr_equal(dlx_tensor_data(tensor), data);
  }
  assert_int_equal(released, 0);
  dlx_tensor_release(tensor);

  assert_int_equal(released, 1);
}

/* NULL arguments are refused. */
static void null_parameters_are_named(void **state) {
  (void)state;
  int32_t data[2];
  int released = 0;
  dlx_tensor *tensor = wrap_counted(data, 1, EXTENTS(2), &released);
  DLManagedTensorVersioned *managed = POISON;
  DLManagedTensor *old = POISON;

  assert_null_named(dlx_tensor_to_dlpack_versioned, (NULL, NULL, &managed), "tensor");
  assert_null(managed);
  assert_null_named(dlx_tensor_to_dlpack_versioned, (tensor, NULL, NULL), "out");
  assert_null_named(dlx_tensor_to_dlpack, (NULL, NULL, &old), "tensor");
  assert_null(old);
  assert_null_named(dlx_tensor_to_dlpack, (tensor, NULL, NULL), "out");

  dlx_tensor_release(tensor);
  assert_int_equal(released, 1);
}

/* The exported data of an empty tensor is always NULL. */
static void empty_tensor_is_exported_with_null_data(void **state) {
  (void)state;
  int32_t data[6];
  dlx_tensor *tensor = wrap_int32(data, 2, EXTENTS(3, 0));
  DLManagedTensorVersioned *managed = export(tensor, NULL);
  DLManagedTensor *old = export_legacy(tensor, NULL);

  assert_null(managed->dl_tensor.data);
  assert_null(old->dl_tensor.data);
  assert_non_null(managed->dl_tensor.strides);
  assert_non_null(managed->manager_ctx);
  managed->deleter(managed);
  old->deleter(old);
  dlx_tensor_release(tensor);
}

/* A tensor's byte_offset is added to data. */
static void byte_offset_is_folded_into_the_data(void **state) {
  (void)state;
  int32_t data[4];
  DLTensor description = describe(data, dtype_of(kDLInt, 32), 1, EXTENTS(2), NULL);
  description.byte_offset = 8;
  dlx_tensor *tensor = NULL;
  assert_ok(dlx_tensor_wrap(&description, 0, NULL, NULL, &tensor));
  DLManagedTensorVersioned *managed = export(tensor, NULL);

  assert_ptr_equal(managed->dl_tensor.data, data + 2);
  assert_int_equal(managed->dl_tensor.byte_offset, 0);
  managed->deleter(managed);
  dlx_tensor_release(tensor);
}

/* If data is a handle, byte_offset is kept. */
static void byte_offset_of_a_handle_is_exported(void **state) {
  (void)state;
  DLTensor description = describe(POISON, dtype_of(kDLInt, 32), 1, EXTENTS(2), NULL);
  description.device.device_type = kDLOpenCL;
  description.byte_offset = 8;
  dlx_tensor *tensor = NULL;
  assert_ok(dlx_tensor_wrap(&description, 0, NULL, NULL, &tensor));
  DLManagedTensorVersioned *managed = export(tensor, NULL);

  assert_ptr_equal(managed->dl_tensor.data, POISON);
  assert_int_equal(managed->dl_tensor.byte_offset, 8);
  managed->deleter(managed);
  dlx_tensor_release(tensor);
}

/* For a handle, the alignment of byte_offset counts, not that of the handle. */
static void handles_are_aligned_by_their_offset(void **state) {
  (void)state;
  dlx_export_options options = DLX_EXPORT_OPTIONS_INIT;
  options.min_alignment = 64;
  options.copy = DLX_COPY_NEVER;
  for (uint64_t offset = 0; offset <= 64; offset += 32) {
    DLTensor description = describe(POISON, dtype_of(kDLInt, 32), 1, EXTENTS(2), NULL);
    description.device.device_type = kDLMetal;
    description.byte_offset = offset;
    dlx_tensor *tensor = NULL;
    DLManagedTensorVersioned *managed = NULL;
    assert_ok(dlx_tensor_wrap(&description, 0, NULL, NULL, &tensor));
    const dlx_status status = dlx_tensor_to_dlpack_versioned(tensor, &options, &managed);
    assert_int_equal(status, offset == 32 ? DLX_ERROR_COPY_REFUSED : DLX_OK);
    if (managed != NULL) managed->deleter(managed);
    dlx_tensor_release(tensor);
  }
}

/* READ_ONLY and IS_SUBBYTE_TYPE_PADDED go with the memory. */
static void flags_of_memory_are_exported(void **state) {
  (void)state;
  uint8_t data[4];
  const uint64_t both = DLPACK_FLAG_BITMASK_READ_ONLY | DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;
  dlx_tensor *tensor = wrap(data, dtype_of(kDLInt, 4), 1, EXTENTS(4), NULL, both);
  DLManagedTensorVersioned *managed = export(tensor, NULL);

  assert_int_equal(managed->flags, both);
  managed->deleter(managed);
  dlx_tensor_release(tensor);
}

/* IS_COPIED belongs to one export: an import of it and a second export do not inherit it. */
static void is_copied_is_not_inherited(void **state) {
  (void)state;
  int32_t data[2] = {1, 2};
  dlx_export_options options = DLX_EXPORT_OPTIONS_INIT;
  options.copy = DLX_COPY_ALWAYS;
  dlx_tensor *tensor = wrap_int32(data, 1, EXTENTS(2)), *back = NULL;
  DLManagedTensorVersioned *copied = export(tensor, &options);
  assert_int_equal(copied->flags, DLPACK_FLAG_BITMASK_IS_COPIED);

  assert_ok(dlx_tensor_from_dlpack_versioned(copied, NULL, &back));
  DLManagedTensorVersioned *shared = export(back, NULL);

  assert_int_equal(dlx_tensor_flags(back), 0);
  assert_int_equal(shared->flags, 0);
  shared->deleter(shared);
  dlx_tensor_release(back);
  dlx_tensor_release(tensor);
}

/* The legacy struct has no READ_ONLY flag, so read-only data is refused unless copied. */
static void legacy_export_of_read_only_data_is_refused(void **state) {
  (void)state;
  int32_t data[2] = {1, 2};
  dlx_export_options options = DLX_EXPORT_OPTIONS_INIT;
  dlx_tensor *tensor =
      wrap(data, dtype_of(kDLInt, 32), 1, EXTENTS(2), NULL, DLPACK_FLAG_BITMASK_READ_ONLY);
  DLManagedTensor *managed = POISON;

  assert_fails(dlx_tensor_to_dlpack(tensor, NULL, &managed), DLX_ERROR_READ_ONLY, "read-only");
  assert_null(managed);
  options.copy = DLX_COPY_NEVER;
  assert_fails(dlx_tensor_to_dlpack(tensor, &options, &managed), DLX_ERROR_READ_ONLY, "read-only");

  options.copy = DLX_COPY_ALWAYS;
  managed = export_legacy(tensor, &options);
  assert_ptr_not_equal(managed->dl_tensor.data, data);
  assert_memory_equal(managed->dl_tensor.data, data, sizeof data);
  managed->deleter(managed);
  dlx_tensor_release(tensor);
}

/* It has no flag for padded sub-byte elements either; a plain copy is packed. */
static void legacy_export_of_padded_elements_is_refused(void **state) {
  (void)state;
  uint8_t data[3] = {0x1, 0x2, 0x3};
  dlx_export_options options = DLX_EXPORT_OPTIONS_INIT;
  dlx_tensor *tensor = wrap(data, dtype_of(kDLUInt, 4), 1, EXTENTS(3), NULL,
                            DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED);
  DLManagedTensor *managed = POISON;

  assert_fails(dlx_tensor_to_dlpack(tensor, NULL, &managed), DLX_ERROR_UNSUPPORTED, "padded");
  assert_null(managed);

  options.copy = DLX_COPY_ALWAYS;
  managed = export_legacy(tensor, &options);
  const uint8_t *packed = managed->dl_tensor.data;
  assert_int_equal(packed[0], 0x21);
  assert_int_equal(packed[1] & 0xf, 0x3);
  managed->deleter(managed);
  dlx_tensor_release(tensor);
}

/* Whole-byte elements are never padded: the flag does not prevent the export. */
static void legacy_export_of_whole_bytes_ignores_padding(void **state) {
  (void)state;
  int32_t data[2] = {1, 2};
  dlx_tensor *tensor = wrap(data, dtype_of(kDLInt, 32), 1, EXTENTS(2), NULL,
                            DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED);

  DLManagedTensor *managed = export_legacy(tensor, NULL);

  assert_ptr_equal(managed->dl_tensor.data, data);
  managed->deleter(managed);
  dlx_tensor_release(tensor);
}

/* An imported tensor returns to its producer after its last export is released. */
static void export_of_an_import_calls_the_producers_deleter_last(void **state) {
  (void)state;
  int32_t data[2] = {1, 2};
  int released = 0;
  DLManagedTensorVersioned produced =
      versioned(describe(data, dtype_of(kDLInt, 32), 1, EXTENTS(2), EXTENTS(1)), 0, &released);
  dlx_tensor *tensor = NULL;
  assert_ok(dlx_tensor_from_dlpack_versioned(&produced, NULL, &tensor));
  DLManagedTensorVersioned *managed = export(tensor, NULL);

  dlx_tensor_release(tensor);
  assert_int_equal(released, 0);
  managed->deleter(managed);

  assert_int_equal(released, 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(export_describes_the_tensor),
      cmocka_unit_test(export_shares_what_repeats),
      cmocka_unit_test(legacy_export_describes_the_tensor),
      cmocka_unit_test(export_outlives_the_tensor),
      cmocka_unit_test(exports_of_one_tensor_are_independent),
      cmocka_unit_test(export_of_a_view_outlives_view_and_root),
      cmocka_unit_test(round_trips_free_once),
      cmocka_unit_test(null_parameters_are_named),
      cmocka_unit_test(empty_tensor_is_exported_with_null_data),
      cmocka_unit_test(byte_offset_is_folded_into_the_data),
      cmocka_unit_test(byte_offset_of_a_handle_is_exported),
      cmocka_unit_test(handles_are_aligned_by_their_offset),
      cmocka_unit_test(flags_of_memory_are_exported),
      cmocka_unit_test(is_copied_is_not_inherited),
      cmocka_unit_test(legacy_export_of_read_only_data_is_refused),
      cmocka_unit_test(legacy_export_of_padded_elements_is_refused),
      cmocka_unit_test(legacy_export_of_whole_bytes_ignores_padding),
      cmocka_unit_test(export_of_an_import_calls_the_producers_deleter_last),
  };
  return cmocka_run_group_tests_name("dlpack_export", tests, NULL, NULL);
}
