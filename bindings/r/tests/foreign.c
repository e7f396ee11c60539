/* Another library: it makes managed tensors of float32 (2, 3), with one field changed, and counts its deleters. */
#include <dlx/dlpack.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  DLManagedTensorVersioned managed;
  int64_t shape[2], strides[2];
  float data[6];
} Foreign;

static atomic_int deleted;

static void delete(DLManagedTensorVersioned *managed) {
  free(managed->manager_ctx);
  atomic_fetch_add(&deleted, 1);
}

void foreign_deleted(int *out) { *out = atomic_load(&deleted); }

void foreign_make(char **field, double *values, double *address) {
  Foreign *f = calloc(1, sizeof *f);
  DLTensor *t = &f->managed.dl_tensor;
  const int64_t value = (int64_t)values[0];
  const DLTensor whole = {f->data, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, f->shape, f->strides, 0};
  for (int i = 0; i < 6; ++i) f->data[i] = (float)i;
  f->shape[0] = 2, f->shape[1] = f->strides[0] = 3, f->strides[1] = 1;
  f->managed.version.major = 1;
  f->managed.manager_ctx = f;
  f->managed.deleter = delete;
  *t = whole;
  if (!strcmp(*field, "major")) f->managed.version.major = (uint32_t)value;
  if (!strcmp(*field, "flags")) f->managed.flags = (uint64_t)value;
  if (!strcmp(*field, "ndim")) t->ndim = (int32_t)value;
  if (!strcmp(*field, "shape")) f->shape[0] = value, f->shape[1] = (int64_t)values[1];
  if (!strcmp(*field, "strides")) f->strides[0] = value, f->strides[1] = (int64_t)values[1];
  if (!strcmp(*field, "data")) t->data = NULL;
  if (!strcmp(*field, "code")) t->dtype.code = (uint8_t)value;
  if (!strcmp(*field, "bits")) t->dtype.bits = (uint8_t)value;
  if (!strcmp(*field, "lanes")) t->dtype.lanes = (uint16_t)value;
  if (!strcmp(*field, "device_type")) t->device.device_type = (DLDeviceType)value;
  *address = (double)(uintptr_t)&f->managed;
}

static void *drop(void *managed) {
  DLManagedTensorVersioned *m = managed;
  m->deleter(m);
  return NULL;
}

/* A user on another thread is done with the tensor. */
void foreign_drop(double *address) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, drop, (void *)(uintptr_t)*address) == 0) {
    pthread_join(thread, NULL);
  }
}
