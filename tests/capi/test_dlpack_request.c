/* Section "dlpack" of dlx.h: the options of an export: version, copy, device, stream, alignment,
 * negative strides. */
#include "util.h"

static int32_t data[6];
static dlx_tensor *tensor;   /* int32, 2 x 3, compact */
static dlx_tensor *mirrored; /* its rows from right to left */
static dlx_export_options options;

static int set_up(void **state) {
  (void)state;
  const dlx_export_options defaults = DLX_EXPORT_OPTIONS_INIT;
  for (int i = 0; i < 6; ++i) data[i] = 10 + i;
  options = defaults;
  tensor = wrap_int32(data, 2, EXTENTS(2, 3));
  assert_ok(dlx_tensor_slice(tensor, 1, DLX_SLICE_OPEN, DLX_SLICE_OPEN, -1, &mirrored));
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  dlx_tensor_release(tensor);
  dlx_tensor_release(mirrored);
  assert_ok(dlx_set_export_negative_strides(DLX_NEGATIVE_STRIDES_DEFAULT));
  return 0;
}

static void assert_shared(dlx_tensor *from) {
  DLManagedTensorVersioned *out = NULL;
  assert_ok(dlx_tensor_to_dlpack_versioned(from, &options, &out));
  assert_ptr_equal(out->dl_tensor.data, dlx_tensor_data(from));
  assert_int64s(out->dl_tensor.strides, dlx_tensor_ndim(from), dlx_tensor_strides(from));
  assert_int_equal(out->flags & DLPACK_FLAG_BITMASK_IS_COPIED, 0);
  out->deleter(out);
}

/* Checks a copy: compact, writable, marked, aligned as requested, with the same elements, and
 * independent. */
static void assert_copied(dlx_tensor *from, const int32_t *elements) {
  DLManagedTensorVersioned *out = NULL;
  assert_ok(dlx_tensor_to_dlpack_versioned(from, &options, &out));
  assert_int64s(out->dl_tensor.strides, 2, EXTENTS(3, 1));
  assert_int_equal(out->flags, DLPACK_FLAG_BITMASK_IS_COPIED);
  assert_memory_equal(out->dl_tensor.data, elements, sizeof data);
  assert_true((char *)out->dl_tensor.data >= (char *)(data + 6) ||
              (char *)out->dl_tensor.data + sizeof data <= (char *)data);
  if (options.min_alignment > 0) {
    assert_int_equal((uintptr_t)out->dl_tensor.data % options.min_alignment, 0);
  }
  out->deleter(out);
}

static void assert_refused(dlx_tensor *from, dlx_status status, const char *words) {
  DLManagedTensorVersioned *out = POISON;
  assert_fails(dlx_tensor_to_dlpack_versioned(from, &options, &out), status, words);
  assert_null(out);
}

static void assert_refused_in_both(dlx_status status, const char *words) {
  DLManagedTensor *out = POISON;
  assert_refused(tensor, status, words);
  assert_fails(dlx_tensor_to_dlpack(tensor, &options, &out), status, words);
  assert_null(out);
}

static const int32_t reversed[] = {12, 11, 10, 15, 14, 13};

/* The default is no copy. */
static void memory_is_shared_by_default(void **state) {
  (void)state;

  assert_shared(tensor);
}

/* copy=True always copies, and marks it. */
static void copy_always_copies_and_marks_it(void **state) {
  (void)state;
  options.copy = DLX_COPY_ALWAYS;

  assert_copied(tensor, data);
  assert_copied(mirrored, reversed);
}

/* A copy is writable even if its source is not. */
static void copy_of_read_only_data_is_writable(void **state) {
  (void)state;
  dlx_tensor *locked = NULL;
  assert_ok(dlx_tensor_as_readonly(tensor, &locked));
  options.copy = DLX_COPY_ALWAYS;

  assert_copied(locked, data);
  dlx_tensor_release(locked);
}

/* A legacy export with copy=True is a copy, without a mark. */
static void copy_always_copies_into_the_legacy_struct(void **state) {
  (void)state;
  DLManagedTensor *out = NULL;
  options.copy = DLX_COPY_ALWAYS;

  assert_ok(dlx_tensor_to_dlpack(mirrored, &options, &out));

  assert_int64s(out->dl_tensor.strides, 2, EXTENTS(3, 1));
  assert_memory_equal(out->dl_tensor.data, reversed, sizeof reversed);
  out->deleter(out);
}

/* Any copy mode other than the three is refused. */
static void unknown_copy_mode_is_refused(void **state) {
  (void)state;
  options.copy = 3;
  assert_refused_in_both(DLX_ERROR_INVALID_ARGUMENT, "copy");
  options.copy = -1;
  assert_refused_in_both(DLX_ERROR_INVALID_ARGUMENT, "copy");
}

/* dlx exports version 1.3 to every consumer of 1.0 or later, also if max_version is lower. */
static void consumers_of_1_0_and_later_get_1_3(void **state) {
  (void)state;
  const uint32_t versions[][2] = {{1, 0}, {1, 3}, {1, 99}, {2, 0}, {UINT32_MAX, UINT32_MAX}};

  for (size_t i = 0; i < COUNT_OF(versions); ++i) {
    DLManagedTensorVersioned *out = NULL;
    options.max_version_major = versions[i][0];
    options.max_version_minor = versions[i][1];
    assert_ok(dlx_tensor_to_dlpack_versioned(tensor, &options, &out));
    assert_int_equal(out->version.major, 1);
    assert_int_equal(out->version.minor, 3);
    out->deleter(out);
  }
}

/* A consumer of less than 1.0 needs the legacy struct, whose export ignores the version. */
static void consumers_of_less_than_1_0_need_the_legacy_struct(void **state) {
  (void)state;
  DLManagedTensor *out = NULL;
  options.max_version_minor = 8;

  assert_refused(tensor, DLX_ERROR_UNSUPPORTED, "max_version");
  assert_ok(dlx_tensor_to_dlpack(tensor, &options, &out));

  out->deleter(out);
}

/* Sufficiently aligned data is shared. */
static void aligned_data_are_shared(void **state) {
  (void)state;
  options.min_alignment = 4;

  assert_shared(tensor);
}

/* Other data is copied to aligned memory, if the struct can be marked as a copy. */
static void data_that_are_not_aligned_are_copied(void **state) {
  (void)state;
  DLManagedTensor *legacy = NULL;
  static _Alignas(256) int32_t aligned[7];
  memcpy(aligned + 1, data, sizeof data);
  dlx_tensor *shifted = wrap_int32(aligned + 1, 2, EXTENTS(2, 3));
  options.min_alignment = 256;

  assert_copied(shifted, data);
  assert_int_equal(dlx_tensor_to_dlpack(shifted, &options, &legacy), DLX_ERROR_UNSUPPORTED);
  assert_non_null(strstr(dlx_last_error(), "`min_alignment` 256"));
  options.copy = DLX_COPY_ALWAYS;
  assert_ok(dlx_tensor_to_dlpack(shifted, &options, &legacy));
  assert_int_equal((uintptr_t)legacy->dl_tensor.data % 256, 0);
  legacy->deleter(legacy);
  dlx_tensor_release(shifted);
}

/* copy=False is refused with the reason if a copy is needed. */
static void copy_never_refuses_what_is_not_aligned(void **state) {
  (void)state;
  static _Alignas(256) int32_t aligned[3];
  dlx_tensor *shifted = wrap_int32(aligned + 1, 1, EXTENTS(2));
  options.copy = DLX_COPY_NEVER;
  options.min_alignment = 256;

  assert_refused(shifted, DLX_ERROR_COPY_REFUSED, "alignment");
  dlx_tensor_release(shifted);
}

/* copy=False shares if no copy is needed. */
static void copy_never_shares_what_needs_no_copy(void **state) {
  (void)state;
  options.copy = DLX_COPY_NEVER;

  assert_shared(tensor);
}

/* An alignment must be a power of two. */
static void odd_alignment_is_refused(void **state) {
  (void)state;
  options.min_alignment = 24;

  assert_refused_in_both(DLX_ERROR_INVALID_ARGUMENT, "min_alignment");
}

/* The device that the tensor is on. */
static void own_device_is_granted(void **state) {
  (void)state;
  options.flags = DLX_HAS_DEVICE;
  options.device_type = kDLCPU;

  assert_shared(tensor);
}

/* Without its flag, the device is ignored. */
static void device_without_its_flag_does_not_count(void **state) {
  (void)state;
  options.device_type = kDLCUDA;
  options.device_id = 5;

  assert_shared(tensor);
}

/* An export to an unavailable device is refused. */
static void another_device_is_refused(void **state) {
  (void)state;
  options.flags = DLX_HAS_DEVICE;
  options.device_type = kDLMetal;

  assert_refused_in_both(DLX_ERROR_DEVICE_REFUSED, "metal");
}

/* Pinned host memory is exported as plain CPU memory without a copy. */
static void pinned_memory_is_exported_as_cpu_memory(void **state) {
  (void)state;
  DLTensor description = describe(data, dtype_of(kDLInt, 32), 1, EXTENTS(6), NULL);
  description.device.device_type = kDLCUDAHost;
  dlx_tensor *pinned = NULL;
  DLManagedTensorVersioned *out = NULL;
  assert_ok(dlx_tensor_wrap(&description, 0, NULL, NULL, &pinned));
  options.flags = DLX_HAS_DEVICE;
  options.device_type = kDLCPU;

  assert_ok(dlx_tensor_to_dlpack_versioned(pinned, &options, &out));

  assert_ptr_equal(out->dl_tensor.data, data);
  assert_int_equal(out->dl_tensor.device.device_type, kDLCPU);
  assert_int_equal(out->flags, 0);
  out->deleter(out);
  dlx_tensor_release(pinned);
}

/* The CPU has no streams: any stream is refused if its flag is set. */
static void stream_on_the_cpu_is_refused(void **state) {
  (void)state;
  const int64_t streams[] = {-1, 0, 1, 2, 12345};

  for (size_t i = 0; i < COUNT_OF(streams); ++i) {
    options.stream = streams[i];
    options.flags = 0;
    assert_shared(tensor);
    options.flags = DLX_HAS_STREAM;
    assert_refused_in_both(DLX_ERROR_INVALID_ARGUMENT, "stream");
  }
}

/* A flag that dlx does not know is refused. */
static void unknown_flags_are_refused(void **state) {
  (void)state;
  options.flags = 4;

  assert_refused_in_both(DLX_ERROR_UNSUPPORTED, "flags");
}

/* By default, negative strides are copied and marked, because PyTorch would abort. */
static void negative_strides_are_copied_by_default(void **state) {
  (void)state;

  assert_int_equal(dlx_get_export_negative_strides(), DLX_NEGATIVE_STRIDES_COPY);
  assert_copied(mirrored, reversed);
}

/* copy=False shares negative strides. */
static void copy_never_shares_negative_strides(void **state) {
  (void)state;
  options.copy = DLX_COPY_NEVER;

  assert_shared(mirrored);
}

/* The policies of one call. */
static void negative_strides_by_the_policy_of_a_call(void **state) {
  (void)state;
  options.negative_strides = DLX_NEGATIVE_STRIDES_SHARE;
  assert_shared(mirrored);
  options.negative_strides = DLX_NEGATIVE_STRIDES_ERROR;
  assert_refused(mirrored, DLX_ERROR_UNSUPPORTED, "negative strides");
  assert_shared(tensor);
  options.negative_strides = 4;
  assert_refused(mirrored, DLX_ERROR_INVALID_ARGUMENT, "negative_strides");
}

/* The policy of the process applies if the call has DLX_NEGATIVE_STRIDES_DEFAULT. */
static void negative_strides_by_the_policy_of_the_process(void **state) {
  (void)state;
  assert_ok(dlx_set_export_negative_strides(DLX_NEGATIVE_STRIDES_SHARE));
  assert_int_equal(dlx_get_export_negative_strides(), DLX_NEGATIVE_STRIDES_SHARE);
  assert_shared(mirrored);
  assert_ok(dlx_set_export_negative_strides(DLX_NEGATIVE_STRIDES_ERROR));
  assert_refused(mirrored, DLX_ERROR_UNSUPPORTED, "negative strides");
  options.negative_strides = DLX_NEGATIVE_STRIDES_COPY;
  assert_copied(mirrored, reversed);
}

/* _DEFAULT means _COPY; any other number is refused and changes nothing. */
static void policy_of_the_process_is_one_of_four(void **state) {
  (void)state;
  assert_ok(dlx_set_export_negative_strides(DLX_NEGATIVE_STRIDES_SHARE));

  assert_fails(dlx_set_export_negative_strides(4), DLX_ERROR_INVALID_ARGUMENT, "`policy`");
  assert_fails(dlx_set_export_negative_strides(-1), DLX_ERROR_INVALID_ARGUMENT, "`policy`");
  assert_int_equal(dlx_get_export_negative_strides(), DLX_NEGATIVE_STRIDES_SHARE);
  assert_ok(dlx_set_export_negative_strides(DLX_NEGATIVE_STRIDES_DEFAULT));

  assert_int_equal(dlx_get_export_negative_strides(), DLX_NEGATIVE_STRIDES_COPY);
}

/* The legacy struct cannot be marked as a copy, so an export that needs a mark is unsupported. */
static void negative_strides_in_the_legacy_struct_are_unsupported(void **state) {
  (void)state;
  DLManagedTensor *out = POISON;

  assert_fails(dlx_tensor_to_dlpack(mirrored, NULL, &out), DLX_ERROR_UNSUPPORTED,
               "negative strides");
  assert_null(out);
  options.negative_strides = DLX_NEGATIVE_STRIDES_SHARE;
  assert_ok(dlx_tensor_to_dlpack(mirrored, &options, &out));

  assert_ptr_equal(out->dl_tensor.data, dlx_tensor_data(mirrored));
  out->deleter(out);
}

/* A negative stride of an axis of extent 1 needs no copy, and is not exported. */
static void negative_strides_that_are_not_walked_do_not_count(void **state) {
  (void)state;
  dlx_tensor *row = wrap(data, dtype_of(kDLInt, 32), 2, EXTENTS(1, 3), EXTENTS(-3, 1), 0);
  dlx_tensor *none = wrap(data, dtype_of(kDLInt, 32), 2, EXTENTS(0, 3), EXTENTS(-3, -1), 0);
  dlx_tensor *all[] = {row, none};
  options.negative_strides = DLX_NEGATIVE_STRIDES_ERROR;

  for (int i = 0; i < 2; ++i) {
    DLManagedTensorVersioned *out = NULL;
    assert_ok(dlx_tensor_to_dlpack_versioned(all[i], &options, &out));
    assert_int_equal(out->flags, 0);
    for (int axis = 0; axis < 2; ++axis) assert_true(out->dl_tensor.strides[axis] >= 0);
    out->deleter(out);
    dlx_tensor_release(all[i]);
  }
}

#define request_test(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      request_test(memory_is_shared_by_default),
      request_test(copy_always_copies_and_marks_it),
      request_test(copy_of_read_only_data_is_writable),
      request_test(copy_always_copies_into_the_legacy_struct),
      request_test(unknown_copy_mode_is_refused),
      request_test(consumers_of_1_0_and_later_get_1_3),
      request_test(consumers_of_less_than_1_0_need_the_legacy_struct),
      request_test(aligned_data_are_shared),
      request_test(data_that_are_not_aligned_are_copied),
      request_test(copy_never_refuses_what_is_not_aligned),
      request_test(copy_never_shares_what_needs_no_copy),
      request_test(odd_alignment_is_refused),
      request_test(own_device_is_granted),
      request_test(device_without_its_flag_does_not_count),
      request_test(another_device_is_refused),
      request_test(pinned_memory_is_exported_as_cpu_memory),
      request_test(stream_on_the_cpu_is_refused),
      request_test(unknown_flags_are_refused),
      request_test(negative_strides_are_copied_by_default),
      request_test(copy_never_shares_negative_strides),
      request_test(negative_strides_by_the_policy_of_a_call),
      request_test(negative_strides_by_the_policy_of_the_process),
      request_test(policy_of_the_process_is_one_of_four),
      request_test(negative_strides_in_the_legacy_struct_are_unsupported),
      request_test(negative_strides_that_are_not_walked_do_not_count),
  };
  return cmocka_run_group_tests_name("dlpack_request", tests, NULL, NULL);
}
