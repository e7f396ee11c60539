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

/// What one call has found out about its arrays: the values of the extents' names, which are those of
/// a name's first array, and more.
struct Binding {
  int64_t values[Contract::kMostNames];
  uint64_t elements = 0;                ///< of the arrays that fitted
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

/// Checks an array whose description is right (strides are not NULL, byte_offset is 0 on the CPU).
/// `like` is the array of `same_dtype_as`, or NULL. `flags` are DLPack's.
Mismatch check_every_form(const Parameter& parameter, const DLTensor& array, uint64_t flags,
                          const DLTensor* like, Binding* binding) noexcept;

/// Notes in a parameter of an array what has_usual_form() compares.
void note_usual_form(Parameter* parameter) noexcept;

/// Accepts the usual array: of the CPU, with a dtype and as many axes as the contract names, in
/// row-major order, with memory. Of others it says nothing. An extent's name may be bound already by
/// an array that does not fit, as in check_every_form().
[[gnu::always_inline]] inline bool has_usual_form(const Parameter& parameter, const DLTensor& array,
                                                  uint64_t flags, Binding* binding) noexcept {
  if (!parameter.usual || array.ndim != parameter.axes || array.data == nullptr) return false;
  const uint32_t dtype = word_of(array.dtype);
  int which = 0;
  while (word_of(parameter.dtypes[which]) != dtype) {
    if (++which >= parameter.dtype_count) return false;
  }
  if ((reinterpret_cast<uintptr_t>(array.data) & parameter.unaligned_bits[which]) != 0 ||
      (flags & parameter.refused_flags) != 0 || array.device.device_type != kDLCPU) {
    return false;
  }
  for (int i = 0; i < parameter.axes; ++i) {
    const int64_t wanted = parameter.extents[i];
    if (wanted == kAnyExtent || wanted == array.shape[i]) continue;
    if (wanted >= 0 || !binding->bind(name_index(wanted), array.shape[i])) return false;
  }
  int64_t elements = 1;
  for (int i = parameter.axes; i-- > 0;) {
    if (array.strides[i] != elements && array.shape[i] != 1) return false;
    elements *= array.shape[i];
  }
  binding->elements += static_cast<uint64_t>(elements);
  return true;
}

[[gnu::always_inline]] inline Mismatch check_array(const Parameter& parameter,
                                                   const DLTensor& array, uint64_t flags,
                                                   const DLTensor* like,
                                                   Binding* binding) noexcept {
  if (has_usual_form(parameter, array, flags, binding)) return Mismatch::kNone;
  return check_every_form(parameter, array, flags, like, binding);
}

/// Throws Error for an array that does not meet its parameter: what came, what is expected.
[[noreturn, gnu::cold]] void refuse(const Contract& contract, const Parameter& parameter,
                                    Mismatch mismatch, const DLTensor& array, const DLTensor* like,
                                    const Binding& binding);

/// Whether a parameter of that integer type can hold the value.
bool can_hold(DLDataType scalar, int64_t value) noexcept;
/// Whether a finite number is one of a floating-point type of 32 or 64 bits.
bool can_hold(DLDataType scalar, double value) noexcept;

/// Reads a number with a decimal point, whatever the process's locale is. False if the text is none.
bool parse_real(std::string text, double* out);

/// Whether a status that a function returned is one of dlx's errors.
bool is_error_status(int32_t status) noexcept;

[[noreturn, gnu::cold]] void refuse_number(const Parameter& parameter, int64_t value,
                                           const Binding& binding);
/// Binds a number to the extent of its name. Throws Error(INVALID_ARGUMENT).
inline void bind_number(const Parameter& parameter, int64_t value, Binding* binding) {
  if (value < 0 || !binding->bind(parameter.bound_name, value)) {
    refuse_number(parameter, value, *binding);
  }
}

/// Whether a temporary may stand for an array with that mismatch.
bool is_curable(const Parameter& parameter, Mismatch mismatch) noexcept;

/// The shape of a result, whose extents are all known by now: no contract has others.
void infer_shape(const Parameter& parameter, const Binding& binding, int64_t* shape) noexcept;

}  // namespace dlx

#endif  // DLX_SRC_CONTRACT_CHECK_H_
