#include "src/copy/kernels/packed.h"

#include <cstring>

namespace dlx {
namespace {

/// Two words of 64 bits: a register of every processor.
typedef uint64_t Words __attribute__((vector_size(16)));

constexpr bool kHasWords = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;

/// How eight elements of `bits` bits, side by side in a word, go to a byte each and back. First the
/// halves of the word move, then the halves of each half, then the single elements.
template <bool kSign>
struct Spread {
  explicit Spread(int bits_of) noexcept
      : bits(bits_of),
        low{(uint64_t{1} << 4 * bits) - 1, ((uint64_t{1} << 2 * bits) - 1) * 0x0000000100000001u,
            ((uint64_t{1} << bits) - 1) * 0x0001000100010001u},
        sign(uint64_t{0x0101010101010101u} << (bits - 1)) {}

  template <typename Word>
  Word apart(Word x) const noexcept {
    x = (x & low[0]) | ((x & low[0] << 4 * bits) << (32 - 4 * bits));
    x = (x & low[1]) | ((x & low[1] << 2 * bits) << (16 - 2 * bits));
    return extended((x & low[2]) | ((x & low[2] << bits) << (8 - bits)));
  }

  template <typename Word>
  Word together(Word x) const noexcept {
    x = (x & low[2]) | (x >> (8 - bits) & low[2] << bits);
    x = (x & low[1]) | (x >> (16 - 2 * bits) & low[1] << 2 * bits);
    return (x & low[0]) | (x >> (32 - 4 * bits) & low[0] << 4 * bits);
  }

  /// Elements that are bytes, with what belongs above them.
  template <typename Word>
  Word cut(Word x) const noexcept {
    return extended(x & (low[2] | low[2] << 8));
  }

  int bits;

 private:
  template <typename Word>
  Word extended(Word x) const noexcept {
    if (!kSign) return x;
    const Word signs = x & sign;
    return x | ((signs << (9 - bits)) - (signs << 1));  // 2^8 - 2^bits in each byte with a sign
  }

  uint64_t low[3];  ///< the lower half of the word, of each half, of each quarter
  uint64_t sign;    ///< the highest bit of each element that is a byte
};

/// The first `bytes` <= 8 bytes as a word: the first byte is the lowest.
inline uint64_t load_word(const unsigned char* src, int64_t bytes) noexcept {
  uint64_t word = 0;
  if (!kHasWords) {
    for (int64_t i = 0; i < bytes; ++i) word |= static_cast<uint64_t>(src[i]) << 8 * i;
    return word;
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
  if (kHasWords && bytes >= 8) {
    std::memcpy(dst, &word, 8);
  } else if (kHasWords && bytes >= 4) {  // two stores that overlap
    const auto first = static_cast<uint32_t>(word);
    const auto last = static_cast<uint32_t>(word >> 8 * (bytes - 4));
    std::memcpy(dst, &first, 4);
    std::memcpy(dst + bytes - 4, &last, 4);
  } else {
    for (int64_t i = 0; i < bytes; ++i) dst[i] = static_cast<unsigned char>(word >> 8 * i);
  }
}

inline uint64_t load_eight(const unsigned char* src) noexcept {
  uint64_t word;
  std::memcpy(&word, src, 8);
  return word;
}

/// As many elements as two loads or stores of eight bytes each, `bits` bytes apart, may touch. The
/// bytes behind the sixteen elements are read in vain, or written again by the next store.
inline int64_t most_touched(int bits) noexcept { return 8 + (64 + bits - 1) / bits; }

template <bool kSign>
void unpack_aligned(unsigned char* dst, const unsigned char* src, int64_t count,
                    const Spread<kSign> spread) noexcept {
  const int bits = spread.bits;
  for (const int64_t most = most_touched(bits); kHasWords && count >= most; count -= 16) {
    const Words x = spread.apart(Words{load_eight(src), load_eight(src + bits)});
    std::memcpy(dst, &x, 16);
    src += 2 * bits;
    dst += 16;
  }
  for (; count > 0; count -= 8, src += bits, dst += 8) {
    const int64_t n = count < 8 ? count : 8;
    store_word(dst, spread.apart(load_word(src, (n * bits + 7) / 8)), n);
  }
}

template <bool kSign>
void extend_all(unsigned char* dst, const unsigned char* src, int64_t count,
                const Spread<kSign> spread) noexcept {
  for (; kHasWords && count >= 16; count -= 16, src += 16, dst += 16) {
    Words x;
    std::memcpy(&x, src, 16);
    x = spread.cut(x);
    std::memcpy(dst, &x, 16);
  }
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
  if (has_sign) {
    unpack_aligned(dst, src, count, Spread<true>(bits));
  } else {
    unpack_aligned(dst, src, count, Spread<false>(bits));
  }
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
  const Spread<false> spread(bits);
  for (const int64_t most = most_touched(bits); kHasWords && count >= most; count -= 16) {
    Words x;
    std::memcpy(&x, src, 16);
    x = spread.together(x);
    std::memcpy(dst, &x, 8);
    const uint64_t second = x[1];
    std::memcpy(dst + bits, &second, 8);
    src += 16;
    dst += 2 * bits;
  }
  for (; count >= 8; count -= 8, src += 8, dst += bits) {
    store_word(dst, spread.together(load_word(src, 8)), bits);
  }
  while (count > 0) store_one();
}

void extend(unsigned char* dst, const unsigned char* src, int64_t count, int bits,
            bool has_sign) noexcept {
  if (has_sign) {
    extend_all(dst, src, count, Spread<true>(bits));
  } else {
    extend_all(dst, src, count, Spread<false>(bits));
  }
}

}  // namespace dlx
