/* What the tests of the C interface share: assertions that show dlx's own words, descriptions,
 * deleters that count, a random generator whose seed is printed, and access to one element by the
 * definition of a strided tensor, against which everything faster is compared. */
#ifndef DLX_TESTS_CAPI_UTIL_H_
#define DLX_TESTS_CAPI_UTIL_H_

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* CMocka needs the four headers above. */
#include <cmocka.h>

#include "dlx/dlx.h"
#include "portable.h"

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

/* The sanitizers' allocators have locks of their own, which nobody opens in a child of fork(), and
 * the address sanitizer loses sight of a stack that pthread_cancel() unwinds. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define UNDER_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define UNDER_SANITIZER 1
#endif
#endif

/* ---- assertions ------------------------------------------------------------------------------- */

/** Checks that the call succeeds; prints its message otherwise. */
#define assert_ok(call)                                                                    \
  do {                                                                                     \
    const dlx_status status_ = (call);                                                     \
    if (status_ != DLX_OK) fail_msg("%s: %s", dlx_status_name(status_), dlx_last_error()); \
  } while (0)

/** Checks that the call fails with that status, and that the message contains `words`. */
#define assert_fails(call, expected, words)                                                   \
  do {                                                                                        \
    const dlx_status status_ = (call);                                                        \
    if (status_ != (expected)) {                                                              \
      fail_msg("%s (%s), expected %s", dlx_status_name(status_),                              \
               status_ == DLX_OK ? "no error" : dlx_last_error(), dlx_status_name(expected)); \
    }                                                                                         \
    assert_says(dlx_last_error(), words);                                                     \
  } while (0)

#define assert_says(text, words)                                                     \
  do {                                                                               \
    const char *text_ = (text);                                                      \
    if (strstr(text_, words) == NULL) fail_msg("no \"%s\" in \"%s\"", words, text_); \
  } while (0)

#define assert_silent_about(text, words)                                          \
  do {                                                                            \
    const char *text_ = (text);                                                   \
    if (strstr(text_, words) != NULL) fail_msg("\"%s\" in \"%s\"", words, text_); \
  } while (0)

/** Checks that the message names the function and the parameter that is NULL. */
#define assert_null_named(function, arguments, parameter)                         \
  do {                                                                            \
    assert_int_equal(function arguments, DLX_ERROR_INVALID_ARGUMENT);             \
    assert_string_equal(dlx_last_error(), #function ": `" parameter "` is NULL"); \
  } while (0)

/** An invalid handle, which shows whether a call has set its output. */
#define POISON_TENSOR ((dlx_tensor *)(uintptr_t)1)
/** An address that must not be read. */
#define POISON ((void *)(uintptr_t)16)

static inline void assert_int64s(const int64_t *actual, int32_t count, const int64_t *expected) {
  for (int32_t i = 0; i < count; ++i) {
    if (actual[i] == expected[i]) continue;
    fail_msg("number %d is %lld, expected %lld", i, (long long)actual[i], (long long)expected[i]);
  }
}

static inline void assert_shape(const dlx_tensor *tensor, int32_t ndim, const int64_t *shape) {
  assert_int_equal(dlx_tensor_ndim(tensor), ndim);
  assert_int64s(dlx_tensor_shape(tensor), ndim, shape);
}

static inline void assert_strides(const dlx_tensor *tensor, const int64_t *strides) {
  assert_int64s(dlx_tensor_strides(tensor), dlx_tensor_ndim(tensor), strides);
}

#define EXTENTS(...) ((const int64_t[]){__VA_ARGS__})
#define AXES(...) ((const int32_t[]){__VA_ARGS__})

/* ---- descriptions ----------------------------------------------------------------------------- */

static inline DLDataType dtype_of(int code, int bits) {
  return (DLDataType){(uint8_t)code, (uint8_t)bits, 1};
}

/** A DLTensor on the CPU; shape and strides are borrowed. */
static inline DLTensor describe(void *data, DLDataType dtype, int32_t ndim, const int64_t *shape,
                                const int64_t *strides) {
  DLTensor out;
  memset(&out, 0, sizeof out);
  out.data = data;
  out.device.device_type = kDLCPU;
  out.ndim = ndim;
  out.dtype = dtype;
  out.shape = (int64_t *)(uintptr_t)shape;
  out.strides = (int64_t *)(uintptr_t)strides;
  return out;
}

/** A tensor on memory that need not be freed. */
static inline dlx_tensor *wrap(void *data, DLDataType dtype, int32_t ndim, const int64_t *shape,
                               const int64_t *strides, uint64_t flags) {
  const DLTensor description = describe(data, dtype, ndim, shape, strides);
  dlx_tensor *out = NULL;
  assert_ok(dlx_tensor_wrap(&description, flags, NULL, NULL, &out));
  return out;
}

static inline dlx_tensor *wrap_int32(int32_t *data, int32_t ndim, const int64_t *shape) {
  return wrap(data, dtype_of(kDLInt, 32), ndim, shape, NULL, 0);
}

/** A deleter for dlx_tensor_wrap: `user_data` is an int that counts the calls. */
static inline void count_release(void *data, void *user_data) {
  (void)data;
  ++*(int *)user_data;
}

/** A tensor whose deleter counts in `released`. */
static inline dlx_tensor *wrap_counted(int32_t *data, int32_t ndim, const int64_t *shape,
                                       int *released) {
  const DLTensor description = describe(data, dtype_of(kDLInt, 32), ndim, shape, NULL);
  dlx_tensor *out = NULL;
  assert_ok(dlx_tensor_wrap(&description, 0, count_release, released, &out));
  return out;
}

/** Deleters of managed tensors: `manager_ctx` is an int that counts the calls. */
static inline void count_versioned(DLManagedTensorVersioned *self) { ++*(int *)self->manager_ctx; }
static inline void count_legacy(DLManagedTensor *self) { ++*(int *)self->manager_ctx; }

static inline DLManagedTensorVersioned versioned(DLTensor tensor, uint64_t flags, int *released) {
  DLManagedTensorVersioned out;
  memset(&out, 0, sizeof out);
  out.version.major = 1;
  out.version.minor = 3;
  out.manager_ctx = released;
  out.deleter = count_versioned;
  out.flags = flags;
  out.dl_tensor = tensor;
  return out;
}

static inline DLManagedTensor legacy(DLTensor tensor, int *released) {
  DLManagedTensor out;
  memset(&out, 0, sizeof out);
  out.dl_tensor = tensor;
  out.manager_ctx = released;
  out.deleter = count_legacy;
  return out;
}

/* ---- random numbers --------------------------------------------------------------------------- */

typedef struct random_source {
  uint64_t state;
} random_source;

/** DLX_TEST_SEED repeats a run; the seed is printed either way. */
static inline random_source random_start(const char *test) {
  const char *given = getenv("DLX_TEST_SEED");
  const uint64_t seed = given != NULL ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);
  print_message("%s: DLX_TEST_SEED=%llu\n", test, (unsigned long long)seed);
  return (random_source){seed};
}

/** SplitMix64: any seed is valid, also 0. */
static inline uint64_t random_bits(random_source *random) {
  uint64_t z = random->state += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

/** A number from `low` to `high`, both included. */
static inline int64_t random_between(random_source *random, int64_t low, int64_t high) {
  return low + (int64_t)(random_bits(random) % (uint64_t)(high - low + 1));
}

static inline void random_fill(random_source *random, void *data, size_t size) {
  for (size_t i = 0; i < size; ++i) ((uint8_t *)data)[i] = (uint8_t)random_bits(random);
}

/* ---- one element, by definition --------------------------------------------------------------- */

/** Position in elements of the index in `index`. */
static inline int64_t position_of(const DLTensor *tensor, const int64_t *index) {
  int64_t position = 0, compact = 1;
  for (int32_t axis = tensor->ndim - 1; axis >= 0; --axis) {
    position += index[axis] * (tensor->strides != NULL ? tensor->strides[axis] : compact);
    compact *= tensor->shape[axis];
  }
  return position;
}

/** The next index in C order; 0 after the last one. Start with zeros, if there is an element. */
static inline int next_index(const DLTensor *tensor, int64_t *index) {
  for (int32_t axis = tensor->ndim - 1; axis >= 0; --axis) {
    if (++index[axis] < tensor->shape[axis]) return 1;
    index[axis] = 0;
  }
  return 0;
}

static inline int has_elements(const DLTensor *tensor) {
  for (int32_t axis = 0; axis < tensor->ndim; ++axis) {
    if (tensor->shape[axis] == 0) return 0;
  }
  return 1;
}

/** Bits from one element to the next: a padded element takes one byte for each lane. */
static inline int64_t element_bits(const DLTensor *tensor, int padded) {
  return (padded && tensor->dtype.bits < 8 ? 8 : tensor->dtype.bits) * (int64_t)tensor->dtype.lanes;
}

/** Bit `position` counted from `base`, the lowest bit of each byte first; may be negative. */
static inline int get_bit(const uint8_t *base, int64_t position) {
  const int64_t byte = position >= 0 ? position / 8 : -((7 - position) / 8);
  return base[byte] >> (position - 8 * byte) & 1;
}

static inline void set_bit(uint8_t *base, int64_t position, int bit) {
  const int64_t byte = position >= 0 ? position / 8 : -((7 - position) / 8);
  const uint8_t mask = (uint8_t)(1u << (position - 8 * byte));
  base[byte] = (uint8_t)(bit ? base[byte] | mask : base[byte] & ~mask);
}

/** The int32 at `index` of a tensor of them. */
static inline int32_t int32_at(const dlx_tensor *tensor, const int64_t *index) {
  const DLTensor *dl = dlx_tensor_dltensor(tensor);
  int32_t value;
  memcpy(&value, (const char *)dl->data + 4 * position_of(dl, index), sizeof value);
  return value;
}

/** Checks the elements in C order. */
static inline void assert_int32s(const dlx_tensor *tensor, int64_t count, const int32_t *expected) {
  const DLTensor *dl = dlx_tensor_dltensor(tensor);
  int64_t index[16] = {0};
  assert_int_equal(dlx_tensor_size(tensor), count);
  assert_in_range(dl->ndim, 0, 16);
  for (int64_t i = 0; i < count; ++i, next_index(dl, index)) {
    const int32_t value = int32_at(tensor, index);
    if (value != expected[i]) {
      fail_msg("element %lld is %d, expected %d", (long long)i, value, expected[i]);
    }
  }
}

#define INT32S(...) ((const int32_t[]){__VA_ARGS__})

#endif /* DLX_TESTS_CAPI_UTIL_H_ */
