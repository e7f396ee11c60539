#include <cstring>

#include "src/dtype/dtype.h"
#include "src/python/tensor_type.h"

namespace dlx::py {
namespace {

template <typename T>
T load(const void* element) noexcept {
  T value;
  std::memcpy(&value, element, sizeof value);
  return value;
}

/// A number of Python's of the same value, or NULL for a dtype that Python code decodes.
PyObject* decode(DLDataType dtype, const void* element) {
  switch (dtype.lanes == 1 ? dtype.code << 16 | dtype.bits : 0) {
    case kDLBool << 16 | 8: return check(api.PyBool_FromLong(load<uint8_t>(element)));
    case kDLInt << 16 | 8: return check(api.PyLong_FromLongLong(load<int8_t>(element)));
    case kDLInt << 16 | 16: return check(api.PyLong_FromLongLong(load<int16_t>(element)));
    case kDLInt << 16 | 32: return check(api.PyLong_FromLongLong(load<int32_t>(element)));
    case kDLInt << 16 | 64: return check(api.PyLong_FromLongLong(load<int64_t>(element)));
    case kDLUInt << 16 | 8: return check(api.PyLong_FromLongLong(load<uint8_t>(element)));
    case kDLUInt << 16 | 16: return check(api.PyLong_FromLongLong(load<uint16_t>(element)));
    case kDLUInt << 16 | 32: return check(api.PyLong_FromLongLong(load<uint32_t>(element)));
    case kDLUInt << 16 | 64: return check(api.PyLong_FromUnsignedLongLong(load<uint64_t>(element)));
    case kDLFloat << 16 | 32: return check(api.PyFloat_FromDouble(load<float>(element)));
    case kDLFloat << 16 | 64: return check(api.PyFloat_FromDouble(load<double>(element)));
    default: return nullptr;
  }
}

/// The only element of a tensor in the CPU's memory; none where Python code has to read it, or to
/// say why it cannot.
Ref number_of(const Tensor* tensor) {
  const DLTensor& dl = tensor->dl;
  const bool here = tensor->size == 1 && dl.device.device_type == kDLCPU && dl.data != nullptr;
  return Ref(here ? decode(dl.dtype, dl.data) : nullptr);
}

/// `convert(number)`, or what the method in Python gives.
template <typename Convert>
PyObject* as_scalar(PyObject* self, PyObject* method, Convert&& convert) {
  return enter("Tensor", static_cast<PyObject*>(nullptr), [&] {
    Ref number = number_of(tensor_of(self));
    if (number) return check(convert(static_cast<Ref&&>(number)));
    return check(call_objects(state.scalar_slowly, self, method));
  });
}

}  // namespace

PyObject* tensor_scalar(PyObject* self, PyObject*) {
  return as_scalar(self, names.item, [](Ref number) { return number.detach(); });
}

PyObject* tensor_int(PyObject* self) {
  return as_scalar(self, names.__int__, [](const Ref& n) { return api.PyNumber_Long(n.get()); });
}

PyObject* tensor_float(PyObject* self) {
  return as_scalar(self, names.__float__, [](const Ref& n) { return api.PyNumber_Float(n.get()); });
}

int tensor_bool(PyObject* self) {
  const Ref truth(as_scalar(self, names.__bool__, [](const Ref& number) {
    const int yes = api.PyObject_IsTrue(number.get());
    return yes < 0 ? nullptr : api.PyBool_FromLong(yes);
  }));
  return truth ? truth.get() == api.true_ : -1;
}

PyObject* tensor_index(PyObject* self) {
  const DLTensor& dl = tensor_of(self)->dl;
  const bool integers = dl.dtype.code == kDLInt || dl.dtype.code == kDLUInt;
  const bool usual = dl.ndim == 0 && dl.dtype.lanes == 1 && integers;
  if (usual) return tensor_scalar(self, nullptr);
  return enter("Tensor", static_cast<PyObject*>(nullptr),
               [&] { return check(call_objects(state.scalar_slowly, self, names.__index__)); });
}

}  // namespace dlx::py
