/* Section "dlpack" of dlx.h: dlx_dlpack_check. Errors in descriptions are in
 * test_dlpack_malformed.c. */
#include "util.h"

static _Alignas(256) int32_t data[64];
static char report[2048];
static int released;

/* A struct without findings. */
static DLManagedTensorVersioned exemplary(void) {
  static const int64_t shape[] = {2, 3}, strides[] = {3, 1};
  return versioned(describe(data, dtype_of(kDLInt, 32), 2, shape, strides), 0, &released);
}

typedef struct findings {
  int32_t errors, warnings;
} findings;

static findings check(const DLManagedTensorVersioned *managed) {
  findings found = {-1, -1};
  memset(report, '?', sizeof report);
  assert_ok(dlx_dlpack_check(managed, DLX_MANAGED_VERSIONED, report, sizeof report, &found.errors,
                             &found.warnings));
  return found;
}

static void assert_warning(const DLManagedTensorVersioned *managed, const char *words) {
  const findings found = check(managed);
  assert_int_equal(found.errors, 0);
  assert_int_equal(found.warnings, 1);
  assert_memory_equal(report, "warning: ", strlen("warning: "));
  assert_says(report, words);
}

static void assert_error(const DLManagedTensorVersioned *managed, const char *words) {
  const findings found = check(managed);
  assert_int_equal(found.errors, 1);
  assert_memory_equal(report, "error: ", strlen("error: "));
  assert_says(report, words);
}

/* Without findings the report is empty. */
static void exemplary_struct_has_no_findings(void **state) {
  (void)state;
  const DLManagedTensorVersioned managed = exemplary();

  const findings found = check(&managed);

  assert_string_equal(report, "");
  assert_int_equal(found.errors, 0);
  assert_int_equal(found.warnings, 0);
}

/* dlx's own exports have no errors, and in aligned memory no warnings. */
static void exports_of_dlx_have_no_findings(void **state) {
  (void)state;
  dlx_tensor *tensor = wrap_int32(data, 2, EXTENTS(4, 4)), *empty = NULL, *scalar = NULL;
  assert_ok(dlx_tensor_slice(tensor, 0, 0, 0, 1, &empty));
  assert_ok(dlx_tensor_reshape(tensor, 4, EXTENTS(1, 16, 1, 1), NULL, &scalar));
  dlx_tensor *all[] = {tensor, empty, scalar};

  for (int i = 0; i < 3; ++i) {
    DLManagedTensorVersioned *managed = NULL;
    assert_ok(dlx_tensor_to_dlpack_versioned(all[i], NULL, &managed));
    check(managed);
    assert_string_equal(report, "");
    managed->deleter(managed);
    dlx_tensor_release(all[i]);
  }
}

/* Nothing is consumed, with any findings. */
static void check_consumes_nothing(void **state) {
  (void)state;
  DLManagedTensorVersioned managed = exemplary();
  released = 0;

  check(&managed);
  managed.version.major = 2;
  check(&managed);
  managed.version.major = 1;
  managed.dl_tensor.ndim = -1;
  check(&managed);

  assert_int_equal(released, 0);
}

/* The data is never read. */
static void check_never_reads_the_data(void **state) {
  (void)state;
  DLManagedTensorVersioned managed = exemplary();
  managed.dl_tensor.data = (void *)(uintptr_t)4096;

  const findings found = check(&managed);

  assert_int_equal(found.errors, 0);
}

/* For another major version only the version is read. */
static void another_major_version_is_an_error_and_stays_unread(void **state) {
  (void)state;
  DLPackVersion *version = malloc(sizeof *version);
  findings found = {-1, -1};
  version->major = 2;
  version->minor = 1;

  assert_ok(dlx_dlpack_check(version, DLX_MANAGED_VERSIONED, report, sizeof report, &found.errors,
                             &found.warnings));

  assert_int_equal(found.errors, 1);
  assert_int_equal(found.warnings, 0);
  assert_says(report, "2.1");
  free(version);
}

/* A valid legacy struct has one finding: it is deprecated. */
static void legacy_struct_is_deprecated(void **state) {
  (void)state;
  DLManagedTensor managed = legacy(exemplary().dl_tensor, &released);
  findings found = {-1, -1};

  assert_ok(dlx_dlpack_check(&managed, DLX_MANAGED_LEGACY, report, sizeof report, &found.errors,
                             &found.warnings));

  assert_int_equal(found.errors, 0);
  assert_int_equal(found.warnings, 1);
  assert_says(report, "deprecated");

  managed.dl_tensor.dtype = dtype_of(kDLUInt, 1);
  assert_ok(dlx_dlpack_check(&managed, DLX_MANAGED_LEGACY, report, sizeof report, &found.errors,
                             &found.warnings));
  assert_int_equal(found.errors, 0);
  assert_says(report, "uint1");
}

/* NULL strides with axes: an error from 1.2 on, a warning before. */
static void null_strides_are_an_error_from_1_2_on(void **state) {
  (void)state;
  DLManagedTensorVersioned managed = exemplary();
  managed.dl_tensor.strides = NULL;

  managed.version.minor = 1;
  assert_warning(&managed, "strides");
  managed.version.minor = 2;
  assert_error(&managed, "strides");
}

/* A tensor without axes needs no strides, and no shape. */
static void scalar_needs_neither_shape_nor_strides(void **state) {
  (void)state;
  DLManagedTensorVersioned managed = exemplary();
  managed.dl_tensor.ndim = 0;
  managed.dl_tensor.shape = managed.dl_tensor.strides = NULL;

  check(&managed);

  assert_string_equal(report, "");
}

/* Flags beyond DLPack 1.3 break a MUST; the three known ones do not. */
static void unknown_flags_are_an_error(void **state) {
  (void)state;
  DLManagedTensorVersioned managed = exemplary();

  managed.flags = 7;
  assert_int_equal(check(&managed).errors, 0);
  managed.flags = 8;
  assert_error(&managed, "flags");
}

/* A NULL deleter is valid, but gives a warning. */
static void null_deleter_is_a_warning(void **state) {
  (void)state;
  DLManagedTensorVersioned managed = exemplary();
  managed.deleter = NULL;

  assert_warning(&managed, "deleter");
}

/* The data of an empty tensor should be NULL. */
static void data_of_an_empty_tensor_is_a_warning(void **state) {
  (void)state;
  static const int64_t shape[] = {0, 3};
  DLManagedTensorVersioned managed = exemplary();
  managed.dl_tensor.shape = (int64_t *)(uintptr_t)shape;

  assert_warning(&managed, "NULL");
  managed.dl_tensor.data = NULL;
  check(&managed);
  assert_string_equal(report, "");
}

/* On host memory the id is 0. */
static void device_id_of_host_memory_is_an_error(void **state) {
  (void)state;
  const int types[] = {kDLCPU, kDLCUDAHost, kDLROCMHost, kDLCUDAManaged};

  for (size_t i = 0; i < COUNT_OF(types); ++i) {
    DLManagedTensorVersioned managed = exemplary();
    managed.dl_tensor.device.device_type = types[i];
    managed.dl_tensor.device.device_id = 1;
    assert_error(&managed, "device_id");
  }
}

/* Negative strides are valid, but PyTorch aborts on them. */
static void negative_strides_are_a_warning(void **state) {
  (void)state;
  static const int64_t strides[] = {3, -1};
  DLManagedTensorVersioned managed = exemplary();
  managed.dl_tensor.strides = (int64_t *)(uintptr_t)strides;

  assert_warning(&managed, "negative");
}

/* The stride of an axis with one element leads nowhere. */
static void strides_of_single_elements_do_not_matter(void **state) {
  (void)state;
  static const int64_t shape[] = {1, 1}, strides[] = {-3, 0};
  DLManagedTensorVersioned managed = exemplary();
  managed.dl_tensor.shape = (int64_t *)(uintptr_t)shape;
  managed.dl_tensor.strides = (int64_t *)(uintptr_t)strides;

  check(&managed);

  assert_string_equal(report, "");
}

/* What counts is the first element's address and the size of one lane. Handles have no address. */
static void elements_should_be_aligned_to_their_size(void **state) {
  (void)state;
  DLManagedTensorVersioned managed = exemplary();
  DLTensor *tensor = &managed.dl_tensor;

  tensor->byte_offset = 2;
  assert_int_equal(check(&managed).warnings, 2);
  assert_says(report, "not aligned to its own size of 4 bytes");
  tensor->dtype = dtype_of(kDLInt, 16);
  assert_warning(&managed, "byte_offset is 2");
  tensor->byte_offset = 1;
  assert_int_equal(check(&managed).warnings, 2);
  assert_says(report, "not aligned to its own size of 2 bytes");
  tensor->dtype = dtype_of(kDLInt, 8);
  assert_warning(&managed, "byte_offset is 1");
  tensor->dtype.lanes = 4;
  assert_warning(&managed, "byte_offset is 1");
  tensor->device.device_type = kDLOpenCL;
  tensor->dtype = dtype_of(kDLInt, 32);
  check(&managed);
  assert_string_equal(report, "");
}

/* Legal, but of no use to some consumers. */
static void null_contexts_and_unknown_devices_are_warnings(void **state) {
  (void)state;
  DLManagedTensorVersioned managed = exemplary();
  managed.manager_ctx = NULL;
  assert_warning(&managed, "manager_ctx");

  managed = exemplary();
  managed.dl_tensor.device.device_type = (DLDeviceType)99;
  assert_warning(&managed, "device_type is 99");
}

/* Each finding has its own line. */
static void each_finding_has_a_line(void **state) {
  (void)state;
  DLManagedTensorVersioned managed = exemplary();
  managed.deleter = NULL;
  managed.flags = 8;
  managed.dl_tensor.ndim = -3;

  const findings found = check(&managed);

  int lines = 0;
  for (const char *c = report; *c != '\0'; ++c) lines += *c == '\n';
  assert_int_equal(found.errors, 2);
  assert_int_equal(found.warnings, 1);
  assert_int_equal(lines, 3);
  assert_int_equal(report[strlen(report) - 1], '\n');
  assert_says(report, "-3");
}

/* The report is truncated and terminated; the counts are complete. */
static void report_is_cut_to_its_capacity(void **state) {
  (void)state;
  char whole[sizeof report];
  DLManagedTensorVersioned managed = exemplary();
  managed.deleter = NULL;
  managed.flags = 8;
  check(&managed);
  snprintf(whole, sizeof whole, "%s", report);

  for (size_t capacity = 1; capacity <= strlen(whole) + 2; ++capacity) {
    findings found = {-1, -1};
    char *exact = malloc(capacity);
    assert_ok(dlx_dlpack_check(&managed, DLX_MANAGED_VERSIONED, exact, capacity, &found.errors,
                               &found.warnings));
    assert_int_equal(strlen(exact), capacity - 1 < strlen(whole) ? capacity - 1 : strlen(whole));
    assert_memory_equal(exact, whole, strlen(exact));
    assert_int_equal(found.errors, 1);
    assert_int_equal(found.warnings, 1);
    free(exact);
  }
}

/* All outputs may be omitted. */
static void outputs_may_be_null(void **state) {
  (void)state;
  DLManagedTensorVersioned managed = exemplary();
  managed.flags = 8;

  assert_ok(dlx_dlpack_check(&managed, DLX_MANAGED_VERSIONED, NULL, 0, NULL, NULL));
}

/* An invalid struct is refused, and no output changes. */
static void check_refuses_what_it_cannot_read(void **state) {
  (void)state;
  const DLManagedTensorVersioned managed = exemplary();
  findings found = {-1, -1};
  char text[16] = "untouched";

  assert_fails(dlx_dlpack_check(&managed, 2, text, sizeof text, &found.errors, &found.warnings),
               DLX_ERROR_INVALID_ARGUMENT, "`kind`");
  assert_fails(dlx_dlpack_check(&managed, -1, text, sizeof text, &found.errors, &found.warnings),
               DLX_ERROR_INVALID_ARGUMENT, "`kind`");
  assert_null_named(dlx_dlpack_check,
                    (NULL, DLX_MANAGED_LEGACY, text, sizeof text, &found.errors, &found.warnings),
                    "managed");
  assert_null_named(dlx_dlpack_check,
                    (&managed, DLX_MANAGED_VERSIONED, NULL, 1, &found.errors, &found.warnings),
                    "report");

  assert_string_equal(text, "untouched");
  assert_int_equal(found.errors, -1);
  assert_int_equal(found.warnings, -1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(exemplary_struct_has_no_findings),
      cmocka_unit_test(exports_of_dlx_have_no_findings),
      cmocka_unit_test(check_consumes_nothing),
      cmocka_unit_test(check_never_reads_the_data),
      cmocka_unit_test(another_major_version_is_an_error_and_stays_unread),
      cmocka_unit_test(legacy_struct_is_deprecated),
      cmocka_unit_test(null_strides_are_an_error_from_1_2_on),
      cmocka_unit_test(scalar_needs_neither_shape_nor_strides),
      cmocka_unit_test(unknown_flags_are_an_error),
      cmocka_unit_test(null_deleter_is_a_warning),
      cmocka_unit_test(data_of_an_empty_tensor_is_a_warning),
      cmocka_unit_test(device_id_of_host_memory_is_an_error),
      cmocka_unit_test(negative_strides_are_a_warning),
      cmocka_unit_test(strides_of_single_elements_do_not_matter),
      cmocka_unit_test(elements_should_be_aligned_to_their_size),
      cmocka_unit_test(null_contexts_and_unknown_devices_are_warnings),
      cmocka_unit_test(each_finding_has_a_line),
      cmocka_unit_test(report_is_cut_to_its_capacity),
      cmocka_unit_test(outputs_may_be_null),
      cmocka_unit_test(check_refuses_what_it_cannot_read),
  };
  return cmocka_run_group_tests_name("dlpack_check", tests, NULL, NULL);
}
