#include <cmath>
#include <cstring>

#include "src/dtype/dtype.h"
#include "src/python/tensor_type.h"

namespace dlx::py {
namespace {

/// The value as bytes of the dtype, if it is one that needs no thought: a bool, an int that fits,
/// or a float for a float. Everything else is the fallback's to convert or refuse.
bool encode(PyObject* value, DLDataType dtype, unsigned char* out) {
  double real;
  int64_t whole;
  if (value->type == api.bool_type) {
    whole = value == api.true_ ? 1 : 0;
    real = static_cast<double>(whole);
  } else if (value->type == api.long_type) {
    whole = api.PyLong_AsLongLong(value);
    if (whole == -1 && api.PyErr_Occurred() != nullptr) {
      api.PyErr_Clear();
      return false;
    }
    real = static_cast<double>(whole);
    if (dtype.code == kDLFloat && (whole > (1 << 24) || whole < -(1 << 24))) return false;
  } else if (value->type == api.float_type && dtype.code == kDLFloat) {
    real = api.PyFloat_AsDouble(value);
    whole = 0;
  } else {
    return false;
  }
  const int bits = dtype.bits;
  switch (dtype.code) {
    case kDLBool:
      if (value->type != api.bool_type) return false;
      *out = static_cast<unsigned char>(whole);
      return true;
    case kDLInt:
      if (bits < 8 || bits > 64) return false;
      if (bits < 64 && (whole >> (bits - 1)) != (whole >> 63)) return false;
      break;
    case kDLUInt:
      if (bits < 8 || bits > 64 || whole < 0 || (bits < 64 && (whole >> bits) != 0)) return false;
      break;
    case kDLFloat:
      if (bits == 64) {
        std::memcpy(out, &real, sizeof real);
        return true;
      }
      if (bits == 32) {
        const auto single = static_cast<float>(real);
        if (std::isinf(single) != std::isinf(real)) return false;
        std::memcpy(out, &single, sizeof single);
        return true;
      }
      return false;
    default: return false;
  }
  // The low bytes of the number are the number, on either byte order.
  const size_t bytes = static_cast<size_t>(bits) / 8;
  const auto* from = reinterpret_cast<const unsigned char*>(&whole);
  constexpr bool kLittle = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
  std::memcpy(out, kLittle ? from : from + sizeof whole - bytes, bytes);
  return true;
}

}  // namespace

TensorRef scalar_tensor(PyObject* value, DLDataType dtype) {
  unsigned char bytes[8];
  if (dtype.lanes != 1 || !encode(value, dtype, bytes)) return TensorRef();
  DLDevice cpu{};
  cpu.device_type = kDLCPU;
  TensorRef tensor = empty(0, nullptr, dtype, cpu, 0, Allocation());
  std::memcpy(tensor->dl.data, bytes, dtype.bits / 8);
  return tensor;
}

}  // namespace dlx::py
