#include "src/copy/kernels/packed.h"

#include <cstring>

#include "src/copy/kernels/kernels.h"

namespace dlx {
namespace {

constexpr bool kLittleEndian = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;

#include "src/copy/kernels/spread.inc"

/// The first `bytes` <= 8 bytes as a word: the first byte is the lowest.
inline uint64_t load_word(const unsigned char* src, int64_t bytes) noexcept {
  uint64_t word = 0;
  if (!kLittleEndian) {
    // not covered from here: a processor whose bytes are in the other order
    for (int64_t i = 0; i < bytes; ++i) word |= static_cast<uint64_t>(src[i]) << 8 * i;
    return word;
    // covered again
  }
  if (bytes >= 8) {
    std::memcpy(&word, src, 8);
  } else if (bytes >= 4) {  // two loads that overlap
    uint32_t first, last;
    std::memcpy(&first, src, 4);
    std::memcpy(&last, src + bytes - 4, 4);
    word = first | static_cast<uint64_t>(last) << 8 * (bytes - 4);
  } else {
    for (int64_t i = 0; i < bytes; ++i) word |= static_cast<uint64_t>(src[i]) << 8 * i;
  }
  return word;
}

/// Writes the lowest `bytes` <= 8 bytes of a word.
inline void store_word(unsigned char* dst, uint64_t word, int64_t bytes) noexcept {
  if (kLittleEndian && bytes >= 8) {
    std::memcpy(dst, &word, 8);
  } else if (kLittleEndian && bytes >= 4) {  // two stores that overlap
    const auto first = static_cast<uint32_t>(word);
    const auto last = static_cast<uint32_t>(word >> 8 * (bytes - 4));
    std::memcpy(dst, &first, 4);
    std::memcpy(dst + bytes - 4, &last, 4);
  } else {
    for (int64_t i = 0; i < bytes; ++i) dst[i] = static_cast<unsigned char>(word >> 8 * i);
  }
}

/// `bits` bytes of packed elements at a time, or what is left of them.
template <bool kSign>
void unpack_rest(unsigned char* dst, const unsigned char* src, int64_t count, int bits) noexcept {
  const Spread<kSign> spread(bits);
  for (; count > 0; count -= 8, src += bits, dst += 8) {
    const int64_t n = count < 8 ? count : 8;
    store_word(dst, spread.apart(load_word(src, (n * bits + 7) / 8)), n);
  }
}

template <bool kSign>
void extend_all(unsigned char* dst, const unsigned char* src, int64_t count, int bits) noexcept {
  const Spread<kSign> spread(bits);
  for (; count > 0; count -= 8, src += 8, dst += 8) {
    const int64_t n = count < 8 ? count : 8;
    store_word(dst, spread.cut(load_word(src, n)), n);
  }
}

}  // namespace

void unpack(unsigned char* dst, const unsigned char* src, int shift, int64_t count, int bits,
            bool has_sign) noexcept {
  const unsigned sign = has_sign ? 1u << (bits - 1) : 0;
  for (; shift != 0 && count > 0; --count) {
    *dst++ = static_cast<unsigned char>((load_bits(src, shift, bits) ^ sign) - sign);
    shift += bits;
    src += shift >> 3;
    shift &= 7;
  }
  const int64_t done = kernels().unpack[has_sign](dst, src, count, bits);
  dst += done;
  src += done / 8 * bits;
  count -= done;
  has_sign ? unpack_rest<true>(dst, src, count, bits) : unpack_rest<false>(dst, src, count, bits);
}

void pack(unsigned char* dst, int shift, const unsigned char* src, int64_t count,
          int bits) noexcept {
  const auto store_one = [&] {
    store_bits(dst, shift, bits, *src++);
    shift += bits;
    dst += shift >> 3;
    shift &= 7;
    --count;
  };
  while (shift != 0 && count > 0) store_one();
  const int64_t done = kernels().pack(dst, src, count, bits);
  dst += done / 8 * bits;
  src += done;
  count -= done;
  const Spread<false> spread(bits);
  for (; count >= 8; count -= 8, src += 8, dst += bits) {
    store_word(dst, spread.together(load_word(src, 8)), bits);
  }
  while (count > 0) store_one();
}

void extend(unsigned char* dst, const unsigned char* src, int64_t count, int bits,
            bool has_sign) noexcept {
  has_sign ? extend_all<true>(dst, src, count, bits) : extend_all<false>(dst, src, count, bits);
}

}  // namespace dlx
