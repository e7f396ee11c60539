/**
 * The dlx_function of call.h as an operator of PyTorch, without PyTorch's headers: for
 * torch.compile(fullgraph=True), torch.export and eager calls from Python and C++. At file scope:
 *     DLX_TORCH_OPERATOR(blur_torch, "filter::blur", "(image: uint8[h, w], out: uint8[h, w] result)",
 *                        blur, NULL)
 *
 * defines `dlx_status blur_torch(const char **name, const char **contract)`, which registers the
 * operator with the PyTorch of the process. `dlx.torch_operator(lib.blur_torch)` calls it from
 * Python, adds the fake implementation, and returns torch.ops.filter.blur.default.
 *
 * The operator's schema follows from the contract: arrays are Tensor, those that the function writes
 * Tensor(a!), optional ones Tensor?; int, float, bool and str keep their defaults; results are what
 * the operator returns.
 *
 * - **Ownership**: the function gets arrays that are valid until it returns. The operator stays
 *   registered until the process ends; `contract` and `context` must live as long.
 * - **Errors** are a RuntimeError (c10::Error) with dlx's words: "filter::blur: `image` must be
 *   uint8 (got float32)". It is thrown through the C function that this macro defines, which needs
 *   unwind tables (all compilers' default on x86-64 and ARM64). Nothing is done before all arguments
 *   are checked.
 * - **Thread safety**: the function may be called on any threads at once, without the GIL.
 * - **What it cannot do**: CPU only; no temporaries for `copy` (non-compact tensors are refused: call
 *   .contiguous() before); results are row-major; at most 8 axes. It has no derivative: while
 *   gradients are recorded it refuses tensors that require grad, unless the contract says `grad`,
 *   which promises a derivative of zero. vmap calls it once for each slice.
 *
 * Linux and macOS; PyTorch from 2.10 on.
 */
#ifndef DLX_TORCH_OPERATOR_H_
#define DLX_TORCH_OPERATOR_H_

#include <dlfcn.h>
#include <locale.h>

#include "dlx/call_support.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef void *dlx_torch_handle;
typedef void (*dlx_torch_boxed)(uint64_t *stack, uint64_t count, uint64_t results);

/** What DLX_TORCH_OPERATOR keeps of an operator. */
typedef struct dlx_torch_operator {
  const char *name; /* "filter::blur" */
  const char *text; /* the contract */
  dlx_function function;
  void *context;
  dlx_torch_boxed boxed;
  dlx_call_signature *signature; /* of the contract, once it is registered */
  int32_t state;                 /* 0: not registered, 1: in work, 2: registered */
  dlx_torch_handle definition, implementation;
} dlx_torch_operator;

/* PyTorch's stable C functions (torch/csrc/inductor/aoti_torch/c/shim.h, torch/csrc/stable/c/shim.h).
 * They return 0, or 1 after a failure. */
typedef struct dlx_torch_functions {
  int32_t (*data)(dlx_torch_handle, void **);
  int32_t (*dim)(dlx_torch_handle, int64_t *);
  int32_t (*sizes)(dlx_torch_handle, int64_t **);
  int32_t (*strides)(dlx_torch_handle, int64_t **);
  int32_t (*dtype)(dlx_torch_handle, int32_t *);
  int32_t (*drop)(dlx_torch_handle);
  int32_t (*empty)(int64_t, const int64_t *, const int64_t *, int32_t, int32_t, int32_t,
                   dlx_torch_handle *);
  int32_t (*fragment)(const char *, const char *, uint32_t, dlx_torch_handle *);
  int32_t (*define)(dlx_torch_handle, const char *);
  int32_t (*begin_implementation)(const char *, const char *, const char *, uint32_t,
                                  dlx_torch_handle *);
  int32_t (*implement)(dlx_torch_handle, const char *, dlx_torch_boxed, uint64_t);
  int32_t (*drop_library)(dlx_torch_handle);
  int32_t (*string_length)(dlx_torch_handle, size_t *);
  int32_t (*string_text)(dlx_torch_handle, const char **);
  int32_t (*drop_string)(dlx_torch_handle);
  void (*raise)(uint8_t, const char *, const char *, uint32_t, const char *);
  void (*free_optional)(void *);
  uint8_t (*records)(void);
  uint8_t (*requires_grad)(const void *);
} dlx_torch_functions;

/* The functions of the PyTorch in this process. Before a registration succeeded all are NULL. */
static dlx_torch_functions dlx_torch;

/* torch::headeronly::ScalarType, whose numbers are in saved models. */
static const struct {
  int32_t number;
  DLDataType dtype;
} dlx_torch_dtypes[] = {
    {0, {kDLUInt, 8, 1}},
    {1, {kDLInt, 8, 1}},
    {2, {kDLInt, 16, 1}},
    {3, {kDLInt, 32, 1}},
    {4, {kDLInt, 64, 1}},
    {5, {kDLFloat, 16, 1}},
    {6, {kDLFloat, 32, 1}},
    {7, {kDLFloat, 64, 1}},
    {8, {kDLComplex, 32, 1}},
    {9, {kDLComplex, 64, 1}},
    {10, {kDLComplex, 128, 1}},
    {11, {kDLBool, 8, 1}},
    {15, {kDLBfloat, 16, 1}},
    {23, {kDLFloat8_e5m2, 8, 1}},
    {24, {kDLFloat8_e4m3fn, 8, 1}},
    {25, {kDLFloat8_e5m2fnuz, 8, 1}},
    {26, {kDLFloat8_e4m3fnuz, 8, 1}},
    {27, {kDLUInt, 16, 1}},
    {28, {kDLUInt, 32, 1}},
    {29, {kDLUInt, 64, 1}},
    {44, {kDLFloat8_e8m0fnu, 8, 1}},
};
enum { DLX_TORCH_DTYPES = sizeof dlx_torch_dtypes / sizeof dlx_torch_dtypes[0] };

/* ---- registration ---------------------------------------------------------------------------- */

static inline dlx_status dlx_torch_find(dlx_torch_functions *out) {
  static const struct {
    const char *name;
    size_t offset;
  } names[] = {
      {"aoti_torch_get_data_ptr", offsetof(dlx_torch_functions, data)},
      {"aoti_torch_get_dim", offsetof(dlx_torch_functions, dim)},
      {"aoti_torch_get_sizes", offsetof(dlx_torch_functions, sizes)},
      {"aoti_torch_get_strides", offsetof(dlx_torch_functions, strides)},
      {"aoti_torch_get_dtype", offsetof(dlx_torch_functions, dtype)},
      {"aoti_torch_delete_tensor_object", offsetof(dlx_torch_functions, drop)},
      {"aoti_torch_empty_strided", offsetof(dlx_torch_functions, empty)},
      {"aoti_torch_library_init_fragment", offsetof(dlx_torch_functions, fragment)},
      {"aoti_torch_library_def", offsetof(dlx_torch_functions, define)},
      {"aoti_torch_library_init_impl", offsetof(dlx_torch_functions, begin_implementation)},
      {"torch_library_impl", offsetof(dlx_torch_functions, implement)},
      {"aoti_torch_delete_library_object", offsetof(dlx_torch_functions, drop_library)},
      {"torch_string_length", offsetof(dlx_torch_functions, string_length)},
      {"torch_string_c_str", offsetof(dlx_torch_functions, string_text)},
      {"torch_delete_string", offsetof(dlx_torch_functions, drop_string)},
      {"aoti_torch_check", offsetof(dlx_torch_functions, raise)},
      /* operator delete, which torch_delete_stable_ivalue of 2.13 calls. */
      {"_ZdlPv", offsetof(dlx_torch_functions, free_optional)},
      {"aoti_torch_grad_mode_is_enabled", offsetof(dlx_torch_functions, records)},
      /* c10::TensorImpl::requires_grad() const, for which there is no C function. */
      {"_ZNK3c1010TensorImpl13requires_gradEv", offsetof(dlx_torch_functions, requires_grad)},
  };
#ifdef __APPLE__
  void *const library = dlopen("libtorch_cpu.dylib", RTLD_LAZY | RTLD_NOLOAD);
#else
  void *const library = dlopen("libtorch_cpu.so", RTLD_LAZY | RTLD_NOLOAD);
#endif
  /* An allocator that the process was started with replaces operator delete for torch too. */
  void *const process = dlopen(NULL, RTLD_LAZY);
  size_t i;
  if (library == NULL) {
    return dlx_call_fail(DLX_ERROR_UNAVAILABLE,
                         "no PyTorch in this process: import torch before the registration");
  }
  for (i = 0; i < sizeof names / sizeof names[0]; ++i) {
    void *symbol = NULL;
    if (names[i].offset == offsetof(dlx_torch_functions, free_optional) && process != NULL) {
      symbol = dlsym(process, names[i].name);
    }
    if (symbol == NULL) symbol = dlsym(library, names[i].name);
    if (symbol == NULL) {
      return dlx_call_fail(DLX_ERROR_UNAVAILABLE,
                           "this PyTorch has no %s: operators in C need 2.10 or newer",
                           names[i].name);
    }
    memcpy((char *)out + names[i].offset, &symbol, sizeof symbol);
  }
  return DLX_OK;
}

typedef struct dlx_torch_text {
  char text[4096];
  size_t size;
} dlx_torch_text;

static inline void dlx_torch_append(dlx_torch_text *to, const char *format, ...) {
  const size_t room = sizeof to->text - to->size;
  va_list values;
  int written;
  va_start(values, format);
  written = vsnprintf(to->text + to->size, room, format, values);
  va_end(values);
  to->size = written < 0 || (size_t)written >= room ? sizeof to->text - 1 : to->size + written;
}

/* The default of a number, such as "=1.50000000000000000e+00", whatever the process's locale is. */
static inline void dlx_torch_append_real(dlx_torch_text *to, double value) {
  const char *const point = localeconv()->decimal_point;
  char text[64], *at;
  snprintf(text, sizeof text, "%.17e", value);
  at = strstr(text, point);
  if (at != NULL) {
    *at = '.';
    memmove(at + 1, at + strlen(point), strlen(at + strlen(point)) + 1);
  }
  dlx_torch_append(to, "=%s", text);
}

/* "Tensor(a!) image", "int radius=1". */
static inline void dlx_torch_append_parameter(dlx_torch_text *to, const dlx_parameter *parameter,
                                              char alias) {
  const int optional = (parameter->flags & DLX_PARAMETER_OPTIONAL) != 0;
  if (parameter->kind == DLX_PARAMETER_ARRAY) {
    dlx_torch_append(to, "Tensor");
    if ((parameter->flags & DLX_PARAMETER_WRITABLE) != 0) dlx_torch_append(to, "(%c!)", alias);
    dlx_torch_append(to, optional ? "? %s=None" : " %s", parameter->name);
    return;
  }
  switch (parameter->kind) {
    case DLX_PARAMETER_INT:
      dlx_torch_append(to, "int %s", parameter->name);
      if (optional) dlx_torch_append(to, "=%lld", (long long)parameter->default_value.integer);
      return;
    case DLX_PARAMETER_FLOAT:
      dlx_torch_append(to, "float %s", parameter->name);
      if (optional) dlx_torch_append_real(to, parameter->default_value.real);
      return;
    case DLX_PARAMETER_BOOL:
      dlx_torch_append(to, "bool %s", parameter->name);
      if (optional) {
        dlx_torch_append(to, parameter->default_value.integer != 0 ? "=True" : "=False");
      }
      return;
    default:
      dlx_torch_append(to, "str %s", parameter->name);
      if (optional) dlx_torch_append(to, "=\"%s\"", parameter->default_value.text);
  }
}

/* The schema of PyTorch, such as "blur(Tensor image, int radius=1) -> Tensor". */
static inline dlx_status dlx_torch_schema(const dlx_torch_operator *op, const char *base,
                                          dlx_torch_text *out) {
  int32_t i, results = 0, written = 0;
  out->size = 0;
  dlx_torch_append(out, "%s(", base);
  for (i = 0; i < op->signature->count; ++i) {
    const dlx_parameter *const parameter = &op->signature->parameters[i];
    if (parameter->kind == DLX_PARAMETER_STREAM) {
      return dlx_call_fail(DLX_ERROR_UNSUPPORTED,
                           "%s: `%s` is a stream, and operators in C are for the CPU", op->name,
                           parameter->name);
    }
    if ((parameter->flags & DLX_PARAMETER_RESULT) != 0) {
      ++results;
      continue;
    }
    if (written > 0) dlx_torch_append(out, ", ");
    dlx_torch_append_parameter(out, parameter, (char)('a' + written % 26));
    ++written;
  }
  dlx_torch_append(out, results == 1 ? ") -> " : ") -> (");
  for (i = 0; i < results; ++i) dlx_torch_append(out, i > 0 ? ", Tensor" : "Tensor");
  if (results != 1) dlx_torch_append(out, ")");
  return DLX_OK;
}

static inline dlx_status dlx_torch_register_anew(dlx_torch_operator *op) {
  dlx_torch_functions found;
  dlx_torch_text schema;
  char space[128];
  const char *const colons = strstr(op->name, "::");
  /* How values lie on the stack: as of 2.10. */
  const uint64_t version = (UINT64_C(2) << 56) | (UINT64_C(10) << 48);
  dlx_status status;
  if (colons == NULL || (size_t)(colons - op->name) >= sizeof space) {
    return dlx_call_fail(DLX_ERROR_INVALID_ARGUMENT,
                         "an operator's name is \"library::name\" (got \"%s\")", op->name);
  }
  if (dlx_call_signature_of(&op->signature, op->text) == NULL) return DLX_ERROR_INVALID_ARGUMENT;
  status = dlx_torch_schema(op, colons + 2, &schema);
  if (status == DLX_OK) status = dlx_torch_find(&found);
  if (status != DLX_OK) return status;
  dlx_torch = found;
  memcpy(space, op->name, (size_t)(colons - op->name));
  space[colons - op->name] = '\0';
  if (found.fragment(space, op->name, 0, &op->definition) == 0) {
    if (found.define(op->definition, schema.text) == 0 &&
        found.begin_implementation(space, "CPU", op->name, 0, &op->implementation) == 0) {
      if (found.implement(op->implementation, colons + 2, op->boxed, version) == 0) return DLX_OK;
      found.drop_library(op->implementation);
    }
    found.drop_library(op->definition);
  }
  return dlx_call_fail(DLX_ERROR_INVALID_ARGUMENT,
                       "%s: PyTorch refused the operator (is it defined twice?): %s", op->name,
                       schema.text);
}

static inline dlx_status dlx_torch_register(dlx_torch_operator *op, const char **name,
                                            const char **contract) {
  int32_t state = 0;
  if (__atomic_compare_exchange_n(&op->state, &state, 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    const dlx_status status = dlx_torch_register_anew(op);
    __atomic_store_n(&op->state, status == DLX_OK ? 2 : 0, __ATOMIC_RELEASE);
    if (status != DLX_OK) return status;
  } else if (state == 1) {
    return dlx_call_fail(DLX_ERROR_UNAVAILABLE, "%s: another thread is registering it", op->name);
  }
  if (name != NULL) *name = op->name;
  if (contract != NULL) *contract = op->text;
  return DLX_OK;
}

/* ---- a call ---------------------------------------------------------------------------------- */

/* The operator's values during a call: what it owns of the stack, and what the function gets. */
typedef struct dlx_torch_call {
  dlx_argument arguments[DLX_CALL_MOST_PARAMETERS];
  dlx_call_array arrays[DLX_CALL_MOST_PARAMETERS];
  dlx_torch_handle tensors[DLX_CALL_MOST_PARAMETERS];
  dlx_torch_handle strings[DLX_CALL_MOST_PARAMETERS];
  int32_t results[DLX_CALL_MOST_PARAMETERS]; /* their parameters */
  int32_t result_count;
} dlx_torch_call;

/* Describes a tensor, whose shape another thread may change after the copy. */
static inline dlx_status dlx_torch_describe(const char *name, dlx_torch_handle tensor,
                                            dlx_call_array *out) {
  DLTensor *const array = &out->array;
  int64_t ndim, *sizes, *strides;
  int32_t number, i;
  if ((dlx_torch.data(tensor, &array->data) | dlx_torch.dim(tensor, &ndim) |
       dlx_torch.sizes(tensor, &sizes) | dlx_torch.strides(tensor, &strides) |
       dlx_torch.dtype(tensor, &number)) != 0) {
    return dlx_call_fail(DLX_ERROR_UNSUPPORTED, "`%s` has no strided memory", name);
  }
  if (ndim > DLX_CALL_MOST_AXES) {
    return dlx_call_fail(DLX_ERROR_UNSUPPORTED, "`%s` has %lld axes, at most %d are possible", name,
                         (long long)ndim, DLX_CALL_MOST_AXES);
  }
  for (i = 0; i < DLX_TORCH_DTYPES && dlx_torch_dtypes[i].number != number; ++i) {
  }
  if (i == DLX_TORCH_DTYPES) {
    return dlx_call_fail(DLX_ERROR_UNSUPPORTED, "`%s` has a dtype that dlx does not know (%d)",
                         name, number);
  }
  array->dtype = dlx_torch_dtypes[i].dtype;
  array->device.device_type = kDLCPU;
  array->device.device_id = 0;
  array->ndim = (int32_t)ndim;
  array->byte_offset = 0;
  array->shape = out->shape;
  array->strides = out->strides;
  for (i = 0; i < array->ndim; ++i) {
    out->shape[i] = sizes[i];
    out->strides[i] = strides[i];
  }
  return DLX_OK;
}

/* Takes over what the stack owns, of all values, so that a failure releases them. */
static inline void dlx_torch_take(const dlx_torch_operator *op, const uint64_t *stack,
                                  dlx_torch_call *call) {
  int32_t i;
  for (i = 0; i < op->signature->count; ++i) {
    const dlx_parameter *const parameter = &op->signature->parameters[i];
    call->tensors[i] = call->strings[i] = NULL;
    call->arguments[i].array = NULL;
    if ((parameter->flags & DLX_PARAMETER_RESULT) != 0) {
      call->results[call->result_count++] = i;
    } else if (parameter->kind == DLX_PARAMETER_ARRAY) {
      uint64_t value = *stack++;
      if ((parameter->flags & DLX_PARAMETER_OPTIONAL) != 0 && value != 0) {
        uint64_t *const boxed = (uint64_t *)(uintptr_t)value;
        value = *boxed;
        dlx_torch.free_optional(boxed);
      }
      call->tensors[i] = (dlx_torch_handle)(uintptr_t)value;
    } else if (parameter->kind == DLX_PARAMETER_TEXT) {
      call->strings[i] = (dlx_torch_handle)(uintptr_t)*stack++;
    } else {
      memcpy(&call->arguments[i], stack++, sizeof *stack);
      /* A bool has one byte on the stack. */
      if (parameter->kind == DLX_PARAMETER_BOOL) call->arguments[i].integer &= 1;
    }
  }
}

static inline dlx_status dlx_torch_read(const dlx_torch_operator *op, dlx_torch_call *call) {
  int32_t i;
  dlx_status status = DLX_OK;
  for (i = 0; i < op->signature->count && status == DLX_OK; ++i) {
    const dlx_parameter *const parameter = &op->signature->parameters[i];
    if (call->tensors[i] != NULL) {
      /* A handle is the address of an at::Tensor, whose only member points to the TensorImpl. */
      if ((parameter->flags & DLX_PARAMETER_GRAD) == 0 &&
          dlx_torch.requires_grad(*(void **)call->tensors[i]) != 0 && dlx_torch.records() != 0) {
        return dlx_call_fail(DLX_ERROR_UNSUPPORTED,
                             "`%s` requires grad, and the operator has no derivative: pass "
                             "%s.detach(), or call it under torch.no_grad()",
                             parameter->name, parameter->name);
      }
      status = dlx_torch_describe(parameter->name, call->tensors[i], &call->arrays[i]);
      call->arguments[i].array = &call->arrays[i].array;
    } else if (parameter->kind == DLX_PARAMETER_INT) {
      status = dlx_call_check_int(parameter, call->arguments[i].integer);
    } else if (parameter->kind == DLX_PARAMETER_TEXT) {
      size_t length = 0;
      if (dlx_torch.string_length(call->strings[i], &length) != 0 ||
          dlx_torch.string_text(call->strings[i], &call->arguments[i].text) != 0 ||
          strlen(call->arguments[i].text) != length) {
        status = dlx_call_fail(DLX_ERROR_INVALID_ARGUMENT, "`%s` contains a zero", parameter->name);
      }
    }
  }
  return status;
}

static inline dlx_status dlx_torch_allocate(const dlx_torch_operator *op, int32_t index,
                                            dlx_torch_call *call) {
  const dlx_parameter *const parameter = &op->signature->parameters[index];
  dlx_call_array *const out = &call->arrays[index];
  int32_t i;
  dlx_status status = dlx_contract_result(op->signature->contract, index, call->arguments,
                                          &out->array.dtype, out->shape);
  if (status != DLX_OK) return status;
  for (i = 0; i < DLX_TORCH_DTYPES; ++i) {
    const DLDataType dtype = dlx_torch_dtypes[i].dtype;
    if (dtype.code == out->array.dtype.code && dtype.bits == out->array.dtype.bits &&
        dtype.lanes == out->array.dtype.lanes) {
      break;
    }
  }
  out->array.ndim = parameter->ndim;
  dlx_call_set_compact(out);
  if (i == DLX_TORCH_DTYPES ||
      dlx_torch.empty(parameter->ndim, out->shape, out->strides, dlx_torch_dtypes[i].number, 0, 0,
                      &call->tensors[index]) != 0) {
    return dlx_call_fail(DLX_ERROR_UNSUPPORTED, "PyTorch cannot allocate the result `%s`",
                         parameter->name);
  }
  status = dlx_torch_describe(parameter->name, call->tensors[index], out);
  call->arguments[index].array = &out->array;
  return status;
}

static inline dlx_status dlx_torch_work(const dlx_torch_operator *op, dlx_torch_call *call) {
  int32_t i;
  dlx_status status = dlx_torch_read(op, call);
  for (i = 0; i < call->result_count && status == DLX_OK; ++i) {
    status = dlx_torch_allocate(op, call->results[i], call);
  }
  if (status == DLX_OK) status = dlx_contract_check(op->signature->contract, call->arguments, NULL);
  return status == DLX_OK ? op->function(op->context, call->arguments) : status;
}

/* Not inlined: its frame is large, and the exception must not find it. */
static inline dlx_status dlx_torch_serve(const dlx_torch_operator *op, uint64_t *stack,
                                         char *text) {
  dlx_torch_call call;
  dlx_status status;
  int32_t i;
  call.result_count = 0;
  dlx_torch_take(op, stack, &call);
  dlx_set_last_error("the function failed without a message");
  status = dlx_torch_work(op, &call);
  if (status != DLX_OK) dlx_call_explain(op->name, text);
  for (i = 0; i < call.result_count && status == DLX_OK; ++i) {
    stack[i] = (uint64_t)(uintptr_t)call.tensors[call.results[i]];
    call.tensors[call.results[i]] = NULL;
  }
  for (i = 0; i < op->signature->count; ++i) {
    if (call.tensors[i] != NULL) dlx_torch.drop(call.tensors[i]);
    if (call.strings[i] != NULL) dlx_torch.drop_string(call.strings[i]);
  }
  return status;
}

static inline void dlx_torch_run(const dlx_torch_operator *op, uint64_t *stack) {
  char text[DLX_CALL_MESSAGE_SIZE];
  if (dlx_torch_serve(op, stack, text) != DLX_OK) dlx_torch.raise(0, op->name, __FILE__, 0, text);
}

#ifdef __cplusplus
} /* extern "C" */
#define DLX_TORCH_EXTERN extern "C"
#else
#define DLX_TORCH_EXTERN extern
#endif

/** See the top of this file. `name`, `contract` and `context` are constant expressions. */
#define DLX_TORCH_OPERATOR(register_function, name, contract, function, context)             \
  static void register_function##_boxed(uint64_t *, uint64_t, uint64_t);                     \
  static dlx_torch_operator register_function##_operator = {                                 \
      name, contract, function, context, register_function##_boxed, NULL, 0, NULL, NULL};    \
  static void register_function##_boxed(uint64_t *stack, uint64_t count, uint64_t results) { \
    (void)count;                                                                             \
    (void)results;                                                                           \
    dlx_torch_run(&register_function##_operator, stack);                                     \
  }                                                                                          \
  DLX_TORCH_EXTERN DLX_API dlx_status register_function(const char **, const char **);       \
  dlx_status register_function(const char **out_name, const char **out_contract) {           \
    return dlx_torch_register(&register_function##_operator, out_name, out_contract);        \
  }

#endif /* DLX_TORCH_OPERATOR_H_ */
