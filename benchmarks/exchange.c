/* The cost of one exchange in C: wrap memory, export it as DLPack, import the export, release everything.
 * Prints "nanoseconds allocations". Its own malloc counts the allocations. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "dlx/dlx.h"

static long allocations;

void *__libc_malloc(size_t size);
void *malloc(size_t size) {
  ++allocations;
  return __libc_malloc(size);
}

static void exchange(float *data) {
  int64_t shape[2] = {3, 4}, strides[2] = {4, 1};
  DLTensor description = {data, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, strides, 0};
  DLManagedTensorVersioned *managed = NULL;
  dlx_tensor *tensor = NULL, *imported = NULL;
  if (dlx_tensor_wrap(&description, 0, NULL, NULL, &tensor) != DLX_OK ||
      dlx_tensor_to_dlpack_versioned(tensor, NULL, &managed) != DLX_OK ||
      dlx_tensor_from_dlpack_versioned(managed, NULL, &imported) != DLX_OK) {
    fprintf(stderr, "%s\n", dlx_last_error());
    exit(1);
  }
  dlx_tensor_release(tensor);
  dlx_tensor_release(imported);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(void) {
  enum { kRounds = 20, kCalls = 200000 };
  static float data[12];
  double best = 1e30;
  exchange(data);
  allocations = 0;
  exchange(data);
  const long counted = allocations;
  for (int round = 0; round < kRounds; ++round) {
    const double start = now();
    for (int i = 0; i < kCalls; ++i) exchange(data);
    const double each = (now() - start) / kCalls;
    if (each < best) best = each;
  }
  printf("%.1f %ld\n", best, counted);
  return 0;
}
