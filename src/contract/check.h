#ifndef DLX_SRC_CONTRACT_CHECK_H_
#define DLX_SRC_CONTRACT_CHECK_H_

#include <cstdint>
#include <cstring>

#include "src/contract/contract.h"

namespace dlx {

/// The first demand that an array does not meet.
enum class Mismatch : uint8_t {
  kNone,
  kDType,
  kNdim,
  kExtent,
  kDevice,
  kNoMemory,
  kReadOnly,
  kPadded,
  kOverlap,
  kLayout,
  kAlignment
};

/// The values of the extents' names in one call. A name has its first array's extent.
struct Binding {
  int64_t values[Contract::kMostNames];
  const DLTensor* device_of = nullptr;  ///< an array whose device all others must have

  explicit Binding(const Contract& contract) noexcept {
    for (size_t i = 0; i < contract.names.size(); ++i) values[i] = -1;
  }
  /// False if the name has another value already.
  bool bind(int name, int64_t value) noexcept {
    if (values[name] < 0) values[name] = value;
    return values[name] == value;
  }
};

inline uint32_t word_of(DLDataType dtype) noexcept {
  uint32_t word;
  std::memcpy(&word, &dtype, sizeof word);
  return word;
}

inline bool has_dtype(const Parameter& parameter, DLDataType dtype) noexcept {
  const uint32_t word = word_of(dtype);
  if (word == word_of(parameter.dtypes[0])) return true;
  for (int i = 1; i < parameter.dtype_count; ++i) {
    if (word_of(parameter.dtypes[i]) == word) return true;
  }
  return parameter.dtype_count == 0;
}

inline bool is_row_major(const DLTensor& array) noexcept {
  int64_t expected = 1;
  for (int i = array.ndim; i-- > 0;) {
    if (array.shape[i] != 1 && array.strides[i] != expected) return false;
    expected *= array.shape[i];
  }
  return true;
}

/// Whether C may read the elements where they lie: a multiple of their size, of their parts' if they
/// are complex.
inline bool is_aligned(const DLTensor& array) noexcept {
  const unsigned bytes = (array.dtype.bits >> 3) >> (array.dtype.code == kDLComplex ? 1 : 0);
  return (reinterpret_cast<uintptr_t>(array.data) & ((bytes & (0 - bytes)) - 1)) == 0;
}

/// What the ordinary case need not ask: devices, other layouts, empty arrays, sub-byte elements.
Mismatch check_rarely(const Parameter& parameter, const DLTensor& array, uint64_t flags,
                      Binding* binding) noexcept;

/// Checks an array whose description is right (strides are not NULL, byte_offset is 0 on the CPU).
/// `like` is the array of `same_dtype_as`, or NULL. `flags` are DLPack's.
[[gnu::always_inline]] inline Mismatch check_array(const Parameter& parameter,
                                                   const DLTensor& array, uint64_t flags,
                                                   const DLTensor* like,
                                                   Binding* binding) noexcept {
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
  if ((flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0 && parameter.writable)
    return Mismatch::kReadOnly;
  if (parameter.plain && array.device.device_type == kDLCPU && array.dtype.bits >= 8 &&
      array.data != nullptr && is_aligned(array) && is_row_major(array)) {
    return Mismatch::kNone;
  }
  return check_rarely(parameter, array, flags, binding);
}

/// Throws Error for an array that does not meet its parameter: what came, what is expected.
[[noreturn, gnu::cold]] void refuse(const Contract& contract, const Parameter& parameter,
                                    Mismatch mismatch, const DLTensor& array, const DLTensor* like,
                                    const Binding& binding);

/// Whether a parameter of that integer type can hold the value.
bool can_hold(DLDataType scalar, int64_t value) noexcept;

/// Whether a status that a function returned is one of dlx's errors.
bool is_error_status(int32_t status) noexcept;

[[noreturn, gnu::cold]] void refuse_number(const Contract& contract, int index, int64_t value,
                                           const Binding& binding);
/// Binds a number to the extent of its name. Throws Error(INVALID_ARGUMENT).
inline void bind_number(const Contract& contract, int index, int64_t value, Binding* binding) {
  const int name = contract.parameters[static_cast<size_t>(index)].bound_name;
  if (value < 0 || !binding->bind(name, value)) refuse_number(contract, index, value, *binding);
}

/// Whether a temporary may stand for an array with that mismatch.
bool is_curable(const Parameter& parameter, Mismatch mismatch) noexcept;

/// The shape of a result whose extents are all known by now. Throws Error(INVALID_ARGUMENT).
void infer_shape(const Contract& contract, int index, const Binding& binding, int64_t* shape);

}  // namespace dlx

#endif  // DLX_SRC_CONTRACT_CHECK_H_
