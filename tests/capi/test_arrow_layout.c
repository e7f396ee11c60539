/* Section "arrow": the extension type for tensors, and round trips of shapes. */
#include "arrow_util.h"

/** The serialised metadata of the extension, after its name and key. */
static void assert_extension(const char *metadata, const char *json) {
  char expected[400];
  const int32_t pairs = 2;
  memcpy(expected, &pairs, sizeof pairs);
  char *at = put_text(expected + sizeof pairs, "ARROW:extension:name");
  at = put_text(at, "arrow.fixed_shape_tensor");
  at = put_text(at, "ARROW:extension:metadata");
  at = put_text(at, json);
  assert_memory_equal(metadata, expected, (size_t)(at - expected));
}

static void tensors_are_the_extension_type(void **state) {
  (void)state;
  int32_t data[24];
  dlx_tensor *tensor = wrap_int32(data, 3, EXTENTS(2, 3, 4));
  const dlx_arrow_options options = with_layout(DLX_ARROW_TENSORS);

  exported pair = export(tensor, &options);

  assert_string_equal(pair.schema.format, "+w:12");
  assert_extension(pair.schema.metadata, "{\"shape\":[3,4]}");
  assert_null(pair.schema.children[0]->metadata);
  assert_int_equal(pair.array.children[0]->length, 24);
  assert_ptr_equal(pair.array.children[0]->buffers[1], data);
  release_pair(&pair);
  dlx_tensor_release(tensor);

  tensor = wrap_int32(data, 1, EXTENTS(24));
  pair = export(tensor, &options);
  assert_string_equal(pair.schema.format, "i");
  assert_null(pair.schema.metadata);
  release_pair(&pair);
  dlx_tensor_release(tensor);
}

/* Axes after the first in another order become a permutation, not a copy, and keep it in a round
 * trip. */
static void permuted_tensors_are_shared(void **state) {
  (void)state;
  int32_t data[120];
  const dlx_arrow_options options = {sizeof options, DLX_COPY_NEVER, DLX_ARROW_TENSORS, 0, NULL};
  /* (2, 3, 4, 5) in memory, viewed as (2, 5, 3, 4). */
  const int64_t shape[] = {2, 5, 3, 4}, strides[] = {60, 1, 20, 5};
  dlx_tensor *tensor = wrap(data, dtype_of(kDLInt, 32), 4, shape, strides, 0), *back;

  exported pair = export(tensor, &options);

  assert_extension(pair.schema.metadata, "{\"shape\":[3,4,5],\"permutation\":[2,0,1]}");
  assert_ptr_equal(pair.array.children[0]->buffers[1], data);
  assert_ok(dlx_tensor_from_arrow(&pair.array, &pair.schema, NULL, NULL, &back));
  assert_shape(back, 4, shape);
  assert_strides(back, strides);
  assert_ptr_equal(dlx_tensor_data(back), data);
  pair.schema.release(&pair.schema);
  dlx_tensor_release(back);

  /* PyArrow misreads permutations, so modes that may copy make none. */
  for (int32_t copy = DLX_COPY_IF_NEEDED; copy <= DLX_COPY_ALWAYS; ++copy) {
    const dlx_arrow_options may_copy = {sizeof may_copy, copy, DLX_ARROW_TENSORS, 0, NULL};
    pair = export(tensor, &may_copy);
    assert_extension(pair.schema.metadata, "{\"shape\":[5,3,4]}");
    assert_ptr_not_equal(pair.array.children[0]->buffers[1], data);
    release_pair(&pair);
  }
  dlx_tensor_release(tensor);
}

/* Lists have at most 2^31-1 elements, also those of a tensor without elements. */
static void lists_that_are_too_long_are_refused(void **state) {
  (void)state;
  static const int64_t shapes[][3] = {
      {1, 0, INT64_C(1) << 31}, {0, INT64_C(1) << 31, 1}, {0, 1 << 16, 1 << 15}};

  for (size_t i = 0; i < COUNT_OF(shapes); ++i) {
    for (int32_t layout = DLX_ARROW_LISTS; layout <= DLX_ARROW_TENSORS; ++layout) {
      const dlx_arrow_options options = with_layout(layout);
      dlx_tensor *tensor = wrap(NULL, dtype_of(kDLInt, 32), 3, shapes[i], NULL, 0);
      exported pair;
      /* A list for each of the last one's levels is short enough. */
      const int fits = layout == DLX_ARROW_LISTS && shapes[i][2] == 1 << 15;
      const dlx_status status = dlx_tensor_to_arrow(tensor, &options, &pair.array, &pair.schema);
      assert_int_equal(status, fits ? DLX_OK : DLX_ERROR_UNSUPPORTED);
      if (fits) {
        release_pair(&pair);
      } else {
        assert_says(dlx_last_error(), "at most 2^31-1 elements");
      }
      dlx_tensor_release(tensor);
    }
  }
}

/* Empty tensors of every shape keep it. */
static void empty_tensors_keep_their_shape(void **state) {
  (void)state;
  static const int64_t shapes[][3] = {{0, 2, 3}, {2, 0, 3}, {2, 3, 0}, {0, 0, 0}};

  for (size_t i = 0; i < COUNT_OF(shapes); ++i) {
    for (int32_t layout = DLX_ARROW_LISTS; layout <= DLX_ARROW_TENSORS; ++layout) {
      const dlx_arrow_options options = with_layout(layout);
      dlx_tensor *tensor = wrap(NULL, dtype_of(kDLInt, 32), 3, shapes[i], NULL, 0), *back;
      exported pair = export(tensor, &options);
      assert_ok(dlx_tensor_from_arrow(&pair.array, &pair.schema, NULL, NULL, &back));
      assert_shape(back, 3, shapes[i]);
      pair.schema.release(&pair.schema);
      dlx_tensor_release(back);
      dlx_tensor_release(tensor);
    }
  }
}

/* Any shape and strides keep their values in a round trip. */
static void random_tensors_come_back(void **state) {
  (void)state;
  random_source random = random_start(__func__);
  int32_t data[4096];
  for (int32_t i = 0; i < 4096; ++i) data[i] = i;

  for (int round = 0; round < 300; ++round) {
    int64_t shape[5], strides[5], step = 1, index[5] = {0};
    int32_t axes[5] = {0, 1, 2, 3, 4};
    const int32_t ndim = (int32_t)random_between(&random, 1, 5);
    for (int32_t i = ndim - 1; i > 0; --i) {
      const int32_t j = (int32_t)random_between(&random, 0, i), other = axes[i];
      axes[i] = axes[j];
      axes[j] = other;
    }
    for (int32_t i = 0; i < ndim; ++i) {
      shape[axes[i]] = random_between(&random, 1, 4);
      strides[axes[i]] = step;
      step *= shape[axes[i]] + random_between(&random, 0, 1);
    }
    dlx_tensor *tensor = wrap(data, dtype_of(kDLInt, 32), ndim, shape, strides, 0), *back;
    const dlx_arrow_options options = with_layout((int32_t)random_between(&random, 0, 1));
    exported pair = export(tensor, &options);
    assert_ok(dlx_tensor_from_arrow(&pair.array, &pair.schema, NULL, NULL, &back));
    assert_shape(back, ndim, shape);
    do {
      assert_int_equal(int32_at(back, index), int32_at(tensor, index));
    } while (next_index(dlx_tensor_dltensor(tensor), index));
    pair.schema.release(&pair.schema);
    dlx_tensor_release(back);
    dlx_tensor_release(tensor);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tensors_are_the_extension_type),
      cmocka_unit_test(permuted_tensors_are_shared),
      cmocka_unit_test(lists_that_are_too_long_are_refused),
      cmocka_unit_test(empty_tensors_keep_their_shape),
      cmocka_unit_test(random_tensors_come_back),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
