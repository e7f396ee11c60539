#ifndef DLX_SRC_COPY_KERNELS_PACKED_H_
#define DLX_SRC_COPY_KERNELS_PACKED_H_

#include <cstdint>

namespace dlx {

/// Runs of elements of fewer than 8 bits that lie side by side, the first one in the lowest bits,
/// and the same elements in a byte each. Eight of them move at a time, in a word of 64 bits.

/// Writes `count` elements of `bits` bits, which begin at bit `shift` < 8 of src, to a byte each.
/// The bits above an element are copies of its highest bit if it has a sign, else 0.
void unpack(unsigned char* dst, const unsigned char* src, int shift, int64_t count, int bits,
            bool has_sign) noexcept;

/// Writes the `bits` lowest bits of `count` bytes to elements that begin at bit `shift` < 8 of dst.
/// Bits beside them keep their values.
void pack(unsigned char* dst, int shift, const unsigned char* src, int64_t count,
          int bits) noexcept;

/// Replaces the bits above an element in each of `count` bytes, as unpack() fills them. src may be
/// dst.
void extend(unsigned char* dst, const unsigned char* src, int64_t count, int bits,
            bool has_sign) noexcept;

/// One element of `bits` bits at bit `shift` of *src, without a sign. Reads the second byte only if
/// it has such a bit.
inline unsigned load_bits(const unsigned char* src, int shift, int bits) noexcept {
  unsigned value = static_cast<unsigned>(src[0]) >> shift;
  if (shift + bits > 8) value |= static_cast<unsigned>(src[1]) << (8 - shift);
  return value & ((1u << bits) - 1);
}

/// Replaces `bits` bits at bit `shift` of *dst; touches the second byte only if it has such a bit.
inline void store_bits(unsigned char* dst, int shift, int bits, unsigned value) noexcept {
  const unsigned mask = ((1u << bits) - 1) << shift;
  value <<= shift;
  dst[0] = static_cast<unsigned char>((dst[0] & ~mask) | (value & mask));
  if (mask >> 8 == 0) return;
  dst[1] = static_cast<unsigned char>((dst[1] & ~(mask >> 8)) | (value >> 8 & mask >> 8));
}

}  // namespace dlx

#endif  // DLX_SRC_COPY_KERNELS_PACKED_H_
