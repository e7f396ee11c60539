#include "src/contract/check.h"

#include <clocale>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>

#include "dlx/dlx.h"
#include "src/base/error.h"
#include "src/base/shape_text.h"
#include "src/copy/copy.h"
#include "src/device/registry.h"
#include "src/dtype/dtype.h"

namespace dlx {
namespace {

/// As an unsigned number: axes of stride 0 may have more elements than there is memory.
uint64_t element_count(const DLTensor& array) noexcept {
  uint64_t count = 1;
  for (int i = 0; i < array.ndim; ++i) count *= static_cast<uint64_t>(array.shape[i]);
  return count;
}

bool is_empty(const DLTensor& array) noexcept {
  for (int i = 0; i < array.ndim; ++i) {
    if (array.shape[i] == 0) return true;
  }
  return false;
}

/// Whether an array with elements has the strides of that order.
bool is_compact(const DLTensor& array, Layout order) noexcept {
  int64_t expected = 1;
  for (int i = 0; i < array.ndim; ++i) {
    const int axis = order == Layout::kColumnMajor ? i : array.ndim - 1 - i;
    if (array.shape[axis] != 1 && array.strides[axis] != expected) return false;
    expected *= array.shape[axis];
  }
  return true;
}

/// The bits of an address that must be 0 where C reads elements of a dtype: it is a multiple of their
/// size, of their parts' if they are complex.
uintptr_t unaligned_bits(DLDataType dtype) noexcept {
  const unsigned bytes = (dtype.bits >> 3) >> (dtype.code == kDLComplex ? 1 : 0);
  return bytes == 0 ? 0 : uintptr_t{bytes & (0 - bytes)} - 1;
}

/// Whether two indices share an element: who writes one writes both.
bool repeats(const DLTensor& array) noexcept {
  uint64_t reach = 0;  // of the axes inside axis i, which nearly always steps over them
  for (int i = array.ndim - 1; i >= 0; --i) {
    if (array.shape[i] == 1) continue;
    const auto stride = static_cast<uint64_t>(array.strides[i]);
    const uint64_t step = array.strides[i] < 0 ? 0 - stride : stride;
    if (step <= reach) return repeats_elements(array);
    reach += step * static_cast<uint64_t>(array.shape[i] - 1);
  }
  return false;
}

/// The memory order of a mismatch's text.
const char* order_text(Layout layout) noexcept {
  return layout == Layout::kColumnMajor ? "compact in column-major order (F)"
                                        : "compact in row-major order (C)";
}

/// "[n=3, m]", with the values that are known.
std::string extents_text(const Contract& contract, const Parameter& parameter,
                         const Binding& binding) {
  std::string out = parameter.ellipsis ? "[..." : "[";
  for (int i = 0; i < parameter.axes; ++i) {
    const int64_t extent = parameter.extents[i];
    if (i > 0 || parameter.ellipsis) out += ", ";
    if (extent == kAnyExtent) {
      out += "_";
    } else if (!is_name(extent)) {
      out += std::to_string(extent);
    } else {
      const int name = name_index(extent);
      out += contract.names[static_cast<size_t>(name)];
      if (binding.values[name] >= 0) out += "=" + std::to_string(binding.values[name]);
    }
  }
  return out + "]";
}

/// What does not depend on dtype and extents.
Mismatch check_memory(const Parameter& parameter, const DLTensor& array, uint64_t flags,
                      Binding* binding) noexcept {
  if ((flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0 && parameter.writable) {
    return Mismatch::kReadOnly;
  }
  if (parameter.device_type != 0 &&
      parameter.device_type != static_cast<int32_t>(array.device.device_type)) {
    return Mismatch::kDevice;
  }
  // On a device, all arrays must be on the same one.
  if (parameter.device_type != kDLCPU) {
    if (binding->device_of == nullptr) binding->device_of = &array;
    const DLDevice& other = binding->device_of->device;
    if (other.device_type != array.device.device_type ||
        other.device_id != array.device.device_id) {
      return Mismatch::kDevice;
    }
  }
  if (array.dtype.bits < 8 && (flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED) != 0) {
    return Mismatch::kPadded;
  }
  if (is_empty(array)) return Mismatch::kNone;
  if (array.data == nullptr) return Mismatch::kNoMemory;
  if (parameter.writable && repeats(array)) return Mismatch::kOverlap;  // no copy cures it
  if (parameter.layout != Layout::kStrided && !is_compact(array, parameter.layout)) {
    return Mismatch::kLayout;
  }
  const uintptr_t low = reinterpret_cast<uintptr_t>(array.data) & unaligned_bits(array.dtype);
  return !parameter.unaligned && low != 0 ? Mismatch::kAlignment : Mismatch::kNone;
}

}  // namespace

Mismatch check_every_form(const Parameter& parameter, const DLTensor& array, uint64_t flags,
                          const DLTensor* like, Binding* binding) noexcept {
  if (like == nullptr ? !has_dtype(parameter, array.dtype)
                      : word_of(like->dtype) != word_of(array.dtype)) {
    return Mismatch::kDType;
  }
  const int first = array.ndim - parameter.axes;
  if (first != 0 && (first < 0 || !parameter.ellipsis)) return Mismatch::kNdim;
  for (int i = 0; i < parameter.axes; ++i) {
    const int64_t wanted = parameter.extents[i], extent = array.shape[first + i];
    if (wanted == kAnyExtent) continue;
    if (wanted >= 0 ? wanted != extent : !binding->bind(name_index(wanted), extent)) {
      return Mismatch::kExtent;
    }
  }
  const Mismatch mismatch = check_memory(parameter, array, flags, binding);
  if (mismatch == Mismatch::kNone) binding->elements += element_count(array);
  return mismatch;
}

void note_usual_form(Parameter* parameter) noexcept {
  parameter->usual = parameter->device_type == kDLCPU && parameter->layout == Layout::kRowMajor &&
                     !parameter->ellipsis && parameter->dtype_count > 0;
  parameter->refused_flags = DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;
  if (parameter->writable) parameter->refused_flags |= DLPACK_FLAG_BITMASK_READ_ONLY;
  for (int i = 0; i < parameter->dtype_count && !parameter->unaligned; ++i) {
    parameter->unaligned_bits[i] = unaligned_bits(parameter->dtypes[i]);
  }
}

void refuse(const Contract& contract, const Parameter& parameter, Mismatch mismatch,
            const DLTensor& array, const DLTensor* like, const Binding& binding) {
  const char* name = parameter.name.c_str();
  const ShapeText shape = shape_text(array.ndim, array.shape);
  switch (mismatch) {
    case Mismatch::kDType:
      fail(DLX_ERROR_INVALID_ARGUMENT, "`%s` must be %s (got %s)", name,
           like != nullptr ? dtype_text(like->dtype).text : parameter.type.c_str(),
           dtype_text(array.dtype).text);
    case Mismatch::kNdim:
      fail(DLX_ERROR_INVALID_ARGUMENT, "`%s` must have %s%d %s, %s (got %d, shape %s)", name,
           parameter.ellipsis ? "at least " : "", parameter.axes,
           parameter.axes == 1 ? "axis" : "axes", parameter.declared.c_str(), array.ndim,
           shape.text);
    case Mismatch::kExtent:
      fail(DLX_ERROR_INVALID_ARGUMENT, "`%s` must have the shape %s (got %s)", name,
           extents_text(contract, parameter, binding).c_str(), shape.text);
    case Mismatch::kDevice: {
      const bool is_of_type =
          parameter.device_type == 0 ||
          parameter.device_type == static_cast<int32_t>(array.device.device_type);
      const bool follows =
          is_of_type && binding.device_of != nullptr && binding.device_of != &array;
      const DLDevice other = follows ? binding.device_of->device : DLDevice{kDLCPU, 0};
      const DeviceText text = device_text(type_of(other), other.device_id);
      fail(DLX_ERROR_DEVICE_REFUSED, "`%s` must be on %s (got %s)", name,
           follows ? text.text : parameter.device.c_str(),
           device_text(type_of(array.device), array.device.device_id).text);
    }
    case Mismatch::kNoMemory:
      fail(DLX_ERROR_INVALID_ARGUMENT, "`%s` has no memory (its data pointer is NULL, shape %s)",
           name, shape.text);
    case Mismatch::kReadOnly:
      fail(DLX_ERROR_READ_ONLY, "`%s` is written to, and the array is read-only", name);
    case Mismatch::kPadded:
      fail(DLX_ERROR_COPY_REFUSED, "`%s` must be packed %s (got a byte for each element)", name,
           dtype_text(array.dtype).text);
    case Mismatch::kOverlap:
      fail(DLX_ERROR_INVALID_ARGUMENT,
           "`%s` is written to, and its elements overlap (shape %s, strides %s)", name, shape.text,
           shape_text(array.ndim, array.strides).text);
    case Mismatch::kAlignment:
      fail(DLX_ERROR_COPY_REFUSED, "`%s` must be aligned to its elements (%s at address %p)", name,
           dtype_text(array.dtype).text, array.data);
    case Mismatch::kLayout:
    case Mismatch::kNone: break;
  }
  fail(DLX_ERROR_COPY_REFUSED, "`%s` must be %s (got shape %s, strides %s)", name,
       order_text(parameter.layout), shape.text, shape_text(array.ndim, array.strides).text);
}

bool can_hold(DLDataType scalar, int64_t value) noexcept {
  const bool has_sign = scalar.code == kDLInt;
  const int bits = scalar.bits - (has_sign ? 1 : 0);
  if (bits >= 63) return has_sign || value >= 0;
  const int64_t end = int64_t{1} << bits;
  return value >= (has_sign ? -end : 0) && value < end;
}

bool can_hold(DLDataType scalar, double value) noexcept {
  return scalar.bits == 64
             ? std::isfinite(value)
             : std::fabs(value) <= static_cast<double>(std::numeric_limits<float>::max());
}

bool parse_real(std::string text, double* out) {
  const size_t point = text.find('.');
  if (point != std::string::npos) text.replace(point, 1, std::localeconv()->decimal_point);
  char* end;
  *out = std::strtod(text.c_str(), &end);
  return end != text.c_str() && *end == '\0';
}

bool is_error_status(int32_t status) noexcept {
  return (status > DLX_OK && status <= DLX_ERROR_DEVICE_REFUSED) || status == DLX_ERROR_INTERNAL;
}

void refuse_number(const Parameter& parameter, int64_t value, const Binding& binding) {
  const int64_t bound = binding.values[parameter.bound_name];
  if (value < 0) {
    fail(DLX_ERROR_INVALID_ARGUMENT, "`%s` is an extent, and negative (got %lld)",
         parameter.name.c_str(), static_cast<long long>(value));
  }
  fail(DLX_ERROR_INVALID_ARGUMENT, "`%s` must be %lld, the extent of that name (got %lld)",
       parameter.name.c_str(), static_cast<long long>(bound), static_cast<long long>(value));
}

bool is_curable(const Parameter& parameter, Mismatch mismatch) noexcept {
  if (!parameter.may_copy) return false;
  switch (mismatch) {
    case Mismatch::kLayout:
    case Mismatch::kAlignment: return true;
    case Mismatch::kDType:
    case Mismatch::kPadded: return !parameter.writable;  // nobody converts back
    default: return false;
  }
}

void infer_shape(const Parameter& parameter, const Binding& binding, int64_t* shape) noexcept {
  for (int i = 0; i < parameter.axes; ++i) {
    const int64_t extent = parameter.extents[i];
    shape[i] = is_name(extent) ? binding.values[name_index(extent)] : extent;
  }
}

}  // namespace dlx
