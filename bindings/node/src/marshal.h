// JavaScript values to C and back. A getter that fails has thrown.
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define NAPI_VERSION 8
#include <node_api.h>

// Names of dtypes and devices, and contracts.
typedef struct {
  char text[4096];
} Text;

static bool wrong(napi_env env, const char *name, const char *expected) {
  char message[160];
  snprintf(message, sizeof message, "dlx: `%s` is not %s", name, expected);
  napi_throw_type_error(env, NULL, message);
  return false;
}

static bool get_arguments(napi_env env, napi_callback_info info, size_t count, napi_value *values) {
  size_t given = count;
  return napi_get_cb_info(env, info, &given, values, NULL, NULL) == napi_ok;
}

static bool get_int64(napi_env env, napi_value value, const char *name, int64_t *out) {
  double number;
  bool exact;
  if (napi_get_value_bigint_int64(env, value, out, &exact) == napi_ok) {
    return exact || wrong(env, name, "an integer of 64 bits");
  }
  if (napi_get_value_double(env, value, &number) != napi_ok ||
      !(number >= -9007199254740991.0 && number <= 9007199254740991.0) ||
      number != (double)(int64_t)number) {
    return wrong(env, name, "an integer");
  }
  *out = (int64_t)number;
  return true;
}

static bool get_uint64(napi_env env, napi_value value, const char *name, uint64_t *out) {
  bool exact;
  int64_t number;
  if (napi_get_value_bigint_uint64(env, value, out, &exact) == napi_ok) {
    return exact || wrong(env, name, "an integer of 64 bits");
  }
  if (!get_int64(env, value, name, &number)) return false;
  *out = (uint64_t)number;
  return number >= 0 || wrong(env, name, "an integer of at least 0");
}

static bool get_int32(napi_env env, napi_value value, const char *name, int32_t *out) {
  int64_t number;
  if (!get_int64(env, value, name, &number)) return false;
  *out = (int32_t)number;
  return *out == number || wrong(env, name, "an integer of 32 bits");
}

static bool get_pointer(napi_env env, napi_value value, const char *name, void **out) {
  napi_valuetype type;
  uint64_t address;
  bool is, exact;
  *out = NULL;
  napi_typeof(env, value, &type);
  if (type == napi_null || type == napi_undefined) return true;
  if (type == napi_bigint) {
    napi_get_value_bigint_uint64(env, value, &address, &exact);
    *out = (void *)(uintptr_t)address;
    return exact || wrong(env, name, "an address");
  }
  if (napi_is_typedarray(env, value, &is) == napi_ok && is) {
    return napi_get_typedarray_info(env, value, NULL, NULL, out, NULL, NULL) == napi_ok;
  }
  if (napi_is_arraybuffer(env, value, &is) == napi_ok && is) {
    return napi_get_arraybuffer_info(env, value, out, NULL) == napi_ok;
  }
  return wrong(env, name, "an address, a typed array or null");
}

static bool get_text(napi_env env, napi_value value, const char *name, Text *out) {
  size_t length;
  if (napi_get_value_string_utf8(env, value, out->text, sizeof out->text, &length) != napi_ok) {
    return wrong(env, name, "a string");
  }
  if (length + 1 == sizeof out->text) return wrong(env, name, "a string below 4096 bytes");
  return strlen(out->text) == length || wrong(env, name, "a string without zero bytes");
}

static napi_value make_int32(napi_env env, int32_t value) {
  napi_value out = NULL;
  napi_create_int32(env, value, &out);
  return out;
}

static napi_value make_int64(napi_env env, int64_t value) {
  napi_value out = NULL;
  napi_create_bigint_int64(env, value, &out);
  return out;
}

static napi_value make_pointer(napi_env env, const void *value) {
  napi_value out = NULL;
  napi_create_bigint_uint64(env, (uintptr_t)value, &out);
  return out;
}

static napi_value make_text(napi_env env, const char *text) {
  napi_value out = NULL;
  napi_create_string_utf8(env, text, NAPI_AUTO_LENGTH, &out);
  return out;
}
