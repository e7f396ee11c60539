/* Section "copy" of dlx.h: dlx_copy, dlx_tensor_copy_from and dlx_copy_plan_describe. New tensors:
 * test_copy_convert.c; all layouts: test_copy_random.c. */
#include "util.h"

static int32_t from[6], to[6];
static DLTensor dst, src; /* 2 x 3 each */

static int set_up(void **state) {
  (void)state;
  static const int64_t shape[] = {2, 3};
  for (int i = 0; i < 6; ++i) {
    from[i] = 10 + i;
    to[i] = -1;
  }
  dst = describe(to, dtype_of(kDLInt, 32), 2, shape, NULL);
  src = describe(from, dtype_of(kDLInt, 32), 2, shape, NULL);
  return 0;
}

static void assert_untouched(void) {
  for (int i = 0; i < 6; ++i) assert_int_equal(to[i], -1);
}

static void assert_refused(dlx_status status, const char *words) {
  assert_fails(dlx_copy(&dst, &src, NULL), status, words);
  assert_untouched();
}

#define ASSERT_TARGET(...) assert_memory_equal(to, INT32S(__VA_ARGS__), sizeof to)

/* Every element is copied. */
static void copy_writes_every_element(void **state) {
  (void)state;
  assert_ok(dlx_copy(&dst, &src, NULL));

  ASSERT_TARGET(10, 11, 12, 13, 14, 15);
}

/* The strides of both operands apply. */
static void copy_follows_the_strides(void **state) {
  (void)state;
  src.strides = (int64_t[]){1, 2};

  assert_ok(dlx_copy(&dst, &src, NULL));

  ASSERT_TARGET(10, 12, 14, 11, 13, 15);
}

/* Negative strides on either operand. */
static void copy_walks_backwards(void **state) {
  (void)state;
  dst.strides = (int64_t[]){-3, 1};
  dst.data = to + 3;
  src.strides = (int64_t[]){3, -1};
  src.data = from + 2;

  assert_ok(dlx_copy(&dst, &src, NULL));

  ASSERT_TARGET(15, 14, 13, 12, 11, 10);
}

/* A source may repeat its elements by strides of 0. */
static void copy_repeats_by_a_stride_of_0(void **state) {
  (void)state;
  src.strides = (int64_t[]){0, 1};

  assert_ok(dlx_copy(&dst, &src, NULL));

  ASSERT_TARGET(10, 11, 12, 10, 11, 12);
}

/* byte_offset applies, on either operand. */
static void copy_honours_byte_offsets(void **state) {
  (void)state;
  dst.shape = src.shape = (int64_t[]){1, 2};
  dst.byte_offset = 4;
  src.byte_offset = 16;

  assert_ok(dlx_copy(&dst, &src, NULL));

  ASSERT_TARGET(-1, 14, 15, -1, -1, -1);
}

/* A tensor without axes has one element. */
static void copy_of_a_scalar(void **state) {
  (void)state;
  dst.ndim = src.ndim = 0;
  dst.shape = src.shape = NULL;

  assert_ok(dlx_copy(&dst, &src, NULL));

  ASSERT_TARGET(10, -1, -1, -1, -1, -1);
}

/* Empty tensors need no data. */
static void copy_of_no_elements_writes_nothing(void **state) {
  (void)state;
  dst.shape = src.shape = (int64_t[]){2, 0};
  dst.data = src.data = NULL;

  assert_ok(dlx_copy(&dst, &src, NULL));

  assert_untouched();
}

/* To itself. */
static void copy_to_itself_changes_nothing(void **state) {
  (void)state;
  assert_ok(dlx_copy(&src, &src, NULL));

  assert_memory_equal(from, INT32S(10, 11, 12, 13, 14, 15), sizeof from);
}

/* Overlapping operands: as if the source had been read first, in either direction. */
static void copy_between_overlapping_sides(void **state) {
  (void)state;
  dst.ndim = src.ndim = 1;
  dst.shape = src.shape = (int64_t[]){5};
  dst.data = from + 1;
  assert_ok(dlx_copy(&dst, &src, NULL));
  assert_memory_equal(from, INT32S(10, 10, 11, 12, 13, 14), sizeof from);

  assert_ok(dlx_copy(&src, &dst, NULL));
  assert_memory_equal(from, INT32S(10, 11, 12, 13, 14, 14), sizeof from);
}

/* A tensor can be reversed and transposed in place. */
static void copy_reverses_in_place(void **state) {
  (void)state;
  dst.ndim = src.ndim = 1;
  dst.shape = src.shape = (int64_t[]){6};
  dst.data = from;
  src.data = from + 5;
  src.strides = (int64_t[]){-1};

  assert_ok(dlx_copy(&dst, &src, NULL));

  assert_memory_equal(from, INT32S(15, 14, 13, 12, 11, 10), sizeof from);
}

/* Other extents or numbers of axes are refused: dlx_copy does not broadcast. */
static void copy_refuses_another_shape(void **state) {
  (void)state;
  src.shape = (int64_t[]){3, 2};
  assert_refused(DLX_ERROR_INVALID_ARGUMENT, "shape");
  src.shape = (int64_t[]){1, 3};
  assert_refused(DLX_ERROR_INVALID_ARGUMENT, "shape");
  src.ndim = 1;
  src.shape = (int64_t[]){3};
  assert_refused(DLX_ERROR_INVALID_ARGUMENT, "");
}

/* Other codes, bits or lanes are refused: nothing is converted. */
static void copy_refuses_another_dtype(void **state) {
  (void)state;
  static const DLDataType others[] = {{kDLUInt, 32, 1}, {kDLInt, 16, 1}, {kDLInt, 32, 2}};

  for (size_t i = 0; i < COUNT_OF(others); ++i) {
    src.dtype = others[i];
    assert_refused(DLX_ERROR_INVALID_ARGUMENT, "dtype");
  }
}

/* A destination that repeats an element is refused: the result would depend on the order. */
static void copy_refuses_a_target_that_repeats_an_element(void **state) {
  (void)state;
  dst.strides = (int64_t[]){0, 1};
  assert_refused(DLX_ERROR_INVALID_ARGUMENT, "`dst`");
  dst.strides = (int64_t[]){1, 1};
  assert_refused(DLX_ERROR_INVALID_ARGUMENT, "`dst`");
  dst.strides = (int64_t[]){2, -1};
  dst.data = to + 2;
  assert_refused(DLX_ERROR_INVALID_ARGUMENT, "`dst`");
}

/* Elements may interleave if none repeats: offsets 0 2 4 and 3 5 7. */
static void copy_takes_a_target_whose_axes_interleave(void **state) {
  (void)state;
  int32_t wide[8] = {0};
  dst.data = wide;
  dst.strides = (int64_t[]){3, 2};

  assert_ok(dlx_copy(&dst, &src, NULL));

  assert_memory_equal(wide, INT32S(10, 0, 11, 13, 12, 14, 0, 15), sizeof wide);
}

/* The stride of an axis of extent 1 repeats nothing, even if it is 0. */
static void copy_takes_a_target_with_a_stride_of_0_that_is_not_walked(void **state) {
  (void)state;
  dst.shape = src.shape = (int64_t[]){1, 6};
  dst.strides = (int64_t[]){0, 1};

  assert_ok(dlx_copy(&dst, &src, NULL));

  ASSERT_TARGET(10, 11, 12, 13, 14, 15);
}

/* A malformed operand is refused, and the message names it. */
static void copy_refuses_malformed_sides(void **state) {
  (void)state;
  const DLTensor good_src = src;
  src.data = NULL;
  assert_refused(DLX_ERROR_INVALID_ARGUMENT, "`src`");
  src = good_src;
  src.dtype.bits = 33;
  assert_refused(DLX_ERROR_UNSUPPORTED, "`dtype` of `src`");
  src = good_src;
  dst.data = NULL;
  assert_refused(DLX_ERROR_INVALID_ARGUMENT, "`dst`");
  dst.data = to;
  dst.ndim = -1;
  assert_refused(DLX_ERROR_INVALID_ARGUMENT, "`ndim` of `dst`");
}

/* Sizes and addresses that do not exist are refused on either side: plans rely on that. */
static void copy_refuses_sides_beyond_the_address_space(void **state) {
  (void)state;
  src.strides = (int64_t[]){INT64_MIN, 1};
  assert_refused(DLX_ERROR_INVALID_ARGUMENT, "`src` has strides that overflow");
  src.strides = NULL;
  dst.strides = (int64_t[]){INT64_MAX / 2, 1};
  assert_refused(DLX_ERROR_INVALID_ARGUMENT, "`dst` has strides that overflow");
  dst.strides = NULL;
  src.byte_offset = UINT64_MAX - 8;
  assert_refused(DLX_ERROR_INVALID_ARGUMENT, "`src` reaches beyond the address space");
  src.byte_offset = 0;
  dst.shape = (int64_t[]){-2, 3};
  assert_refused(DLX_ERROR_INVALID_ARGUMENT, "`dst` has a negative extent");
}

/* A device that dlx cannot copy on is unsupported; its data is not read. */
static void copy_refuses_a_device_out_of_reach(void **state) {
  (void)state;
  src.device.device_type = kDLMetal;
  src.data = POISON;
  assert_refused(DLX_ERROR_UNSUPPORTED, "metal");
  src.device.device_type = kDLCPU;
  src.data = from;
  dst.device.device_type = kDLVulkan;
  dst.data = POISON;
  assert_refused(DLX_ERROR_UNSUPPORTED, "vulkan");
}

/* Pinned host memory is copied like CPU memory. */
static void copy_reads_pinned_memory(void **state) {
  (void)state;
  src.device.device_type = kDLCUDAHost;

  assert_ok(dlx_copy(&dst, &src, NULL));

  ASSERT_TARGET(10, 11, 12, 13, 14, 15);
}

/* The CPU has no streams. */
static void copy_refuses_a_stream_on_the_cpu(void **state) {
  (void)state;
  dlx_copy_options options = DLX_COPY_OPTIONS_INIT;
  options.flags = DLX_HAS_STREAM;

  assert_fails(dlx_copy(&dst, &src, &options), DLX_ERROR_INVALID_ARGUMENT, "stream");
  assert_untouched();
}

/* copy_from broadcasts the source to the shape of the target. */
static void copy_from_broadcasts_the_source(void **state) {
  (void)state;
  dlx_tensor *target = wrap_int32(to, 2, EXTENTS(2, 3)), *row = wrap_int32(from, 1, EXTENTS(3));

  assert_ok(dlx_tensor_copy_from(target, row, NULL));

  ASSERT_TARGET(10, 11, 12, 10, 11, 12);
  dlx_tensor_release(target);
  dlx_tensor_release(row);
}

/* A shape that cannot be broadcast is refused. */
static void copy_from_refuses_a_source_that_does_not_fit(void **state) {
  (void)state;
  dlx_tensor *target = wrap_int32(to, 2, EXTENTS(2, 3)), *pair = wrap_int32(from, 1, EXTENTS(2));

  assert_fails(dlx_tensor_copy_from(target, pair, NULL), DLX_ERROR_INVALID_ARGUMENT,
               "`src` does not fit `dst` (got shape (2,), expected one that broadcasts to (2, 3))");
  assert_untouched();
  dlx_tensor_release(target);
  dlx_tensor_release(pair);
}

/* A read-only tensor is not written, even if its memory is writable. */
static void copy_from_refuses_a_read_only_target(void **state) {
  (void)state;
  dlx_tensor *target =
      wrap(to, dtype_of(kDLInt, 32), 1, EXTENTS(6), NULL, DLPACK_FLAG_BITMASK_READ_ONLY);
  dlx_tensor *source = wrap_int32(from, 1, EXTENTS(6));

  assert_fails(dlx_tensor_copy_from(target, source, NULL), DLX_ERROR_READ_ONLY, "`dst`");
  assert_untouched();
  assert_ok(dlx_tensor_copy_from(source, target, NULL));
  assert_int_equal(from[5], -1);
  dlx_tensor_release(target);
  dlx_tensor_release(source);
}

/* The copy packs padded elements and pads packed ones. */
static void copy_from_packs_and_pads(void **state) {
  (void)state;
  uint8_t padded[5] = {1, 2, 3, 4, 5}, packed[3] = {0xff, 0xff, 0xff}, back[5];
  const uint64_t flag = DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;
  dlx_tensor *loose = wrap(padded, dtype_of(kDLUInt, 4), 1, EXTENTS(5), NULL, flag);
  dlx_tensor *tight = wrap(packed, dtype_of(kDLUInt, 4), 1, EXTENTS(5), NULL, 0);
  dlx_tensor *again = wrap(back, dtype_of(kDLUInt, 4), 1, EXTENTS(5), NULL, flag);

  assert_ok(dlx_tensor_copy_from(tight, loose, NULL));
  assert_ok(dlx_tensor_copy_from(again, tight, NULL));

  assert_int_equal(packed[0], 0x21);
  assert_int_equal(packed[1], 0x43);
  assert_int_equal(packed[2] & 0x0f, 0x5);
  for (int i = 0; i < 5; ++i) assert_int_equal(back[i] & 0x0f, padded[i]);
  dlx_tensor_release(loose);
  dlx_tensor_release(tight);
  dlx_tensor_release(again);
}

/* Unused bits of the last byte keep their values. */
static void copy_leaves_the_neighbours_of_packed_elements_alone(void **state) {
  (void)state;
  uint8_t source[2] = {0x21, 0x03}, target[2] = {0xff, 0xff};
  dst = describe(target, dtype_of(kDLUInt, 4), 1, EXTENTS(3), NULL);
  src = describe(source, dtype_of(kDLUInt, 4), 1, EXTENTS(3), NULL);

  assert_ok(dlx_copy(&dst, &src, NULL));

  assert_int_equal(target[0], 0x21);
  assert_int_equal(target[1], 0xf3);
}

/* A plan is described as text, truncated if too long; nothing is copied. */
static void plan_is_described_in_words(void **state) {
  (void)state;
  char text[512], cut[8];
  src.strides = (int64_t[]){1, 2};

  assert_ok(dlx_copy_plan_describe(&dst, &src, text, sizeof text));
  assert_ok(dlx_copy_plan_describe(&dst, &src, cut, sizeof cut));

  assert_in_range(strlen(text), 8, sizeof text - 1);
  assert_int_equal(strlen(cut), sizeof cut - 1);
  assert_memory_equal(cut, text, sizeof cut - 1);
  assert_untouched();
}

/* For plans: the operands are not read and need not exist. */
static void lie_far_apart(void) {
  dst.data = (void *)((uintptr_t)1 << 40);
  src.data = (void *)((uintptr_t)1 << 41);
}

static void assert_plan_says(const char *words) {
  char text[512];
  assert_ok(dlx_copy_plan_describe(&dst, &src, text, sizeof text));
  assert_says(text, words);
}

/* The plan of a large copy says that it uses non-temporal stores. */
static void plan_of_a_large_copy_names_its_way(void **state) {
  (void)state;
  lie_far_apart();
  dst.shape = src.shape = (int64_t[]){5003, 5003};
  dst.strides = (int64_t[]){5003, 1};

  src.strides = (int64_t[]){5003, 1};
  assert_plan_says("runs streamed");

  src.strides = (int64_t[]){1, 5003};
  assert_plan_says("streamed in strips");

  /* Many times as large as a cache, or registers of a line would write it in order. */
  dst.shape = src.shape = (int64_t[]){9001, 9001};
  dst.strides = (int64_t[]){9001, 1};
  src.strides = (int64_t[]){9001, 0};
  assert_plan_says("rows filled past the caches");
}

/* Rows with gaps go along that axis which shares more lines with them: of dst or, where those are
 * far apart on the other side, of src. */
static void plan_of_rows_with_gaps_goes_where_lines_are_shared(void **state) {
  (void)state;
  lie_far_apart();
  dst.ndim = src.ndim = 3;

  dst.shape = src.shape = (int64_t[]){8, 4096, 2};
  dst.strides = (int64_t[]){98304, 6, 3};
  src.strides = (int64_t[]){1, 8, 32768};
  assert_plan_says("4096 (dst 24, src 32) v");

  dst.shape = src.shape = (int64_t[]){128, 64, 4};
  dst.strides = (int64_t[]){98304, 12, 3};
  src.strides = (int64_t[]){1, 4096, 262144};
  assert_plan_says("128 (dst 393216, src 4) v");
}

/* A join whose cells are two axes takes a buffer, in which they are one. */
static void plan_of_a_join_in_two_axes_takes_a_buffer(void **state) {
  (void)state;
  lie_far_apart();
  dst.dtype = src.dtype = dtype_of(kDLUInt, 8);
  dst.ndim = src.ndim = 3;
  dst.shape = src.shape = (int64_t[]){100000, 4, 2};
  dst.strides = (int64_t[]){8, 2, 1};
  src.strides = (int64_t[]){1, 100000, 800000};
  assert_plan_says("by way of a buffer");
}

/* An impossible copy has no plan. */
static void plan_of_an_impossible_copy_is_refused(void **state) {
  (void)state;
  char text[16] = "untouched";
  src.shape = (int64_t[]){3, 2};

  assert_fails(dlx_copy_plan_describe(&dst, &src, text, sizeof text), DLX_ERROR_INVALID_ARGUMENT,
               "shape");
  assert_string_equal(text, "untouched");
}

/* Both sides are checked before they are read: their numbers, and that the CPU reaches them. */
static void plan_of_an_impossible_side_is_refused(void **state) {
  (void)state;
  char text[16] = "untouched";
  DLTensor *const sides[] = {&dst, &src};

  for (size_t i = 0; i < 2; ++i) {
    const DLTensor good = *sides[i];
    sides[i]->ndim = -1;
    assert_fails(dlx_copy_plan_describe(&dst, &src, text, sizeof text), DLX_ERROR_INVALID_ARGUMENT,
                 i == 0 ? "`ndim` of `dst`" : "`ndim` of `src`");
    *sides[i] = good;
    sides[i]->device.device_type = kDLVulkan;
    assert_fails(dlx_copy_plan_describe(&dst, &src, text, sizeof text), DLX_ERROR_UNSUPPORTED,
                 i == 0 ? "`dst` is on vulkan:0" : "`src` is on vulkan:0");
    *sides[i] = good;
  }
  assert_fails(dlx_copy_plan_describe(&dst, &src, text, 0), DLX_ERROR_INVALID_ARGUMENT,
               "`capacity` is 0");
  assert_string_equal(text, "untouched");
}

/* A NULL is named with its function. */
static void null_parameters_are_named(void **state) {
  (void)state;
  char text[16];
  dlx_tensor *tensor = wrap_int32(to, 1, EXTENTS(6));

  assert_null_named(dlx_copy, (NULL, &src, NULL), "dst");
  assert_null_named(dlx_copy, (&dst, NULL, NULL), "src");
  assert_null_named(dlx_tensor_copy_from, (NULL, tensor, NULL), "dst");
  assert_null_named(dlx_tensor_copy_from, (tensor, NULL, NULL), "src");
  assert_null_named(dlx_copy_plan_describe, (NULL, &src, text, sizeof text), "dst");
  assert_null_named(dlx_copy_plan_describe, (&dst, NULL, text, sizeof text), "src");
  assert_null_named(dlx_copy_plan_describe, (&dst, &src, NULL, sizeof text), "out");
  assert_untouched();
  dlx_tensor_release(tensor);
}

#define copy_test(test) cmocka_unit_test_setup(test, set_up)

int main(void) {
  const struct CMUnitTest tests[] = {
      copy_test(copy_writes_every_element),
      copy_test(copy_follows_the_strides),
      copy_test(copy_walks_backwards),
      copy_test(copy_repeats_by_a_stride_of_0),
      copy_test(copy_honours_byte_offsets),
      copy_test(copy_of_a_scalar),
      copy_test(copy_of_no_elements_writes_nothing),
      copy_test(copy_to_itself_changes_nothing),
      copy_test(copy_between_overlapping_sides),
      copy_test(copy_reverses_in_place),
      copy_test(copy_refuses_another_shape),
      copy_test(copy_refuses_another_dtype),
      copy_test(copy_refuses_a_target_that_repeats_an_element),
      copy_test(copy_takes_a_target_whose_axes_interleave),
      copy_test(copy_takes_a_target_with_a_stride_of_0_that_is_not_walked),
      copy_test(copy_refuses_malformed_sides),
      copy_test(copy_refuses_sides_beyond_the_address_space),
      copy_test(copy_refuses_a_device_out_of_reach),
      copy_test(copy_reads_pinned_memory),
      copy_test(copy_refuses_a_stream_on_the_cpu),
      copy_test(copy_from_broadcasts_the_source),
      copy_test(copy_from_refuses_a_source_that_does_not_fit),
      copy_test(copy_from_refuses_a_read_only_target),
      copy_test(copy_from_packs_and_pads),
      copy_test(copy_leaves_the_neighbours_of_packed_elements_alone),
      copy_test(plan_is_described_in_words),
      copy_test(plan_of_a_large_copy_names_its_way),
      copy_test(plan_of_rows_with_gaps_goes_where_lines_are_shared),
      copy_test(plan_of_a_join_in_two_axes_takes_a_buffer),
      copy_test(plan_of_an_impossible_copy_is_refused),
      copy_test(plan_of_an_impossible_side_is_refused),
      copy_test(null_parameters_are_named),
  };
  return cmocka_run_group_tests_name("copy", tests, NULL, NULL);
}
