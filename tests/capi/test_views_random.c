/* Random chains of views, compared with a model without strides: a list of values in C order, from
 * which each operation makes a new list by visiting all indices. */
#include "util.h"

enum { kMaxAxes = 6, kMaxElements = 4096, kSource = 720 };

typedef struct model {
  int32_t ndim;
  int64_t shape[kMaxAxes];
  int32_t values[kMaxElements];
} model;

static int64_t count_of(const model *m) {
  int64_t count = 1;
  for (int32_t axis = 0; axis < m->ndim; ++axis) count *= m->shape[axis];
  return count;
}

static int32_t value_at(const model *m, const int64_t *index) {
  int64_t position = 0;
  for (int32_t axis = 0; axis < m->ndim; ++axis) position = position * m->shape[axis] + index[axis];
  return m->values[position];
}

/* An operation on one axis or all: how the model changes, and the call that does the same. */
typedef struct step {
  const char *name;
  int32_t axis;
  int64_t start, stop, stride;
  int32_t axes[kMaxAxes];
  int32_t ndim;
  int64_t shape[kMaxAxes];
} step;

/* Index in the old model of an index in the new one. */
typedef void (*old_index_fn)(const step *s, const model *old, const int64_t *index, int64_t *out);

static void fill(const step *s, const model *old, old_index_fn old_index, model *out) {
  int64_t index[kMaxAxes] = {0}, source[kMaxAxes];
  const DLTensor walk = describe(NULL, dtype_of(kDLInt, 32), out->ndim, out->shape, NULL);
  if (!has_elements(&walk)) return;
  int64_t position = 0;
  do {
    old_index(s, old, index, source);
    out->values[position++] = value_at(old, source);
  } while (next_index(&walk, index));
}

static void sliced_index(const step *s, const model *old, const int64_t *index, int64_t *out) {
  memcpy(out, index, sizeof *out * (size_t)old->ndim);
  out[s->axis] = s->start + index[s->axis] * s->stride;
}

static void selected_index(const step *s, const model *old, const int64_t *index, int64_t *out) {
  for (int32_t axis = 0, next = 0; axis < old->ndim; ++axis) {
    out[axis] = axis == s->axis ? s->start : index[next++];
  }
}

static void permuted_index(const step *s, const model *old, const int64_t *index, int64_t *out) {
  for (int32_t axis = 0; axis < old->ndim; ++axis) out[s->axes[axis]] = index[axis];
}

static void expanded_index(const step *s, const model *old, const int64_t *index, int64_t *out) {
  for (int32_t axis = 0; axis < old->ndim; ++axis) out[axis] = index[axis + (axis >= s->axis)];
}

static void broadcast_index(const step *s, const model *old, const int64_t *index, int64_t *out) {
  for (int32_t axis = 0; axis < old->ndim; ++axis) {
    out[axis] = old->shape[axis] == 1 ? 0 : index[axis + s->ndim - old->ndim];
  }
}

static dlx_tensor *slice(random_source *random, const model *old, dlx_tensor *tensor, model *out) {
  step s = {.axis = (int32_t)random_between(random, 0, old->ndim - 1)};
  dlx_tensor *view = NULL;
  const int64_t extent = old->shape[s.axis];
  const int64_t sign = random_between(random, 0, 1) ? 1 : -1;
  s.stride = sign * random_between(random, 1, 3);
  s.start = extent == 0 ? 0 : random_between(random, 0, extent - 1);
  s.stop = random_between(random, -1, extent);
  *out = *old;
  out->shape[s.axis] = 0;
  for (int64_t i = s.start; extent > 0 && (sign > 0 ? i < s.stop : i > s.stop); i += s.stride) {
    ++out->shape[s.axis];
  }
  fill(&s, old, sliced_index, out);
  /* -1 would count from the end: before the first element is said by leaving the stop out. */
  const int64_t stop = s.stop >= 0 ? s.stop : sign > 0 ? 0 : DLX_SLICE_OPEN;
  assert_ok(dlx_tensor_slice(tensor, s.axis - (random_between(random, 0, 1) ? old->ndim : 0),
                             s.start, stop, s.stride, &view));
  return view;
}

static dlx_tensor *pick(random_source *random, const model *old, dlx_tensor *tensor, model *out) {
  step s = {.axis = (int32_t)random_between(random, 0, old->ndim - 1)};
  dlx_tensor *view = NULL;
  const int64_t extent = old->shape[s.axis];
  if (extent == 0) return NULL;
  s.start = random_between(random, 0, extent - 1);
  out->ndim = old->ndim - 1;
  for (int32_t i = 0, next = 0; i < old->ndim; ++i) {
    if (i != s.axis) out->shape[next++] = old->shape[i];
  }
  fill(&s, old, selected_index, out);
  assert_ok(dlx_tensor_select(tensor, s.axis, s.start - (random_between(random, 0, 1) ? extent : 0),
                              &view));
  return view;
}

static dlx_tensor *permute(random_source *random, const model *old, dlx_tensor *tensor,
                           model *out) {
  step s = {.axis = 0};
  dlx_tensor *view = NULL;
  out->ndim = old->ndim;
  for (int32_t i = 0; i < old->ndim; ++i) s.axes[i] = i;
  for (int32_t i = old->ndim - 1; i > 0; --i) {
    const int32_t j = (int32_t)random_between(random, 0, i), kept = s.axes[i];
    s.axes[i] = s.axes[j];
    s.axes[j] = kept;
  }
  for (int32_t i = 0; i < old->ndim; ++i) out->shape[i] = old->shape[s.axes[i]];
  fill(&s, old, permuted_index, out);
  assert_ok(dlx_tensor_permute(tensor, s.axes, &view));
  return view;
}

static dlx_tensor *squeeze(random_source *random, const model *old, dlx_tensor *tensor,
                           model *out) {
  dlx_tensor *view = NULL;
  (void)random;
  *out = *old; /* the values stay as they are */
  out->ndim = 0;
  for (int32_t i = 0; i < old->ndim; ++i) {
    if (old->shape[i] != 1) out->shape[out->ndim++] = old->shape[i];
  }
  assert_ok(dlx_tensor_squeeze(tensor, 0, NULL, &view));
  return view;
}

static dlx_tensor *expand(random_source *random, const model *old, dlx_tensor *tensor, model *out) {
  step s = {.axis = (int32_t)random_between(random, 0, old->ndim)};
  dlx_tensor *view = NULL;
  if (old->ndim == kMaxAxes) return NULL;
  out->ndim = old->ndim + 1;
  for (int32_t i = 0; i < out->ndim; ++i) {
    out->shape[i] = i == s.axis ? 1 : old->shape[i - (i > s.axis)];
  }
  fill(&s, old, expanded_index, out);
  assert_ok(dlx_tensor_expand_dims(tensor, s.axis, &view));
  return view;
}

static dlx_tensor *broadcast(random_source *random, const model *old, dlx_tensor *tensor,
                             model *out) {
  step s = {.ndim = (int32_t)random_between(random, old->ndim, kMaxAxes)};
  dlx_tensor *view = NULL;
  out->ndim = s.ndim;
  for (int32_t i = 0; i < s.ndim; ++i) {
    const int64_t extent = i < s.ndim - old->ndim ? 1 : old->shape[i - (s.ndim - old->ndim)];
    out->shape[i] =
        extent == 1 ? random_between(random, 0, 9) == 0 ? 0 : random_between(random, 1, 3) : extent;
  }
  if (count_of(out) > kMaxElements) return NULL;
  fill(&s, old, broadcast_index, out);
  assert_ok(dlx_tensor_broadcast_to(tensor, s.ndim, out->shape, &view));
  return view;
}

/* The values stay in C order; the extents are rearranged by moving prime factors. */
static dlx_tensor *reshape(random_source *random, const model *old, dlx_tensor *tensor,
                           model *out) {
  dlx_tensor *view = NULL;
  *out = *old;
  out->ndim = (int32_t)random_between(random, 1, kMaxAxes);
  int64_t rest = count_of(old);
  for (int32_t i = 0; i < out->ndim; ++i) out->shape[i] = 1;
  if (rest == 0) out->shape[0] = 0;
  for (int64_t prime = 2; rest > 1; ++prime) {
    for (; rest % prime == 0; rest /= prime) {
      out->shape[random_between(random, 0, out->ndim - 1)] *= prime;
    }
  }
  int64_t asked[kMaxAxes];
  memcpy(asked, out->shape, sizeof asked);
  const int32_t open = (int32_t)random_between(random, 0, out->ndim - 1);
  if (count_of(old) > 0) asked[open] = -1;
  assert_ok(dlx_tensor_reshape(tensor, out->ndim, asked, NULL, &view));
  return view;
}

static const struct {
  const char *name;
  dlx_tensor *(*apply)(random_source *random, const model *old, dlx_tensor *tensor, model *out);
  int32_t least_ndim;
} operations[] = {
    {"slice", slice, 1},        {"slice", slice, 1},
    {"select", pick, 1},        {"permute", permute, 0},
    {"permute", permute, 0},    {"squeeze", squeeze, 0},
    {"expand_dims", expand, 0}, {"broadcast_to", broadcast, 0},
    {"reshape", reshape, 0},
};

static void assert_model(const dlx_tensor *tensor, const model *m, const char *chain) {
  if (dlx_tensor_ndim(tensor) != m->ndim) fail_msg("%s: wrong ndim", chain);
  for (int32_t i = 0; i < m->ndim; ++i) {
    if (dlx_tensor_shape(tensor)[i] != m->shape[i]) fail_msg("%s: wrong extent %d", chain, i);
  }
  if (dlx_tensor_size(tensor) != count_of(m)) fail_msg("%s: wrong size", chain);
  if (count_of(m) == 0) return;
  const DLTensor *dl = dlx_tensor_dltensor(tensor);
  int64_t index[kMaxAxes] = {0}, position = 0;
  do {
    if (int32_at(tensor, index) != m->values[position]) {
      fail_msg("%s: element %lld differs", chain, (long long)position);
    }
    ++position;
  } while (next_index(dl, index));
}

/* Chains of up to 8 operations on a tensor of 720 numbers; contiguous() of each result is it, too. */
static void chains_of_views_agree_with_the_model(void **state) {
  (void)state;
  static int32_t source[kSource];
  static model models[2];
  random_source random = random_start("chains_of_views_agree_with_the_model");
  for (int i = 0; i < kSource; ++i) source[i] = 1000 + i;

  for (int round = 0; round < 3000; ++round) {
    char chain[256] = "from 720";
    int released = 0;
    model *old = &models[0], *next = &models[1];
    old->ndim = 1;
    old->shape[0] = kSource;
    memcpy(old->values, source, sizeof source);
    dlx_tensor *tensor = wrap_counted(source, 1, EXTENTS(kSource), &released);
    for (int64_t left = random_between(&random, 1, 8); left > 0; --left) {
      const size_t which = (size_t)random_between(&random, 0, (int64_t)COUNT_OF(operations) - 1);
      if (old->ndim < operations[which].least_ndim) continue;
      dlx_tensor *view = operations[which].apply(&random, old, tensor, next);
      if (view == NULL) continue;
      snprintf(chain + strlen(chain), sizeof chain - strlen(chain), ", %s", operations[which].name);
      assert_model(view, next, chain);
      dlx_tensor_release(tensor);
      tensor = view;
      model *kept = old;
      old = next;
      next = kept;
    }
    dlx_tensor *compact = NULL;
    assert_ok(dlx_tensor_contiguous(tensor, NULL, &compact));
    snprintf(chain + strlen(chain), sizeof chain - strlen(chain), ", contiguous");
    assert_model(compact, old, chain);
    assert_int_equal(dlx_tensor_is_contiguous(compact, DLX_ORDER_C), 1);
    dlx_tensor_release(compact);
    dlx_tensor_release(tensor);
    assert_int_equal(released, 1);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(chains_of_views_agree_with_the_model),
  };
  return cmocka_run_group_tests_name("views_random", tests, NULL, NULL);
}
