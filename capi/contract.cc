#include "src/contract/contract.h"

#include "capi/guard.h"
#include "dlx/call.h"
#include "src/contract/check.h"

using namespace dlx;
using namespace dlx::capi;

namespace {

const Parameter& require_parameter(const Contract* contract, int32_t index) {
  require(contract, "contract");
  const auto count = static_cast<int32_t>(contract->parameters.size());
  if (count == 0) fail(DLX_ERROR_INVALID_ARGUMENT, "`contract` has no parameters");
  require_range(index, count - 1, "index");
  return contract->parameters[static_cast<size_t>(index)];
}

/// Checks the arguments, and binds the extents' names.
void check_arguments(const Contract& contract, const dlx_argument* arguments, const uint64_t* flags,
                     Binding* binding) {
  const auto count = static_cast<int>(contract.parameters.size());
  for (int i = 0; i < count; ++i) {
    const Parameter& parameter = contract.parameters[static_cast<size_t>(i)];
    if (parameter.bound_name >= 0) bind_number(contract, i, arguments[i].integer, binding);
    if (parameter.kind != Kind::kArray) continue;
    const DLTensor* array = arguments[i].array;
    if (array == nullptr) {
      if (parameter.optional || parameter.result) continue;
      fail(DLX_ERROR_INVALID_ARGUMENT, "`%s` is NULL", parameter.name.c_str());
    }
    if (array->ndim > 0 && (array->shape == nullptr || array->strides == nullptr)) {
      fail(DLX_ERROR_INVALID_ARGUMENT, "`%s` has no shape or no strides (NULL)",
           parameter.name.c_str());
    }
    const DLTensor* like =
        parameter.same_dtype_as >= 0 ? arguments[parameter.same_dtype_as].array : nullptr;
    const Mismatch mismatch =
        check_array(parameter, *array, flags == nullptr ? 0 : flags[i], like, binding);
    if (mismatch != Mismatch::kNone) refuse(contract, parameter, mismatch, *array, like, *binding);
  }
}

}  // namespace

extern "C" {

dlx_status dlx_contract_create(const char* text, dlx_contract** out) {
  if (out != nullptr) *out = nullptr;
  return guard(__func__, [&] {
    require(text, "text");
    require(out, "out");
    *out = parse_contract(text);
  });
}

void dlx_contract_release(dlx_contract* contract) {
  if (contract != nullptr) release(contract);
}

const char* dlx_contract_name(const dlx_contract* contract) {
  return contract == nullptr ? nullptr : contract->function.c_str();
}

int32_t dlx_contract_count(const dlx_contract* contract) {
  return contract == nullptr ? 0 : static_cast<int32_t>(contract->parameters.size());
}

dlx_status dlx_contract_parameter(const dlx_contract* contract, int32_t index, dlx_parameter* out) {
  return guard(__func__, [&] {
    const Parameter& parameter = require_parameter(contract, index);
    require(out, "out");
    if (out->struct_size != sizeof *out) {
      fail(DLX_ERROR_INVALID_ARGUMENT, "`out` has a struct_size of %u (expected %zu, its sizeof)",
           out->struct_size, sizeof *out);
    }
    out->kind = static_cast<int32_t>(parameter.kind);
    out->flags = 0;
    if (parameter.writable) out->flags |= DLX_PARAMETER_WRITABLE;
    if (parameter.result) out->flags |= DLX_PARAMETER_RESULT;
    if (parameter.optional) out->flags |= DLX_PARAMETER_OPTIONAL;
    out->name = parameter.name.c_str();
    out->ndim = parameter.ellipsis ? -1 : parameter.axes;
    const bool array = parameter.kind == Kind::kArray;
    out->dtype = !array                       ? parameter.scalar
                 : parameter.dtype_count == 0 ? DLDataType{}
                                              : parameter.dtypes[0];
  });
}

dlx_status dlx_contract_check(const dlx_contract* contract, const dlx_argument* arguments,
                              const uint64_t* flags) {
  return guard(__func__, [&] {
    require(contract, "contract");
    require(arguments, "arguments");
    Binding binding(*contract);
    check_arguments(*contract, arguments, flags, &binding);
  });
}

dlx_status dlx_contract_result(const dlx_contract* contract, int32_t index,
                               const dlx_argument* arguments, DLDataType* out_dtype,
                               int64_t* out_shape) {
  return guard(__func__, [&] {
    const Parameter& parameter = require_parameter(contract, index);
    require(arguments, "arguments");
    require(out_dtype, "out_dtype");
    if (parameter.axes > 0) require(out_shape, "out_shape");
    if (!parameter.result) {
      fail(DLX_ERROR_INVALID_ARGUMENT, "`index` %d is no result of the contract (got `%s`)", index,
           parameter.name.c_str());
    }
    Binding binding(*contract);
    check_arguments(*contract, arguments, nullptr, &binding);
    int64_t shape[Parameter::kMostAxes];
    infer_shape(*contract, index, binding, shape);
    *out_dtype = parameter.same_dtype_as >= 0 ? arguments[parameter.same_dtype_as].array->dtype
                                              : parameter.dtypes[0];
    for (int i = 0; i < parameter.axes; ++i) out_shape[i] = shape[i];
  });
}

}  // extern "C"
