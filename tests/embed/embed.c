/* A program that embeds CPython, ends it and starts it again, with dlx in both lives.
 *
 * usage: embed LIBPYTHON LIBDLX
 *
 * CPython is loaded as a plugin host would load it. Prints "ok" at the end. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct dlx_tensor dlx_tensor;

static void *need(void *library, const char *name) {
  void *symbol = dlsym(library, name);
  if (symbol == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    exit(1);
  }
  return symbol;
}

static dlx_tensor *kept;
static void (*release)(dlx_tensor *);

/* Called from Python with the address of a tensor that has to outlive the interpreter. */
static void keep(uintptr_t handle) { kept = (dlx_tensor *)handle; }

static void *release_kept(void *unused) {
  (void)unused;
  release(kept);
  return NULL;
}

static const char *kLife =
    "import ctypes, dlx\n"
    "released = []\n"
    "data = bytearray(range(64))\n"
    "t = dlx.asarray(data)\n"
    "assert t.shape == (64,) and t[3].item() == 3, t\n"
    "assert dlx.from_dlpack(t)[::-1].tolist()[0] == 63\n"
    "buffer = (ctypes.c_float * 4)(1, 2, 3, 4)\n"
    "u = dlx.from_pointer(ctypes.addressof(buffer), (4,), 'float32', owner=buffer,\n"
    "                     on_release=lambda: released.append(1))\n"
    "assert u.tolist() == [1.0, 2.0, 3.0, 4.0]\n"
    "del u\n"
    "assert released == [1]\n"
    "address = dlx._native._handle(t)\n"
    "ctypes.CDLL(dlx._lib.library.path)['dlx_tensor_retain'](ctypes.c_void_p(address))\n"
    "ctypes.CFUNCTYPE(None, ctypes.c_size_t)(%llu)(address)\n";

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  void *python = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
  void *dlx = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
  if (python == NULL || dlx == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  *(void **)&release = need(dlx, "dlx_tensor_release");
  void (*initialize)(int);
  int (*run)(const char *), (*finalize)(void);
  *(void **)&initialize = need(python, "Py_InitializeEx");
  *(void **)&run = need(python, "PyRun_SimpleString");
  *(void **)&finalize = need(python, "Py_FinalizeEx");

  for (int life = 0; life < 3; ++life) {
    char code[4096];
    snprintf(code, sizeof code, kLife, (unsigned long long)(uintptr_t)&keep);
    initialize(0);
    if (run(code) != 0) return 1;
    if (finalize() != 0) return 1;
    /* The tensor is of an interpreter that is gone: its owner is leaked, and nothing else happens,
     * on whatever thread. */
    if (life == 0) {
      release(kept);
    } else {
      pthread_t thread;
      pthread_create(&thread, NULL, release_kept, NULL);
      pthread_join(thread, NULL);
    }
  }
  puts("ok");
  return 0;
}
