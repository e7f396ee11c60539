// dlx for Node, by Node-API: every function of dlx.h under its name, and what needs C (memory.h).
// lib/tensor.js is the layer on top.
#include <dlx/arrow.h>
#include <dlx/call.h>
#include <dlx/dlx.h>

#include "marshal.h"

#include "generated.h"
#include "memory.h"

static void add(napi_env env, napi_value exports, const char *name, napi_callback call) {
  napi_value function;
  napi_create_function(env, name, NAPI_AUTO_LENGTH, call, NULL, &function);
  napi_set_named_property(env, exports, name, function);
}

NAPI_MODULE_INIT() {
  if (!begin(env)) {
    napi_throw_error(env, NULL, "dlx: this Node environment cannot be used");
    return NULL;
  }
  for (size_t i = 0; i < sizeof FUNCTIONS / sizeof FUNCTIONS[0]; ++i) {
    add(env, exports, FUNCTIONS[i].name, FUNCTIONS[i].call);
  }
  add(env, exports, "wrap", wrap);
  add(env, exports, "view", view);
  add(env, exports, "bytes", bytes);
  add(env, exports, "zero", zero);
  add(env, exports, "describe", describe);
  add(env, exports, "peek", peek);
  add(env, exports, "poke", poke);
  add(env, exports, "drop", drop_managed);
  add(env, exports, "load", load_function);
  add(env, exports, "address", address_of);
  add(env, exports, "text", text_at);
  return exports;
}
