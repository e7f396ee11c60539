// Another library for the tests: it makes managed tensors, and uses exports on a thread of its own.
#include <dlx/dlx.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "../src/marshal.h"

struct foreign {
  DLManagedTensorVersioned managed;
  int64_t shape[2], strides[2];
  float data[6];
};

static atomic_int deleted_count;

static void delete(DLManagedTensorVersioned *managed) {
  free(managed->manager_ctx);
  atomic_fetch_add(&deleted_count, 1);
}

// make(field, value, value): the address of a DLManagedTensorVersioned with one field changed.
static napi_value make(napi_env env, napi_callback_info info) {
  napi_value values[3];
  Text field;
  int64_t a, b;
  if (!get_arguments(env, info, 3, values) || !get_text(env, values[0], "field", &field) ||
      !get_int64(env, values[1], "a", &a) || !get_int64(env, values[2], "b", &b)) {
    return NULL;
  }
  struct foreign *f = calloc(1, sizeof *f);
  for (int i = 0; i < 6; ++i) f->data[i] = (float)i;
  f->shape[0] = 2, f->shape[1] = f->strides[0] = 3, f->strides[1] = 1;
  f->managed.version.major = 1;
  f->managed.manager_ctx = f;
  f->managed.deleter = delete;
  f->managed.dl_tensor =
      (DLTensor){f->data, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, f->shape, f->strides, 0};
  DLTensor *t = &f->managed.dl_tensor;
#define FIELD(name) (strcmp(field.text, name) == 0)
  if FIELD ("major") f->managed.version.major = (uint32_t)a;
  if FIELD ("flags") f->managed.flags = (uint64_t)a;
  if FIELD ("ndim") t->ndim = (int32_t)a;
  if FIELD ("shape") f->shape[0] = a, f->shape[1] = b;
  if FIELD ("strides") f->strides[0] = a, f->strides[1] = b;
  if FIELD ("data") t->data = NULL;
  if FIELD ("code") t->dtype.code = (uint8_t)a;
  if FIELD ("bits") t->dtype.bits = (uint8_t)a;
  if FIELD ("lanes") t->dtype.lanes = (uint16_t)a;
  if FIELD ("device_type") t->device.device_type = (DLDeviceType)a;
  return make_pointer(env, &f->managed);
}

static napi_value deleted(napi_env env, napi_callback_info info) {
  (void)info;
  return make_int32(env, atomic_load(&deleted_count));
}

static void *use(void *managed) {
  DLManagedTensorVersioned *m = managed;
  float sum = 0;
  for (int i = 0; i < 6; ++i) sum += ((float *)m->dl_tensor.data)[i];
  m->deleter(m);
  return (void *)(uintptr_t)(sum == 15);
}

// use_on_thread(managed): reads the elements on another thread, which drops the tensor.
static napi_value use_on_thread(napi_env env, napi_callback_info info) {
  napi_value values[1];
  void *managed, *result;
  pthread_t thread;
  if (!get_arguments(env, info, 1, values) || !get_pointer(env, values[0], "managed", &managed))
    return NULL;
  pthread_create(&thread, NULL, use, managed);
  pthread_join(thread, &result);
  return make_int32(env, (int32_t)(uintptr_t)result);
}

static void add(napi_env env, napi_value exports, const char *name, napi_callback call) {
  napi_value function;
  napi_create_function(env, name, NAPI_AUTO_LENGTH, call, NULL, &function);
  napi_set_named_property(env, exports, name, function);
}

NAPI_MODULE_INIT() {
  (void)get_uint64, (void)get_int32, (void)make_int64, (void)make_text;
  add(env, exports, "make", make);
  add(env, exports, "deleted", deleted);
  add(env, exports, "useOnThread", use_on_thread);
  return exports;
}
