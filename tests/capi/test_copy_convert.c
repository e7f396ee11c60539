/* Section "copy" of dlx.h: contiguous, clone, to_device. */
#include "copy_fixture.h"

/* contiguous() of a contiguous tensor is a new reference to it. */
static void contiguous_returns_a_compact_tensor_itself(void **state) {
  (void)state;
  assert_ok(dlx_tensor_contiguous(tensor, NULL, &out));

  assert_ptr_equal(out, tensor);
  dlx_tensor_release(out);
}

/* contiguous() of any other tensor is a compact copy. */
static void contiguous_copies_what_is_not(void **state) {
  (void)state;
  assert_ok(dlx_tensor_contiguous(transposed, NULL, &out));

  assert_false(shares_memory(out));
  assert_strides(out, EXTENTS(6, 2, 1));
  assert_transposed_values(out);
  dlx_tensor_release(out);
}

/* With DLX_ORDER_F it is the reverse. */
static void contiguous_in_f_order(void **state) {
  (void)state;
  options.order = DLX_ORDER_F;
  assert_ok(dlx_tensor_contiguous(transposed, &options, &out));
  assert_ptr_equal(out, transposed);
  dlx_tensor_release(out);

  assert_ok(dlx_tensor_contiguous(tensor, &options, &out));
  assert_strides(out, EXTENTS(1, 2, 6));
  assert_int32s(out, 24, data);
  dlx_tensor_release(out);
}

/* An empty tensor is aligned anywhere: no element is at its address. */
static void contiguous_shares_what_is_empty(void **state) {
  (void)state;
  dlx_tensor *empty = wrap_int32((int32_t *)(uintptr_t)((uintptr_t)data | 4), 1, EXTENTS(0));
  options.alignment = 512;
  options.copy = DLX_COPY_NEVER;
  assert_ok(dlx_tensor_contiguous(empty, &options, &out));

  assert_ptr_equal(out, empty);
  dlx_tensor_release(out);
  dlx_tensor_release(empty);
}

/* A requested alignment may need a copy, which then has it. */
static void contiguous_copies_for_the_alignment(void **state) {
  (void)state;
  static _Alignas(512) int32_t aligned[3] = {7, 8, 9};
  dlx_tensor *shifted = wrap_int32(aligned + 1, 1, EXTENTS(2));
  options.alignment = 512;
  assert_ok(dlx_tensor_contiguous(shifted, &options, &out));

  assert_int_equal((uintptr_t)dlx_tensor_data(out) % 512, 0);
  assert_int32s(out, 2, INT32S(8, 9));
  dlx_tensor_release(out);
  options.copy = DLX_COPY_NEVER;
  assert_refused(dlx_tensor_contiguous(shifted, &options, &out), DLX_ERROR_COPY_REFUSED,
                 "the data is not aligned as asked");
  dlx_tensor_release(shifted);
}

/* Any address, in bytes: a multiple of the alignment is shared, and nothing else. */
static void contiguous_shares_what_is_aligned(void **state) {
  (void)state;
  static _Alignas(256) uint8_t bytes[260];
  for (uint64_t alignment = 1; alignment <= 256; alignment *= 2) {
    for (uint64_t first = 0; first <= 258; ++first) {
      const DLTensor described =
          describe(bytes + first, dtype_of(kDLUInt, 8), 1, EXTENTS(2), EXTENTS(1));
      dlx_tensor *source;
      assert_ok(dlx_tensor_wrap(&described, 0, NULL, NULL, &source));
      options.alignment = alignment;
      assert_ok(dlx_tensor_contiguous(source, &options, &out));
      assert_int_equal(out == source, first % alignment == 0);
      assert_int_equal((uintptr_t)dlx_tensor_data(out) % alignment, 0);
      dlx_tensor_release(out);
      dlx_tensor_release(source);
    }
  }
}

/* DLX_COPY_NEVER refuses only if a copy is needed. */
static void contiguous_never_copies_if_told_so(void **state) {
  (void)state;
  options.copy = DLX_COPY_NEVER;

  assert_refused(dlx_tensor_contiguous(transposed, &options, &out), DLX_ERROR_COPY_REFUSED,
                 "contiguous");
  assert_ok(dlx_tensor_contiguous(tensor, &options, &out));
  assert_ptr_equal(out, tensor);
  dlx_tensor_release(out);
}

/* DLX_COPY_ALWAYS also copies a contiguous tensor. */
static void contiguous_always_copies_if_told_so(void **state) {
  (void)state;
  options.copy = DLX_COPY_ALWAYS;
  assert_ok(dlx_tensor_contiguous(tensor, &options, &out));

  assert_false(shares_memory(out));
  assert_int32s(out, 24, data);
  dlx_tensor_release(out);
}

/* A clone is compact, writable and independent. */
static void clone_is_compact_and_apart(void **state) {
  (void)state;
  dlx_tensor *locked = NULL;
  assert_ok(dlx_tensor_as_readonly(transposed, &locked));
  assert_ok(dlx_tensor_clone(locked, NULL, &out));
  memset(data, 0xff, sizeof data);

  assert_int_equal(dlx_tensor_flags(out), 0);
  assert_strides(out, EXTENTS(6, 2, 1));
  assert_transposed_values(out);
  dlx_tensor_release(out);
  dlx_tensor_release(locked);
}

/* A clone in DLX_ORDER_F. */
static void clone_in_f_order(void **state) {
  (void)state;
  options.order = DLX_ORDER_F;
  assert_ok(dlx_tensor_clone(tensor, &options, &out));

  assert_strides(out, EXTENTS(1, 2, 6));
  assert_int32s(out, 24, data);
  dlx_tensor_release(out);
}

/* clone() always copies: the mode is ignored. */
static void clone_copies_whatever_the_mode(void **state) {
  (void)state;
  options.copy = DLX_COPY_NEVER;
  assert_ok(dlx_tensor_clone(tensor, &options, &out));

  assert_false(shares_memory(out));
  dlx_tensor_release(out);
}

/* A clone of a broadcast view has its own elements, and is writable. */
static void clone_of_repeated_elements_is_writable(void **state) {
  (void)state;
  dlx_tensor *row = wrap_int32(data, 1, EXTENTS(2)), *many = NULL;
  assert_ok(dlx_tensor_broadcast_to(row, 2, EXTENTS(3, 2), &many));
  assert_ok(dlx_tensor_clone(many, NULL, &out));

  assert_int_equal(dlx_tensor_flags(out), 0);
  assert_int32s(out, 6, INT32S(0, 1, 0, 1, 0, 1));
  dlx_tensor_release(out);
  dlx_tensor_release(many);
  dlx_tensor_release(row);
}

/* Padded elements stay padded. */
static void clone_of_padded_elements_is_padded(void **state) {
  (void)state;
  uint8_t bytes[3] = {1, 2, 3};
  const uint64_t flag = DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;
  dlx_tensor *padded = wrap(bytes, dtype_of(kDLUInt, 4), 1, EXTENTS(3), NULL, flag);
  assert_ok(dlx_tensor_clone(padded, NULL, &out));

  assert_int_equal(dlx_tensor_flags(out), flag);
  assert_int_equal(dlx_tensor_nbytes(out), 3);
  assert_memory_equal(dlx_tensor_data(out), bytes, 3);
  dlx_tensor_release(out);
  dlx_tensor_release(padded);
}

/* An empty tensor has an empty clone. */
static void clone_of_no_elements_is_empty(void **state) {
  (void)state;
  dlx_tensor *none = wrap_int32(NULL, 2, EXTENTS(0, 3));
  assert_ok(dlx_tensor_clone(none, NULL, &out));

  assert_shape(out, 2, EXTENTS(0, 3));
  dlx_tensor_release(out);
  dlx_tensor_release(none);
}

/* Data on a device without backend cannot be cloned. */
static void clone_of_a_device_out_of_reach_is_unsupported(void **state) {
  (void)state;
  DLTensor description = describe(POISON, dtype_of(kDLInt, 32), 1, EXTENTS(2), NULL);
  description.device.device_type = kDLMetal;
  dlx_tensor *elsewhere = NULL;
  assert_ok(dlx_tensor_wrap(&description, 0, NULL, NULL, &elsewhere));

  assert_refused(dlx_tensor_clone(elsewhere, NULL, &out), DLX_ERROR_UNSUPPORTED, "metal");
  dlx_tensor_release(elsewhere);
}

/* to_device() to the same device is the tensor itself, unless a copy is requested. */
static void to_device_returns_a_tensor_that_is_there(void **state) {
  (void)state;
  assert_ok(dlx_tensor_to_device(transposed, kDLCPU, 0, NULL, &out));
  assert_ptr_equal(out, transposed);
  dlx_tensor_release(out);

  options.copy = DLX_COPY_ALWAYS;
  assert_ok(dlx_tensor_to_device(transposed, kDLCPU, 0, &options, &out));
  assert_false(shares_memory(out));
  assert_transposed_values(out);
  dlx_tensor_release(out);
}

/* A copy of pinned memory is ordinary memory if there is no driver. */
static void clone_of_pinned_memory_needs_no_driver(void **state) {
  (void)state;
  DLTensor description = describe(data, dtype_of(kDLInt, 32), 1, EXTENTS(24), NULL);
  description.device.device_type = kDLROCMHost;
  dlx_tensor *pinned = NULL;
  assert_ok(dlx_tensor_wrap(&description, 0, NULL, NULL, &pinned));
  assert_ok(dlx_tensor_clone(pinned, NULL, &out));

  assert_int_equal(dlx_tensor_device_type(out), kDLCPU);
  assert_memory_equal(dlx_tensor_data(out), data, 24 * sizeof *data);
  dlx_tensor_release(out);
  dlx_tensor_release(pinned);
}

/* Pinned host memory becomes CPU memory without a copy, and is kept alive. */
static void to_device_relabels_pinned_memory(void **state) {
  (void)state;
  const int types[] = {kDLCUDAHost, kDLROCMHost};
  options.copy = DLX_COPY_NEVER;

  for (size_t i = 0; i < COUNT_OF(types); ++i) {
    int released = 0;
    DLTensor description = describe(data, dtype_of(kDLInt, 32), 1, EXTENTS(24), NULL);
    description.device.device_type = types[i];
    dlx_tensor *pinned = NULL;
    assert_ok(dlx_tensor_wrap(&description, 0, count_release, &released, &pinned));
    assert_ok(dlx_tensor_to_device(pinned, kDLCPU, 0, &options, &out));

    assert_ptr_equal(dlx_tensor_data(out), data);
    assert_int_equal(dlx_tensor_device_type(out), kDLCPU);
    dlx_tensor_release(pinned);
    assert_int_equal(released, 0);
    dlx_tensor_release(out);
    assert_int_equal(released, 1);
  }
}

/* A missing device is unavailable, and the message names it. */
static void to_device_that_is_not_here_is_unavailable(void **state) {
  (void)state;
  assert_refused(dlx_tensor_to_device(tensor, kDLMetal, 0, NULL, &out), DLX_ERROR_UNAVAILABLE,
                 "metal");
  assert_refused(dlx_tensor_to_device(tensor, kDLCPU, 1, NULL, &out), DLX_ERROR_UNAVAILABLE,
                 "cpu:1");
  options.copy = DLX_COPY_NEVER;
  assert_refused(dlx_tensor_to_device(tensor, kDLMetal, 0, &options, &out), DLX_ERROR_UNAVAILABLE,
                 "metal");

  DLTensor description = describe(data, dtype_of(kDLInt, 32), 1, EXTENTS(24), NULL);
  description.device.device_type = kDLROCMHost;
  dlx_tensor *pinned = NULL;
  assert_ok(dlx_tensor_wrap(&description, 0, NULL, NULL, &pinned));
  assert_refused(dlx_tensor_to_device(pinned, kDLCPU, 1, NULL, &out), DLX_ERROR_UNAVAILABLE,
                 "cpu:1");
  dlx_tensor_release(pinned);
}

/* An unknown mode, order, alignment, flag or stream is refused. */
static void options_are_checked(void **state) {
  (void)state;
  const dlx_copy_options good = options;
  options.copy = 3;
  assert_refused(dlx_tensor_clone(tensor, &options, &out), DLX_ERROR_INVALID_ARGUMENT, "copy");
  options = good;
  options.order = 2;
  assert_refused(dlx_tensor_clone(tensor, &options, &out), DLX_ERROR_INVALID_ARGUMENT, "order");
  options = good;
  options.alignment = 12;
  assert_refused(dlx_tensor_clone(tensor, &options, &out), DLX_ERROR_INVALID_ARGUMENT, "alignment");
  options = good;
  options.flags = 2;
  assert_refused(dlx_tensor_clone(tensor, &options, &out), DLX_ERROR_UNSUPPORTED, "flags");
  options.flags = DLX_HAS_STREAM;
  assert_refused(dlx_tensor_clone(tensor, &options, &out), DLX_ERROR_INVALID_ARGUMENT, "stream");
  /* Also where nothing is to be copied. */
  assert_refused(dlx_tensor_contiguous(tensor, &options, &out), DLX_ERROR_INVALID_ARGUMENT,
                 "stream");
  assert_refused(dlx_tensor_reshape(tensor, 1, EXTENTS(24), &options, &out),
                 DLX_ERROR_INVALID_ARGUMENT, "stream");
  assert_refused(dlx_tensor_to_device(tensor, kDLCPU, 0, &options, &out),
                 DLX_ERROR_INVALID_ARGUMENT, "stream");
}

/* A NULL is named with its function. */
static void null_parameters_are_named(void **state) {
  (void)state;
  assert_null_named(dlx_tensor_contiguous, (NULL, NULL, &out), "tensor");
  assert_null(out);
  assert_null_named(dlx_tensor_contiguous, (tensor, NULL, NULL), "out");
  assert_null_named(dlx_tensor_clone, (NULL, NULL, &out), "tensor");
  assert_null_named(dlx_tensor_clone, (tensor, NULL, NULL), "out");
  assert_null_named(dlx_tensor_to_device, (NULL, kDLCPU, 0, NULL, &out), "tensor");
  assert_null_named(dlx_tensor_to_device, (tensor, kDLCPU, 0, NULL, NULL), "out");
}

#define convert_test(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      convert_test(contiguous_returns_a_compact_tensor_itself),
      convert_test(contiguous_copies_what_is_not),
      convert_test(contiguous_in_f_order),
      convert_test(contiguous_copies_for_the_alignment),
      convert_test(contiguous_shares_what_is_aligned),
      convert_test(contiguous_shares_what_is_empty),
      convert_test(contiguous_never_copies_if_told_so),
      convert_test(contiguous_always_copies_if_told_so),
      convert_test(clone_is_compact_and_apart),
      convert_test(clone_in_f_order),
      convert_test(clone_copies_whatever_the_mode),
      convert_test(clone_of_repeated_elements_is_writable),
      convert_test(clone_of_padded_elements_is_padded),
      convert_test(clone_of_no_elements_is_empty),
      convert_test(clone_of_a_device_out_of_reach_is_unsupported),
      convert_test(to_device_returns_a_tensor_that_is_there),
      convert_test(clone_of_pinned_memory_needs_no_driver),
      convert_test(to_device_relabels_pinned_memory),
      convert_test(to_device_that_is_not_here_is_unavailable),
      convert_test(options_are_checked),
      convert_test(null_parameters_are_named),
  };
  return cmocka_run_group_tests_name("copy_convert", tests, NULL, NULL);
}
