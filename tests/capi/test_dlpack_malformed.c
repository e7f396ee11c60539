/* Section "dlpack" of dlx.h: descriptions that are not right, by every way into dlx. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include <pthread.h>
#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "util.h"

/* The expected refusal, from dlx_tensor_wrap and from both imports: no handle, nothing consumed, no
 * deleter called; and dlx_dlpack_check finds an error in it. */
static void assert_malformed(DLTensor tensor, dlx_status status, const char *words) {
  int released = 0;
  int32_t consumed = -1, errors = 0;
  char report[1024];
  DLManagedTensorVersioned managed = versioned(tensor, 0, &released);
  DLManagedTensor old = legacy(tensor, &released);
  dlx_tensor *out = POISON_TENSOR;

  assert_fails(dlx_tensor_wrap(&tensor, 0, count_release, &released, &out), status, words);
  assert_null(out);
  out = POISON_TENSOR;
  assert_fails(dlx_tensor_from_dlpack_versioned(&managed, &consumed, &out), status, words);
  assert_null(out);
  assert_int_equal(consumed, 0);
  out = POISON_TENSOR;
  assert_fails(dlx_tensor_from_dlpack(&old, 0, &out), status, words);
  assert_null(out);
  assert_int_equal(released, 0);

  assert_ok(
      dlx_dlpack_check(&managed, DLX_MANAGED_VERSIONED, report, sizeof report, &errors, NULL));
  assert_in_range(errors, 1, 9);
  assert_memory_equal(report, "error: ", strlen("error: "));
  assert_ok(dlx_dlpack_check(&old, DLX_MANAGED_LEGACY, NULL, 0, &errors, NULL));
  assert_in_range(errors, 1, 9);
}

static void assert_well_formed(DLTensor tensor) {
  dlx_tensor *out = NULL;
  assert_ok(dlx_tensor_wrap(&tensor, 0, NULL, NULL, &out));
  dlx_tensor_release(out);
}

static int32_t data[8];

static DLTensor int32s(int32_t ndim, const int64_t *shape, const int64_t *strides) {
  return describe(data, dtype_of(kDLInt, 32), ndim, shape, strides);
}

/* Elements without memory. */
static void null_data_with_elements(void **state) {
  (void)state;
  DLTensor tensor = int32s(1, EXTENTS(2), EXTENTS(1));
  tensor.data = NULL;

  assert_malformed(tensor, DLX_ERROR_INVALID_ARGUMENT, "data");
}

/* A scalar has one element. */
static void null_data_of_a_scalar(void **state) {
  (void)state;
  DLTensor tensor = int32s(0, NULL, NULL);
  tensor.data = NULL;

  assert_malformed(tensor, DLX_ERROR_INVALID_ARGUMENT, "data");
}

/* NULL data with a byte_offset is refused. */
static void null_data_with_a_byte_offset(void **state) {
  (void)state;
  DLTensor tensor = int32s(1, EXTENTS(2), EXTENTS(1));
  tensor.data = NULL;
  tensor.byte_offset = (uintptr_t)data;

  assert_malformed(tensor, DLX_ERROR_INVALID_ARGUMENT, "data");
}

/* Axes without extents. */
static void null_shape_with_axes(void **state) {
  (void)state;

  assert_malformed(int32s(2, NULL, EXTENTS(1, 1)), DLX_ERROR_INVALID_ARGUMENT, "shape");
}

/* A negative number of axes; the shape is not read. */
static void negative_ndim(void **state) {
  (void)state;

  assert_malformed(int32s(-1, POISON, POISON), DLX_ERROR_INVALID_ARGUMENT, "`ndim`");
  assert_malformed(int32s(INT32_MIN, POISON, POISON), DLX_ERROR_INVALID_ARGUMENT, "`ndim`");
}

/* Too many axes; the shape is not read. */
static void huge_ndim(void **state) {
  (void)state;

  assert_malformed(int32s(DLX_MAX_NDIM + 1, POISON, POISON), DLX_ERROR_INVALID_ARGUMENT, "`ndim`");
  assert_malformed(int32s(INT32_MAX, POISON, POISON), DLX_ERROR_INVALID_ARGUMENT, "`ndim`");
}

/* As many axes as dlx accepts. */
static void the_largest_ndim_is_well_formed(void **state) {
  (void)state;
  static int64_t shape[DLX_MAX_NDIM], strides[DLX_MAX_NDIM];
  for (int i = 0; i < DLX_MAX_NDIM; ++i) shape[i] = strides[i] = 1;

  assert_well_formed(int32s(DLX_MAX_NDIM, shape, strides));
}

/* A negative extent, also beside an extent of 0. */
static void negative_extent(void **state) {
  (void)state;

  assert_malformed(int32s(2, EXTENTS(2, -1), EXTENTS(1, 1)), DLX_ERROR_INVALID_ARGUMENT, "`shape`");
  assert_malformed(int32s(2, EXTENTS(0, INT64_MIN), NULL), DLX_ERROR_INVALID_ARGUMENT, "`shape`");
  assert_malformed(int32s(2, EXTENTS(INT64_MIN, 0), NULL), DLX_ERROR_INVALID_ARGUMENT, "`shape`");
}

/* More elements than 2^63-1. */
static void too_many_elements(void **state) {
  (void)state;

  assert_malformed(int32s(2, EXTENTS(INT64_C(1) << 32, INT64_C(1) << 31), EXTENTS(0, 0)),
                   DLX_ERROR_INVALID_ARGUMENT, "`shape`");
  assert_malformed(int32s(3, EXTENTS(INT64_MAX, INT64_MAX, INT64_MAX), NULL),
                   DLX_ERROR_INVALID_ARGUMENT, "`shape`");
}

/* More bytes than 2^63-1. */
static void too_many_bytes(void **state) {
  (void)state;

  assert_malformed(int32s(1, EXTENTS(INT64_C(1) << 61), EXTENTS(0)), DLX_ERROR_INVALID_ARGUMENT,
                   "`shape`");
  assert_malformed(int32s(1, EXTENTS(INT64_C(1) << 60), NULL), DLX_ERROR_INVALID_ARGUMENT,
                   "2^63 bits");
}

/* Strides whose byte offsets overflow. */
static void strides_that_overflow(void **state) {
  (void)state;

  assert_malformed(int32s(1, EXTENTS(3), EXTENTS(INT64_MAX)), DLX_ERROR_INVALID_ARGUMENT,
                   "strides");
  assert_malformed(int32s(1, EXTENTS(3), EXTENTS(INT64_MIN)), DLX_ERROR_INVALID_ARGUMENT,
                   "strides");
  assert_malformed(int32s(2, EXTENTS(2, 2), EXTENTS(INT64_MAX, INT64_MAX)),
                   DLX_ERROR_INVALID_ARGUMENT, "strides");
}

/* Strides that leave the address space. */
static void strides_beyond_the_address_space(void **state) {
  (void)state;

  assert_malformed(int32s(1, EXTENTS(2), EXTENTS(INT64_MAX / 8)), DLX_ERROR_INVALID_ARGUMENT, "");
  assert_malformed(int32s(1, EXTENTS(2), EXTENTS(INT64_MIN / 8)), DLX_ERROR_INVALID_ARGUMENT, "");
  assert_malformed(int32s(1, EXTENTS(2), EXTENTS(-(INT64_C(1) << 50))), DLX_ERROR_INVALID_ARGUMENT,
                   "address");
}

/* A stride of an axis of extent 1, or of an empty tensor, may be any number. */
static void strides_that_are_not_walked_are_well_formed(void **state) {
  (void)state;

  assert_well_formed(int32s(2, EXTENTS(1, 2), EXTENTS(INT64_MAX, 1)));
  assert_well_formed(int32s(2, EXTENTS(1, 2), EXTENTS(INT64_MIN, 1)));
  assert_well_formed(int32s(2, EXTENTS(0, 9), EXTENTS(INT64_MIN, INT64_MAX)));
}

/* A byte_offset that leaves the address space, with strides and without. */
static void byte_offset_beyond_the_address_space(void **state) {
  (void)state;
  DLTensor with = int32s(1, EXTENTS(2), EXTENTS(1)), without = int32s(1, EXTENTS(2), NULL);
  DLTensor scalar = int32s(0, NULL, NULL);
  with.byte_offset = without.byte_offset = scalar.byte_offset = UINT64_MAX - 7;

  assert_malformed(with, DLX_ERROR_INVALID_ARGUMENT, "byte_offset");
  assert_malformed(without, DLX_ERROR_INVALID_ARGUMENT, "byte_offset");
  assert_malformed(scalar, DLX_ERROR_INVALID_ARGUMENT, "byte_offset");
}

/* The elements themselves must end within the address space, with strides and without. */
static void elements_beyond_the_address_space(void **state) {
  (void)state;
  void *end = (void *)(UINTPTR_MAX - 7);
  const DLDataType dtype = dtype_of(kDLInt, 32);

  assert_malformed(describe(end, dtype, 1, EXTENTS(4), EXTENTS(1)), DLX_ERROR_INVALID_ARGUMENT,
                   "address");
  assert_malformed(describe(end, dtype, 1, EXTENTS(4), NULL), DLX_ERROR_INVALID_ARGUMENT,
                   "address");
}

/* No device has addresses from 2^63 on; the last byte may be the one below. */
static void elements_in_the_upper_half_of_the_address_space(void **state) {
  (void)state;
  void *last = (void *)(uintptr_t)(INT64_MAX - 15);
  const DLDataType dtype = dtype_of(kDLInt, 32);
  DLTensor tensor = int32s(1, EXTENTS(2), NULL);
  DLTensor fits = describe(last, dtype, 1, EXTENTS(4), NULL);
  DLTensor beyond = describe(last, dtype, 1, EXTENTS(5), NULL);
  fits.device.device_type = beyond.device.device_type = kDLVPI;

  assert_well_formed(fits);
  assert_malformed(beyond, DLX_ERROR_INVALID_ARGUMENT, "address space");
  tensor.byte_offset = (uint64_t)1 << 63;
  assert_malformed(tensor, DLX_ERROR_INVALID_ARGUMENT, "byte_offset 9223372036854775808");
  tensor.byte_offset = 0;
  /* Bit 55 is below the tag, which aarch64 ignores. */
  tensor.data = (void *)(uintptr_t)((uint64_t)1 << 63 | (uint64_t)1 << 55);
  assert_malformed(tensor, DLX_ERROR_INVALID_ARGUMENT, "address space");
  tensor.strides = (int64_t *)(uintptr_t)EXTENTS(-1);
  assert_malformed(tensor, DLX_ERROR_INVALID_ARGUMENT, "address space");
}

#if defined(__x86_64__)
#define ADDRESS_BITS 47
#else
#define ADDRESS_BITS 48
#endif

/* The memory of a process ends earlier; what lies beyond must be there. */
static void elements_beyond_the_usual_end_of_memory(void **state) {
  (void)state;
  const DLDataType dtype = dtype_of(kDLInt, 32);
  const uint64_t end = (uint64_t)1 << ADDRESS_BITS;
  static const int devices[] = {kDLCPU, kDLCUDAHost, kDLROCMHost};
  for (int i = 0; i < 3; ++i) {
    DLTensor below = describe((void *)(uintptr_t)(end - 16), dtype, 1, EXTENTS(4), NULL);
    below.device.device_type = devices[i];
    assert_well_formed(below);
    DLTensor beyond = below;
    beyond.shape = (int64_t *)(uintptr_t)EXTENTS(5);
    assert_malformed(beyond, DLX_ERROR_INVALID_ARGUMENT, "address space");
    DLTensor stepping = int32s(1, EXTENTS(2), EXTENTS((int64_t)end / 4));
    stepping.device.device_type = devices[i];
    assert_malformed(stepping, DLX_ERROR_INVALID_ARGUMENT, "address space");
    for (int bit = ADDRESS_BITS; bit < 64; ++bit) {
      DLTensor offset = int32s(1, EXTENTS(2), NULL);
      offset.device.device_type = devices[i];
      offset.byte_offset = (uint64_t)1 << bit;
      assert_malformed(offset, DLX_ERROR_INVALID_ARGUMENT, "byte_offset");
    }
  }
#if defined(__linux__)
  /* A process that asks gets such memory from a processor with more bits. */
  char *far = mmap((void *)(uintptr_t)(2 * end), 4096, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_ptr_not_equal(far, MAP_FAILED);
  assert_well_formed(describe(far, dtype, 1, EXTENTS(1024), NULL));
  munmap(far, 4096);
#endif
#if defined(__aarch64__)
  static int32_t numbers[2];
  const uintptr_t tag = (uintptr_t)0x9c << 56;
  assert_well_formed(describe((void *)((uintptr_t)numbers | tag), dtype, 1, EXTENTS(2), NULL));
#endif
}

/* A producer that changes its struct from another thread: what was checked is what counts. */
typedef struct changing {
  DLTensor tensor;
  int64_t shape[2];
  int stop;
} changing;

static void *change(void *argument) {
  changing *self = argument;
  while (!__atomic_load_n(&self->stop, __ATOMIC_RELAXED)) {
    __atomic_store_n(&self->shape[1], ((int64_t)1 << 61) + 3, __ATOMIC_RELAXED);
    __atomic_store_n(&self->shape[1], 3, __ATOMIC_RELAXED);
  }
  return NULL;
}

static void a_shape_that_changes_during_the_import(void **state) {
  (void)state;
#ifdef UNDER_SANITIZER
  skip(); /* the race is the point */
#endif
  static int32_t twelve[12];
  changing self = {.shape = {4, 3}};
  self.tensor = describe(twelve, dtype_of(kDLInt, 32), 2, self.shape, NULL);
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, change, &self), 0);
  int accepted = 0, wrong = 0;
  for (int i = 0; i < 400000; ++i) {
    dlx_tensor *out = NULL;
    if (dlx_tensor_wrap(&self.tensor, 0, NULL, NULL, &out) != DLX_OK) continue;
    ++accepted;
    wrong += dlx_tensor_size(out) != 12 || dlx_tensor_shape(out)[1] != 3;
    dlx_tensor_release(out);
  }
  __atomic_store_n(&self.stop, 1, __ATOMIC_RELAXED);
  pthread_join(thread, NULL);

  assert_int_equal(wrong, 0);
  assert_int_not_equal(accepted, 0);
}

/* An empty tensor accesses nothing: any byte_offset is accepted. */
static void byte_offset_of_an_empty_tensor_is_well_formed(void **state) {
  (void)state;
  DLTensor tensor = int32s(1, EXTENTS(0), EXTENTS(1));
  tensor.byte_offset = UINT64_MAX;

  assert_well_formed(tensor);
}

/* A handle has no memory before byte_offset 0, whatever its own address. */
static void elements_before_the_beginning_of_a_buffer(void **state) {
  (void)state;
  DLTensor tensor = int32s(1, EXTENTS(3), EXTENTS(-1));
  tensor.device.device_type = kDLOpenCL;
  tensor.byte_offset = 8;
  assert_well_formed(tensor);

  tensor.byte_offset = 7;
  assert_malformed(tensor, DLX_ERROR_INVALID_ARGUMENT, "before the beginning of its buffer");
}

/* Codes and widths that DLPack 1.3 does not have. */
static void unknown_dtypes(void **state) {
  (void)state;
  static const DLDataType strangers[] = {
      {19, 8, 1},      {200, 32, 1},      {kDLFloat, 24, 1},        {kDLInt, 0, 1},
      {kDLBool, 1, 1}, {kDLFloat, 32, 0}, {kDLFloat6_e2m3fn, 8, 1}, {kDLFloat4_e2m1fn, 8, 1},
  };

  for (size_t i = 0; i < COUNT_OF(strangers); ++i) {
    DLTensor tensor = int32s(1, EXTENTS(2), EXTENTS(1));
    tensor.dtype = strangers[i];
    assert_malformed(tensor, DLX_ERROR_UNSUPPORTED, "`dtype`");
  }
}

/* Device types start at 1, ids at 0. */
static void device_numbers_that_cannot_be(void **state) {
  (void)state;
  DLTensor no_type = int32s(1, EXTENTS(2), EXTENTS(1)), no_id = no_type;
  memset(&no_type.device.device_type, 0, sizeof no_type.device.device_type);
  no_id.device.device_type = kDLCUDA;
  no_id.device.device_id = -1;

  assert_malformed(no_type, DLX_ERROR_INVALID_ARGUMENT, "device");
  assert_malformed(no_id, DLX_ERROR_INVALID_ARGUMENT, "device");
}

/* Random bytes in the numbers are refused or accepted; nothing is read out of bounds or kept. */
static void random_descriptions_are_refused_or_accepted(void **state) {
  (void)state;
  static const int64_t edges[] = {0,
                                  1,
                                  2,
                                  3,
                                  -1,
                                  -2,
                                  INT64_MAX,
                                  INT64_MIN,
                                  INT64_C(1) << 31,
                                  INT64_C(1) << 61,
                                  -(INT64_C(1) << 61),
                                  INT64_C(1) << 32};
  random_source random = random_start("random_descriptions_are_refused_or_accepted");

  for (int round = 0; round < 20000; ++round) {
    int64_t shape[4], strides[4];
    int released = 0;
    for (int i = 0; i < 4; ++i) {
      shape[i] = edges[random_between(&random, 0, (int64_t)COUNT_OF(edges) - 1)];
      strides[i] = edges[random_between(&random, 0, (int64_t)COUNT_OF(edges) - 1)];
    }
    DLTensor tensor = int32s((int32_t)random_between(&random, -1, 4), shape, strides);
    if (random_between(&random, 0, 3) == 0) tensor.strides = NULL;
    if (random_between(&random, 0, 3) == 0) tensor.byte_offset = random_bits(&random);
    if (random_between(&random, 0, 3) == 0) tensor.data = NULL;
    if (random_between(&random, 0, 3) == 0) tensor.dtype.bits = (uint8_t)random_bits(&random);
    if (random_between(&random, 0, 3) == 0) tensor.device.device_type = kDLMetal;
    DLManagedTensorVersioned managed = versioned(tensor, random_bits(&random) & 7, &released);
    int32_t consumed = -1, errors = -1;
    dlx_tensor *out = POISON_TENSOR;

    const dlx_status status = dlx_tensor_from_dlpack_versioned(&managed, &consumed, &out);
    assert_ok(dlx_dlpack_check(&managed, DLX_MANAGED_VERSIONED, NULL, 0, &errors, NULL));

    assert_int_equal(consumed, status == DLX_OK);
    assert_int_equal(out != NULL, status == DLX_OK);
    if (status != DLX_OK) assert_in_range(errors, 1, 9);
    dlx_tensor_release(out);
    assert_int_equal(released, status == DLX_OK);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(null_data_with_elements),
      cmocka_unit_test(null_data_of_a_scalar),
      cmocka_unit_test(null_data_with_a_byte_offset),
      cmocka_unit_test(null_shape_with_axes),
      cmocka_unit_test(negative_ndim),
      cmocka_unit_test(huge_ndim),
      cmocka_unit_test(the_largest_ndim_is_well_formed),
      cmocka_unit_test(negative_extent),
      cmocka_unit_test(too_many_elements),
      cmocka_unit_test(too_many_bytes),
      cmocka_unit_test(strides_that_overflow),
      cmocka_unit_test(strides_beyond_the_address_space),
      cmocka_unit_test(strides_that_are_not_walked_are_well_formed),
      cmocka_unit_test(byte_offset_beyond_the_address_space),
      cmocka_unit_test(elements_beyond_the_address_space),
      cmocka_unit_test(elements_in_the_upper_half_of_the_address_space),
      cmocka_unit_test(elements_beyond_the_usual_end_of_memory),
      cmocka_unit_test(a_shape_that_changes_during_the_import),
      cmocka_unit_test(byte_offset_of_an_empty_tensor_is_well_formed),
      cmocka_unit_test(elements_before_the_beginning_of_a_buffer),
      cmocka_unit_test(unknown_dtypes),
      cmocka_unit_test(device_numbers_that_cannot_be),
      cmocka_unit_test(random_descriptions_are_refused_or_accepted),
  };
  return cmocka_run_group_tests_name("dlpack_malformed", tests, NULL, NULL);
}
