/* Copies between random layouts against a naive oracle that moves one bit at a time: all widths,
 * packed and padded, overlapping or apart. */
#include "copy_sides.h"

static const DLDataType dtypes[] = {
    {kDLUInt, 8, 1},          {kDLFloat, 16, 1}, {kDLInt, 32, 1}, {kDLFloat, 64, 1},
    {kDLComplex, 128, 1},     {kDLUInt, 8, 3},   {kDLInt, 16, 3}, {kDLFloat, 64, 4},
    {kDLUInt, 1, 1},          {kDLInt, 4, 1},    {kDLUInt, 2, 1}, {kDLFloat6_e2m3fn, 6, 1},
    {kDLFloat4_e2m1fn, 4, 2}, {kDLUInt, 1, 3},   {kDLInt, 3, 1},  {kDLFloat4_e2m1fn, 4, 3},
};

/* The definition of a copy: bit by bit from the unchanged source. */
static void oracle(const side *dst, const side *src, uint8_t *target, const uint8_t *source) {
  const int64_t width = dst->tensor.dtype.bits, lanes = dst->tensor.dtype.lanes;
  const int64_t dst_bits = element_bits(&dst->tensor, dst->padded);
  const int64_t src_bits = element_bits(&src->tensor, src->padded);
  uint8_t *to = target + dst->tensor.byte_offset;
  const uint8_t *from = source + src->tensor.byte_offset;
  int64_t index[kMaxAxes] = {0};
  if (!has_elements(&dst->tensor)) return;
  do {
    const int64_t put = position_of(&dst->tensor, index) * dst_bits;
    const int64_t got = position_of(&src->tensor, index) * src_bits;
    for (int64_t lane = 0; lane < lanes; ++lane) {
      for (int64_t bit = 0; bit < width; ++bit) {
        set_bit(to, put + lane * (dst_bits / lanes) + bit,
                get_bit(from, got + lane * (src_bits / lanes) + bit));
      }
    }
  } while (next_index(&dst->tensor, index));
}

static int random_sides(random_source *random, side *dst, side *src, uint8_t *target,
                        uint8_t *source) {
  const DLDataType dtype = dtypes[random_between(random, 0, (int64_t)COUNT_OF(dtypes) - 1)];
  return lay_out(random, dst, dtype, src, dtype, target, source);
}

/* `overlapping`: both operands in one buffer. */
static void check_random_copies(const char *test, int rounds, int overlapping) {
  /* Exactly kRoom bytes each, so that the sanitizers and valgrind detect an access beyond. */
  uint8_t *target = malloc(kRoom), *source = overlapping ? target : malloc(kRoom);
  uint8_t *expected = malloc(kRoom), *before = malloc(kRoom);
  random_source random = random_start(test);
  int copied = 0;

  for (int round = 0; round < rounds; ++round) {
    side dst, src;
    if (!random_sides(&random, &dst, &src, target, source)) continue;
    random_fill(&random, target, kRoom);
    if (!overlapping) random_fill(&random, source, kRoom);
    memcpy(expected, target, kRoom);
    memcpy(before, source, kRoom);
    const int64_t at = (uint8_t *)dst.tensor.data - target;
    oracle(&dst, &src, expected + at, before + ((uint8_t *)src.tensor.data - source));

    assert_ok(copy(&dst, &src));

    mask_padding(&dst, target + at);
    mask_padding(&dst, expected + at);
    if (memcmp(target, expected, kRoom) != 0) {
      char to[256], from[256];
      tell("dst", &dst, to, sizeof to);
      tell("src", &src, from, sizeof from);
      fail_msg("round %d: the bytes differ: %s, %s", round, to, from);
    }
    if (!overlapping) assert_memory_equal(source, before, kRoom);
    ++copied;
  }

  assert_in_range(copied, rounds / 2, rounds);
  free(target);
  if (!overlapping) free(source);
  free(expected);
  free(before);
}

/* Any layout to any layout: every element is copied, and no other bit of either operand changes. */
static void copies_between_random_layouts_agree_with_the_oracle(void **state) {
  (void)state;
  check_random_copies("copies_between_random_layouts_agree_with_the_oracle", 6000, 0);
}

/* Both operands in the same memory: as if the source had been read first. */
static void overlapping_copies_agree_with_the_oracle(void **state) {
  (void)state;
  check_random_copies("overlapping_copies_agree_with_the_oracle", 6000, 1);
}

/* Larger shapes: tiles, long runs and their remainders, for every whole width. */
static void copies_of_larger_shapes_agree_with_the_definition(void **state) {
  (void)state;
  static const int widths[] = {8, 16, 32, 64, 128};
  random_source random = random_start("copies_of_larger_shapes_agree_with_the_definition");

  for (int round = 0; round < 60; ++round) {
    const int bits = widths[round % 5], bytes = bits / 8;
    const int64_t shape[3] = {random_between(&random, 1, 9), random_between(&random, 1, 150),
                              random_between(&random, 1, 150)};
    const int64_t count = shape[0] * shape[1] * shape[2];
    const int32_t *axes = (const int32_t[][3]){{0, 2, 1}, {2, 1, 0}, {1, 2, 0},
                                               {1, 0, 2}, {2, 0, 1}, {0, 1, 2}}[round % 6];
    const int code = bits == 128 ? kDLComplex : kDLUInt;
    uint8_t *source = malloc((size_t)(count * bytes));
    random_fill(&random, source, (size_t)(count * bytes));
    dlx_tensor *tensor = wrap(source, dtype_of(code, bits), 3, shape, NULL, 0), *view, *compact;
    assert_ok(dlx_tensor_permute(tensor, axes, &view));

    assert_ok(dlx_tensor_clone(view, NULL, &compact));

    const uint8_t *result = dlx_tensor_data(compact);
    const DLTensor *dl = dlx_tensor_dltensor(view);
    int64_t index[3] = {0}, position = 0;
    do {
      if (memcmp(result + bytes * position++, source + bytes * position_of(dl, index),
                 (size_t)bytes) != 0) {
        fail_msg("round %d: element %lld differs", round, (long long)position - 1);
      }
    } while (next_index(dl, index));
    dlx_tensor_release(compact);
    dlx_tensor_release(view);
    dlx_tensor_release(tensor);
    free(source);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(copies_between_random_layouts_agree_with_the_oracle),
      cmocka_unit_test(overlapping_copies_agree_with_the_oracle),
      cmocka_unit_test(copies_of_larger_shapes_agree_with_the_definition),
  };
  return cmocka_run_group_tests_name("copy_random", tests, NULL, NULL);
}
