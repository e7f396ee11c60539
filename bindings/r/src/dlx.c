/* dlx for R. A call returns a list (status, message) if it fails, which R/tensor.R turns into a condition:
 * nothing here jumps over C frames that own something. */
#include <dlx/call.h>
#include <dlx/dlx.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <R.h>
#include <R_ext/Rdynload.h>
#include <Rinternals.h>

/* ---- R's vectors that dlx uses. Any thread may release one, but only R's thread may tell R. ---- */

typedef struct Released {
  SEXP vector;
  struct Released *next;
} Released;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Released *released;

static void release_vector(void *data, void *user_data) {
  (void)data;
  Released *one = user_data;
  pthread_mutex_lock(&lock);
  one->next = released;
  released = one;
  pthread_mutex_unlock(&lock);
}

/* R's thread, on every call. The result is how many vectors were given back. */
static int drain(void) {
  pthread_mutex_lock(&lock);
  Released *list = released;
  released = NULL;
  pthread_mutex_unlock(&lock);
  int count = 0;
  while (list != NULL) {
    Released *one = list;
    list = one->next;
    R_ReleaseObject(one->vector);
    free(one);
    ++count;
  }
  return count;
}

/* ---- values ---- */

static SEXP failed(dlx_status status, const char *message) {
  SEXP out = PROTECT(allocVector(VECSXP, 2));
  SET_VECTOR_ELT(out, 0, ScalarInteger(status));
  SET_VECTOR_ELT(out, 1, mkString(message));
  UNPROTECT(1);
  return out;
}

static SEXP failure(dlx_status status) { return failed(status, dlx_last_error()); }

static SEXP closed(void) {
  return failed(DLX_ERROR_INVALID_ARGUMENT, "dlx: the tensor is closed, or not a tensor");
}

static dlx_tensor *handle(SEXP tensor) {
  return TYPEOF(tensor) == EXTPTRSXP && inherits(tensor, "dlx_tensor") ? R_ExternalPtrAddr(tensor)
                                                                       : NULL;
}

static void finalize(SEXP tensor) {
  dlx_tensor *t = R_ExternalPtrAddr(tensor);
  R_ClearExternalPtr(tensor);
  dlx_tensor_release(t);
}

static SEXP adopt(dlx_status status, dlx_tensor *out) {
  if (status != DLX_OK) return failure(status);
  SEXP tensor = PROTECT(R_MakeExternalPtr(out, R_NilValue, R_NilValue));
  R_RegisterCFinalizerEx(tensor, finalize, TRUE);
  setAttrib(tensor, R_ClassSymbol, mkString("dlx_tensor"));
  UNPROTECT(1);
  return tensor;
}

/* A number of R as an integer: R/tensor.R has checked that it is one, or NA for an open end. */
static int64_t integer(SEXP value) {
  const double number = asReal(value);
  return ISNAN(number) ? DLX_SLICE_OPEN : number >= 9.2e18 ? INT64_MAX : (int64_t)number;
}

static int64_t *integers(SEXP values) {
  int64_t *out = (int64_t *)R_alloc(length(values) + 1, sizeof *out);
  for (int i = 0; i < length(values); ++i) {
    const double number = REAL(values)[i];
    out[i] = number >= 9.2e18 ? INT64_MAX : (int64_t)number;
  }
  return out;
}

static int32_t *axes_of(SEXP values) {
  int32_t *out = (int32_t *)R_alloc(length(values) + 1, sizeof *out);
  for (int i = 0; i < length(values); ++i) out[i] = (int32_t)REAL(values)[i];
  return out;
}

static const char *text(SEXP value) { return CHAR(asChar(value)); }

/* ---- makers ---- */

SEXP r_empty(SEXP shape, SEXP dtype, SEXP device) {
  drain();
  DLDataType type;
  int32_t kind, id;
  dlx_tensor *out = NULL;
  dlx_status status = dlx_dtype_parse(text(dtype), &type);
  if (status == DLX_OK) status = dlx_device_parse(text(device), &kind, &id);
  if (status == DLX_OK) {
    status = dlx_tensor_empty(length(shape), integers(shape), &type, kind, id, NULL, &out);
  }
  if (status == DLX_OK && kind == kDLCPU && dlx_tensor_nbytes(out) > 0) {
    memset(dlx_tensor_data(out), 0, (size_t)dlx_tensor_nbytes(out));
  }
  return adopt(status, out);
}

/* A read-only tensor on the memory of a vector or array of R, whose first axis varies fastest. */
SEXP r_wrap(SEXP vector, SEXP shape, SEXP dtype, SEXP strides, SEXP start) {
  drain();
  DLTensor t;
  memset(&t, 0, sizeof t);
  dlx_status status = dlx_dtype_parse(text(dtype), &t.dtype);
  if (status != DLX_OK) return failure(status);
  t.data = (char *)(TYPEOF(vector) == REALSXP  ? (void *)REAL(vector)
                    : TYPEOF(vector) == RAWSXP ? (void *)RAW(vector)
                                               : (void *)INTEGER(vector)) +
           integer(start);
  t.device.device_type = kDLCPU;
  t.ndim = length(shape);
  t.shape = integers(shape);
  t.strides = integers(strides);
  Released *one = malloc(sizeof *one);
  if (one == NULL) return failed(DLX_ERROR_OUT_OF_MEMORY, "dlx: no memory");
  one->vector = vector;
  dlx_tensor *out = NULL;
  status = dlx_tensor_wrap(&t, DLPACK_FLAG_BITMASK_READ_ONLY, release_vector, one, &out);
  if (status != DLX_OK) {
    free(one);
    return failure(status);
  }
  R_PreserveObject(vector);
  MARK_NOT_MUTABLE(vector); /* R copies it before it changes it */
  return adopt(status, out);
}

/* ---- DLPack: external pointers of class dlx_managed, whose tag is the kind ---- */

static void delete_managed(void *managed, int kind) {
  if (managed == NULL) return;
  if (kind == DLX_MANAGED_VERSIONED) {
    DLManagedTensorVersioned *m = managed;
    if (m->deleter != NULL) m->deleter(m);
  } else {
    DLManagedTensor *m = managed;
    if (m->deleter != NULL) m->deleter(m);
  }
}

static void finalize_managed(SEXP managed) {
  void *address = R_ExternalPtrAddr(managed);
  R_ClearExternalPtr(managed);
  delete_managed(address, asInteger(R_ExternalPtrTag(managed)));
}

SEXP r_export(SEXP tensor, SEXP versioned) {
  drain();
  dlx_tensor *t = handle(tensor);
  if (t == NULL) return closed();
  DLManagedTensorVersioned *now = NULL;
  DLManagedTensor *legacy = NULL;
  const int kind = asLogical(versioned);
  const dlx_status status =
      kind ? dlx_tensor_to_dlpack_versioned(t, NULL, &now) : dlx_tensor_to_dlpack(t, NULL, &legacy);
  if (status != DLX_OK) return failure(status);
  SEXP out = PROTECT(
      R_MakeExternalPtr(kind ? (void *)now : (void *)legacy, ScalarInteger(kind), R_NilValue));
  R_RegisterCFinalizerEx(out, finalize_managed, TRUE);
  setAttrib(out, R_ClassSymbol, mkString("dlx_managed"));
  UNPROTECT(1);
  return out;
}

/* The address of an export, whose deleter is the caller's to call now. */
SEXP r_hand_over(SEXP managed) {
  const double address = (double)(uintptr_t)R_ExternalPtrAddr(managed);
  R_ClearExternalPtr(managed);
  return ScalarReal(address);
}

/* An external pointer of r_export, or an address. It is always consumed. */
SEXP r_import(SEXP managed, SEXP versioned) {
  drain();
  const int kind = asLogical(versioned);
  void *address;
  if (TYPEOF(managed) == EXTPTRSXP) {
    if (inherits(managed, "dlx_managed") && asInteger(R_ExternalPtrTag(managed)) != kind) {
      return failed(DLX_ERROR_INVALID_ARGUMENT, "dlx: `managed` is the other struct of DLPack");
    }
    address = R_ExternalPtrAddr(managed);
    R_ClearExternalPtr(managed);
  } else {
    address = (void *)(uintptr_t)asReal(managed);
  }
  dlx_tensor *out = NULL;
  int32_t consumed = 0;
  const dlx_status status = kind ? dlx_tensor_from_dlpack_versioned(address, &consumed, &out)
                                 : dlx_tensor_from_dlpack(address, 0, &out);
  if (status == DLX_OK) return adopt(status, out);
  SEXP error = PROTECT(failure(status));
  if (!consumed) delete_managed(address, kind);
  UNPROTECT(1);
  return error;
}

/* ---- operations ---- */

#define OPERATION(name, parameters, call) \
  SEXP name parameters {                  \
    drain();                              \
    dlx_tensor *t = handle(tensor);       \
    if (t == NULL) return closed();       \
    dlx_tensor *out = NULL;               \
    const dlx_status status = call;       \
    return adopt(status, out);            \
  }

OPERATION(r_slice, (SEXP tensor, SEXP axis, SEXP start, SEXP stop, SEXP step),
          dlx_tensor_slice(t, asInteger(axis), integer(start), integer(stop), integer(step), &out))
OPERATION(r_select, (SEXP tensor, SEXP axis, SEXP index),
          dlx_tensor_select(t, asInteger(axis), integer(index), &out))
OPERATION(r_permute, (SEXP tensor, SEXP axes),
          dlx_tensor_permute(t, isNull(axes) ? NULL : axes_of(axes), &out))
OPERATION(r_squeeze, (SEXP tensor, SEXP axes),
          dlx_tensor_squeeze(t, length(axes), length(axes) ? axes_of(axes) : NULL, &out))
OPERATION(r_expand_dims, (SEXP tensor, SEXP axis), dlx_tensor_expand_dims(t, asInteger(axis), &out))
OPERATION(r_broadcast, (SEXP tensor, SEXP shape),
          dlx_tensor_broadcast_to(t, length(shape), integers(shape), &out))
OPERATION(r_readonly, (SEXP tensor), dlx_tensor_as_readonly(t, &out))
OPERATION(r_copy, (SEXP tensor), dlx_tensor_clone(t, NULL, &out))

static dlx_copy_options how(SEXP copy, SEXP order) {
  dlx_copy_options options = DLX_COPY_OPTIONS_INIT;
  options.copy = asInteger(copy);
  options.order = asInteger(order);
  return options;
}

SEXP r_contiguous(SEXP tensor, SEXP copy, SEXP order) {
  drain();
  dlx_tensor *t = handle(tensor), *out = NULL;
  if (t == NULL) return closed();
  const dlx_copy_options options = how(copy, order);
  const dlx_status status = dlx_tensor_contiguous(t, &options, &out);
  return adopt(status, out);
}

SEXP r_reshape(SEXP tensor, SEXP shape, SEXP copy) {
  drain();
  dlx_tensor *t = handle(tensor), *out = NULL;
  if (t == NULL) return closed();
  dlx_copy_options options = DLX_COPY_OPTIONS_INIT;
  options.copy = asInteger(copy);
  const dlx_status status = dlx_tensor_reshape(t, length(shape), integers(shape), &options, &out);
  return adopt(status, out);
}

SEXP r_bitcast(SEXP tensor, SEXP dtype) {
  drain();
  dlx_tensor *t = handle(tensor), *out = NULL;
  if (t == NULL) return closed();
  DLDataType type;
  dlx_status status = dlx_dtype_parse(text(dtype), &type);
  if (status == DLX_OK) status = dlx_tensor_bitcast(t, &type, &out);
  return adopt(status, out);
}

SEXP r_to_device(SEXP tensor, SEXP device) {
  drain();
  dlx_tensor *t = handle(tensor), *out = NULL;
  if (t == NULL) return closed();
  int32_t kind, id;
  dlx_status status = dlx_device_parse(text(device), &kind, &id);
  if (status == DLX_OK) status = dlx_tensor_to_device(t, kind, id, NULL, &out);
  return adopt(status, out);
}

SEXP r_copy_from(SEXP tensor, SEXP source) {
  drain();
  dlx_tensor *t = handle(tensor), *from = handle(source);
  if (t == NULL || from == NULL) return closed();
  const dlx_status status = dlx_tensor_copy_from(t, from, NULL);
  return status == DLX_OK ? tensor : failure(status);
}

SEXP r_close(SEXP tensor) {
  if (handle(tensor) != NULL) finalize(tensor);
  return ScalarInteger(drain());
}

/* ---- what a tensor is ---- */

static SEXP doubles(const int64_t *values, int count) {
  SEXP out = allocVector(REALSXP, count);
  for (int i = 0; i < count; ++i) REAL(out)[i] = (double)values[i];
  return out;
}

SEXP r_info(SEXP tensor) {
  drain();
  dlx_tensor *t = handle(tensor);
  if (t == NULL) return closed();
  static const char *names[] = {"dtype", "shape", "strides", "device", "readonly", ""};
  char dtype[DLX_NAME_SIZE], device[DLX_NAME_SIZE];
  dlx_status status = dlx_dtype_name(dlx_tensor_dtype(t), dtype, sizeof dtype);
  if (status == DLX_OK) {
    status =
        dlx_device_name(dlx_tensor_device_type(t), dlx_tensor_device_id(t), device, sizeof device);
  }
  if (status != DLX_OK) return failure(status);
  SEXP out = PROTECT(mkNamed(VECSXP, names));
  SET_VECTOR_ELT(out, 0, mkString(dtype));
  SET_VECTOR_ELT(out, 1, doubles(dlx_tensor_shape(t), dlx_tensor_ndim(t)));
  SET_VECTOR_ELT(out, 2, doubles(dlx_tensor_strides(t), dlx_tensor_ndim(t)));
  SET_VECTOR_ELT(out, 3, mkString(device));
  SET_VECTOR_ELT(out, 4, ScalarLogical((dlx_tensor_flags(t) & DLPACK_FLAG_BITMASK_READ_ONLY) != 0));
  setAttrib(out, install("ok"), ScalarLogical(1));
  UNPROTECT(1);
  return out;
}

SEXP r_address(SEXP tensor) {
  dlx_tensor *t = handle(tensor);
  return t == NULL ? closed() : ScalarReal((double)(uintptr_t)dlx_tensor_data(t));
}

/* The bytes of all elements in C order, as a raw vector. */
SEXP r_raw(SEXP tensor) {
  drain();
  dlx_tensor *t = handle(tensor), *host = NULL, *packed = NULL;
  if (t == NULL) return closed();
  dlx_status status = dlx_tensor_to_device(t, kDLCPU, 0, NULL, &host);
  if (status == DLX_OK) status = dlx_tensor_contiguous(host, NULL, &packed);
  dlx_tensor_release(host);
  if (status != DLX_OK) return failure(status);
  SEXP kept = PROTECT(adopt(status, packed)); /* allocVector may jump */
  const size_t size = (size_t)dlx_tensor_nbytes(packed);
  SEXP out = PROTECT(allocVector(RAWSXP, (R_xlen_t)size));
  if (size > 0) memcpy(RAW(out), dlx_tensor_data(packed), size);
  finalize(kept);
  UNPROTECT(2);
  return out;
}

/* Writes bytes at a distance from the first element; R/tensor.R has checked the range and the flag. */
SEXP r_poke(SEXP tensor, SEXP offset, SEXP bytes) {
  dlx_tensor *t = handle(tensor);
  if (t == NULL) return closed();
  if (length(bytes) > 0)
    memcpy((char *)dlx_tensor_data(t) + integer(offset), RAW(bytes), (size_t)length(bytes));
  return tensor;
}

SEXP r_dtype(SEXP name) {
  DLDataType type;
  char text_of[DLX_NAME_SIZE];
  dlx_status status = dlx_dtype_parse(text(name), &type);
  if (status == DLX_OK) status = dlx_dtype_name(&type, text_of, sizeof text_of);
  if (status != DLX_OK) return failure(status);
  static const char *names[] = {"code", "bits", "lanes", "name", ""};
  SEXP out = PROTECT(mkNamed(VECSXP, names));
  SET_VECTOR_ELT(out, 0, ScalarInteger(type.code));
  SET_VECTOR_ELT(out, 1, ScalarInteger(type.bits));
  SET_VECTOR_ELT(out, 2, ScalarInteger(type.lanes));
  SET_VECTOR_ELT(out, 3, mkString(text_of));
  setAttrib(out, install("ok"), ScalarLogical(1));
  UNPROTECT(1);
  return out;
}

SEXP r_device(SEXP name) {
  int32_t kind, id;
  char text_of[DLX_NAME_SIZE];
  dlx_status status = dlx_device_parse(text(name), &kind, &id);
  if (status == DLX_OK) status = dlx_device_name(kind, id, text_of, sizeof text_of);
  if (status != DLX_OK) return failure(status);
  static const char *names[] = {"type", "id", "name", "count", "reason", ""};
  SEXP out = PROTECT(mkNamed(VECSXP, names));
  SET_VECTOR_ELT(out, 0, ScalarInteger(kind));
  SET_VECTOR_ELT(out, 1, ScalarInteger(id));
  SET_VECTOR_ELT(out, 2, mkString(text_of));
  SET_VECTOR_ELT(out, 3, ScalarInteger(dlx_device_count(kind)));
  SET_VECTOR_ELT(out, 4, mkString(dlx_backend_reason(kind)));
  setAttrib(out, install("ok"), ScalarLogical(1));
  UNPROTECT(1);
  return out;
}

SEXP r_status_name(SEXP status) { return mkString(dlx_status_name(asInteger(status))); }
SEXP r_version(void) { return mkString(dlx_version()); }

#include "functions.h"

#define CALL(name, count) {#name, (DL_FUNC) & name, count}

static const R_CallMethodDef CALLS[] = {
    CALL(r_empty, 3),     CALL(r_wrap, 5),        CALL(r_export, 2),   CALL(r_import, 2),
    CALL(r_slice, 5),     CALL(r_select, 3),      CALL(r_permute, 2),  CALL(r_squeeze, 2),
    CALL(r_broadcast, 2), CALL(r_expand_dims, 2), CALL(r_readonly, 1), CALL(r_copy, 1),
    CALL(r_reshape, 3),   CALL(r_contiguous, 3),  CALL(r_bitcast, 2),  CALL(r_to_device, 2),
    CALL(r_close, 1),     CALL(r_copy_from, 2),   CALL(r_info, 1),     CALL(r_address, 1),
    CALL(r_raw, 1),       CALL(r_poke, 3),        CALL(r_dtype, 1),    CALL(r_device, 1),
    CALL(r_version, 0),   CALL(r_status_name, 1), CALL(r_contract, 1), CALL(r_hand_over, 1),
    CALL(r_call, 3),      {NULL, NULL, 0},
};

void R_init_dlx(DllInfo *info) {
  R_registerRoutines(info, NULL, CALLS, NULL, NULL);
  R_useDynamicSymbols(info, FALSE);
}
