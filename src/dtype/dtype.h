#ifndef DLX_SRC_DTYPE_DTYPE_H_
#define DLX_SRC_DTYPE_DTYPE_H_

#include <cstddef>
#include <cstdint>

#include "dlx/dlpack.h"
#include "src/base/checked.h"

namespace dlx {

/// DLPack's dtypes: which exist, their sizes, names and formats.

inline DLDataType make_dtype(int code, int bits, int lanes = 1) noexcept {
  return DLDataType{static_cast<uint8_t>(code), static_cast<uint8_t>(bits),
                    static_cast<uint16_t>(lanes)};
}

inline bool same_dtype(DLDataType a, DLDataType b) noexcept {
  return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes;
}

/// Whether it is a dtype of DLPack 1.3 (or bcomplex, which its main branch adds): a known code,
/// with a number of bits that the code allows.
bool dtype_known(DLDataType dtype) noexcept;

/// Throws Error(UNSUPPORTED) naming `argument` unless dtype_known().
void require_known_dtype(DLDataType dtype, const char* argument, const char* owner = nullptr);

/// Bits from one element to the next in compact memory. Each lane of a padded sub-byte element
/// takes a byte.
inline int64_t item_bits(DLDataType dtype, bool padded) noexcept {
  const int64_t bits = padded && dtype.bits < 8 ? 8 : dtype.bits;
  return bits * dtype.lanes;
}

/// Whether elements do not fill whole bytes, so that neighbours share a byte.
inline bool is_packed_subbyte(DLDataType dtype, bool padded) noexcept {
  return item_bits(dtype, padded) % 8 != 0;
}

/// The dtype of whole bytes that has all values of a sub-byte one: int8, uint8 or float32.
inline DLDataType whole_dtype(DLDataType dtype) noexcept {
  if (dtype.code == kDLInt || dtype.code == kDLUInt) return make_dtype(dtype.code, 8, dtype.lanes);
  return make_dtype(kDLFloat, 32, dtype.lanes);
}

/// uint1: DLPack packs eight into a byte; TVM and others used a byte for each before DLPack 1.0.
inline bool is_uint1(DLDataType dtype) noexcept { return dtype.code == kDLUInt && dtype.bits == 1; }

/// Bytes of `count` compact elements; false if that overflows.
inline bool compact_bytes(DLDataType dtype, bool padded, int64_t count, int64_t* out) noexcept {
  const int64_t bits = item_bits(dtype, padded);
  if (bits % 8 == 0) return checked_mul(count, bits / 8, out);
  // Eight elements fill `bits` bytes exactly, so the product in bits is never formed.
  int64_t total;
  if (!checked_mul(count / 8, bits, &total)) return false;
  return checked_add(total, (count % 8 * bits + 7) / 8, out);
}

/// Names, as documented for dlx_dtype_name and dlx_dtype_parse. Throw Error.
DLDataType parse_dtype(const char* name);
void name_dtype(DLDataType dtype, char* out, size_t capacity);
/// The name for a message. Never throws; an unknown dtype is written in numbers.
struct DTypeText {
  char text[64];
};
DTypeText dtype_text(DLDataType dtype) noexcept;

/// Formats, as documented for dlx_dtype_format and dlx_dtype_parse_format. Throw Error.
DLDataType parse_dtype_format(const char* format, int32_t style);
void format_dtype(DLDataType dtype, int32_t style, char* out, size_t capacity);
/// The buffer format as a static string, or NULL if there is none.
const char* buffer_format(DLDataType dtype) noexcept;

}  // namespace dlx

#endif  // DLX_SRC_DTYPE_DTYPE_H_
