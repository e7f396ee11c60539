/**
 * What dlx/torch_operator.h and dlx/xla_ffi.h share; not for other users. All of it is static, so a
 * file that includes it needs libdlx.so only.
 */
#ifndef DLX_CALL_SUPPORT_H_
#define DLX_CALL_SUPPORT_H_

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dlx/call.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { DLX_CALL_MOST_PARAMETERS = 32, DLX_CALL_MOST_AXES = 8, DLX_CALL_MESSAGE_SIZE = 1024 };

/** An array of a call, with room for its shape and strides. */
typedef struct dlx_call_array {
  DLTensor array;
  int64_t shape[DLX_CALL_MOST_AXES];
  int64_t strides[DLX_CALL_MOST_AXES];
} dlx_call_array;

/** Sets dlx_last_error() and returns `status`. */
static inline dlx_status dlx_call_fail(dlx_status status, const char *format, ...) {
  char text[DLX_CALL_MESSAGE_SIZE];
  va_list values;
  va_start(values, format);
  vsnprintf(text, sizeof text, format, values);
  va_end(values);
  dlx_set_last_error(text);
  return status;
}

/** Writes "name: " and dlx_last_error() without the name of the function that failed. */
static inline void dlx_call_explain(const char *name, char *text) {
  const char *const said = dlx_last_error();
  const char *const colon = strstr(said, ": ");
  const char *const space = strchr(said, ' ');
  snprintf(text, DLX_CALL_MESSAGE_SIZE, "%s: %s", name,
           colon != NULL && space > colon ? colon + 2 : said);
}

/** A contract, and its parameters in a form that costs a call nothing to read. */
typedef struct dlx_call_signature {
  dlx_contract *contract;
  int32_t count;
  dlx_parameter parameters[DLX_CALL_MOST_PARAMETERS];
} dlx_call_signature;

static inline dlx_call_signature *dlx_call_make_signature(const char *text) {
  const dlx_parameter unread = DLX_PARAMETER_INIT;
  dlx_call_signature *const made = (dlx_call_signature *)malloc(sizeof *made);
  int32_t i;
  if (made == NULL) {
    dlx_call_fail(DLX_ERROR_OUT_OF_MEMORY, "out of memory");
    return NULL;
  }
  if (dlx_contract_create(text, &made->contract) != DLX_OK) {
    free(made);
    return NULL;
  }
  made->count = dlx_contract_count(made->contract);
  for (i = 0; i < made->count; ++i) {
    made->parameters[i] = unread;
    (void)dlx_contract_parameter(made->contract, i, &made->parameters[i]);
  }
  return made;
}

/** The signature of `text`, made at the first use and kept. NULL: dlx_last_error() says why. */
static inline const dlx_call_signature *dlx_call_signature_of(dlx_call_signature **slot,
                                                              const char *text) {
  dlx_call_signature *made, *found = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
  if (found != NULL || (made = dlx_call_make_signature(text)) == NULL) return found;
  if (__atomic_compare_exchange_n(slot, &found, made, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    return made;
  }
  dlx_contract_release(made->contract); /* another thread was first */
  free(made);
  return found;
}

/** Row-major strides for the shape of `array`, which become those of the DLTensor. */
static inline void dlx_call_set_compact(dlx_call_array *array) {
  int64_t step = 1;
  int32_t i;
  for (i = array->array.ndim; i-- > 0;) {
    array->strides[i] = step;
    step *= array->shape[i];
  }
  array->array.shape = array->shape;
  array->array.strides = array->strides;
}

/** Whether an int of the contract may have the value: it has the width of `dtype`. */
static inline dlx_status dlx_call_check_int(const dlx_parameter *parameter, int64_t value) {
  const int is_signed = parameter->dtype.code == kDLInt;
  const int bits = parameter->dtype.bits - (is_signed ? 1 : 0);
  const int fits =
      bits >= 63 ? is_signed || value >= 0
                 : value < (INT64_C(1) << bits) && value >= (is_signed ? -(INT64_C(1) << bits) : 0);
  return fits ? DLX_OK
              : dlx_call_fail(DLX_ERROR_INVALID_ARGUMENT,
                              "`%s` does not fit into %d bits (got %lld)", parameter->name,
                              parameter->dtype.bits, (long long)value);
}

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* DLX_CALL_SUPPORT_H_ */
