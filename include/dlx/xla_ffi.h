/**
 * The dlx_function of call.h as a handler of XLA's FFI, without XLA's headers: for jax.ffi, jax.jit
 * and other users of XLA. At file scope:
 *     DLX_XLA_HANDLER(blur_xla, "blur(image: uint8[h, w], out: uint8[h, w] result)", blur, NULL)
 *
 * defines the handler `blur_xla`. `dlx.jax_function(lib.blur_xla)` registers it for the CPU and
 * returns a Python function of JAX arrays. By hand: jax.ffi.register_ffi_target and jax.ffi.ffi_call.
 *
 * - **Arguments** of the XLA call are the contract's arrays in order; optional arrays that have an
 *   attribute of their name are left out. **Attributes** are its numbers and texts, by name: int and
 *   bool as any integer or bool, float as f32 or f64; one that is missing has its default.
 *   **Results** are the contract's results and the arrays that the function writes, in order: XLA's
 *   arrays never change, so such an array is copied into the result first, unless the call aliases
 *   both (`input_output_aliases`).
 * - **Ownership**: the function gets arrays that are valid until it returns. `contract` and `context`
 *   must live as long as the process.
 * - **Errors** are XLA's INVALID_ARGUMENT with dlx's words (in JAX a JaxRuntimeError): "blur: `image`
 *   must be uint8 (got float32)".
 * - **Thread safety**: the function may be called on any threads at once; never with Python's GIL.
 * - **What it cannot do**: CPU only; row-major arrays of at most 8 axes; no dtypes below 8 bits. It
 *   has no derivative: jax.grad refuses, as for every FFI call; jax.vmap works by vmap_method.
 */
#ifndef DLX_XLA_FFI_H_
#define DLX_XLA_FFI_H_

#include <stddef.h>
#include <stdlib.h>

#include "dlx/call_support.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- XLA's structs, version 0.1 and newer (xla/ffi/api/c_api.h) -------------------------------- */

typedef struct dlx_xla_extension {
  size_t struct_size;
  int type; /* 1: metadata */
  struct dlx_xla_extension *next;
} dlx_xla_extension;

typedef struct dlx_xla_version {
  size_t struct_size;
  dlx_xla_extension *extensions;
  int major, minor;
} dlx_xla_version;

typedef struct dlx_xla_metadata {
  size_t struct_size;
  dlx_xla_version version;
  uint32_t traits;
} dlx_xla_metadata;

typedef struct dlx_xla_metadata_extension {
  dlx_xla_extension base;
  dlx_xla_metadata *metadata;
} dlx_xla_metadata_extension;

typedef struct dlx_xla_error_arguments {
  size_t struct_size;
  dlx_xla_extension *extensions;
  const char *message;
  int code; /* 3: invalid argument */
} dlx_xla_error_arguments;

typedef struct dlx_xla_api {
  size_t struct_size;
  dlx_xla_extension *extensions;
  dlx_xla_version version;
  const void *internal;
  void *(*create_error)(dlx_xla_error_arguments *);
} dlx_xla_api;

typedef struct dlx_xla_buffer {
  size_t struct_size;
  dlx_xla_extension *extensions;
  int dtype;
  void *data;
  int64_t rank;
  int64_t *dims;
} dlx_xla_buffer;

typedef struct dlx_xla_text {
  const char *data;
  size_t size;
} dlx_xla_text;

typedef struct dlx_xla_scalar {
  int dtype;
  void *value;
} dlx_xla_scalar;

typedef struct dlx_xla_buffers {
  size_t struct_size;
  dlx_xla_extension *extensions;
  int64_t size;
  int *types;
  void **items;
} dlx_xla_buffers;

typedef struct dlx_xla_attributes {
  size_t struct_size;
  dlx_xla_extension *extensions;
  int64_t size;
  int *types; /* 3: scalar, 4: text */
  dlx_xla_text **names;
  void **items;
} dlx_xla_attributes;

/** XLA_FFI_CallFrame. */
typedef struct dlx_xla_frame {
  size_t struct_size;
  dlx_xla_extension *extensions;
  const dlx_xla_api *api;
  void *context;
  int stage; /* 3: execute */
  dlx_xla_buffers arguments;
  dlx_xla_buffers results;
  dlx_xla_attributes attributes;
} dlx_xla_frame;

/* By XLA_FFI_DataType, whose numbers are in saved programs. 0 bits: no dtype that dlx passes on. */
static const DLDataType dlx_xla_dtypes[] = {
    {0, 0, 0},                     /* 0 */
    {kDLBool, 8, 1},               /* 1 */
    {kDLInt, 8, 1},                /* 2 */
    {kDLInt, 16, 1},               /* 3 */
    {kDLInt, 32, 1},               /* 4 */
    {kDLInt, 64, 1},               /* 5 */
    {kDLUInt, 8, 1},               /* 6 */
    {kDLUInt, 16, 1},              /* 7 */
    {kDLUInt, 32, 1},              /* 8 */
    {kDLUInt, 64, 1},              /* 9 */
    {kDLFloat, 16, 1},             /* 10 */
    {kDLFloat, 32, 1},             /* 11 */
    {kDLFloat, 64, 1},             /* 12 */
    {0, 0, 0},                     /* 13 */
    {0, 0, 0},                     /* 14 */
    {kDLComplex, 64, 1},           /* 15 */
    {kDLBfloat, 16, 1},            /* 16 */
    {0, 0, 0},                     /* 17 */
    {kDLComplex, 128, 1},          /* 18 */
    {kDLFloat8_e5m2, 8, 1},        /* 19 */
    {kDLFloat8_e4m3fn, 8, 1},      /* 20 */
    {0, 0, 0},                     /* 21 */
    {0, 0, 0},                     /* 22 */
    {kDLFloat8_e4m3b11fnuz, 8, 1}, /* 23 */
    {kDLFloat8_e5m2fnuz, 8, 1},    /* 24 */
    {kDLFloat8_e4m3fnuz, 8, 1},    /* 25 */
    {0, 0, 0},                     /* 26 */
    {0, 0, 0},                     /* 27 */
    {kDLFloat8_e4m3, 8, 1},        /* 28 */
    {kDLFloat8_e3m4, 8, 1},        /* 29 */
    {0, 0, 0},                     /* 30 */
    {0, 0, 0},                     /* 31 */
    {0, 0, 0},                     /* 32 */
    {kDLFloat8_e8m0fnu, 8, 1},     /* 33 */
};

/* ---- a call ---------------------------------------------------------------------------------- */

/** What DLX_XLA_HANDLER keeps of a handler. */
typedef struct dlx_xla_handler {
  const char *text; /* the contract */
  dlx_function function;
  void *context;
  dlx_call_signature *signature; /* made at the first use */
} dlx_xla_handler;

typedef struct dlx_xla_call {
  const dlx_xla_handler *handler;
  const dlx_call_signature *signature;
  const dlx_xla_frame *frame;
  int64_t arguments_used, results_used;
  dlx_argument arguments[DLX_CALL_MOST_PARAMETERS];
  dlx_call_array arrays[DLX_CALL_MOST_PARAMETERS];
  int32_t text_count;
  char *texts[DLX_CALL_MOST_PARAMETERS]; /* `text_count` copies that end in a zero */
} dlx_xla_call;

static inline int64_t dlx_xla_bytes(const DLTensor *array) {
  int64_t bytes = array->dtype.bits / 8;
  int32_t i;
  for (i = 0; i < array->ndim; ++i) bytes *= array->shape[i];
  return bytes;
}

/* The next buffer of a list, as an array. */
static inline dlx_status dlx_xla_next(const dlx_xla_buffers *list, int64_t *used, const char *name,
                                      const char *what, dlx_call_array *out) {
  const int known = (int)(sizeof dlx_xla_dtypes / sizeof dlx_xla_dtypes[0]);
  const dlx_xla_buffer *buffer;
  int64_t axis;
  if (*used >= list->size) {
    return dlx_call_fail(DLX_ERROR_INVALID_ARGUMENT, "`%s` is missing (the XLA call has %lld %s)",
                         name, (long long)list->size, what);
  }
  buffer = (const dlx_xla_buffer *)list->items[(*used)++];
  if (buffer->dtype < 0 || buffer->dtype >= known || dlx_xla_dtypes[buffer->dtype].bits == 0 ||
      buffer->rank > DLX_CALL_MOST_AXES) {
    return dlx_call_fail(DLX_ERROR_UNSUPPORTED,
                         "`%s` has XLA's dtype %d and %lld axes (possible are dtypes of 8 bits or "
                         "more and at most %d axes)",
                         name, buffer->dtype, (long long)buffer->rank, DLX_CALL_MOST_AXES);
  }
  out->array.data = buffer->data;
  out->array.device.device_type = kDLCPU;
  out->array.device.device_id = 0;
  out->array.ndim = (int32_t)buffer->rank;
  out->array.dtype = dlx_xla_dtypes[buffer->dtype];
  out->array.byte_offset = 0;
  for (axis = 0; axis < buffer->rank; ++axis) out->shape[axis] = buffer->dims[axis];
  dlx_call_set_compact(out);
  return DLX_OK;
}

/* The index of an attribute, or -1. */
static inline int64_t dlx_xla_find(const dlx_xla_attributes *list, const char *name) {
  const size_t size = strlen(name);
  int64_t i = list->size;
  while (i-- > 0) {
    if (list->names[i]->size == size && memcmp(list->names[i]->data, name, size) == 0) break;
  }
  return i;
}

static inline dlx_status dlx_xla_read_array(dlx_xla_call *call, int32_t index,
                                            const dlx_parameter *parameter) {
  const dlx_xla_frame *const frame = call->frame;
  const int is_result = (parameter->flags & DLX_PARAMETER_RESULT) != 0;
  const int is_written = (parameter->flags & DLX_PARAMETER_WRITABLE) != 0;
  dlx_call_array *const out = &call->arrays[index];
  dlx_status status = DLX_OK;
  const void *before = NULL;
  call->arguments[index].array = NULL;
  if ((parameter->flags & DLX_PARAMETER_OPTIONAL) != 0 &&
      dlx_xla_find(&frame->attributes, parameter->name) >= 0) {
    return DLX_OK;
  }
  if (!is_result) {
    status =
        dlx_xla_next(&frame->arguments, &call->arguments_used, parameter->name, "arguments", out);
    before = out->array.data;
  }
  if (status == DLX_OK && (is_result || is_written)) {
    const int64_t bytes = is_result ? 0 : dlx_xla_bytes(&out->array);
    status = dlx_xla_next(&frame->results, &call->results_used, parameter->name, "results", out);
    if (status == DLX_OK && !is_result && before != out->array.data) {
      if (bytes != dlx_xla_bytes(&out->array)) {
        return dlx_call_fail(
            DLX_ERROR_INVALID_ARGUMENT,
            "the result of `%s`, which is written to, must have its shape and dtype",
            parameter->name);
      }
      if (bytes > 0) memcpy(out->array.data, before, (size_t)bytes);
    }
  }
  call->arguments[index].array = &out->array;
  return status;
}

/* A number of XLA as int64_t or double. 0: it is none. */
static inline int dlx_xla_number(const dlx_xla_scalar *scalar, int64_t *integer, double *real) {
  switch (scalar->dtype) {
    case 1: *integer = *(const uint8_t *)scalar->value != 0; break;
    case 2: *integer = *(const int8_t *)scalar->value; break;
    case 3: *integer = *(const int16_t *)scalar->value; break;
    case 4: *integer = *(const int32_t *)scalar->value; break;
    case 5: *integer = *(const int64_t *)scalar->value; break;
    case 6: *integer = *(const uint8_t *)scalar->value; break;
    case 7: *integer = *(const uint16_t *)scalar->value; break;
    case 8: *integer = *(const uint32_t *)scalar->value; break;
    case 11: *real = *(const float *)scalar->value; return 2;
    case 12: *real = *(const double *)scalar->value; return 2;
    default: return 0;
  }
  *real = (double)*integer;
  return 1;
}

static inline dlx_status dlx_xla_read_attribute(dlx_xla_call *call, int32_t index,
                                                const dlx_parameter *parameter) {
  const dlx_xla_attributes *const list = &call->frame->attributes;
  const int64_t found = dlx_xla_find(list, parameter->name);
  dlx_argument *const out = &call->arguments[index];
  int64_t integer = 0;
  double real = 0;
  int kind;
  *out = parameter->default_value;
  if (found < 0) {
    if ((parameter->flags & DLX_PARAMETER_OPTIONAL) != 0) return DLX_OK;
    return dlx_call_fail(DLX_ERROR_INVALID_ARGUMENT, "`%s` is missing: pass it as an attribute",
                         parameter->name);
  }
  if (parameter->kind == DLX_PARAMETER_TEXT && list->types[found] == 4) {
    const dlx_xla_text *const text = (const dlx_xla_text *)list->items[found];
    char *const copy = (char *)malloc(text->size + 1);
    if (copy == NULL) return dlx_call_fail(DLX_ERROR_OUT_OF_MEMORY, "out of memory");
    memcpy(copy, text->data, text->size);
    copy[text->size] = '\0';
    call->texts[call->text_count++] = copy;
    out->text = copy;
    return DLX_OK;
  }
  kind = list->types[found] == 3
             ? dlx_xla_number((const dlx_xla_scalar *)list->items[found], &integer, &real)
             : 0;
  if (kind == 0 || parameter->kind == DLX_PARAMETER_TEXT ||
      (kind == 2 && parameter->kind != DLX_PARAMETER_FLOAT)) {
    return dlx_call_fail(DLX_ERROR_INVALID_ARGUMENT, "`%s` must be %s (the attribute is another)",
                         parameter->name,
                         parameter->kind == DLX_PARAMETER_TEXT    ? "a text"
                         : parameter->kind == DLX_PARAMETER_FLOAT ? "a number"
                                                                  : "an integer");
  }
  if (parameter->kind == DLX_PARAMETER_FLOAT) {
    out->real = real;
  } else {
    out->integer = integer;
    if (parameter->kind == DLX_PARAMETER_INT) return dlx_call_check_int(parameter, integer);
  }
  return DLX_OK;
}

static inline dlx_status dlx_xla_work(dlx_xla_call *call) {
  const dlx_call_signature *const signature = call->signature;
  dlx_status status = DLX_OK;
  int32_t i;
  for (i = 0; i < signature->count && status == DLX_OK; ++i) {
    const dlx_parameter *const parameter = &signature->parameters[i];
    if (parameter->kind == DLX_PARAMETER_ARRAY) {
      status = dlx_xla_read_array(call, i, parameter);
    } else if (parameter->kind == DLX_PARAMETER_STREAM) {
      status =
          dlx_call_fail(DLX_ERROR_UNSUPPORTED,
                        "`%s` is a stream, and handlers of dlx are for the CPU", parameter->name);
    } else {
      status = dlx_xla_read_attribute(call, i, parameter);
    }
  }
  if (status == DLX_OK && (call->arguments_used != call->frame->arguments.size ||
                           call->results_used != call->frame->results.size)) {
    status =
        dlx_call_fail(DLX_ERROR_INVALID_ARGUMENT,
                      "the XLA call has %lld arguments and %lld results (expected %lld and %lld)",
                      (long long)call->frame->arguments.size, (long long)call->frame->results.size,
                      (long long)call->arguments_used, (long long)call->results_used);
  }
  if (status == DLX_OK) status = dlx_contract_check(signature->contract, call->arguments, NULL);
  if (status != DLX_OK) return status;
  return call->handler->function(call->handler->context, call->arguments);
}

static inline void *dlx_xla_fail(const dlx_xla_frame *frame, const char *name) {
  char text[DLX_CALL_MESSAGE_SIZE];
  dlx_xla_error_arguments arguments = {sizeof arguments, NULL, text, 3};
  dlx_call_explain(name, text);
  return frame->api->create_error(&arguments);
}

/* The handler: an XLA_FFI_Error *, NULL after success. Without a frame it returns the contract. */
static inline void *dlx_xla_run(dlx_xla_handler *handler, dlx_xla_frame *frame) {
  const dlx_xla_extension *extension;
  dlx_xla_call call;
  dlx_status status;
  int32_t i;
  if (frame == NULL) return (void *)(uintptr_t)handler->text;
  for (extension = frame->extensions; extension != NULL; extension = extension->next) {
    if (extension->type == 1) { /* the registration asks which version the handler speaks */
      dlx_xla_metadata *const asked = ((const dlx_xla_metadata_extension *)extension)->metadata;
      asked->version.major = 0;
      asked->version.minor = frame->api->version.minor;
      asked->traits = 0;
      return NULL;
    }
  }
  if (frame->stage != 3) return NULL;
  if (frame->struct_size < sizeof *frame) {
    dlx_set_last_error("this XLA passes a smaller frame than version 0.1");
    return dlx_xla_fail(frame, handler->text);
  }
  call.signature = dlx_call_signature_of(&handler->signature, handler->text);
  if (call.signature == NULL) return dlx_xla_fail(frame, handler->text);
  call.handler = handler;
  call.frame = frame;
  call.arguments_used = call.results_used = 0;
  call.text_count = 0;
  dlx_set_last_error("the function failed without a message");
  status = dlx_xla_work(&call);
  for (i = 0; i < call.text_count; ++i) free(call.texts[i]);
  return status == DLX_OK ? NULL : dlx_xla_fail(frame, dlx_contract_name(call.signature->contract));
}

#ifdef __cplusplus
} /* extern "C" */
#define DLX_XLA_EXTERN extern "C"
#else
#define DLX_XLA_EXTERN extern
#endif

/** See the top of this file. `contract` and `context` are constant expressions. */
#define DLX_XLA_HANDLER(handler, contract, function, context)          \
  DLX_XLA_EXTERN DLX_API void *handler(dlx_xla_frame *);               \
  void *handler(dlx_xla_frame *frame) {                                \
    static dlx_xla_handler self = {contract, function, context, NULL}; \
    return dlx_xla_run(&self, frame);                                  \
  }

#endif /* DLX_XLA_FFI_H_ */
