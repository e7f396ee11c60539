#include "src/arrow/bitmap.h"

#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace dlx::arrow {
namespace {

int bit_at(const uint8_t* bits, int64_t index) noexcept {
  return bits[index / 8] >> (index % 8) & 1;
}

/// For each byte, its eight bits as bytes of 0 or 1.
struct Unpacked {
  uint8_t bytes[256][8];
};
constexpr Unpacked make_unpacked() {
  Unpacked table{};
  for (int byte = 0; byte < 256; ++byte) {
    for (int bit = 0; bit < 8; ++bit) table.bytes[byte][bit] = byte >> bit & 1;
  }
  return table;
}
constexpr Unpacked kUnpacked = make_unpacked();

}  // namespace

int64_t count_zeros(const uint8_t* bits, int64_t first, int64_t count) noexcept {
  int64_t ones = 0, i = first;
  const int64_t end = first + count;
  for (; i < end && i % 8 != 0; ++i) ones += bit_at(bits, i);
  for (; i + 64 <= end; i += 64) {
    uint64_t word;
    std::memcpy(&word, bits + i / 8, sizeof word);
    ones += __builtin_popcountll(word);
  }
  for (; i < end; ++i) ones += bit_at(bits, i);
  return count - ones;
}

void unpack_bits(const uint8_t* bits, int64_t first, int64_t count, uint8_t* out) noexcept {
  int64_t done = 0;
  for (; done < count && (first + done) % 8 != 0; ++done) {
    out[done] = static_cast<uint8_t>(bit_at(bits, first + done));
  }
  const uint8_t* next = bits + (first + done) / 8;
  for (; done + 8 <= count; done += 8) {
    std::memcpy(out + done, kUnpacked.bytes[*next++], 8);
  }
  for (; done < count; ++done) out[done] = static_cast<uint8_t>(bit_at(bits, first + done));
}

void pack_bits(const uint8_t* bytes, int64_t count, uint8_t* out) noexcept {
  int64_t done = 0;
#if defined(__SSE2__)
  for (; done + 16 <= count; done += 16) {
    const __m128i values = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + done));
    const int zeros = _mm_movemask_epi8(_mm_cmpeq_epi8(values, _mm_setzero_si128()));
    *out++ = static_cast<uint8_t>(~zeros);
    *out++ = static_cast<uint8_t>(~zeros >> 8);
  }
#endif
  for (; done + 8 <= count; done += 8) {
    unsigned byte = 0;
    for (int bit = 0; bit < 8; ++bit) byte |= (bytes[done + bit] != 0 ? 1u : 0u) << bit;
    *out++ = static_cast<uint8_t>(byte);
  }
  if (done == count) return;
  unsigned byte = 0;
  for (int bit = 0; done < count; ++done, ++bit) byte |= (bytes[done] != 0 ? 1u : 0u) << bit;
  *out = static_cast<uint8_t>(byte);
}

}  // namespace dlx::arrow
