/* Section "arrow": exports, shared memory, and releases. */
#include "arrow_util.h"

/* One axis becomes an array of numbers that shares the memory and keeps it alive. */
static void one_axis_is_an_array_of_numbers(void **state) {
  (void)state;
  int32_t data[] = {1, 2, 3};
  int released = 0;
  dlx_tensor *tensor = wrap_counted(data, 1, EXTENTS(3), &released);

  exported pair = export(tensor, NULL);
  dlx_tensor_release(tensor);

  assert_string_equal(pair.schema.format, "i");
  assert_string_equal(pair.schema.name, "");
  assert_null(pair.schema.metadata);
  assert_int_equal(pair.schema.flags, ARROW_FLAG_NULLABLE);
  assert_int_equal(pair.schema.n_children, 0);
  assert_null(pair.schema.dictionary);
  assert_int_equal(pair.array.length, 3);
  assert_int_equal(pair.array.null_count, 0);
  assert_int_equal(pair.array.offset, 0);
  assert_int_equal(pair.array.n_buffers, 2);
  assert_int_equal(pair.array.n_children, 0);
  assert_null(pair.array.buffers[0]);
  assert_ptr_equal(pair.array.buffers[1], data);
  assert_null(pair.array.dictionary);
  assert_int_equal(released, 0);
  release_pair(&pair);
  assert_int_equal(released, 1);
}

static void every_dtype_that_arrow_has_is_exported(void **state) {
  (void)state;
  static const struct {
    const char *dtype, *format;
  } rows[] = {{"int8", "c"},         {"uint8", "C"},        {"int16", "s"},   {"uint16", "S"},
              {"int32", "i"},        {"uint32", "I"},       {"int64", "l"},   {"uint64", "L"},
              {"float16", "e"},      {"float32", "f"},      {"float64", "g"}, {"bool", "b"},
              {"int128", "_pli128"}, {"uint128", "_plu128"}};

  for (size_t i = 0; i < COUNT_OF(rows); ++i) {
    DLDataType dtype;
    uint64_t data[4] = {0};
    assert_ok(dlx_dtype_parse(rows[i].dtype, &dtype));
    dlx_tensor *tensor = wrap(data, dtype, 1, EXTENTS(2), NULL, 0);
    exported pair = export(tensor, NULL);
    assert_string_equal(pair.schema.format, rows[i].format);
    release_pair(&pair);
    dlx_tensor_release(tensor);
  }
}

static void dtypes_that_arrow_lacks_are_refused(void **state) {
  (void)state;
  static const char *const names[] = {"complex64", "bfloat16", "float8_e4m3fn", "int4",
                                      "float32x4", "uint1",    "opaque64"};

  for (size_t i = 0; i < COUNT_OF(names); ++i) {
    DLDataType dtype;
    uint64_t data[8] = {0};
    struct ArrowSchema schema;
    assert_ok(dlx_dtype_parse(names[i], &dtype));
    dlx_tensor *tensor = wrap(data, dtype, 1, EXTENTS(2), NULL, 0);
    assert_not_exported(tensor, NULL, DLX_ERROR_UNSUPPORTED, names[i]);
    assert_fails(dlx_tensor_to_arrow_schema(tensor, NULL, &schema), DLX_ERROR_UNSUPPORTED,
                 names[i]);
    dlx_tensor_release(tensor);
  }
}

static void a_tensor_without_axes_is_refused(void **state) {
  (void)state;
  int32_t data = 1;
  dlx_tensor *tensor = wrap_int32(&data, 0, NULL);
  assert_not_exported(tensor, NULL, DLX_ERROR_UNSUPPORTED, "reshape it to (1,)");
  dlx_tensor_release(tensor);
}

/* Several axes are nested lists with fields named "item". */
static void several_axes_are_nested_lists(void **state) {
  (void)state;
  int32_t data[24];
  dlx_tensor *tensor = wrap_int32(data, 3, EXTENTS(2, 3, 4));

  exported pair = export(tensor, NULL);

  assert_string_equal(pair.schema.format, "+w:3");
  assert_string_equal(pair.schema.children[0]->format, "+w:4");
  assert_string_equal(pair.schema.children[0]->name, "item");
  assert_string_equal(pair.schema.children[0]->children[0]->format, "i");
  assert_int_equal(pair.array.length, 2);
  assert_int_equal(pair.array.n_buffers, 1);
  assert_null(pair.array.buffers[0]);
  assert_int_equal(pair.array.n_children, 1);
  assert_int_equal(pair.array.children[0]->length, 6);
  assert_int_equal(pair.array.children[0]->children[0]->length, 24);
  assert_ptr_equal(pair.array.children[0]->children[0]->buffers[1], data);
  release_pair(&pair);
  dlx_tensor_release(tensor);
}

/* Releasing the outermost level releases the tensor below, through lists of any depth. */
static void every_depth_keeps_and_releases_the_memory(void **state) {
  (void)state;
  for (int32_t ndim = 1; ndim <= 4; ++ndim) {
    for (int32_t layout = DLX_ARROW_LISTS; layout <= DLX_ARROW_TENSORS; ++layout) {
      int32_t data[16];
      int released = 0;
      dlx_tensor *tensor = wrap_counted(data, ndim, EXTENTS(2, 2, 2, 2), &released);
      dlx_arrow_options options = DLX_ARROW_OPTIONS_INIT;
      options.layout = layout;
      exported pair = export(tensor, &options);
      dlx_tensor_release(tensor);
      assert_int_equal(released, 0);
      release_pair(&pair);
      assert_int_equal(released, 1);
    }
  }
}

static int released_fields;

static void count_field(struct ArrowSchema *self) {
  ++released_fields;
  self->release = NULL;
}

/* Releasing a schema releases the fields that are still in it. */
static void a_schema_releases_its_field(void **state) {
  (void)state;
  int32_t data[4];
  dlx_tensor *tensor = wrap_int32(data, 2, EXTENTS(2, 2));
  exported pair = export(tensor, NULL);
  struct ArrowSchema *field = pair.schema.children[0], own = *field;
  released_fields = 0;
  field->release = count_field;

  release_pair(&pair);

  assert_int_equal(released_fields, 1);
  own.release(&own);
  dlx_tensor_release(tensor);
}

/* An empty array has an address for its data, also if the tensor has none. */
static void data_is_never_null(void **state) {
  (void)state;
  dlx_tensor *tensor = wrap_int32(NULL, 2, EXTENTS(0, 3));

  exported pair = export(tensor, NULL);

  assert_int_equal(pair.array.length, 0);
  assert_non_null(pair.array.children[0]->buffers[1]);
  release_pair(&pair);
  dlx_tensor_release(tensor);
}

/* A child of an array or schema can be moved out and outlive its parent. */
static void children_may_be_moved_out(void **state) {
  (void)state;
  int32_t data[] = {1, 2, 3, 4};
  int released = 0;
  dlx_tensor *tensor = wrap_counted(data, 2, EXTENTS(2, 2), &released);
  exported pair = export(tensor, NULL), child;
  dlx_tensor_release(tensor);

  child.array = *pair.array.children[0];
  pair.array.children[0]->release = NULL;
  child.schema = *pair.schema.children[0];
  pair.schema.children[0]->release = NULL;
  release_pair(&pair);

  assert_int_equal(released, 0);
  assert_string_equal(child.schema.format, "i");
  assert_ptr_equal(child.array.buffers[1], data);
  dlx_tensor *again;
  assert_ok(dlx_tensor_from_arrow(&child.array, &child.schema, NULL, NULL, &again));
  assert_int32s(again, 4, INT32S(1, 2, 3, 4));
  child.schema.release(&child.schema);
  dlx_tensor_release(again);
  assert_int_equal(released, 1);
}

/* Strides that Arrow does not have need a copy, if the mode allows one. */
static void strides_lead_to_a_copy(void **state) {
  (void)state;
  int32_t data[] = {1, 2, 3, 4, 5, 6};
  dlx_tensor *tensor = wrap(data, dtype_of(kDLInt, 32), 2, EXTENTS(3, 2), EXTENTS(1, 3), 0);
  const dlx_arrow_options never = with_copy(DLX_COPY_NEVER);
  assert_not_exported(tensor, &never, DLX_ERROR_COPY_REFUSED, "not contiguous");

  exported pair = export(tensor, NULL);

  const int32_t *values = pair.array.children[0]->buffers[1];
  assert_memory_equal(values, INT32S(1, 4, 2, 5, 3, 6), sizeof data);
  release_pair(&pair);
  dlx_tensor_release(tensor);
}

static void copy_always_copies(void **state) {
  (void)state;
  int32_t data[] = {1, 2};
  int released = 0;
  dlx_tensor *tensor = wrap_counted(data, 1, EXTENTS(2), &released);
  const dlx_arrow_options always = with_copy(DLX_COPY_ALWAYS);

  exported pair = export(tensor, &always);
  dlx_tensor_release(tensor);

  assert_int_equal(released, 1);
  assert_ptr_not_equal(pair.array.buffers[1], data);
  assert_memory_equal(pair.array.buffers[1], INT32S(1, 2), sizeof data);
  release_pair(&pair);
}

/* Bytes become bits: any byte except 0 is a 1; the rest of the cache line is zeros. */
static void booleans_are_packed(void **state) {
  (void)state;
  random_source random = random_start(__func__);
  uint8_t bytes[200];
  const dlx_arrow_options never = with_copy(DLX_COPY_NEVER);

  for (int64_t count = 0; count <= 200; ++count) {
    random_fill(&random, bytes, sizeof bytes);
    for (int i = 0; i < 200; i += 2) bytes[i] = 0;
    dlx_tensor *tensor = wrap(bytes, dtype_of(kDLBool, 8), 1, EXTENTS(count), NULL, 0);
    if (count > 0)
      assert_not_exported(tensor, &never, DLX_ERROR_COPY_REFUSED, "booleans are bytes");

    exported pair = export(tensor, NULL);
    dlx_tensor_release(tensor);

    const uint8_t *bits = pair.array.buffers[1];
    assert_int_equal((uintptr_t)bits % 64, 0);
    for (int64_t i = 0; i < (count / 8 / 64 + 1) * 512; ++i) {
      if (i < count || i < 256) assert_int_equal(get_bit(bits, i), i < count && bytes[i] != 0);
    }
    release_pair(&pair);
  }
}

/* Lists of booleans with any strides keep their values in a round trip. */
static void booleans_come_back(void **state) {
  (void)state;
  uint8_t bytes[30];
  for (int i = 0; i < 30; ++i) bytes[i] = i % 3 == 0;
  dlx_tensor *tensor = wrap(bytes, dtype_of(kDLBool, 8), 2, EXTENTS(5, 3), EXTENTS(1, 10), 0);
  exported pair = export(tensor, NULL);
  dlx_tensor *back;

  assert_ok(dlx_tensor_from_arrow(&pair.array, &pair.schema, NULL, NULL, &back));

  assert_shape(back, 2, EXTENTS(5, 3));
  const uint8_t *values = dlx_tensor_data(back);
  for (int i = 0; i < 15; ++i) assert_int_equal(values[i], bytes[i / 3 + 10 * (i % 3)]);
  pair.schema.release(&pair.schema);
  dlx_tensor_release(back);
  dlx_tensor_release(tensor);
}

/* Exporting the type alone does not copy the data. */
static void the_type_alone_copies_nothing(void **state) {
  (void)state;
  struct ArrowSchema schema;
  dlx_tensor *tensor = wrap(POISON, dtype_of(kDLBool, 8), 2, EXTENTS(4, 2), EXTENTS(1, 4), 0);

  assert_ok(dlx_tensor_to_arrow_schema(tensor, NULL, &schema));

  assert_string_equal(schema.format, "+w:2");
  assert_string_equal(schema.children[0]->format, "b");
  schema.release(&schema);
  dlx_tensor_release(tensor);
}

static void lists_that_are_too_long_are_refused(void **state) {
  (void)state;
  static char data;
  const int64_t long_axis[] = {1, INT64_C(1) << 31}, product[] = {1, 1 << 16, 1 << 16};
  const dlx_arrow_options tensors = with_layout(DLX_ARROW_TENSORS);
  dlx_tensor *tensor =
      wrap(&data, dtype_of(kDLInt, 8), 2, long_axis, EXTENTS(0, 0), DLPACK_FLAG_BITMASK_READ_ONLY);
  assert_not_exported(tensor, NULL, DLX_ERROR_UNSUPPORTED, "2^31-1");
  assert_not_exported(tensor, &tensors, DLX_ERROR_UNSUPPORTED, "2^31-1");
  dlx_tensor_release(tensor);

  tensor =
      wrap(&data, dtype_of(kDLInt, 8), 3, product, EXTENTS(0, 0, 0), DLPACK_FLAG_BITMASK_READ_ONLY);
  assert_not_exported(tensor, &tensors, DLX_ERROR_UNSUPPORTED, "2^31-1");
  dlx_tensor_release(tensor);
}

/* The caller's allocator makes copies, also of packed booleans. */
static void copies_come_from_the_allocator(void **state) {
  (void)state;
  uint8_t bytes[100] = {1};
  counts counted = {0, 0};
  const dlx_allocator allocator = counting_allocator(&counted);
  dlx_arrow_options options = with_copy(DLX_COPY_ALWAYS);
  options.allocator = &allocator;

  for (int code = kDLInt; code <= kDLBool; code += kDLBool - kDLInt) {
    dlx_tensor *tensor = wrap(bytes, dtype_of(code, 8), 1, EXTENTS(100), NULL, 0);
    exported pair = export(tensor, &options);
    assert_int_equal(counted.held, 1);
    release_pair(&pair);
    assert_int_equal(counted.held, 0);
    dlx_tensor_release(tensor);
  }
}

static void arguments_and_options_are_checked(void **state) {
  (void)state;
  int32_t data[1];
  struct ArrowArray array;
  struct ArrowSchema schema;
  dlx_tensor *tensor = wrap_int32(data, 1, EXTENTS(1));
  dlx_arrow_options options = with_layout(2);

  assert_null_named(dlx_tensor_to_arrow, (NULL, NULL, &array, &schema), "tensor");
  assert_null_named(dlx_tensor_to_arrow, (tensor, NULL, NULL, &schema), "out");
  assert_null_named(dlx_tensor_to_arrow_schema, (NULL, NULL, &schema), "tensor");
  assert_null_named(dlx_tensor_to_arrow_schema, (tensor, NULL, NULL), "out");
  assert_not_exported(tensor, &options, DLX_ERROR_INVALID_ARGUMENT, "`options->layout`");
  options = with_copy(-1);
  assert_not_exported(tensor, &options, DLX_ERROR_INVALID_ARGUMENT, "`options->copy`");
  options = with_copy(0);
  options.reserved = 1;
  assert_not_exported(tensor, &options, DLX_ERROR_UNSUPPORTED, "`options->reserved`");
  options = with_copy(0);
  options.struct_size = 2;
  assert_not_exported(tensor, &options, DLX_ERROR_INVALID_ARGUMENT, "struct_size");
  dlx_tensor_release(tensor);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_axis_is_an_array_of_numbers),
      cmocka_unit_test(every_dtype_that_arrow_has_is_exported),
      cmocka_unit_test(dtypes_that_arrow_lacks_are_refused),
      cmocka_unit_test(a_tensor_without_axes_is_refused),
      cmocka_unit_test(several_axes_are_nested_lists),
      cmocka_unit_test(every_depth_keeps_and_releases_the_memory),
      cmocka_unit_test(a_schema_releases_its_field),
      cmocka_unit_test(data_is_never_null),
      cmocka_unit_test(children_may_be_moved_out),
      cmocka_unit_test(strides_lead_to_a_copy),
      cmocka_unit_test(copy_always_copies),
      cmocka_unit_test(booleans_are_packed),
      cmocka_unit_test(booleans_come_back),
      cmocka_unit_test(the_type_alone_copies_nothing),
      cmocka_unit_test(lists_that_are_too_long_are_refused),
      cmocka_unit_test(copies_come_from_the_allocator),
      cmocka_unit_test(arguments_and_options_are_checked),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
