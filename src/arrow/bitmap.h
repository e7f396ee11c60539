#ifndef DLX_SRC_ARROW_BITMAP_H_
#define DLX_SRC_ARROW_BITMAP_H_

#include <cstdint>

namespace dlx::arrow {

/// Arrow's bitmaps: bit i is bit i % 8, counted from the lowest, of byte i / 8.

/// Number of zeros among the `count` bits from bit `first` on.
int64_t count_zeros(const uint8_t* bits, int64_t first, int64_t count) noexcept;

/// Writes `count` bits from bit `first` on as bytes of 0 or 1.
void unpack_bits(const uint8_t* bits, int64_t first, int64_t count, uint8_t* out) noexcept;

/// Writes `count` bytes as bits: 0 is false, any other byte is true. Unused bits of the last byte
/// are 0.
void pack_bits(const uint8_t* bytes, int64_t count, uint8_t* out) noexcept;

}  // namespace dlx::arrow

#endif  // DLX_SRC_ARROW_BITMAP_H_
