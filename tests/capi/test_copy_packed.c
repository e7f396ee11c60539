/* Conversions by dlx_copy: integers of fewer than 8 bits, packed or padded, into wider and narrower
 * ones, and float4 and float6 into float32, against a naive oracle that moves one lane at a time. */
#include "copy_sides.h"

/* The pattern of a lane, whose bits begin at `position`. */
static unsigned pattern_at(const uint8_t *base, int64_t position, int bits) {
  unsigned pattern = 0;
  for (int bit = 0; bit < bits; ++bit) {
    pattern |= (unsigned)get_bit(base, position + bit) << bit;
  }
  return pattern;
}

/* A float4 or float6, by the definition of the OCP's MX formats. */
static float float_of(unsigned pattern, DLDataType dtype) {
  const int mantissa_bits = dtype.code == kDLFloat6_e2m3fn   ? 3
                            : dtype.code == kDLFloat6_e3m2fn ? 2
                                                             : 1;
  const int exponent_bits = dtype.bits - 1 - mantissa_bits;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = (int)(pattern >> mantissa_bits) & ((1 << exponent_bits) - 1);
  const unsigned mantissa = pattern & ((1u << mantissa_bits) - 1);
  double value = mantissa / (double)(1 << mantissa_bits);
  if (exponent > 0) value += 1;
  for (int i = exponent > 0 ? exponent : 1; i < bias; ++i) value /= 2;
  for (int i = exponent > 0 ? exponent : 1; i > bias; --i) value *= 2;
  return (float)(pattern >> (dtype.bits - 1) ? -value : value);
}

static void convert_lane(uint8_t *to, int64_t put, DLDataType dst, const uint8_t *from, int64_t got,
                         DLDataType src) {
  unsigned pattern = pattern_at(from, got, src.bits);
  uint8_t bytes[4];
  if (dst.code == kDLFloat) {
    const float value = float_of(pattern, src);
    memcpy(bytes, &value, sizeof value);
  } else {
    if (src.code == kDLInt && pattern >> (src.bits - 1)) pattern |= ~0u << src.bits;
    bytes[0] = (uint8_t)pattern;
  }
  for (int bit = 0; bit < dst.bits; ++bit) set_bit(to, put + bit, get_bit(bytes, bit));
}

/* The definition of a conversion, from the unchanged source. */
static void oracle(const side *dst, const side *src, uint8_t *target, const uint8_t *source) {
  const int64_t lanes = dst->tensor.dtype.lanes;
  const int64_t dst_bits = element_bits(&dst->tensor, dst->padded);
  const int64_t src_bits = element_bits(&src->tensor, src->padded);
  int64_t index[kMaxAxes] = {0};
  if (!has_elements(&dst->tensor)) return;
  do {
    const int64_t put = position_of(&dst->tensor, index) * dst_bits;
    const int64_t got = position_of(&src->tensor, index) * src_bits;
    for (int64_t lane = 0; lane < lanes; ++lane) {
      convert_lane(target + dst->tensor.byte_offset, put + lane * (dst_bits / lanes),
                   dst->tensor.dtype, source + src->tensor.byte_offset,
                   got + lane * (src_bits / lanes), src->tensor.dtype);
    }
  } while (next_index(&dst->tensor, index));
}

/* Two dtypes that convert, or, with sub-byte elements, one that is on both sides. */
static void random_dtypes(random_source *random, DLDataType *dst, DLDataType *src) {
  static const DLDataType floats[] = {
      {kDLFloat6_e2m3fn, 6, 1}, {kDLFloat6_e3m2fn, 6, 1}, {kDLFloat4_e2m1fn, 4, 1}};
  const uint16_t lanes =
      (uint16_t)(random_between(random, 0, 3) ? 1 : random_between(random, 2, 3));
  if (random_between(random, 0, 4) == 0) {
    *src = floats[random_between(random, 0, 2)];
    *dst = dtype_of(kDLFloat, 32);
  } else {
    *dst =
        dtype_of((int)random_between(random, kDLInt, kDLUInt), (int)random_between(random, 1, 8));
    *src = dtype_of((int)random_between(random, kDLInt, kDLUInt),
                    (int)random_between(random, 1, dst->bits == 8 ? 7 : 8));
  }
  dst->lanes = src->lanes = lanes;
}

/* `overlapping`: both operands in one buffer. */
static void check_conversions(const char *test, int rounds, int overlapping) {
  uint8_t *target = malloc(kRoom), *source = overlapping ? target : malloc(kRoom);
  uint8_t *expected = malloc(kRoom), *before = malloc(kRoom);
  random_source random = random_start(test);

  for (int round = 0; round < rounds; ++round) {
    side dst, src;
    DLDataType to_dtype, from_dtype;
    random_dtypes(&random, &to_dtype, &from_dtype);
    if (!lay_out(&random, &dst, to_dtype, &src, from_dtype, target, source)) continue;
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
  }

  free(target);
  if (!overlapping) free(source);
  free(expected);
  free(before);
}

/* Any layout to any layout, all pairs of widths: no other bit of either operand changes. */
static void conversions_between_random_layouts_agree_with_the_oracle(void **state) {
  (void)state;
  check_conversions("conversions_between_random_layouts_agree_with_the_oracle", 8000, 0);
}

/* Both operands in the same memory: as if the source had been read first. */
static void overlapping_conversions_agree_with_the_oracle(void **state) {
  (void)state;
  check_conversions("overlapping_conversions_agree_with_the_oracle", 4000, 1);
}

/* Rows long enough for words, tiles and several threads; in the order of the memory and transposed. */
static void large_conversions_agree_with_the_oracle(void **state) {
  (void)state;
  random_source random = random_start("large_conversions_agree_with_the_oracle");
  assert_ok(dlx_set_num_threads(3));
  for (int round = 0; round < 40; ++round) {
    side dst, src;
    DLDataType to_dtype, from_dtype;
    random_dtypes(&random, &to_dtype, &from_dtype);
    if (round % 4 == 0) { /* one dtype: packed to packed, padded to packed … */
      to_dtype = from_dtype;
      if (to_dtype.bits == 8) continue;
    }
    memset(&dst, 0, sizeof dst);
    dst.shape[0] = random_between(&random, 1, 3);
    dst.shape[1] = random_between(&random, 1, round % 3 == 0 ? 700 : 300);
    dst.shape[2] = random_between(&random, 1, round % 3 == 0 ? 900 : 200);
    memcpy(&src, &dst, sizeof src);
    dst.tensor = describe(NULL, to_dtype, 3, dst.shape, dst.strides);
    src.tensor = describe(NULL, from_dtype, 3, src.shape, src.strides);
    dst.padded = round % 5 == 0;
    src.padded = round % 7 == 0;
    int64_t *to = dst.strides, *from = src.strides;
    to[2] = 1, to[1] = dst.shape[2], to[0] = dst.shape[1] * dst.shape[2];
    from[0] = to[0], from[1] = round % 2 ? to[1] : 1, from[2] = round % 2 ? 1 : dst.shape[1];
    const size_t count = (size_t)(dst.shape[0] * to[0]);
    const size_t to_bytes = (count * (size_t)element_bits(&dst.tensor, dst.padded) + 7) / 8;
    const size_t from_bytes = (count * (size_t)element_bits(&src.tensor, src.padded) + 7) / 8;
    uint8_t *target = malloc(to_bytes), *expected = malloc(to_bytes), *source = malloc(from_bytes);
    random_fill(&random, target, to_bytes);
    random_fill(&random, source, from_bytes);
    memcpy(expected, target, to_bytes);
    dst.tensor.data = target;
    src.tensor.data = source;
    oracle(&dst, &src, expected, source);

    assert_ok(copy(&dst, &src));

    mask_padding(&dst, target);
    mask_padding(&dst, expected);
    if (memcmp(target, expected, to_bytes) != 0) {
      char to_text[256], from_text[256];
      tell("dst", &dst, to_text, sizeof to_text);
      tell("src", &src, from_text, sizeof from_text);
      fail_msg("round %d: the bytes differ: %s, %s", round, to_text, from_text);
    }
    free(target);
    free(expected);
    free(source);
  }
  assert_ok(dlx_set_num_threads(0));
}

/* The lowest bits are kept, as C's conversions keep them. */
static void narrower_integers_keep_the_lowest_bits(void **state) {
  (void)state;
  const int8_t wide[4] = {-1, 7, 8, 100};
  uint8_t narrow[2] = {0, 0};
  int8_t back[4];
  DLTensor bytes = describe((void *)(uintptr_t)wide, dtype_of(kDLInt, 8), 1, EXTENTS(4), NULL);
  const DLTensor packed = describe(narrow, dtype_of(kDLInt, 4), 1, EXTENTS(4), NULL);

  assert_ok(dlx_copy(&packed, &bytes, NULL));
  bytes.data = back;
  assert_ok(dlx_copy(&bytes, &packed, NULL));

  assert_int_equal(narrow[0], 0x7f);
  assert_int_equal(narrow[1], 0x48);
  assert_memory_equal(back, ((const int8_t[]){-1, 7, -8, 4}), 4);
}

/* All other pairs of dtypes are refused, and so are different numbers of lanes. */
static void other_conversions_are_refused(void **state) {
  (void)state;
  static const DLDataType pairs[][2] = {
      {{kDLUInt, 16, 1}, {kDLUInt, 4, 1}},
      {{kDLUInt, 4, 1}, {kDLUInt, 16, 1}},
      {{kDLInt, 8, 1}, {kDLUInt, 8, 1}},
      {{kDLFloat, 32, 1}, {kDLUInt, 4, 1}},
      {{kDLFloat, 64, 1}, {kDLFloat4_e2m1fn, 4, 1}},
      {{kDLFloat4_e2m1fn, 4, 1}, {kDLFloat, 32, 1}},
      {{kDLUInt, 8, 1}, {kDLFloat4_e2m1fn, 4, 1}},
      {{kDLUInt, 4, 1}, {kDLFloat4_e2m1fn, 4, 1}},
      {{kDLUInt, 8, 2}, {kDLUInt, 4, 1}},
      {{kDLFloat, 32, 1}, {kDLFloat4_e2m1fn, 4, 2}},
      {{kDLBool, 8, 1}, {kDLUInt, 1, 1}},
      {{kDLOpaqueHandle, 8, 1}, {kDLUInt, 4, 1}},
  };
  uint8_t to[16] = {0}, from[16];
  memset(from, 0xff, sizeof from);
  for (size_t i = 0; i < COUNT_OF(pairs); ++i) {
    const DLTensor dst = describe(to, pairs[i][0], 1, EXTENTS(2), NULL);
    const DLTensor src = describe(from, pairs[i][1], 1, EXTENTS(2), NULL);
    assert_fails(dlx_copy(&dst, &src, NULL), DLX_ERROR_INVALID_ARGUMENT, "another dtype");
    for (size_t k = 0; k < sizeof to; ++k) assert_int_equal(to[k], 0);
  }
}

/* Malformed sides are refused before a byte is written, as for any copy. */
static void malformed_sides_are_refused(void **state) {
  (void)state;
  uint8_t to[4] = {0}, from[4] = {1, 2, 3, 4};
  const DLTensor src = describe(from, dtype_of(kDLUInt, 4), 1, EXTENTS(4), NULL);
  DLTensor dst = describe(to, dtype_of(kDLUInt, 8), 1, EXTENTS(3), NULL);
  assert_fails(dlx_copy(&dst, &src, NULL), DLX_ERROR_INVALID_ARGUMENT, "shape");
  dst = describe(to, dtype_of(kDLUInt, 8), 1, EXTENTS(4), EXTENTS(0));
  assert_fails(dlx_copy(&dst, &src, NULL), DLX_ERROR_INVALID_ARGUMENT, "several elements");
  dst = describe(NULL, dtype_of(kDLUInt, 8), 1, EXTENTS(4), NULL);
  assert_fails(dlx_copy(&dst, &src, NULL), DLX_ERROR_INVALID_ARGUMENT, "NULL");
  const int64_t far = INT64_MAX / 4;
  dst = describe(to, dtype_of(kDLUInt, 8), 1, EXTENTS(4), &far);
  assert_fails(dlx_copy(&dst, &src, NULL), DLX_ERROR_INVALID_ARGUMENT, "");
  dst = describe(to, dtype_of(kDLUInt, 8), 1, EXTENTS(4), NULL);
  dst.dtype.lanes = 0;
  assert_int_not_equal(dlx_copy(&dst, &src, NULL), DLX_OK);
  dst = describe(to, dtype_of(kDLUInt, 0), 1, EXTENTS(4), NULL);
  assert_int_not_equal(dlx_copy(&dst, &src, NULL), DLX_OK);
  for (int i = 0; i < 4; ++i) assert_int_equal(to[i], 0);
}

/* A plan says that the copy converts. */
static void plan_of_a_conversion_is_described(void **state) {
  (void)state;
  uint8_t to[4], from[2];
  char text[128];
  const DLTensor src = describe(from, dtype_of(kDLInt, 4), 1, EXTENTS(4), NULL);
  const DLTensor dst = describe(to, dtype_of(kDLInt, 8), 1, EXTENTS(4), NULL);
  assert_ok(dlx_copy_plan_describe(&dst, &src, text, sizeof text));
  assert_string_equal(text, "packed bits, converted");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(conversions_between_random_layouts_agree_with_the_oracle),
      cmocka_unit_test(overlapping_conversions_agree_with_the_oracle),
      cmocka_unit_test(large_conversions_agree_with_the_oracle),
      cmocka_unit_test(narrower_integers_keep_the_lowest_bits),
      cmocka_unit_test(other_conversions_are_refused),
      cmocka_unit_test(malformed_sides_are_refused),
      cmocka_unit_test(plan_of_a_conversion_is_described),
  };
  return cmocka_run_group_tests_name("copy_packed", tests, NULL, NULL);
}
