/* Prints the nanoseconds of an exchange (wrap, export, release) and of a strided copy of 1 MB. */
#define _GNU_SOURCE
#include <dlx/dlx.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static float small[6];
static dlx_tensor *columns, *packed;

static void check(dlx_status status) {
  if (status == DLX_OK) return;
  fprintf(stderr, "%s\n", dlx_last_error());
  exit(1);
}

static void exchange(void) {
  int64_t shape[2] = {2, 3};
  DLTensor description = {small, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, NULL, 0};
  dlx_tensor *tensor;
  DLManagedTensorVersioned *managed;
  check(dlx_tensor_wrap(&description, 0, NULL, NULL, &tensor));
  check(dlx_tensor_to_dlpack_versioned(tensor, NULL, &managed));
  dlx_tensor_release(tensor);
  managed->deleter(managed);
}

static void copy(void) { check(dlx_tensor_copy_from(packed, columns, NULL)); }

static double best(int count, void (*call)(void)) {
  double least = 1e30;
  for (int round = 0; round < 6; ++round) {
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (int i = 0; i < count; ++i) call();
    clock_gettime(CLOCK_MONOTONIC, &end);
    const double each =
        ((double)(end.tv_sec - start.tv_sec) * 1e9 + (double)(end.tv_nsec - start.tv_nsec)) / count;
    if (each < least) least = each;
  }
  return least;
}

int main(void) {
  const int64_t shape[2] = {512, 512};
  const DLDataType float32 = {kDLFloat, 32, 1};
  dlx_tensor *whole;
  check(dlx_tensor_empty(2, shape, &float32, kDLCPU, 0, NULL, &whole));
  check(dlx_tensor_permute(whole, NULL, &columns));
  check(dlx_tensor_empty(2, shape, &float32, kDLCPU, 0, NULL, &packed));
  printf("%.0f %.0f\n", best(200000, exchange), best(200, copy));
}
