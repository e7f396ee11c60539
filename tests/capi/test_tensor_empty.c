/* Section "tensor" of dlx.h: dlx_tensor_empty. */
#include "util.h"

static const DLDataType float32 = {kDLFloat, 32, 1};

static dlx_tensor *empty(int32_t ndim, const int64_t *shape, const dlx_empty_options *options) {
  dlx_tensor *out = NULL;
  assert_ok(dlx_tensor_empty(ndim, shape, &float32, kDLCPU, 0, options, &out));
  return out;
}

/* A new tensor is compact in C order, writable, on the CPU. */
static void empty_is_compact_in_c_order(void **state) {
  (void)state;
  dlx_tensor *tensor = empty(3, EXTENTS(2, 3, 4), NULL);

  assert_shape(tensor, 3, EXTENTS(2, 3, 4));
  assert_strides(tensor, EXTENTS(12, 4, 1));
  assert_int_equal(dlx_tensor_flags(tensor), 0);
  assert_int_equal(dlx_tensor_device_type(tensor), kDLCPU);
  assert_memory_equal(dlx_tensor_dtype(tensor), &float32, sizeof float32);
  dlx_tensor_release(tensor);
}

/* DLX_ORDER_F lets the first axis vary fastest. */
static void empty_in_f_order(void **state) {
  (void)state;
  dlx_empty_options options = DLX_EMPTY_OPTIONS_INIT;
  options.order = DLX_ORDER_F;
  dlx_tensor *tensor = empty(3, EXTENTS(2, 3, 4), &options);

  assert_strides(tensor, EXTENTS(1, 2, 6));
  assert_int_equal(dlx_tensor_is_contiguous(tensor, DLX_ORDER_F), 1);
  dlx_tensor_release(tensor);
}

/* Every byte may be written; the sanitizers and valgrind check this. */
static void empty_memory_is_writable_to_the_last_byte(void **state) {
  (void)state;
  static const int64_t extents[] = {1, 15, 16, 17, 1023, 1024, 1025, 100003, 3 << 20};

  for (size_t i = 0; i < COUNT_OF(extents); ++i) {
    dlx_tensor *tensor = empty(1, &extents[i], NULL);
    memset(dlx_tensor_data(tensor), 0x5a, (size_t)dlx_tensor_nbytes(tensor));
    dlx_tensor_release(tensor);
  }
}

/* Data are aligned to 64 bytes, and to 256 from 4 KiB on. */
static void empty_is_aligned_by_default(void **state) {
  (void)state;
  dlx_tensor *small[16], *large[16];

  for (int i = 0; i < 16; ++i) {
    small[i] = empty(1, EXTENTS(1), NULL);
    large[i] = empty(1, EXTENTS(1024), NULL);
    assert_int_equal((uintptr_t)dlx_tensor_data(small[i]) % 64, 0);
    assert_int_equal((uintptr_t)dlx_tensor_data(large[i]) % 256, 0);
  }

  for (int i = 0; i < 16; ++i) {
    dlx_tensor_release(small[i]);
    dlx_tensor_release(large[i]);
  }
}

/* A larger or smaller alignment is respected. */
static void empty_is_aligned_as_asked_for(void **state) {
  (void)state;
  dlx_empty_options options = DLX_EMPTY_OPTIONS_INIT;

  for (options.alignment = 1; options.alignment <= (1u << 20); options.alignment *= 4) {
    dlx_tensor *tensor = empty(1, EXTENTS(3), &options);
    assert_int_equal((uintptr_t)dlx_tensor_data(tensor) % options.alignment, 0);
    dlx_tensor_release(tensor);
  }
}

/* An alignment must be a power of two. */
static void empty_refuses_an_odd_alignment(void **state) {
  (void)state;
  dlx_empty_options options = DLX_EMPTY_OPTIONS_INIT;
  const uint64_t strangers[] = {3, 48, 65, UINT64_MAX};

  for (size_t i = 0; i < COUNT_OF(strangers); ++i) {
    dlx_tensor *out = POISON_TENSOR;
    options.alignment = strangers[i];
    assert_fails(dlx_tensor_empty(1, EXTENTS(3), &float32, kDLCPU, 0, &options, &out),
                 DLX_ERROR_INVALID_ARGUMENT, "alignment");
    assert_null(out);
  }
}

/* Any order other than the two is refused. */
static void empty_refuses_an_unknown_order(void **state) {
  (void)state;
  dlx_empty_options options = DLX_EMPTY_OPTIONS_INIT;
  dlx_tensor *out = POISON_TENSOR;

  options.order = 2;
  assert_fails(dlx_tensor_empty(0, NULL, &float32, kDLCPU, 0, &options, &out),
               DLX_ERROR_INVALID_ARGUMENT, "order");
  options.order = -1;
  assert_fails(dlx_tensor_empty(0, NULL, &float32, kDLCPU, 0, &options, &out),
               DLX_ERROR_INVALID_ARGUMENT, "order");

  assert_null(out);
}

/* An unknown flag is refused. */
static void empty_refuses_unknown_flags(void **state) {
  (void)state;
  dlx_empty_options options = DLX_EMPTY_OPTIONS_INIT;
  dlx_tensor *out = POISON_TENSOR;
  options.flags = UINT64_C(1) << 40;

  assert_fails(dlx_tensor_empty(0, NULL, &float32, kDLCPU, 0, &options, &out),
               DLX_ERROR_UNSUPPORTED, "flags");

  assert_null(out);
}

/* The CPU has no streams, so none can be given; without the flag the field does not count. */
static void empty_refuses_a_stream_on_the_cpu(void **state) {
  (void)state;
  dlx_empty_options options = DLX_EMPTY_OPTIONS_INIT;
  dlx_tensor *out = POISON_TENSOR;
  options.stream = 1;
  dlx_tensor_release(empty(0, NULL, &options));

  options.flags = DLX_HAS_STREAM;
  assert_fails(dlx_tensor_empty(0, NULL, &float32, kDLCPU, 0, &options, &out),
               DLX_ERROR_INVALID_ARGUMENT, "`stream`");

  assert_null(out);
}

/* A tensor without axes has one element, and needs no shape. */
static void empty_without_axes_has_one_element(void **state) {
  (void)state;
  dlx_tensor *tensor = empty(0, NULL, NULL);

  assert_int_equal(dlx_tensor_ndim(tensor), 0);
  assert_int_equal(dlx_tensor_size(tensor), 1);
  *(float *)dlx_tensor_data(tensor) = 1.5f;
  dlx_tensor_release(tensor);
}

/* An extent of 0 is valid with any other extents. */
static void empty_of_no_elements(void **state) {
  (void)state;
  dlx_tensor *tensor = empty(3, EXTENTS(4, 0, 5), NULL);

  assert_int_equal(dlx_tensor_size(tensor), 0);
  assert_int_equal(dlx_tensor_nbytes(tensor), 0);
  assert_int_equal(dlx_tensor_is_contiguous(tensor, DLX_ORDER_C), 1);
  dlx_tensor_release(tensor);
}

/* Packed sub-byte elements take the bytes that they need. */
static void empty_of_packed_elements(void **state) {
  (void)state;
  const DLDataType dtype = {kDLFloat4_e2m1fn, 4, 1};
  dlx_tensor *tensor = NULL;

  assert_ok(dlx_tensor_empty(1, EXTENTS(33), &dtype, kDLCPU, 0, NULL, &tensor));

  assert_int_equal(dlx_tensor_nbytes(tensor), 17);
  memset(dlx_tensor_data(tensor), 0, 17);
  dlx_tensor_release(tensor);
}

/* The limits of the number of axes: 0 and DLX_MAX_NDIM. */
static void empty_takes_0_to_4096_axes(void **state) {
  (void)state;
  static int64_t shape[DLX_MAX_NDIM + 1];
  for (size_t i = 0; i < COUNT_OF(shape); ++i) shape[i] = 1;
  dlx_tensor *tensor = empty(DLX_MAX_NDIM, shape, NULL), *out = POISON_TENSOR;

  assert_int_equal(dlx_tensor_ndim(tensor), DLX_MAX_NDIM);
  assert_fails(dlx_tensor_empty(DLX_MAX_NDIM + 1, shape, &float32, kDLCPU, 0, NULL, &out),
               DLX_ERROR_INVALID_ARGUMENT, "`ndim`");
  assert_fails(dlx_tensor_empty(-1, shape, &float32, kDLCPU, 0, NULL, &out),
               DLX_ERROR_INVALID_ARGUMENT, "`ndim`");
  assert_fails(dlx_tensor_empty(INT32_MIN, shape, &float32, kDLCPU, 0, NULL, &out),
               DLX_ERROR_INVALID_ARGUMENT, "`ndim`");

  assert_null(out);
  dlx_tensor_release(tensor);
}

/* A negative extent is refused, also beside a 0. */
static void empty_refuses_a_negative_extent(void **state) {
  (void)state;
  dlx_tensor *out = POISON_TENSOR;

  assert_fails(dlx_tensor_empty(2, EXTENTS(3, -1), &float32, kDLCPU, 0, NULL, &out),
               DLX_ERROR_INVALID_ARGUMENT, "`shape`");
  assert_fails(dlx_tensor_empty(2, EXTENTS(0, INT64_MIN), &float32, kDLCPU, 0, NULL, &out),
               DLX_ERROR_INVALID_ARGUMENT, "`shape`");

  assert_null(out);
}

/* More than 2^63-1 bytes are a mistake in the shape. */
static void empty_refuses_a_size_that_overflows(void **state) {
  (void)state;
  dlx_tensor *out = POISON_TENSOR;

  assert_fails(dlx_tensor_empty(2, EXTENTS(INT64_C(1) << 32, INT64_C(1) << 31), &float32, kDLCPU, 0,
                                NULL, &out),
               DLX_ERROR_INVALID_ARGUMENT, "`shape`");
  assert_fails(dlx_tensor_empty(1, EXTENTS(INT64_C(1) << 61), &float32, kDLCPU, 0, NULL, &out),
               DLX_ERROR_INVALID_ARGUMENT, "`shape`");
  assert_fails(dlx_tensor_empty(3, EXTENTS(INT64_MAX, INT64_MAX, INT64_MAX), &float32, kDLCPU, 0,
                                NULL, &out),
               DLX_ERROR_INVALID_ARGUMENT, "`shape`");

  assert_null(out);
}

/* A size that could be, but for which there is no memory, is out of memory. The sanitizers' own
 * allocators must be told to return NULL. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "allocator_may_return_null=1"; }
const char *__tsan_default_options(void);
const char *__tsan_default_options(void) { return "allocator_may_return_null=1"; }
static void empty_beyond_memory_is_out_of_memory(void **state) {
  (void)state;
  dlx_tensor *out = POISON_TENSOR;

  assert_fails(dlx_tensor_empty(1, EXTENTS(INT64_C(1) << 60), &float32, kDLCPU, 0, NULL, &out),
               DLX_ERROR_OUT_OF_MEMORY, "4611686018427387904");

  assert_null(out);
}

/* An unknown dtype is unsupported. */
static void empty_refuses_an_unknown_dtype(void **state) {
  (void)state;
  const DLDataType dtype = {kDLFloat, 31, 1};
  dlx_tensor *out = POISON_TENSOR;

  assert_fails(dlx_tensor_empty(0, NULL, &dtype, kDLCPU, 0, NULL, &out), DLX_ERROR_UNSUPPORTED,
               "`dtype`");

  assert_null(out);
}

/* A missing device is unavailable: there is one CPU. */
static void empty_on_a_device_that_is_not_here_is_unavailable(void **state) {
  (void)state;
  dlx_tensor *out = POISON_TENSOR;

  assert_fails(dlx_tensor_empty(0, NULL, &float32, kDLCPU, 1, NULL, &out), DLX_ERROR_UNAVAILABLE,
               "cpu:1");
  assert_fails(dlx_tensor_empty(0, NULL, &float32, kDLCPU, -1, NULL, &out), DLX_ERROR_UNAVAILABLE,
               "cpu:-1");
  if (dlx_device_count(kDLCUDA) == 0) {
    assert_fails(dlx_tensor_empty(0, NULL, &float32, kDLCUDA, 0, NULL, &out), DLX_ERROR_UNAVAILABLE,
                 dlx_backend_reason(kDLCUDA));
  }

  assert_null(out);
}

/* A NULL is named with its function. */
static void null_parameters_are_named(void **state) {
  (void)state;
  dlx_tensor *out = POISON_TENSOR;

  assert_null_named(dlx_tensor_empty, (1, NULL, &float32, kDLCPU, 0, NULL, &out), "shape");
  assert_null_named(dlx_tensor_empty, (0, NULL, NULL, kDLCPU, 0, NULL, &out), "dtype");
  assert_null(out);
  assert_null_named(dlx_tensor_empty, (0, NULL, &float32, kDLCPU, 0, NULL, NULL), "out");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(empty_is_compact_in_c_order),
      cmocka_unit_test(empty_in_f_order),
      cmocka_unit_test(empty_memory_is_writable_to_the_last_byte),
      cmocka_unit_test(empty_is_aligned_by_default),
      cmocka_unit_test(empty_is_aligned_as_asked_for),
      cmocka_unit_test(empty_refuses_an_odd_alignment),
      cmocka_unit_test(empty_refuses_an_unknown_order),
      cmocka_unit_test(empty_refuses_unknown_flags),
      cmocka_unit_test(empty_refuses_a_stream_on_the_cpu),
      cmocka_unit_test(empty_without_axes_has_one_element),
      cmocka_unit_test(empty_of_no_elements),
      cmocka_unit_test(empty_of_packed_elements),
      cmocka_unit_test(empty_takes_0_to_4096_axes),
      cmocka_unit_test(empty_refuses_a_negative_extent),
      cmocka_unit_test(empty_refuses_a_size_that_overflows),
      cmocka_unit_test(empty_beyond_memory_is_out_of_memory),
      cmocka_unit_test(empty_refuses_an_unknown_dtype),
      cmocka_unit_test(empty_on_a_device_that_is_not_here_is_unavailable),
      cmocka_unit_test(null_parameters_are_named),
  };
  return cmocka_run_group_tests_name("tensor_empty", tests, NULL, NULL);
}
