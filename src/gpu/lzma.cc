// A decoder of LZMA: literals and copies of earlier bytes, as bits that an adaptive range coder packed. The
// names in quotes are those of the format's specification.
#include "src/gpu/lzma.h"

#include <algorithm>
#include <cstdint>
#include <memory>

namespace dlx::gpu {
namespace {

/// How likely a bit is 0, in 2048ths, by the bits before.
struct Chance {
  uint32_t zero = 1024;
};

/// The "range decoder". Behind the end of the input it reads zeros, and ended() tells.
class Bits {
 public:
  Bits(const unsigned char* in, size_t size) noexcept : next_(in), end_(in + size) {
    damaged_ = byte() != 0;
    for (int k = 0; k < 4; ++k) code_ = code_ << 8 | byte();
  }

  uint32_t bit(Chance* chance) noexcept {
    refill();
    const uint32_t bound = (range_ >> 11) * chance->zero;
    if (code_ < bound) {
      range_ = bound;
      chance->zero += (2048 - chance->zero) >> 5;
      return 0;
    }
    code_ -= bound;
    range_ -= bound;
    chance->zero -= chance->zero >> 5;
    return 1;
  }

  /// A number of `count` bits, high bits first. `tree` has a chance for each prefix with a leading 1.
  uint32_t number(Chance* tree, int count) noexcept {
    uint32_t prefix = 1;
    for (int k = 0; k < count; ++k) prefix = prefix << 1 | bit(&tree[prefix]);
    return prefix - (uint32_t{1} << count);
  }

  /// The same, low bits first.
  uint32_t reversed_number(Chance* tree, int count) noexcept {
    uint32_t prefix = 1, value = 0;
    for (int k = 0; k < count; ++k) {
      const uint32_t next = bit(&tree[prefix]);
      prefix = prefix << 1 | next;
      value |= next << k;
    }
    return value;
  }

  /// The same, high bits first, of bits without chances.
  uint32_t plain_number(int count) noexcept {
    uint32_t value = 0;
    for (int k = 0; k < count; ++k) {
      refill();
      range_ >>= 1;
      const uint32_t next = code_ >= range_ ? 1 : 0;
      code_ -= range_ * next;
      value = value << 1 | next;
    }
    return value;
  }

  /// Whether all of the input, and nothing more, has been read.
  bool ended() noexcept {
    refill();
    return !damaged_ && next_ == end_ && code_ == 0;
  }

 private:
  unsigned char byte() noexcept {
    if (next_ != end_) return *next_++;
    damaged_ = true;
    return 0;
  }
  void refill() noexcept {
    if (range_ >= uint32_t{1} << 24) return;
    range_ <<= 8;
    code_ = code_ << 8 | byte();
  }

  const unsigned char* next_;
  const unsigned char* end_;
  uint32_t range_ = UINT32_MAX;
  uint32_t code_ = 0;
  bool damaged_;
};

constexpr size_t kPlaces = 4;  // positions modulo 2^"pb" have chances of their own
constexpr size_t kStates = 12;

struct Lengths {
  Chance is_long, is_longest;
  Chance low[kPlaces][8], middle[kPlaces][8], high[256];

  uint32_t read(Bits* bits, size_t place) noexcept {
    if (bits->bit(&is_long) == 0) return 2 + bits->number(low[place], 3);
    if (bits->bit(&is_longest) == 0) return 10 + bits->number(middle[place], 3);
    return 18 + bits->number(high, 8);
  }
};

/// The chances, and what is known of the last symbols.
class Decoder {
 public:
  Decoder(const unsigned char* in, size_t in_size, unsigned char* out, size_t size) noexcept
      : bits_(in, in_size), out_(out), size_(size) {}

  /// The specification's "main loop".
  bool decode() noexcept {
    for (;;) {
      const size_t place = at_ % kPlaces;
      if (bits_.bit(&is_copy_[state_][place]) == 0) {
        if (at_ == size_) return false;
        literal();
        continue;
      }
      uint32_t length = 1;
      if (bits_.bit(&is_repeated_[state_]) == 0) {
        length = new_copy(place);
        if (distance_[0] == kEndMark) return at_ == size_ && bits_.ended();
      } else if (repeated_copy(place)) {
        length = repeated_lengths_.read(&bits_, place);
        state_ = state_ < 7 ? 8 : 11;
      } else {
        state_ = state_ < 7 ? 9 : 11;
      }
      if (distance_[0] >= at_ || length > size_ - at_) return false;
      for (; length != 0; --length, ++at_) out_[at_] = out_[at_ - distance_[0] - 1];
    }
  }

 private:
  static constexpr uint32_t kEndMark = UINT32_MAX;

  void literal() noexcept {
    // By the 3 high bits ("lc") of the byte before.
    Chance* const chances = literals_[at_ == 0 ? 0 : out_[at_ - 1] >> 5];
    uint32_t value = 1;
    if (state_ >= 7) {  // behind a copy, while the bits are those of the byte that continues it
      uint32_t expected = out_[at_ - distance_[0] - 1];
      while (value < 0x100) {
        expected <<= 1;
        const uint32_t next = expected >> 8 & 1;
        value = value << 1 | bits_.bit(&chances[((1 + next) << 8) + value]);
        if ((value & 1) != next) break;
      }
    }
    while (value < 0x100) value = value << 1 | bits_.bit(&chances[value]);
    out_[at_++] = static_cast<unsigned char>(value);
    state_ -= state_ < 4 ? state_ : state_ < 10 ? 3 : 6;
  }

  /// A copy from a new distance; returns its length.
  uint32_t new_copy(size_t place) noexcept {
    std::copy_backward(distance_, distance_ + 3, distance_ + 4);
    const uint32_t length = lengths_.read(&bits_, place);
    state_ = state_ < 7 ? 7 : 10;
    const uint32_t slot = bits_.number(slots_[std::min<uint32_t>(length - 2, 3)], 6);
    distance_[0] = slot;
    if (slot < 4) return length;
    const int count = static_cast<int>(slot / 2) - 1;
    distance_[0] = (2 | (slot & 1)) << count;
    if (slot < 14) {
      distance_[0] += bits_.reversed_number(&near_[distance_[0] - slot], count);
    } else {
      distance_[0] += bits_.plain_number(count - 4) << 4;
      distance_[0] += bits_.reversed_number(align_, 4);
    }
    return length;
  }

  /// Which of the last distances a copy repeats: makes it the first. False: the first, and one byte long.
  bool repeated_copy(size_t place) noexcept {
    if (bits_.bit(&is_older_[state_]) == 0) return bits_.bit(&is_more_[state_][place]) != 0;
    int which = 1;
    if (bits_.bit(&is_third_[state_]) != 0) which = bits_.bit(&is_fourth_[state_]) != 0 ? 3 : 2;
    std::rotate(distance_, distance_ + which, distance_ + which + 1);
    return true;
  }

  Bits bits_;
  unsigned char* const out_;
  const size_t size_;
  size_t at_ = 0;
  unsigned state_ = 0;         // the kinds of the last symbols; from 7 on, the last one is a copy
  uint32_t distance_[4] = {};  // less 1

  Chance is_copy_[kStates][kPlaces], is_repeated_[kStates], is_older_[kStates], is_third_[kStates],
      is_fourth_[kStates], is_more_[kStates][kPlaces];
  Lengths lengths_, repeated_lengths_;
  Chance slots_[4][64], near_[115], align_[16];
  Chance literals_[8][0x300];
};

}  // namespace

bool unpack_lzma(const unsigned char* in, size_t in_size, unsigned char* out, size_t size) {
  return std::make_unique<Decoder>(in, in_size, out, size)->decode();
}

}  // namespace dlx::gpu
