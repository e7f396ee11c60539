// Memory of JavaScript for dlx, and memory of dlx for JavaScript.
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

// One Node environment (the main thread, or a worker). Deleters may run on any thread, also after the
// environment has ended; the count of users keeps the struct until then.
typedef struct {
  pthread_mutex_t lock;
  bool open;
  int users;
  napi_env env;
  pthread_t thread;
  napi_threadsafe_function releases;  // runs dropped() in the event loop
  int waiting;  // sent from here; while there are some, the event loop goes on
} Environment;

// An ArrayBuffer that dlx uses, and what to call when it is done; a reference may be NULL.
typedef struct {
  Environment *environment;
  napi_ref buffer, on_release;
  bool is_waiting;
} Kept;

static void leave(Environment *environment) {
  pthread_mutex_lock(&environment->lock);
  const bool last = --environment->users == 0;
  pthread_mutex_unlock(&environment->lock);
  if (last) free(environment);
}

// Drops what was kept, on the environment's thread.
static void drop(napi_env env, Kept *kept) {
  napi_value call = NULL, global;
  if (kept->on_release != NULL) {
    napi_get_reference_value(env, kept->on_release, &call);
    napi_delete_reference(env, kept->on_release);
  }
  napi_delete_reference(env, kept->buffer);
  leave(kept->environment);
  free(kept);
  if (call != NULL && napi_get_global(env, &global) == napi_ok) {
    napi_call_function(env, global, call, 0, NULL, NULL);
  }
}

static void dropped(napi_env env, napi_value function, void *context, void *kept) {
  (void)function, (void)context;
  if (env != NULL) {
    Environment *environment = ((Kept *)kept)->environment;
    if (((Kept *)kept)->is_waiting && --environment->waiting == 0) {
      napi_unref_threadsafe_function(env, environment->releases);
    }
    drop(env, kept);
  } else {  // the environment ends, and its references with it
    leave(((Kept *)kept)->environment);
    free(kept);
  }
}

// The deleter of wrapped memory.
static void release_kept(void *data, void *user_data) {
  (void)data;
  Kept *kept = user_data;
  Environment *environment = kept->environment;
  pthread_mutex_lock(&environment->lock);
  const bool open = environment->open;
  const bool here = open && pthread_equal(environment->thread, pthread_self());
  const bool now = here && kept->on_release == NULL;
  kept->is_waiting = here && !now;
  if (kept->is_waiting && ++environment->waiting == 1) {
    napi_ref_threadsafe_function(environment->env, environment->releases);
  }
  const bool sent =
      open && !now &&
      napi_call_threadsafe_function(environment->releases, kept, napi_tsfn_nonblocking) == napi_ok;
  pthread_mutex_unlock(&environment->lock);
  if (now) {
    drop(environment->env, kept);
  } else if (!sent) {
    leave(environment);
    free(kept);
  }
}

static void end(void *data) {
  Environment *environment = data;
  pthread_mutex_lock(&environment->lock);
  environment->open = false;
  pthread_mutex_unlock(&environment->lock);
  leave(environment);
}

static bool begin(napi_env env) {
  Environment *environment = calloc(1, sizeof *environment);
  if (environment == NULL) return false;
  pthread_mutex_init(&environment->lock, NULL);
  environment->open = true;
  environment->users = 1;
  environment->env = env;
  environment->thread = pthread_self();
  return napi_create_threadsafe_function(env, NULL, NULL, make_text(env, "dlx"), 0, 1, NULL, NULL,
                                         NULL, dropped, &environment->releases) == napi_ok &&
         napi_unref_threadsafe_function(env, environment->releases) == napi_ok &&
         napi_add_env_cleanup_hook(env, end, environment) == napi_ok &&
         napi_set_instance_data(env, environment, NULL, NULL) == napi_ok;
}

// wrap(buffer, start, dtype, shape, strides, flags, onRelease, out): a status. `dtype` is a Uint8Array with
// a DLDataType, `shape` and `strides` are BigInt64Arrays, `strides` may be null.
static napi_value wrap(napi_env env, napi_callback_info info) {
  napi_value values[8];
  void *data, *dtype, *strides, *out;
  int64_t start, flags, *shape;
  size_t ndim;
  napi_valuetype type;
  if (!get_arguments(env, info, 8, values) || !get_pointer(env, values[0], "buffer", &data) ||
      !get_int64(env, values[1], "start", &start) ||
      !get_pointer(env, values[2], "dtype", &dtype) ||
      napi_get_typedarray_info(env, values[3], NULL, &ndim, (void **)&shape, NULL, NULL) !=
          napi_ok ||
      !get_pointer(env, values[4], "strides", &strides) ||
      !get_int64(env, values[5], "flags", &flags) || !get_pointer(env, values[7], "out", &out)) {
    return NULL;
  }
  DLTensor description;
  memset(&description, 0, sizeof description);
  description.data = (char *)data + start;
  description.device.device_type = kDLCPU;
  description.ndim = ndim > INT32_MAX ? INT32_MAX : (int32_t)ndim;
  memcpy(&description.dtype, dtype, sizeof description.dtype);
  description.shape = shape;
  description.strides = strides;
  Kept *kept = calloc(1, sizeof *kept);
  if (kept == NULL) return make_int32(env, DLX_ERROR_OUT_OF_MEMORY);
  napi_get_instance_data(env, (void **)&kept->environment);
  napi_create_reference(env, values[0], 1, &kept->buffer);
  if (napi_typeof(env, values[6], &type) == napi_ok && type == napi_function) {
    napi_create_reference(env, values[6], 1, &kept->on_release);
  }
  const dlx_status status = dlx_tensor_wrap(&description, (uint64_t)flags, release_kept, kept, out);
  if (status == DLX_OK) {
    pthread_mutex_lock(&kept->environment->lock);
    ++kept->environment->users;
    pthread_mutex_unlock(&kept->environment->lock);
  } else {
    if (kept->on_release != NULL) napi_delete_reference(env, kept->on_release);
    napi_delete_reference(env, kept->buffer);
    free(kept);
  }
  return make_int32(env, status);
}

static void release_view(napi_env env, void *data, void *tensor) {
  (void)env, (void)data;
  dlx_tensor_release(tensor);
}

// view(tensor): an ArrayBuffer of the memory of a compact tensor, which it keeps alive.
static napi_value view(napi_env env, napi_callback_info info) {
  napi_value values[1], out = NULL;
  void *tensor;
  if (!get_arguments(env, info, 1, values) || !get_pointer(env, values[0], "tensor", &tensor))
    return NULL;
  const size_t size = (size_t)dlx_tensor_nbytes(tensor);
  if (size == 0) {
    napi_create_arraybuffer(env, 0, NULL, &out);
    return out;
  }
  if (napi_create_external_arraybuffer(env, dlx_tensor_data(tensor), size, release_view,
                                       dlx_tensor_retain(tensor), &out) != napi_ok) {
    dlx_tensor_release(tensor);
    napi_throw_error(env, NULL,
                     "dlx: this runtime has no ArrayBuffers of foreign memory: values() copies");
  }
  return out;
}

// bytes(tensor): an ArrayBuffer with a copy of the memory of a compact tensor; zero(tensor) clears it.
static napi_value bytes(napi_env env, napi_callback_info info) {
  napi_value values[1], out = NULL;
  void *tensor, *copy;
  if (!get_arguments(env, info, 1, values) || !get_pointer(env, values[0], "tensor", &tensor))
    return NULL;
  const size_t size = (size_t)dlx_tensor_nbytes(tensor);
  if (napi_create_arraybuffer(env, size, &copy, &out) == napi_ok && size > 0) {
    memcpy(copy, dlx_tensor_data(tensor), size);
  }
  return out;
}

static napi_value zero(napi_env env, napi_callback_info info) {
  napi_value values[1];
  void *tensor;
  if (!get_arguments(env, info, 1, values) || !get_pointer(env, values[0], "tensor", &tensor))
    return NULL;
  const size_t size = (size_t)dlx_tensor_nbytes(tensor);
  if (size > 0) memset(dlx_tensor_data(tensor), 0, size);
  return NULL;
}

// describe(tensor): its numbers: ndim, code, bits, lanes, device type, device id, flags, extents, strides.
static napi_value describe(napi_env env, napi_callback_info info) {
  napi_value values[1], buffer, out = NULL;
  void *tensor;
  int64_t *numbers;
  if (!get_arguments(env, info, 1, values) || !get_pointer(env, values[0], "tensor", &tensor))
    return NULL;
  const DLTensor *t = dlx_tensor_dltensor(tensor);
  const size_t count = 7 + 2 * (size_t)t->ndim;
  napi_create_arraybuffer(env, 8 * count, (void **)&numbers, &buffer);
  napi_create_typedarray(env, napi_bigint64_array, count, buffer, 0, &out);
  const int64_t first[] = {t->ndim,
                           t->dtype.code,
                           t->dtype.bits,
                           t->dtype.lanes,
                           (int64_t)t->device.device_type,
                           t->device.device_id,
                           (int64_t)dlx_tensor_flags(tensor)};
  memcpy(numbers, first, sizeof first);
  for (int32_t axis = 0; axis < t->ndim; ++axis) {
    numbers[7 + axis] = t->shape[axis];
    numbers[7 + t->ndim + axis] = t->strides[axis];
  }
  return out;
}

// peek(tensor, offset, out): copies the element `offset` elements behind the first into a typed array;
// poke does the reverse.
static bool get_element(napi_env env, napi_callback_info info, void **memory, void **array,
                        size_t *size) {
  napi_value values[3];
  void *tensor;
  int64_t offset;
  if (!get_arguments(env, info, 3, values) || !get_pointer(env, values[0], "tensor", &tensor) ||
      !get_int64(env, values[1], "offset", &offset) ||
      !get_pointer(env, values[2], "array", array)) {
    return false;
  }
  *size = (size_t)dlx_dtype_bits(dlx_tensor_dtype(tensor)) / 8;
  *memory = (char *)dlx_tensor_data(tensor) + offset * (int64_t)*size;
  return true;
}

static napi_value peek(napi_env env, napi_callback_info info) {
  void *memory, *array;
  size_t size;
  if (get_element(env, info, &memory, &array, &size)) memcpy(array, memory, size);
  return NULL;
}

static napi_value poke(napi_env env, napi_callback_info info) {
  void *memory, *array;
  size_t size;
  if (get_element(env, info, &memory, &array, &size)) memcpy(memory, array, size);
  return NULL;
}

// drop(managed, kind): calls the deleter of a managed tensor that nobody imported.
static napi_value drop_managed(napi_env env, napi_callback_info info) {
  napi_value values[2];
  void *managed;
  int32_t kind;
  if (!get_arguments(env, info, 2, values) || !get_pointer(env, values[0], "managed", &managed) ||
      !get_int32(env, values[1], "kind", &kind) || managed == NULL) {
    return NULL;
  }
  if (kind == DLX_MANAGED_LEGACY) {
    DLManagedTensor *legacy = managed;
    if (legacy->deleter != NULL) legacy->deleter(legacy);
  } else {
    DLManagedTensorVersioned *versioned = managed;
    if (versioned->deleter != NULL) versioned->deleter(versioned);
  }
  return NULL;
}

// load(library, name): the address of a function of a shared library, which stays loaded.
static napi_value load_function(napi_env env, napi_callback_info info) {
  napi_value values[2];
  char path[4096];
  size_t length;
  Text name;
  if (!get_arguments(env, info, 2, values) || !get_text(env, values[1], "name", &name)) return NULL;
  if (napi_get_value_string_utf8(env, values[0], path, sizeof path, &length) != napi_ok) {
    wrong(env, "library", "a string");
    return NULL;
  }
  void *const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  void *const address = library == NULL ? NULL : dlsym(library, name.text);
  if (address == NULL) {
    napi_throw_error(env, NULL, dlerror());
    return NULL;
  }
  return make_pointer(env, address);
}

// address(view): where the memory of a typed array is.
static napi_value address_of(napi_env env, napi_callback_info info) {
  napi_value values[1];
  void *address;
  if (!get_arguments(env, info, 1, values) || !get_pointer(env, values[0], "view", &address))
    return NULL;
  return make_pointer(env, address);
}

// text(address): the text at an address.
static napi_value text_at(napi_env env, napi_callback_info info) {
  napi_value values[1];
  void *address;
  if (!get_arguments(env, info, 1, values) || !get_pointer(env, values[0], "address", &address))
    return NULL;
  return make_text(env, address == NULL ? "" : address);
}
