/* Functions of C that have a contract (dlx/call.h). R/functions.R has checked and sorted the arguments. */
#include <R_ext/Rdynload.h>

static void finalize_contract(SEXP contract) {
  dlx_contract_release(R_ExternalPtrAddr(contract));
  R_ClearExternalPtr(contract);
}

/* A contract with its parameters: list(contract, name, kinds, flags, names), integers and texts. */
SEXP r_contract(SEXP words) {
  dlx_contract *made = NULL;
  const dlx_status status = dlx_contract_create(text(words), &made);
  if (status != DLX_OK) return failure(status);
  SEXP contract = PROTECT(R_MakeExternalPtr(made, R_NilValue, R_NilValue));
  R_RegisterCFinalizerEx(contract, finalize_contract, FALSE);
  const int32_t count = dlx_contract_count(made);
  static const char *fields[] = {"contract", "name", "kinds", "flags", "names", ""};
  SEXP out = PROTECT(mkNamed(VECSXP, fields));
  SET_VECTOR_ELT(out, 0, contract);
  SET_VECTOR_ELT(out, 1, mkString(dlx_contract_name(made)));
  SET_VECTOR_ELT(out, 2, allocVector(INTSXP, count));
  SET_VECTOR_ELT(out, 3, allocVector(INTSXP, count));
  SET_VECTOR_ELT(out, 4, allocVector(STRSXP, count));
  for (int32_t i = 0; i < count; ++i) {
    dlx_parameter parameter = DLX_PARAMETER_INIT;
    dlx_contract_parameter(made, i, &parameter);
    INTEGER(VECTOR_ELT(out, 2))[i] = parameter.kind;
    INTEGER(VECTOR_ELT(out, 3))[i] = (int)parameter.flags;
    SET_STRING_ELT(VECTOR_ELT(out, 4), i, mkCharCE(parameter.name, CE_UTF8));
  }
  setAttrib(out, install("ok"), ScalarLogical(1));
  UNPROTECT(2);
  return out;
}

/* Calls a function: one argument for each parameter, NULL for a default. The result is a list of tensors. */
SEXP r_call(SEXP address, SEXP contract, SEXP arguments) {
  drain();
  const dlx_contract *c = R_ExternalPtrAddr(contract);
  const dlx_function function = (dlx_function)R_ExternalPtrAddrFn(address);
  const int32_t count = dlx_contract_count(c);
  dlx_tensor **tensors = (dlx_tensor **)R_alloc((size_t)count + 1, sizeof *tensors);
  dlx_tensor **out = (dlx_tensor **)R_alloc((size_t)count + 1, sizeof *out);
  dlx_argument *values = (dlx_argument *)R_alloc((size_t)count + 1, sizeof *values);
  int results = 0;
  for (int32_t i = 0; i < count; ++i) {
    dlx_parameter parameter = DLX_PARAMETER_INIT;
    dlx_contract_parameter(c, i, &parameter);
    SEXP argument = VECTOR_ELT(arguments, i);
    tensors[i] = NULL;
    values[i] = parameter.default_value;
    if (parameter.flags & DLX_PARAMETER_RESULT) ++results;
    if (isNull(argument)) continue;
    switch (parameter.kind) {
      case DLX_PARAMETER_ARRAY:
        tensors[i] = handle(argument);
        if (tensors[i] == NULL) return closed();
        break;
      case DLX_PARAMETER_INT: values[i].integer = integer(argument); break;
      case DLX_PARAMETER_FLOAT: values[i].real = asReal(argument); break;
      case DLX_PARAMETER_BOOL: values[i].integer = asLogical(argument) == 1; break;
      default: values[i].text = translateCharUTF8(STRING_ELT(argument, 0));
    }
  }
  const dlx_status status = dlx_contract_call(c, function, NULL, tensors, values, out);
  if (status != DLX_OK) return failure(status);
  SEXP list = PROTECT(allocVector(VECSXP, results));
  for (int i = 0; i < results; ++i) SET_VECTOR_ELT(list, i, adopt(DLX_OK, out[i]));
  setAttrib(list, install("ok"), ScalarLogical(1));
  UNPROTECT(1);
  return list;
}
