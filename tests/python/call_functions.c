/* Functions for the tests of dlx.function and dlx.Array, as a user would write them. */
#include <dlx/arrow.h>
#include <dlx/call.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int32_t fill(DLTensor *x, double value) {
  float *data = x->data;
  int64_t size = 1;
  for (int i = 0; i < x->ndim; ++i) size *= x->shape[i];
  for (int64_t i = 0; i < size; ++i) data[i] = (float)value;
  return 0;
}

/* out[i] = a[i] + b[i] of float32, by strides. */
int32_t add(DLTensor *a, DLTensor *b, DLTensor *out) {
  for (int64_t i = 0; i < out->shape[0]; ++i) {
    ((float *)out->data)[i * out->strides[0]] =
        ((float *)a->data)[i * a->strides[0]] + ((float *)b->data)[i * b->strides[0]];
  }
  return 0;
}

int32_t split(DLTensor *x, DLTensor *low, DLTensor *high) {
  for (int64_t i = 0; i < x->shape[0]; ++i) {
    ((double *)low->data)[i] = ((float *)x->data)[i] - 1;
    ((float *)high->data)[i] = ((float *)x->data)[i] + 1;
  }
  return 0;
}

/* What the function got, as numbers. */
int64_t look(DLTensor *x, int64_t *seen) {
  seen[0] = (int64_t)(intptr_t)x->data;
  seen[1] = x->ndim;
  for (int i = 0; i < x->ndim; ++i) seen[2 + 2 * i] = x->shape[i], seen[3 + 2 * i] = x->strides[i];
  return x->dtype.code * 1000 + x->dtype.bits;
}
int64_t describe(DLTensor *x, int64_t room) { return look(x, (int64_t *)(intptr_t)room); }
int64_t describe_or_none(DLTensor *x) { return x == NULL ? -1 : x->ndim; }

int64_t take_two(DLTensor *a, DLTensor *b) { return a->ndim * 10 + b->ndim; }

/* Every kind of scalar, more integers than there are registers. */
double mix(int64_t a, double b, int64_t c, float d, const char *text, _Bool flag, int8_t e,
           double f, uint64_t g, int32_t h, int64_t i, uint16_t j) {
  return (double)a + b * 1e1 + (double)c * 1e2 + d * 1e3 + (text[0] - '0') * 1e4 + flag * 1e5 +
         e * 1e6 + f * 1e7 + (double)g * 1e8 + h * 1e9 + (double)i * 1e10 + j * 1e11;
}
int64_t same(int64_t value) { return value; }
double widened(float value) { return value; }
int64_t length(const char *text) { return (int64_t)strlen(text); }

int32_t fail_with(int64_t status) {
  dlx_set_last_error("fail_with: the image is too small (got 2, expected 3)");
  return (int32_t)status;
}
int32_t fail_silently(int64_t status) { return (int32_t)status; }
int32_t fail_after_writing(DLTensor *x) {
  *(float *)x->data = 7;
  return 1;
}

/* A tensor of its own, or NULL. */
static void free_it(void *data, void *user_data) {
  (void)user_data;
  free(data);
}
dlx_tensor *arange(int64_t n) {
  if (n < 0) {
    dlx_set_last_error("arange: `n` is negative");
    return NULL;
  }
  int64_t shape[1] = {n};
  float *data = malloc((size_t)(n + 1) * sizeof(float));
  for (int64_t i = 0; i < n; ++i) data[i] = (float)i;
  DLTensor description = {data, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, shape, NULL, 0};
  dlx_tensor *out;
  if (dlx_tensor_wrap(&description, 0, free_it, NULL, &out) != DLX_OK) {
    free(data);
    return NULL;
  }
  return out;
}
dlx_tensor *arange_like(DLTensor *x) { return arange(x->shape[0]); }

/* Packed: x *= factor. */
dlx_status scale(void *context, const dlx_argument *arguments) {
  (void)context;
  DLTensor *x = arguments[0].array;
  for (int64_t i = 0; i < x->shape[0]; ++i) ((float *)x->data)[i] *= (float)arguments[1].real;
  return DLX_OK;
}

/* Calls back, as a function does that must not keep the GIL, or that raises. */
int32_t call_back(DLTensor *x, int64_t function) {
  return ((int32_t (*)(DLTensor *))(intptr_t)function)(x);
}

/* As if the user pressed Ctrl-C during the call. */
int32_t interrupt(DLTensor *x) {
  raise(SIGINT);
  *(float *)x->data = 7;
  return 0;
}

/* Sums by address and length, for ctypes. */
double sum(const float *data, int64_t n) {
  double total = 0;
  for (int64_t i = 0; i < n; ++i) total += data[i];
  return total;
}
double sum_tensor(const DLTensor *x) {
  double total = 0;
  for (int64_t i = 0; i < x->shape[0]; ++i) total += ((float *)x->data)[i * x->strides[0]];
  return total;
}
void add_one(float *data, int64_t n) {
  for (int64_t i = 0; i < n; ++i) data[i] += 1;
}

/* Fills the fourth argument with threes; the second and the third may be missing. */
dlx_status fill_fourth(void *context, const dlx_argument *arguments) {
  (void)context;
  DLTensor *out = arguments[3].array;
  for (int64_t i = 0; i < out->shape[0]; ++i) ((float *)out->data)[i] = 3;
  return DLX_OK;
}

/* Foreign functions that leave a Python error behind. */
static struct {
  int (*take_gil)(void);
  void *(*set_error)(void);
  void (*give_gil)(int);
} python;
void use_python(void *take_gil, void *set_error, void *give_gil) {
  memcpy(&python.take_gil, &take_gil, sizeof take_gil);
  memcpy(&python.set_error, &set_error, sizeof set_error);
  memcpy(&python.give_gil, &give_gil, sizeof give_gil);
}
void leave_an_error(void *ignored) {
  (void)ignored;
  const int state = python.take_gil();
  python.set_error();
  python.give_gil(state);
}

/* The same of an exchange table, which gives the struct that was set. */
void *exported;
int give_and_leave_an_error(void *object, void **out) {
  *out = exported;
  leave_an_error(object);
  return 0;
}

/* A stream of one array, so often. */
struct source {
  struct ArrowSchema schema;
  struct ArrowArray array;
  int64_t left;
};
struct stream {
  void *functions[4];
  struct source *source;
};
int stream_schema(struct stream *self, struct ArrowSchema *out) {
  *out = self->source->schema;
  return 0;
}
int stream_next(struct stream *self, struct ArrowArray *out) {
  *out = self->source->array;
  if (self->source->left-- == 0) out->release = NULL;
  return 0;
}
