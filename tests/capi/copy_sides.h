/* What the tests of random copies share: two operands of any layout, each in a buffer of its own or
 * both in one. */
#ifndef DLX_TESTS_CAPI_COPY_SIDES_H_
#define DLX_TESTS_CAPI_COPY_SIDES_H_

#include "util.h"

enum { kMaxAxes = 5, kRoom = 1 << 15 };

/* One operand of a copy, in a buffer of kRoom bytes. */
typedef struct side {
  DLTensor tensor;
  int64_t shape[kMaxAxes], strides[kMaxAxes];
  int padded;
} side;

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

/* Gives both operands one random shape and random layouts; 0 if they do not fit into the buffers. */
static int lay_out(random_source *random, side *dst, DLDataType dst_dtype, side *src,
                   DLDataType src_dtype, uint8_t *target, uint8_t *source) {
  const int32_t ndim = (int32_t)random_between(random, 0, kMaxAxes);
  const int64_t largest = random_between(random, 0, 9) == 0 ? 40 : 6;
  memset(dst, 0, sizeof *dst);
  for (int32_t axis = 0; axis < ndim; ++axis) {
    dst->shape[axis] = random_between(random, random_between(random, 0, 9) ? 1 : 0, largest);
  }
  memcpy(src, dst, sizeof *src);
  dst->tensor = describe(NULL, dst_dtype, ndim, dst->shape, dst->strides);
  src->tensor = describe(NULL, src_dtype, ndim, src->shape, src->strides);
  dst->padded = random_between(random, 0, 2) == 0;
  src->padded = random_between(random, 0, 2) == 0;
  random_strides(random, dst, 0);
  random_strides(random, src, 1);
  return place(random, dst, target) && place(random, src, source);
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

#endif /* DLX_TESTS_CAPI_COPY_SIDES_H_ */
