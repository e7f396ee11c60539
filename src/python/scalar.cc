#include "src/python/scalar.h"

#include <cstdint>
#include <cstring>

#include "src/python/entry.h"
#include "src/python/errors.h"
#include "src/python/reference.h"
#include "src/python/state.h"
#include "src/python/tensor_type.h"

namespace dlx::py {
namespace {

template <typename T>
T load(const void* element) noexcept {
  T value;
  std::memcpy(&value, element, sizeof value);
  return value;
}

/// The element as a Python number; none for a dtype that Python code decodes.
Ref decode(DLDataType dtype, const void* element) {
  PyObject* number;
  switch (dtype.lanes == 1 ? dtype.code << 16 | dtype.bits : 0) {
    case kDLBool << 16 | 8: number = api.PyBool_FromLong(load<uint8_t>(element)); break;
    case kDLInt << 16 | 8: number = api.PyLong_FromLongLong(load<int8_t>(element)); break;
    case kDLInt << 16 | 16: number = api.PyLong_FromLongLong(load<int16_t>(element)); break;
    case kDLInt << 16 | 32: number = api.PyLong_FromLongLong(load<int32_t>(element)); break;
    case kDLInt << 16 | 64: number = api.PyLong_FromLongLong(load<int64_t>(element)); break;
    case kDLUInt << 16 | 8: number = api.PyLong_FromLongLong(load<uint8_t>(element)); break;
    case kDLUInt << 16 | 16: number = api.PyLong_FromLongLong(load<uint16_t>(element)); break;
    case kDLUInt << 16 | 32: number = api.PyLong_FromLongLong(load<uint32_t>(element)); break;
    case kDLUInt << 16 | 64:
      number = api.PyLong_FromUnsignedLongLong(load<uint64_t>(element));
      break;
    case kDLFloat << 16 | 32: number = api.PyFloat_FromDouble(load<float>(element)); break;
    case kDLFloat << 16 | 64: number = api.PyFloat_FromDouble(load<double>(element)); break;
    default: return Ref();
  }
  return Ref(check(number));
}

/// `convert(number)` of the only element. Calls `method` of the Python side instead if not `usual`,
/// if Python code must read the element, and for errors.
template <typename Convert>
PyObject* as_scalar(PyObject* self, PyObject* method, Convert&& convert, bool usual = true) {
  return enter("Tensor", static_cast<PyObject*>(nullptr), [&] {
    const Tensor* tensor = tensor_of(self);
    const DLTensor& dl = tensor->dl;
    Ref number = usual && is_one_here(tensor) ? decode(dl.dtype, dl.data) : Ref();
    if (number) return check(convert(static_cast<Ref&&>(number)));
    return check(call_objects(state.scalar_slowly, self, method));
  });
}

PyObject* unchanged(Ref number) { return number.detach(); }

}  // namespace

PyObject* tensor_scalar(PyObject* self, PyObject*) {
  return as_scalar(self, names.item, unchanged);
}

PyObject* tensor_int(PyObject* self) {
  return as_scalar(self, names.__int__,
                   [](const Ref& number) { return api.PyNumber_Long(number.get()); });
}

PyObject* tensor_float(PyObject* self) {
  return as_scalar(self, names.__float__,
                   [](const Ref& number) { return api.PyNumber_Float(number.get()); });
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
  const bool integer = dl.dtype.code == kDLInt || dl.dtype.code == kDLUInt;
  return as_scalar(self, names.__index__, unchanged, integer && dl.ndim == 0);
}

}  // namespace dlx::py
