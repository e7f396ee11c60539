/* Section "arrow": imports. Refused arrays are in test_arrow_malformed.c. */
#include "arrow_util.h"

/* The tensor shares the array's memory, read-only; the array is moved, and released with the last
 * view. */
static void an_import_shares_the_memory_and_releases_once(void **state) {
  (void)state;
  const int32_t data[] = {1, 2, 3, 4};
  arrow_node node;
  make_numbers(&node, "i", data, 4);
  int32_t copied = 7;
  dlx_tensor *tensor, *view;

  assert_ok(dlx_tensor_from_arrow(&node.array, &node.schema, NULL, &copied, &tensor));

  assert_null(node.array.release);
  assert_int_equal(copied, 0);
  assert_ptr_equal(dlx_tensor_data(tensor), data);
  assert_int_equal(dlx_tensor_flags(tensor), DLPACK_FLAG_BITMASK_READ_ONLY);
  assert_int_equal(dlx_tensor_device_type(tensor), kDLCPU);
  assert_shape(tensor, 1, EXTENTS(4));
  assert_ok(dlx_tensor_slice(tensor, 0, 1, 3, 1, &view));
  dlx_tensor_release(tensor);
  assert_int_equal(node.released, 0);
  dlx_tensor_release(view);
  assert_int_equal(node.released, 1);
}

/* Each format of a number has its dtype. */
static void every_format_of_a_number_is_known(void **state) {
  (void)state;
  static const struct {
    const char *format, *dtype;
  } rows[] = {{"c", "int8"},         {"C", "uint8"},   {"s", "int16"},   {"S", "uint16"},
              {"i", "int32"},        {"I", "uint32"},  {"l", "int64"},   {"L", "uint64"},
              {"e", "float16"},      {"f", "float32"}, {"g", "float64"}, {"_pli128", "int128"},
              {"_plu128", "uint128"}};
  const int64_t data[4] = {0};

  for (size_t i = 0; i < COUNT_OF(rows); ++i) {
    arrow_node node;
    make_numbers(&node, rows[i].format, data, 2);
    dlx_tensor *tensor = import_arrow(&node);
    char name[DLX_NAME_SIZE];
    assert_ok(dlx_dtype_name(dlx_tensor_dtype(tensor), name, sizeof name));
    assert_string_equal(name, rows[i].dtype);
    dlx_tensor_release(tensor);
    assert_int_equal(node.released, 1);
  }
}

/* The offset skips elements. */
static void an_offset_is_honoured(void **state) {
  (void)state;
  const int32_t data[] = {1, 2, 3, 4, 5};
  arrow_node node;
  make_numbers(&node, "i", data, 2);
  node.array.offset = 3;

  dlx_tensor *tensor = import_arrow(&node);

  assert_int32s(tensor, 2, INT32S(4, 5));
  dlx_tensor_release(tensor);
}

/* An empty array needs no data. */
static void an_empty_array_may_have_no_data(void **state) {
  (void)state;
  arrow_node node, child;
  make_numbers(&node, "g", NULL, 0);
  dlx_tensor *tensor = import_arrow(&node);
  assert_shape(tensor, 1, EXTENTS(0));
  dlx_tensor_release(tensor);

  make_numbers(&child, "g", NULL, 0);
  make_lists(&node, "+w:3", &child, 0);
  tensor = import_arrow(&node);
  assert_shape(tensor, 2, EXTENTS(0, 3));
  dlx_tensor_release(tensor);
}

/* Lists become axes; offsets apply at each level. */
static void nested_lists_become_axes(void **state) {
  (void)state;
  int32_t data[64];
  for (int32_t i = 0; i < 64; ++i) data[i] = i;
  arrow_node leaf, inner, outer;
  make_numbers(&leaf, "i", data, 60);
  leaf.array.offset = 3;
  make_lists(&inner, "+w:2", &leaf, 12);
  inner.array.offset = 2;
  make_lists(&outer, "+w:3", &inner, 2);
  outer.array.offset = 1;

  dlx_tensor *tensor = import_arrow(&outer);

  /* Element 0 is list 1 of the outer: list 2 + 3 of the inner, number 3 + 2 * 5 of the leaf. */
  assert_shape(tensor, 3, EXTENTS(2, 3, 2));
  assert_int32s(tensor, 12, INT32S(13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24));
  assert_ptr_equal(dlx_tensor_data(tensor), data + 13);
  dlx_tensor_release(tensor);
  assert_int_equal(outer.released, 1);
}

/* Empty lists become an axis of extent 0. */
static void lists_of_nothing_are_an_axis_of_extent_0(void **state) {
  (void)state;
  arrow_node leaf, lists;
  make_numbers(&leaf, "f", NULL, 0);
  make_lists(&lists, "+w:0", &leaf, 5);
  lists.array.offset = 2;

  dlx_tensor *tensor = import_arrow(&lists);

  assert_shape(tensor, 2, EXTENTS(5, 0));
  dlx_tensor_release(tensor);
}

/* Only nulls inside the used range count, even if null_count is not 0. */
static void nulls_outside_of_what_is_used_do_not_matter(void **state) {
  (void)state;
  const int32_t data[16] = {0};
  const uint8_t valid[] = {0x8f, 0xff}; /* null: 4, 5, 6 */
  arrow_node node, lists;

  for (int64_t null_count = -1; null_count <= 3; ++null_count) {
    make_numbers(&node, "i", data, 9);
    node.buffers[0] = valid;
    node.array.offset = 7;
    node.array.null_count = null_count;
    dlx_tensor_release(import_arrow(&node));

    make_numbers(&node, "i", data, 16);
    node.buffers[0] = valid;
    node.array.null_count = null_count;
    make_lists(&lists, "+w:2", &node, 2);
    dlx_tensor_release(import_arrow(&lists));
    lists.array.release = count_arrow_release;
    lists.released = 0;
    lists.array.length = 3;
    if (null_count != 0) {
      assert_not_imported(&lists, NULL, DLX_ERROR_UNSUPPORTED, "2 nulls");
    }
  }
}

/* A null_count of -1 without a bitmap means no nulls. */
static void unknown_null_count_without_bitmap_means_none(void **state) {
  (void)state;
  const int32_t data[] = {1};
  arrow_node node;
  make_numbers(&node, "i", data, 1);
  node.array.null_count = -1;

  dlx_tensor_release(import_arrow(&node));
}

/* Bits, from any offset, become bytes of 0 and 1 in a writable copy; the array is released. */
static void booleans_are_unpacked(void **state) {
  (void)state;
  random_source random = random_start(__func__);
  uint8_t bits[40];

  for (int64_t offset = 0; offset < 17; ++offset) {
    for (int64_t length = 0; length < 130; length += 1 + length / 20) {
      random_fill(&random, bits, sizeof bits);
      arrow_node node;
      make_numbers(&node, "b", bits, length);
      node.array.offset = offset;
      int32_t copied = 0;
      dlx_tensor *tensor;

      assert_ok(dlx_tensor_from_arrow(&node.array, &node.schema, NULL, &copied, &tensor));

      assert_int_equal(copied, 1);
      assert_int_equal(node.released, 1);
      assert_null(node.array.release);
      assert_int_equal(dlx_tensor_flags(tensor), 0);
      assert_int_equal(dlx_tensor_dtype(tensor)->code, kDLBool);
      const uint8_t *values = dlx_tensor_data(tensor);
      for (int64_t i = 0; i < length; ++i) assert_int_equal(values[i], get_bit(bits, offset + i));
      dlx_tensor_release(tensor);
    }
  }
}

/* Lists of booleans keep their shape, in the requested order of the copy. */
static void lists_of_booleans_are_unpacked_in_any_order(void **state) {
  (void)state;
  const uint8_t bits[] = {0x6a, 0x01}; /* 0 1 0 1 0 1 1 0 1 */
  dlx_copy_options options = DLX_COPY_OPTIONS_INIT;
  options.order = DLX_ORDER_F;
  arrow_node leaf, lists;
  make_numbers(&leaf, "b", bits, 9);
  make_lists(&lists, "+w:3", &leaf, 2);
  lists.array.offset = 1;
  dlx_tensor *tensor;

  assert_ok(dlx_tensor_from_arrow(&lists.array, &lists.schema, &options, NULL, &tensor));

  assert_shape(tensor, 2, EXTENTS(2, 3));
  assert_strides(tensor, EXTENTS(1, 2));
  assert_memory_equal(dlx_tensor_data(tensor), ((const uint8_t[]){1, 1, 0, 0, 1, 1}), 6);
  dlx_tensor_release(tensor);
}

/* Unpacking is the copy that was asked for. */
static void booleans_are_copied_once(void **state) {
  (void)state;
  const uint8_t bits[] = {5};
  counts counted = {0, 0};
  const dlx_allocator allocator = counting_allocator(&counted);
  dlx_copy_options options = DLX_COPY_OPTIONS_INIT;
  options.copy = DLX_COPY_ALWAYS;
  options.order = DLX_ORDER_F;
  options.allocator = &allocator;
  arrow_node node;
  make_numbers(&node, "b", bits, 3);
  dlx_tensor *tensor;

  assert_ok(dlx_tensor_from_arrow(&node.array, &node.schema, &options, NULL, &tensor));

  assert_int_equal(counted.allocations, 1);
  dlx_tensor_release(tensor);
}

/* DLX_COPY_ALWAYS copies and releases the array at once. */
static void a_copy_releases_the_array_at_once(void **state) {
  (void)state;
  const int32_t data[] = {1, 2};
  dlx_copy_options options = DLX_COPY_OPTIONS_INIT;
  options.copy = DLX_COPY_ALWAYS;
  arrow_node node;
  make_numbers(&node, "i", data, 2);
  int32_t copied = 0;
  dlx_tensor *tensor;

  assert_ok(dlx_tensor_from_arrow(&node.array, &node.schema, &options, &copied, &tensor));

  assert_int_equal(copied, 1);
  assert_int_equal(node.released, 1);
  assert_int_equal(dlx_tensor_flags(tensor), 0);
  assert_ptr_not_equal(dlx_tensor_data(tensor), data);
  assert_int32s(tensor, 2, INT32S(1, 2));
  dlx_tensor_release(tensor);
  assert_int_equal(node.released, 1);
}

/* The extension type gives the shape, with the axes in the order of `permutation`. */
static void fixed_shape_tensors_have_their_shape(void **state) {
  (void)state;
  int32_t data[24];
  for (int32_t i = 0; i < 24; ++i) data[i] = i;
  char metadata[300];
  arrow_node leaf, lists;

  put_extension(metadata, "arrow.fixed_shape_tensor", "{\"shape\":[3,4]}");
  make_numbers(&leaf, "i", data, 24);
  make_lists(&lists, "+w:12", &leaf, 2);
  lists.schema.metadata = metadata;
  dlx_tensor *tensor = import_arrow(&lists);
  assert_shape(tensor, 3, EXTENTS(2, 3, 4));
  assert_ptr_equal(dlx_tensor_data(tensor), data);
  assert_strides(tensor, EXTENTS(12, 4, 1));
  dlx_tensor_release(tensor);
  assert_int_equal(lists.released, 1);

  put_extension(
      metadata, "arrow.fixed_shape_tensor",
      " {\t\"dim_names\" : [\"x\\\"\", \"\"] , \"shape\":[ 3 , 4 ],\r\n\"permutation\":[1,0]} ");
  make_numbers(&leaf, "i", data, 24);
  make_lists(&lists, "+w:12", &leaf, 1);
  lists.array.offset = 1;
  lists.schema.metadata = metadata;
  tensor = import_arrow(&lists);
  assert_shape(tensor, 3, EXTENTS(1, 4, 3));
  assert_strides(tensor, EXTENTS(12, 1, 4));
  assert_ptr_equal(dlx_tensor_data(tensor), data + 12);
  dlx_tensor_release(tensor);
  assert_int_equal(lists.released, 1);
}

/* Other ways to write the identity permutation, and tensors of lists and of booleans. */
static void fixed_shape_tensors_in_their_variants(void **state) {
  (void)state;
  const int32_t data[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  const uint8_t bits[] = {0x35}; /* 1 0 1 0 1 1 */
  char metadata[300];
  arrow_node leaf, inner, lists;

  put_extension(metadata, "arrow.fixed_shape_tensor",
                "{\"permutation\":null,\"dim_names\":null,\"shape\":[]}");
  make_numbers(&leaf, "i", data, 12);
  make_lists(&lists, "+w:1", &leaf, 5);
  lists.schema.metadata = metadata;
  dlx_tensor *tensor = import_arrow(&lists);
  assert_shape(tensor, 1, EXTENTS(5));
  dlx_tensor_release(tensor);

  put_extension(metadata, "arrow.fixed_shape_tensor", "{\"shape\":[2,3],\"permutation\":[1,0]}");
  make_lists(&inner, "+w:2", &leaf, 6);
  make_numbers(&leaf, "i", data, 12);
  make_lists(&lists, "+w:6", &inner, 1);
  lists.schema.metadata = metadata;
  tensor = import_arrow(&lists);
  assert_shape(tensor, 4, EXTENTS(1, 3, 2, 2));
  assert_int32s(tensor, 12, INT32S(0, 1, 6, 7, 2, 3, 8, 9, 4, 5, 10, 11));
  dlx_tensor_release(tensor);

  make_numbers(&leaf, "b", bits, 6);
  make_lists(&lists, "+w:6", &leaf, 1);
  lists.schema.metadata = metadata;
  tensor = import_arrow(&lists);
  assert_shape(tensor, 3, EXTENTS(1, 3, 2));
  assert_int_equal(dlx_tensor_is_contiguous(tensor, DLX_ORDER_C), 1);
  assert_memory_equal(dlx_tensor_data(tensor), ((const uint8_t[]){1, 0, 0, 1, 1, 1}), 6);
  dlx_tensor_release(tensor);
}

static void arguments_that_are_null_are_named(void **state) {
  (void)state;
  arrow_node node;
  make_numbers(&node, "i", NULL, 0);
  dlx_tensor *out;

  assert_null_named(dlx_tensor_from_arrow, (NULL, &node.schema, NULL, NULL, &out), "array");
  assert_null_named(dlx_tensor_from_arrow, (&node.array, NULL, NULL, NULL, &out), "schema");
  assert_null_named(dlx_tensor_from_arrow, (&node.array, &node.schema, NULL, NULL, NULL), "out");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_import_shares_the_memory_and_releases_once),
      cmocka_unit_test(every_format_of_a_number_is_known),
      cmocka_unit_test(an_offset_is_honoured),
      cmocka_unit_test(an_empty_array_may_have_no_data),
      cmocka_unit_test(nested_lists_become_axes),
      cmocka_unit_test(lists_of_nothing_are_an_axis_of_extent_0),
      cmocka_unit_test(nulls_outside_of_what_is_used_do_not_matter),
      cmocka_unit_test(unknown_null_count_without_bitmap_means_none),
      cmocka_unit_test(booleans_are_unpacked),
      cmocka_unit_test(lists_of_booleans_are_unpacked_in_any_order),
      cmocka_unit_test(booleans_are_copied_once),
      cmocka_unit_test(a_copy_releases_the_array_at_once),
      cmocka_unit_test(fixed_shape_tensors_have_their_shape),
      cmocka_unit_test(fixed_shape_tensors_in_their_variants),
      cmocka_unit_test(arguments_that_are_null_are_named),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
