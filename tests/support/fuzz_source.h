#ifndef DLX_TESTS_SUPPORT_FUZZ_SOURCE_H_
#define DLX_TESTS_SUPPORT_FUZZ_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dlx/dlpack.h"

namespace dlx_test {

/// Numbers from the fuzzer's bytes; zeros after the last byte.
class FuzzSource {
 public:
  FuzzSource(const uint8_t* data, size_t size) : data_(data), left_(size) {}

  bool done() const { return left_ == 0; }

  uint8_t byte() {
    if (left_ == 0) return 0;
    --left_;
    return *data_++;
  }

  /// 0 to count-1.
  int32_t below(int32_t count) { return byte() % count; }
  bool one_in(int32_t count) { return below(count) == count - 1; }

  /// Mostly small, often near a power of two, sometimes any number.
  int64_t number() {
    const uint8_t kind = byte();
    if (kind < 160) return kind % 12 - 3;
    if (kind < 230) {
      const int64_t power = static_cast<int64_t>(uint64_t{1} << (byte() % 64));
      return static_cast<int64_t>(static_cast<uint64_t>(power) + byte() % 5 - 2);
    }
    uint64_t bits = 0;
    for (int i = 0; i < 8; ++i) bits = bits << 8 | byte();
    return static_cast<int64_t>(bits);
  }

  std::vector<int64_t> numbers(size_t count) {
    std::vector<int64_t> out(count);
    for (int64_t& number : out) number = this->number();
    return out;
  }

  /// Any code, valid or not; one in 8 has lanes other than 1.
  DLDataType dtype() {
    static constexpr uint8_t kBits[] = {1, 4, 6, 8, 16, 32, 64, 128};
    return {static_cast<uint8_t>(byte() % 20), kBits[byte() % 8],
            static_cast<uint16_t>(byte() % 8 == 0 ? byte() : 1)};
  }

 private:
  const uint8_t* data_;
  size_t left_;
};

}  // namespace dlx_test

#endif  // DLX_TESTS_SUPPORT_FUZZ_SOURCE_H_
