/* Functions that make tensors, each with one fault, for dlx-check. */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "dlx/dlpack.h"

static void delete_all(DLManagedTensorVersioned *managed) {
  free(managed->dl_tensor.data);
  free(managed->dl_tensor.shape);
  free(managed);
}

DLManagedTensorVersioned *good(void) {
  DLManagedTensorVersioned *managed = calloc(1, sizeof *managed);
  int64_t *numbers = malloc(4 * sizeof *numbers);
  numbers[0] = 2;
  numbers[1] = numbers[2] = 3;
  numbers[3] = 1;
  managed->version.major = 1;
  managed->version.minor = 3;
  managed->manager_ctx = managed;
  managed->deleter = delete_all;
  DLTensor *tensor = &managed->dl_tensor;
  tensor->data = aligned_alloc(64, 64);
  for (int i = 0; i < 6; ++i) ((float *)tensor->data)[i] = (float)i;
  tensor->device.device_type = kDLCPU;
  tensor->ndim = 2;
  tensor->dtype.code = kDLFloat;
  tensor->dtype.bits = 32;
  tensor->dtype.lanes = 1;
  tensor->shape = numbers;
  tensor->strides = numbers + 2;
  return managed;
}

static void delete_legacy(DLManagedTensor *managed) { free(managed); }

DLManagedTensor *old(void) {
  static int64_t numbers[] = {2, 1};
  static _Alignas(64) float data[2];
  DLManagedTensor *managed = calloc(1, sizeof *managed);
  managed->manager_ctx = managed;
  managed->deleter = delete_legacy;
  DLTensor *tensor = &managed->dl_tensor;
  tensor->data = data;
  tensor->device.device_type = kDLCPU;
  tensor->ndim = 1;
  tensor->dtype.code = kDLFloat;
  tensor->dtype.bits = 32;
  tensor->dtype.lanes = 1;
  tensor->shape = numbers;
  tensor->strides = numbers + 1;
  return managed;
}

DLManagedTensorVersioned *returns_null(void) { return NULL; }

DLManagedTensorVersioned *aborts(void) { abort(); }

DLManagedTensorVersioned *has_no_strides(void) {
  DLManagedTensorVersioned *managed = good();
  managed->dl_tensor.strides = NULL;
  return managed;
}

DLManagedTensorVersioned *has_a_byte_offset(void) {
  DLManagedTensorVersioned *managed = good();
  managed->dl_tensor.byte_offset = 4;
  return managed;
}

static void forget_the_data(DLManagedTensorVersioned *managed) {
  free(managed->dl_tensor.shape);
  free(managed);
}

DLManagedTensorVersioned *leaks(void) {
  DLManagedTensorVersioned *managed = good();
  managed->deleter = forget_the_data;
  return managed;
}

DLManagedTensorVersioned *gives_one_only(void) {
  static DLManagedTensorVersioned *made = NULL;
  if (made == NULL) made = good();
  made->deleter = NULL;
  return made;
}

DLManagedTensorVersioned *shares_its_memory(void) {
  static _Alignas(64) float data[6];
  DLManagedTensorVersioned *managed = good();
  free(managed->dl_tensor.data);
  data[0] += 1;
  managed->dl_tensor.data = data;
  managed->deleter = forget_the_data;
  return managed;
}

DLManagedTensorVersioned *deletes_the_last(void) {
  static DLManagedTensorVersioned *last = NULL;
  if (last != NULL) last->deleter(last);
  last = good();
  return last;
}

DLManagedTensorVersioned *points_nowhere(void) {
  DLManagedTensorVersioned *managed = good();
  free(managed->dl_tensor.data);
  managed->dl_tensor.data = (void *)4096;
  return managed;
}

static pthread_t maker;

static void only_in_its_thread(DLManagedTensorVersioned *managed) {
  if (!pthread_equal(pthread_self(), maker)) abort();
  delete_all(managed);
}

DLManagedTensorVersioned *is_bound_to_a_thread(void) {
  maker = pthread_self();
  DLManagedTensorVersioned *managed = good();
  managed->deleter = only_in_its_thread;
  return managed;
}

static void never_end(DLManagedTensorVersioned *managed) {
  (void)managed;
  alarm(1); /* as the program's own, and sooner */
  for (;;) pause();
}

DLManagedTensorVersioned *hangs(void) {
  DLManagedTensorVersioned *managed = good();
  managed->deleter = never_end;
  return managed;
}
