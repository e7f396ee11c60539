/* `struct_size` of the options structs: compatibility with older and newer callers. */
#include "dlx/arrow.h"
#include "util.h"

static int32_t data[4] = {1, 2, 3, 4};
static const DLDataType int32 = {kDLInt, 32, 1};

/* One call for each struct; all get the address of the first byte of `options`. */
static dlx_status call_empty(const void *options) {
  dlx_tensor *out = POISON_TENSOR;
  const dlx_status status = dlx_tensor_empty(0, NULL, &int32, kDLCPU, 0, options, &out);
  assert_int_equal(out != NULL, status == DLX_OK);
  dlx_tensor_release(out);
  return status;
}

static dlx_status call_copy(const void *options) {
  dlx_tensor *tensor = wrap_int32(data, 1, EXTENTS(4)), *out = POISON_TENSOR;
  const dlx_status status = dlx_tensor_clone(tensor, options, &out);
  assert_int_equal(out != NULL, status == DLX_OK);
  dlx_tensor_release(out);
  dlx_tensor_release(tensor);
  return status;
}

static dlx_status call_raw_copy(const void *options) {
  int32_t target[4];
  const DLTensor dst = describe(target, int32, 1, EXTENTS(4), NULL);
  const DLTensor src = describe(data, int32, 1, EXTENTS(4), NULL);
  return dlx_copy(&dst, &src, options);
}

static dlx_status call_export(const void *options) {
  dlx_tensor *tensor = wrap_int32(data, 1, EXTENTS(4));
  DLManagedTensorVersioned *out = POISON;
  const dlx_status status = dlx_tensor_to_dlpack_versioned(tensor, options, &out);
  assert_int_equal(out != NULL, status == DLX_OK);
  if (out != NULL) out->deleter(out);
  dlx_tensor_release(tensor);
  return status;
}

static dlx_status call_legacy_export(const void *options) {
  dlx_tensor *tensor = wrap_int32(data, 1, EXTENTS(4));
  DLManagedTensor *out = POISON;
  const dlx_status status = dlx_tensor_to_dlpack(tensor, options, &out);
  assert_int_equal(out != NULL, status == DLX_OK);
  if (out != NULL) out->deleter(out);
  dlx_tensor_release(tensor);
  return status;
}

static dlx_status call_arrow(const void *options) {
  dlx_tensor *tensor = wrap_int32(data, 1, EXTENTS(4));
  struct ArrowArray out;
  const dlx_status status = dlx_tensor_to_arrow(tensor, options, &out, NULL);
  if (status == DLX_OK) out.release(&out);
  dlx_tensor_release(tensor);
  return status;
}

static dlx_status set_allocator(const void *options) { return dlx_set_allocator(kDLCPU, options); }

static const struct {
  dlx_status (*call)(const void *options);
  uint32_t size;
} structs[] = {
    {call_empty, sizeof(dlx_empty_options)},          {call_copy, sizeof(dlx_copy_options)},
    {call_raw_copy, sizeof(dlx_copy_options)},        {call_export, sizeof(dlx_export_options)},
    {call_legacy_export, sizeof(dlx_export_options)}, {call_arrow, sizeof(dlx_arrow_options)},
};

/** A struct larger than any of ours; all zero except its struct_size. */
static void *larger(uint32_t struct_size) {
  static _Alignas(16) unsigned char memory[8192];
  memset(memory, 0, sizeof memory);
  memcpy(memory, &struct_size, sizeof struct_size);
  return memory;
}

/* NULL means the defaults. */
static void null_options_are_the_defaults(void **state) {
  (void)state;

  for (size_t i = 0; i < COUNT_OF(structs); ++i) assert_ok(structs[i].call(NULL));
}

/* After struct_size, zeros mean the defaults. */
static void zeros_are_the_defaults(void **state) {
  (void)state;

  for (size_t i = 0; i < COUNT_OF(structs); ++i) {
    assert_ok(structs[i].call(larger(structs[i].size)));
  }
}

/* The INIT macros set struct_size, and zeros. */
static void init_macros_give_the_defaults(void **state) {
  (void)state;
  const dlx_empty_options empty = DLX_EMPTY_OPTIONS_INIT;
  const dlx_copy_options copy = DLX_COPY_OPTIONS_INIT;
  const dlx_export_options export = DLX_EXPORT_OPTIONS_INIT;
  const dlx_allocator allocator = DLX_ALLOCATOR_INIT;

  assert_memory_equal(&empty, larger(sizeof empty), sizeof empty);
  assert_memory_equal(&copy, larger(sizeof copy), sizeof copy);
  assert_memory_equal(&export, larger(sizeof export), sizeof export);
  assert_memory_equal(&allocator, larger(sizeof allocator), sizeof allocator);
}

/* A struct_size of 0 is refused, and the message names the struct. */
static void struct_size_of_0_is_refused(void **state) {
  (void)state;

  for (size_t i = 0; i < COUNT_OF(structs); ++i) {
    assert_fails(structs[i].call(larger(0)), DLX_ERROR_INVALID_ARGUMENT, "its sizeof");
    assert_says(dlx_last_error(), "`options`");
    assert_fails(structs[i].call(larger(3)), DLX_ERROR_INVALID_ARGUMENT, "struct_size");
  }
}

/* An older caller's struct ends earlier: what it lacks keeps its default. Only its own bytes are
 * read, which the sanitizers and valgrind see. */
static void older_struct_keeps_the_defaults_of_what_it_lacks(void **state) {
  (void)state;

  for (size_t i = 0; i < COUNT_OF(structs); ++i) {
    for (uint32_t size = 8; size < structs[i].size; size += 8) {
      void *options = calloc(1, size);
      memcpy(options, &size, sizeof size);
      assert_ok(structs[i].call(options));
      free(options);
    }
  }
}

/* Memory after an older caller's struct is not read. */
static void bytes_behind_an_older_struct_do_not_count(void **state) {
  (void)state;
  dlx_empty_options options = DLX_EMPTY_OPTIONS_INIT;
  options.struct_size = offsetof(dlx_empty_options, flags);
  options.order = DLX_ORDER_F;
  options.flags = UINT64_MAX;
  options.alignment = 3;
  options.allocator = POISON;
  dlx_tensor *out = NULL;

  assert_ok(dlx_tensor_empty(2, EXTENTS(2, 3), &int32, kDLCPU, 0, &options, &out));

  assert_strides(out, EXTENTS(1, 2));
  dlx_tensor_release(out);
}

/* A newer caller's struct is longer; zeros in the extra bytes are accepted. */
static void newer_struct_with_zeros_at_its_end_is_accepted(void **state) {
  (void)state;

  for (size_t i = 0; i < COUNT_OF(structs); ++i) {
    for (uint32_t more = 8; more <= 64; more += 8) {
      assert_ok(structs[i].call(larger(structs[i].size + more)));
    }
  }
}

/* Any other value there requests an unknown option, and is refused. */
static void newer_struct_that_sets_its_end_is_unsupported(void **state) {
  (void)state;

  for (size_t i = 0; i < COUNT_OF(structs); ++i) {
    for (uint32_t more = 8; more <= 64; more += 8) {
      unsigned char *options = larger(structs[i].size + more);
      options[structs[i].size + more - 1] = 1;
      assert_fails(structs[i].call(options), DLX_ERROR_UNSUPPORTED, "`options`");
    }
  }
}

/* A struct_size that ends inside a field is refused. */
static void struct_size_inside_a_field_is_refused(void **state) {
  (void)state;

  for (size_t i = 0; i < COUNT_OF(structs); ++i) {
    for (uint32_t less = 1; less < 8; ++less) {
      assert_fails(structs[i].call(larger(structs[i].size - less)), DLX_ERROR_INVALID_ARGUMENT,
                   "struct_size");
    }
  }
}

/* A huge struct_size is refused, and nothing is read. */
static void struct_size_beyond_reason_is_refused(void **state) {
  (void)state;

  for (size_t i = 0; i < COUNT_OF(structs); ++i) {
    assert_fails(structs[i].call(larger(UINT32_MAX)), DLX_ERROR_INVALID_ARGUMENT, "struct_size");
    assert_fails(structs[i].call(larger(4104)), DLX_ERROR_INVALID_ARGUMENT, "struct_size");
    assert_ok(structs[i].call(larger(4096)));
  }
}

/* A reserved field that is set requests what this version does not have. */
static void reserved_fields_must_be_zero(void **state) {
  (void)state;
  static const struct {
    dlx_status (*call)(const void *options);
    uint32_t size, offset;
  } fields[] = {
      {call_copy, sizeof(dlx_copy_options), offsetof(dlx_copy_options, reserved)},
      {call_raw_copy, sizeof(dlx_copy_options), offsetof(dlx_copy_options, reserved)},
      {call_export, sizeof(dlx_export_options), offsetof(dlx_export_options, reserved)},
      {call_legacy_export, sizeof(dlx_export_options), offsetof(dlx_export_options, reserved)},
      {call_arrow, sizeof(dlx_arrow_options), offsetof(dlx_arrow_options, reserved)},
      {set_allocator, sizeof(dlx_allocator), offsetof(dlx_allocator, reserved)},
  };

  for (size_t i = 0; i < COUNT_OF(fields); ++i) {
    for (size_t byte = 0; byte < 4; ++byte) {
      unsigned char *options = larger(fields[i].size);
      options[fields[i].offset + byte] = 1;
      assert_fails(fields[i].call(options), DLX_ERROR_UNSUPPORTED, "reserved` must be 0");
    }
  }
}

/* An alignment is a power of two up to 2^30, wherever it can be asked for. */
static void impossible_alignments_are_refused(void **state) {
  (void)state;
  static const struct {
    dlx_status (*call)(const void *options);
    uint32_t size, offset;
  } fields[] = {
      {call_empty, sizeof(dlx_empty_options), offsetof(dlx_empty_options, alignment)},
      {call_copy, sizeof(dlx_copy_options), offsetof(dlx_copy_options, alignment)},
      {call_raw_copy, sizeof(dlx_copy_options), offsetof(dlx_copy_options, alignment)},
      {call_export, sizeof(dlx_export_options), offsetof(dlx_export_options, min_alignment)},
      {call_legacy_export, sizeof(dlx_export_options), offsetof(dlx_export_options, min_alignment)},
  };
  static const uint64_t strangers[] = {
      3, 48, (1u << 30) + 1, UINT64_C(1) << 31, UINT64_C(1) << 63, UINT64_MAX};

  for (size_t i = 0; i < COUNT_OF(fields); ++i) {
    for (size_t k = 0; k < COUNT_OF(strangers); ++k) {
      unsigned char *options = larger(fields[i].size);
      memcpy(options + fields[i].offset, &strangers[k], sizeof *strangers);
      assert_fails(fields[i].call(options), DLX_ERROR_INVALID_ARGUMENT,
                   "is not a power of two up to 2^30");
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(null_options_are_the_defaults),
      cmocka_unit_test(zeros_are_the_defaults),
      cmocka_unit_test(init_macros_give_the_defaults),
      cmocka_unit_test(struct_size_of_0_is_refused),
      cmocka_unit_test(older_struct_keeps_the_defaults_of_what_it_lacks),
      cmocka_unit_test(bytes_behind_an_older_struct_do_not_count),
      cmocka_unit_test(newer_struct_with_zeros_at_its_end_is_accepted),
      cmocka_unit_test(newer_struct_that_sets_its_end_is_unsupported),
      cmocka_unit_test(struct_size_inside_a_field_is_refused),
      cmocka_unit_test(struct_size_beyond_reason_is_refused),
      cmocka_unit_test(reserved_fields_must_be_zero),
      cmocka_unit_test(impossible_alignments_are_refused),
  };
  return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}
