#include "src/contract/contract.h"

#include "capi/guard.h"
#include "dlx/call.h"
#include "src/base/last_error.h"
#include "src/base/shape_text.h"
#include "src/contract/check.h"
#include "src/dtype/dtype.h"
#include "src/tensor/synchronization.h"
#include "src/tensor/tensor.h"

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
    if (parameter.bound_name >= 0) bind_number(parameter, arguments[i].integer, binding);
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
    for (int32_t axis = 0; axis < array->ndim; ++axis) {
      if (array->shape[axis] >= 0) continue;
      fail(DLX_ERROR_INVALID_ARGUMENT, "`%s` has a negative extent (shape %s)",
           parameter.name.c_str(), shape_text(array->ndim, array->shape).text);
    }
    const DLTensor* like =
        parameter.same_dtype_as >= 0 ? arguments[parameter.same_dtype_as].array : nullptr;
    const Mismatch mismatch =
        check_array(parameter, *array, flags == nullptr ? 0 : flags[i], like, binding);
    if (mismatch != Mismatch::kNone) refuse(contract, parameter, mismatch, *array, like, *binding);
  }
}

/// The parameter's width holds the number, and a text is there.
void check_value(const Parameter& parameter, const dlx_argument& value) {
  if (parameter.kind == Kind::kText) {
    if (value.text == nullptr) {
      fail(DLX_ERROR_INVALID_ARGUMENT, "`%s` is NULL", parameter.name.c_str());
    }
  } else if (parameter.kind == Kind::kInt && !can_hold(parameter.scalar, value.integer)) {
    fail(DLX_ERROR_INVALID_ARGUMENT, "`%s` does not fit into %s (got %lld)", parameter.name.c_str(),
         dtype_text(parameter.scalar).text, static_cast<long long>(value.integer));
  }
}

/// The tensors and values of a call, as the function gets them.
class Call {
 public:
  Call(const Contract& contract, Tensor* const* tensors, const dlx_argument* values)
      : contract_(contract), tensors_(tensors) {
    const int count = static_cast<int>(contract.parameters.size());
    for (int i = 0; i < count; ++i) {
      const Parameter& parameter = contract.parameters[static_cast<size_t>(i)];
      if (parameter.kind == Kind::kArray) {
        if (!parameter.result) put(i, tensor_of(parameter, i));
      } else if (parameter.kind != Kind::kStream) {
        require(values, "values");
        check_value(parameter, values[i]);
        arguments_[i] = values[i];
      }
    }
    Binding binding(contract);
    check_arguments(contract, arguments_, flags_, &binding);
    for (int i = 0; i < count; ++i) {
      if (contract.parameters[static_cast<size_t>(i)].result) make_result(i, &binding);
    }
  }

  dlx_status run(dlx_function function, void* context) {
    StreamHandle stream = 0;
    for (Tensor* tensor : used_) {
      if (is_on_device(tensor)) {
        stream = make_ready_on_current(tensor);
      } else if (tensor != nullptr) {
        synchronize(tensor);
      }
    }
    if (contract_.stream >= 0) arguments_[contract_.stream].integer = stream;
    const dlx_status status = function(context, arguments_);
    for (Tensor* tensor : used_) {
      if (is_on_device(tensor)) note_written(tensor, stream);
    }
    return status;
  }

  /// Hands the results over.
  void detach(dlx_tensor** out) {
    for (int i = 0; out != nullptr && i < count_; ++i) out[i] = results_[i].detach();
  }

 private:
  Tensor* tensor_of(const Parameter& parameter, int index) const {
    require(tensors_, "tensors");
    Tensor* const tensor = tensors_[index];
    if (tensor == nullptr && !parameter.optional) require(tensor, parameter.name.c_str());
    return tensor;
  }

  void put(int index, Tensor* tensor) {
    if (tensor == nullptr) return;
    used_[index] = tensor;
    arrays_[index] = tensor->dl;  // the function may write to what it gets
    arguments_[index].array = &arrays_[index];
    flags_[index] = tensor->flags;
    if (is_on_device(tensor)) device_ = tensor->dl.device;
  }

  void make_result(int index, Binding* binding) {
    const Parameter& parameter = contract_.parameters[static_cast<size_t>(index)];
    int64_t shape[Parameter::kMostAxes];
    infer_shape(parameter, *binding, shape);
    Allocation allocation;
    allocation.order = parameter.layout == Layout::kColumnMajor ? DLX_ORDER_F : DLX_ORDER_C;
    const DLTensor* const like =
        parameter.same_dtype_as < 0 ? nullptr : arguments_[parameter.same_dtype_as].array;
    TensorRef made = empty(parameter.axes, shape, like ? like->dtype : parameter.dtypes[0], device_,
                           0, allocation);
    put(index, made.get());
    const Mismatch mismatch = check_array(parameter, made->dl, 0, like, binding);
    if (mismatch != Mismatch::kNone) {
      refuse(contract_, parameter, mismatch, made->dl, like, *binding);
    }
    results_[count_++] = static_cast<TensorRef&&>(made);
  }

  static bool is_on_device(const Tensor* tensor) noexcept {
    return tensor != nullptr && tensor->dl.device.device_type != kDLCPU;
  }

  const Contract& contract_;
  Tensor* const* tensors_;
  Tensor* used_[Contract::kMostParameters] = {};
  DLTensor arrays_[Contract::kMostParameters];
  dlx_argument arguments_[Contract::kMostParameters] = {};
  uint64_t flags_[Contract::kMostParameters] = {};
  TensorRef results_[Contract::kMostResults];
  int count_ = 0;
  DLDevice device_{kDLCPU, 0};
};

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
    if (parameter.takes_grad) out->flags |= DLX_PARAMETER_GRAD;
    out->name = parameter.name.c_str();
    out->ndim = parameter.ellipsis ? -1 : parameter.axes;
    const bool array = parameter.kind == Kind::kArray;
    out->dtype = !array                       ? parameter.scalar
                 : parameter.dtype_count == 0 ? DLDataType{}
                                              : parameter.dtypes[0];
    out->default_value.array = nullptr;
    switch (parameter.kind) {
      case Kind::kArray:
      case Kind::kStream: break;
      case Kind::kFloat: out->default_value.real = parameter.default_float; break;
      case Kind::kText: out->default_value.text = parameter.default_text.c_str(); break;
      default: out->default_value.integer = parameter.default_int;
    }
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
    infer_shape(parameter, binding, shape);
    *out_dtype = parameter.same_dtype_as >= 0 ? arguments[parameter.same_dtype_as].array->dtype
                                              : parameter.dtypes[0];
    for (int i = 0; i < parameter.axes; ++i) out_shape[i] = shape[i];
  });
}

dlx_status dlx_contract_call(const dlx_contract* contract, dlx_function function, void* context,
                             dlx_tensor* const* tensors, const dlx_argument* values,
                             dlx_tensor** out) {
  const int results = contract == nullptr ? 0 : contract->results;
  for (int i = 0; out != nullptr && i < results; ++i) out[i] = nullptr;
  const char* const name = contract == nullptr ? __func__ : contract->function.c_str();
  dlx_status returned = DLX_OK;
  const dlx_status status = guard(name, [&] {
    require(contract, "contract");
    require(reinterpret_cast<const void*>(function), "function");
    if (results > 0) require(out, "out");
    if (contract->returns != Returns::kStatus) {
      fail(DLX_ERROR_UNSUPPORTED, "the contract does not return a status");
    }
    Call call(*contract, tensors, values);
    const uint64_t messages = last_error_number.load(std::memory_order_relaxed);
    returned = call.run(function, context);
    const bool known = is_error_status(returned);
    if (returned == DLX_OK) {
      call.detach(out);
    } else if (!known || !has_new_error(messages)) {
      fail(known ? returned : DLX_ERROR_INTERNAL, "it returned the status %d",
           static_cast<int>(returned));
    }
  });
  return status == DLX_OK ? returned : status;
}

}  // extern "C"
