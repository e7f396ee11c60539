/* Copies between random layouts against a naive oracle that moves one bit at a time: all widths,
 * packed and padded, overlapping or apart. */
#include "util.h"

enum { kMaxAxes = 5, kRoom = 1 << 15 };

/* One operand of a copy, in a buffer of kRoom bytes. */
typedef struct side {
  DLTensor tensor;
  int64_t shape[kMaxAxes], strides[kMaxAxes];
  int padded;
} side;

static const DLDataType dtypes[] = {
    {kDLUInt, 8, 1},          {kDLFloat, 16, 1}, {kDLInt, 32, 1}, {kDLFloat, 64, 1},
    {kDLComplex, 128, 1},     {kDLUInt, 8, 3},   {kDLInt, 16, 3}, {kDLFloat, 64, 4},
    {kDLUInt, 1, 1},          {kDLInt, 4, 1},    {kDLUInt, 2, 1}, {kDLFloat6_e2m3fn, 6, 1},
    {kDLFloat4_e2m1fn, 4, 2}, {kDLUInt, 1, 3},   {kDLInt, 3, 1},  {kDLFloat4_e2m1fn, 4, 3},
};

/* Strides that never meet: axes in random order, each beyond all before it, with random gaps and
 * directions. A source may also repeat elements, or run through others' places. */
static void random_strides(random_source *random, side *s, int may_repeat) {
  int32_t order[kMaxAxes];
  int64_t reach = 1;
  const int32_t ndim = s->tensor.ndim;
  const int gaps = random_between(random, 0, 1) == 0;
  for (int32_t i = 0; i < ndim; ++i) order[i] = random_between(random, 0, 2) ? ndim - 1 - i : i;
  int used[kMaxAxes] = {0};
  for (int32_t i = 0; i < ndim; ++i) {
    int32_t axis = order[i];
    while (used[axis]) axis = (axis + 1) % ndim;
    used[axis] = 1;
    s->strides[axis] = reach * (random_between(random, 0, 3) == 0 ? -1 : 1);
    reach *= s->shape[axis] > 0 ? s->shape[axis] : 1;
    if (gaps) reach += random_between(random, 0, 2);
  }
  if (!may_repeat || ndim == 0 || random_between(random, 0, 3) != 0) return;
  s->strides[random_between(random, 0, ndim - 1)] = random_between(random, -1, 1);
}

/* Places the first element so that all elements fit into the buffer; 0 if they cannot. */
static int place(random_source *random, side *s, uint8_t *buffer) {
  const int64_t bits = element_bits(&s->tensor, s->padded);
  int64_t low = 0, high = 0;
  for (int32_t axis = 0; axis < s->tensor.ndim; ++axis) {
    const int64_t reach = s->shape[axis] == 0 ? 0 : (s->shape[axis] - 1) * s->strides[axis];
    if (reach < 0)
      low += reach;
    else
      high += reach;
  }
  const int64_t first = (-low * bits + 7) / 8, behind = ((high + 1) * bits + 7) / 8;
  if (first + behind > kRoom) return 0;
  /* Often close to the start, so that two operands in one buffer overlap. */
  int64_t most = kRoom - first - behind;
  if (most > 64 && random_between(random, 0, 1) == 0) most = 64;
  const int64_t start = first + random_between(random, 0, most);
  s->tensor.data = buffer + start;
  if (random_between(random, 0, 3) == 0) {
    s->tensor.byte_offset = (uint64_t)random_between(random, 0, start);
    s->tensor.data = buffer + start - s->tensor.byte_offset;
  }
  return 1;
}

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

/* Padding bits are undefined: dlx and the oracle may differ there. */
static void mask_padding(const side *dst, uint8_t *target) {
  int64_t index[kMaxAxes] = {0};
  if (!dst->padded || dst->tensor.dtype.bits >= 8 || !has_elements(&dst->tensor)) return;
  do {
    uint8_t *element = target + dst->tensor.byte_offset +
                       position_of(&dst->tensor, index) * dst->tensor.dtype.lanes;
    for (int lane = 0; lane < dst->tensor.dtype.lanes; ++lane) {
      element[lane] &= (uint8_t)((1u << dst->tensor.dtype.bits) - 1);
    }
  } while (next_index(&dst->tensor, index));
}

static void tell(const char *name, const side *s, char *out, size_t capacity) {
  int used = snprintf(out, capacity, "%s%s bits %d lanes %d shape", name,
                      s->padded ? " padded" : "", s->tensor.dtype.bits, s->tensor.dtype.lanes);
  for (int32_t axis = 0; axis < s->tensor.ndim; ++axis) {
    used += snprintf(out + used, capacity - (size_t)used, " %lld:%lld", (long long)s->shape[axis],
                     (long long)s->strides[axis]);
  }
}

static dlx_status copy(const side *dst, const side *src) {
  if (!dst->padded && !src->padded) return dlx_copy(&dst->tensor, &src->tensor, NULL);
  dlx_tensor *to = NULL, *from = NULL;
  const uint64_t flag = DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;
  assert_ok(dlx_tensor_wrap(&dst->tensor, dst->padded ? flag : 0, NULL, NULL, &to));
  assert_ok(dlx_tensor_wrap(&src->tensor, src->padded ? flag : 0, NULL, NULL, &from));
  const dlx_status status = dlx_tensor_copy_from(to, from, NULL);
  dlx_tensor_release(to);
  dlx_tensor_release(from);
  return status;
}

static int random_sides(random_source *random, side *dst, side *src, uint8_t *target,
                        uint8_t *source) {
  const DLDataType dtype = dtypes[random_between(random, 0, (int64_t)COUNT_OF(dtypes) - 1)];
  const int32_t ndim = (int32_t)random_between(random, 0, kMaxAxes);
  const int64_t largest = random_between(random, 0, 9) == 0 ? 40 : 6;
  memset(dst, 0, sizeof *dst);
  for (int32_t axis = 0; axis < ndim; ++axis) {
    dst->shape[axis] = random_between(random, random_between(random, 0, 9) ? 1 : 0, largest);
  }
  memcpy(src, dst, sizeof *src);
  dst->tensor = describe(NULL, dtype, ndim, dst->shape, dst->strides);
  src->tensor = describe(NULL, dtype, ndim, src->shape, src->strides);
  dst->padded = random_between(random, 0, 2) == 0;
  src->padded = random_between(random, 0, 2) == 0;
  random_strides(random, dst, 0);
  random_strides(random, src, 1);
  return place(random, dst, target) && place(random, src, source);
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
