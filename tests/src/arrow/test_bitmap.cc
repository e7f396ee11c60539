// Arrow's bitmaps, against one bit after the other.
#include "src/arrow/bitmap.h"

#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

// CMocka needs <csetjmp>, <cstdarg>, <cstddef> and <cstdint> first, and does not say that it is C.
extern "C" {
#include <cmocka.h>
}

namespace {

constexpr int64_t kBits = 8 * 40;

struct Bitmap {
  std::vector<uint8_t> bits = std::vector<uint8_t>(kBits / 8);
  explicit Bitmap(unsigned seed) {
    std::mt19937 random(seed);
    for (uint8_t& byte : bits) byte = static_cast<uint8_t>(random());
  }
  bool at(int64_t index) const { return (bits[index / 8] >> (index % 8) & 1) != 0; }
};

// Each beginning within a word, each length: single bits, bytes and whole words.
template <typename F>
void for_each_range(F f) {
  for (int64_t first = 0; first < 70; ++first) {
    for (int64_t count = 0; first + count <= kBits; count += count < 140 ? 1 : 13) f(first, count);
  }
}

void zeros_are_counted(void**) {
  const Bitmap bitmap(1);
  for_each_range([&](int64_t first, int64_t count) {
    int64_t expected = 0;
    for (int64_t i = first; i < first + count; ++i) expected += bitmap.at(i) ? 0 : 1;

    assert_int_equal(dlx::arrow::count_zeros(bitmap.bits.data(), first, count), expected);
  });
}

// One byte for a bit, and none behind the last.
void bits_are_unpacked(void**) {
  const Bitmap bitmap(2);
  for_each_range([&](int64_t first, int64_t count) {
    std::vector<uint8_t> out(static_cast<size_t>(count) + 8, 0xee);

    dlx::arrow::unpack_bits(bitmap.bits.data(), first, count, out.data());

    for (int64_t i = 0; i < count; ++i) assert_int_equal(out[i], bitmap.at(first + i) ? 1 : 0);
    for (int64_t i = count; i < count + 8; ++i) assert_int_equal(out[i], 0xee);
  });
}

// Any byte but 0 is true. Bits of the last byte that no element has are 0.
void bytes_are_packed(void**) {
  std::mt19937 random(3);
  for (int64_t count = 0; count < 200; ++count) {
    std::vector<uint8_t> bytes(static_cast<size_t>(count));
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random() % 2 == 0 ? 0 : random() | 1);
    std::vector<uint8_t> out(static_cast<size_t>(count) / 8 + 9, 0xee);
    const int64_t used = (count + 7) / 8;

    dlx::arrow::pack_bits(bytes.data(), count, out.data());

    for (int64_t i = 0; i < 8 * used; ++i) {
      const int bit = out[i / 8] >> (i % 8) & 1;
      assert_int_equal(bit, i < count && bytes[i] != 0 ? 1 : 0);
    }
    for (size_t i = static_cast<size_t>(used); i < out.size(); ++i) {
      assert_int_equal(out[i], 0xee);
    }
  }
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(zeros_are_counted),
      cmocka_unit_test(bits_are_unpacked),
      cmocka_unit_test(bytes_are_packed),
  };
  return cmocka_run_group_tests_name("bitmap", tests, nullptr, nullptr);
}
