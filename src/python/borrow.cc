#include "src/python/borrow.h"

#include <cstdio>
#include <string>

#include "src/base/error.h"
#include "src/device/registry.h"
#include "src/dtype/dtype.h"
#include "src/python/calls.h"
#include "src/python/errors.h"
#include "src/python/gil.h"
#include "src/python/import.h"
#include "src/python/ndarray.h"
#include "src/python/reference.h"
#include "src/python/state.h"
#include "src/python/tensor_type.h"
#include "src/python/torch_fields.h"
#include "src/python/torch_plain.h"
#include "src/python/type_cache.h"
#include "src/tensor/copies.h"

namespace dlx::py {
namespace {

void describe_tensor(PyObject* object, Borrowed* out) noexcept {
  const Tensor* tensor = tensor_of(object);
  out->array = tensor->dl;
  out->flags = tensor->flags;
}

/// The argument as a Tensor by all of asarray's ways. A copy is made only if the parameter allows it,
/// and never of what the function writes.
Ref import_argument(PyObject* object, const Parameter& parameter) {
  if (is_tensor(object)) return Ref::share(object);
  const TypeEntry entry = look_up_type(class_of(object));
  const bool detaches = (entry.flags & kTorch) != 0 && (parameter.takes_grad || !torch_records());
  const Ref detached = detaches ? call_method(object, names.detach) : Ref();
  PyObject* const from = detached ? detached.get() : object;
  Ref tensor(parameter.may_copy && !parameter.writable ? as_tensor(from) : as_shared_tensor(from));
  if ((entry.flags & kTorch) != 0) note_torch_fields(from);
  if ((entry.flags & kNdarray) != 0) note_ndarray(object);
  return tensor;
}

/// The dtype that a temporary must have.
DLDataType wanted_dtype(const Parameter& parameter, const DLTensor& array, const DLTensor* like) {
  if (like != nullptr) return like->dtype;
  return has_dtype(parameter, array.dtype) ? array.dtype : parameter.dtypes[0];
}

/// A copy of the tensor that has the parameter's dtype and layout.
Ref make_temporary(PyObject* object, const Parameter& parameter, const DLTensor* like) {
  Ref source = Ref::share(object);
  const DLDataType dtype = wanted_dtype(parameter, tensor_of(object)->dl, like);
  if (!same_dtype(tensor_of(object)->dl.dtype, dtype)) {
    source = with_dtype(static_cast<Ref&&>(source), dtype);
  }
  Tensor* tensor = tensor_of(source.get());
  CopyRequest request;
  request.copy = DLX_COPY_ALWAYS;
  request.allocation.order = parameter.layout == Layout::kColumnMajor ? DLX_ORDER_F : DLX_ORDER_C;
  const WithoutGil without(may_take_long(tensor));
  TensorRef copy = clone_to(tensor, tensor->dl.device, 0, request);
  return Ref(new_object(static_cast<TensorRef&&>(copy)));
}

/// A call that makes an argument fit.
[[noreturn, gnu::cold]] void refuse_with_advice(const Contract& contract,
                                                const Parameter& parameter, Mismatch mismatch,
                                                const DLTensor& array, const DLTensor* like,
                                                const Binding& binding) {
  const char* name = parameter.name.c_str();
  char advice[160] = "";
  switch (mismatch) {
    case Mismatch::kDType:
      std::snprintf(advice, sizeof advice, ": pass dlx.asarray(%s, dtype=\"%s\")", name,
                    dtype_text(wanted_dtype(parameter, array, like)).text);
      break;
    case Mismatch::kLayout:
    case Mismatch::kAlignment:
      std::snprintf(advice, sizeof advice, ": pass dlx.asarray(%s).%s", name,
                    mismatch == Mismatch::kAlignment           ? "copy()"
                    : parameter.layout == Layout::kColumnMajor ? "contiguous(order=\"F\")"
                                                               : "contiguous()");
      break;
    case Mismatch::kReadOnly:
    case Mismatch::kOverlap:
      std::snprintf(advice, sizeof advice, ": pass dlx.asarray(%s, copy=True), and use that", name);
      break;
    case Mismatch::kDevice: {
      const bool follows = binding.device_of != nullptr && binding.device_of != &array;
      const DLDevice other = follows ? binding.device_of->device : kCpu;
      std::snprintf(
          advice, sizeof advice, ": pass dlx.asarray(%s, device=\"%s\")", name,
          follows ? device_text(type_of(other), other.device_id).text : parameter.device.c_str());
      break;
    }
    default: break;
  }
  try {
    refuse(contract, parameter, mismatch, array, like, binding);
  } catch (const Error& error) {
    fail(error.status(), "%s%s", error.what(), advice);
  }
}

/// A call that makes an array of what has no memory to share.
std::string advised_copy(const Parameter& parameter) {
  std::string dtype;
  if (parameter.dtype_count > 0) {
    dtype = std::string(", dtype=\"") + dtype_text(parameter.dtypes[0]).text + "\"";
  }
  return ": pass dlx.asarray(" + parameter.name + dtype + ")" +
         (parameter.writable ? ", and use that" : "");
}

/// import_argument(), whose errors name the argument, which no other code knows.
Ref import_named(PyObject* object, const Contract& contract, const Parameter& parameter) {
  try {
    return import_argument(object, parameter);
  } catch (const Error& error) {
    fail(error.status(), "`%s`: %s", parameter.name.c_str(), error.what());
  } catch (const PythonError&) {
    const bool refused = api.PyErr_ExceptionMatches(state.errors[DLX_ERROR_COPY_REFUSED]) != 0;
    const std::string before = contract.function + ": `" + parameter.name + "`: ";
    extend_message(before.c_str(), refused ? advised_copy(parameter).c_str() : "");
    throw;
  }
}

/// For objects that are not read by their fields, and for temporaries.
[[gnu::cold]] void borrow_slowly(PyObject* object, const Contract& contract,
                                 const Parameter& parameter, const DLTensor* like, Binding* binding,
                                 Borrowed* out) {
  Ref tensor = import_named(object, contract, parameter);
  describe_tensor(tensor.get(), out);
  Mismatch mismatch = check_array(parameter, out->array, out->flags, like, binding);
  Ref original;
  if (is_curable(parameter, mismatch)) {
    Ref temporary = make_temporary(tensor.get(), parameter, like);
    if (parameter.writable) original = static_cast<Ref&&>(tensor);
    tensor = static_cast<Ref&&>(temporary);
    describe_tensor(tensor.get(), out);
    mismatch = check_array(parameter, out->array, out->flags, like, binding);
  }
  if (mismatch != Mismatch::kNone) {
    refuse_with_advice(contract, parameter, mismatch, out->array, like, *binding);
  }
  out->owner = tensor.detach();
  out->original = original.detach();
}

}  // namespace

bool read_torch(const PyObject* object, const Parameter& parameter, Borrowed* out) noexcept {
  const Gradient gradient = parameter.takes_grad ? Gradient::kIgnored : Gradient::kIfRecorded;
  out->flags = 0;
  return is_known_plain(object, gradient) && read_torch_fields(object, &out->array, out->room);
}

void borrow_unusual(PyObject* object, const Contract& contract, const Parameter& parameter,
                    bool filled, const DLTensor* like, Binding* binding, Borrowed* out) {
  if (filled) {
    const Mismatch mismatch = check_every_form(parameter, out->array, out->flags, like, binding);
    if (__builtin_expect(mismatch == Mismatch::kNone, 1)) return;
    if (!is_curable(parameter, mismatch)) {
      refuse_with_advice(contract, parameter, mismatch, out->array, like, *binding);
    }
  }
  borrow_slowly(object, contract, parameter, like, binding, out);
}

void borrow_all(const Contract& contract, void* const* objects, Borrowed* out) {
  const int count = static_cast<int>(contract.parameters.size());
  for (const Parameter& parameter : contract.parameters) {
    if (parameter.kind == Kind::kArray && !parameter.result) continue;
    fail(DLX_ERROR_INVALID_ARGUMENT, "`contract` must have arrays only (got `%s`: %s)",
         parameter.name.c_str(), parameter.declared.c_str());
  }
  Binding binding(contract);
  int i = 0;
  try {
    for (; i < count; ++i) {
      const Parameter& parameter = contract.parameters[static_cast<size_t>(i)];
      auto* const object = static_cast<PyObject*>(objects[i]);
      out[i].owner = out[i].original = nullptr;
      out[i].flags = 0;
      if (object == nullptr || object == api.none) {
        if (!parameter.optional) {
          fail(DLX_ERROR_INVALID_ARGUMENT, "`%s` is missing", parameter.name.c_str());
        }
        out[i].array = DLTensor{};
        continue;
      }
      const auto like = [&]() -> const DLTensor* {
        return parameter.same_dtype_as >= 0 ? &out[parameter.same_dtype_as].array : nullptr;
      };
      borrow(object, contract, parameter, like, &binding, &out[i]);
    }
  } catch (...) {
    while (i > 0) give_back(&out[--i], false);
    throw;
  }
}

void give_back_slowly(Borrowed* borrowed, bool succeeded) {
  const Ref owner(static_cast<PyObject*>(borrowed->owner));
  const Ref original(static_cast<PyObject*>(borrowed->original));
  borrowed->owner = borrowed->original = nullptr;
  if (!original || !succeeded) return;
  Tensor* const target = tensor_of(original.get());
  const WithoutGil without(may_take_long(target));
  copy_tensor_from(target, tensor_of(owner.get()), CopyRequest());
}

void give_back_all(Borrowed* borrowed, int count, bool succeeded) {
  int i = 0;
  try {
    while (i < count) give_back(&borrowed[i++], succeeded);
  } catch (...) {
    // not covered from here: a driver that fails between two arrays of one call
    while (i < count) give_back(&borrowed[i++], false);
    throw;
  }
  // covered again
}

}  // namespace dlx::py
