#ifndef DLX_TESTS_SRC_COPY_RANDOM_COPY_H_
#define DLX_TESTS_SRC_COPY_RANDOM_COPY_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "dlx/dlpack.h"
#include "src/base/error.h"
#include "src/copy/copy.h"
#include "src/copy/schedule/machine.h"

namespace dlx_test {

/// Where decisions come from: a fuzzer's bytes while there are any, then a generator.
class Choices {
 public:
  explicit Choices(uint64_t seed, const uint8_t* data = nullptr, size_t size = 0)
      : state_(seed), data_(data), size_(size) {}

  /// A number in [0, n).
  int64_t below(int64_t n) {
    uint64_t value = next();
    if (size_ > 0) {
      value = *data_++;
      --size_;
      if (n > 256 && size_ > 0) {
        value = value << 8 | *data_++;
        --size_;
      }
    }
    return static_cast<int64_t>(value % static_cast<uint64_t>(n));
  }
  bool one_in(int64_t n) { return below(n) == 0; }

  /// `size` bytes, any part of some noise that is made once.
  std::vector<uint8_t> noise(int64_t size) {
    static const std::vector<uint8_t> all = [] {
      std::vector<uint8_t> bytes(kNoise);
      Choices choices(1);
      for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(choices.next());
      return bytes;
    }();
    std::vector<uint8_t> bytes;
    bytes.reserve(static_cast<size_t>(size));
    while (size > 0) {
      const int64_t n = std::min<int64_t>(size, kNoise / 2);
      const auto first = all.begin() + static_cast<int64_t>(next() % (kNoise / 2));
      bytes.insert(bytes.end(), first, first + n);
      size -= n;
    }
    return bytes;
  }

  uint64_t next() {  // splitmix64
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

 private:
  static constexpr int64_t kNoise = 1 << 20;

  uint64_t state_;
  const uint8_t* data_;
  size_t size_;
};

/// A tensor description in a buffer of its own or of both.
struct Operand {
  std::vector<int64_t> strides;
  int64_t lowest = 0;   // bits from the first element down to the lowest one
  int64_t highest = 0;  // bits from the first element up to the end of the highest one
  bool padded = false;
  int64_t unit = 0;  // bits from one element to the next
};

/// Bytes on either side of an operand, more than a vector and a cache line.
constexpr int64_t kCanary = 160;

/// One random copy and what must come of it.
class RandomCopy {
 public:
  /// At most about `max_elements`, each in one of two buffers with canaries around.
  RandomCopy(Choices& choices, int64_t max_elements);

  /// Who carries a copy out, with the arguments of copy_tensor. dst's canaries belong to the memory
  /// that it may see.
  using Copier = std::function<void(const DLTensor& dst, bool dst_padded, const DLTensor& src,
                                    bool src_padded)>;

  /// Runs copy_tensor, or another copier; returns "" or what went wrong.
  std::string run(const Copier& copier = dlx::copy_tensor);
  std::string describe() const;
  bool refused() const { return refused_; }

 private:
  void choose_shape(Choices& choices, int64_t max_elements);
  Operand choose_layout(Choices& choices, bool is_dst);
  void place(Choices& choices);
  DLTensor tensor(const Operand& operand, char* data, int64_t start);
  std::vector<int64_t> offsets(const Operand& operand, int64_t start) const;

  DLDataType dtype_{};
  std::vector<int64_t> shape_;
  Operand dst_;
  Operand src_;
  bool shared_ = false;
  bool refused_ = false;
  std::vector<uint8_t> dst_memory_;
  std::vector<uint8_t> src_memory_;  // empty if shared
  int64_t dst_start_ = 0;            // bytes
  int64_t src_start_ = 0;
};

/// Every way of the engine on tensors of any size, chosen at random; the old tuning comes back at
/// the end of the scope.
class RandomTuning {
 public:
  explicit RandomTuning(Choices& choices) : before_(dlx::machine()) {
    dlx::Machine& tuning = dlx::machine();
    if (choices.one_in(2)) {
      tuning.stream_bytes = 0;
      tuning.tile_bytes = 128 << choices.below(6);
      for (int64_t& bytes : tuning.tile_dst_bytes) bytes = 128 << choices.below(5);
      for (int64_t& bytes : tuning.tile_src_bytes) bytes = 16 << choices.below(7);
      tuning.long_row_bytes = 1 << choices.below(10);
      for (int64_t& bytes : tuning.staged_dst_bytes) bytes = 128 << choices.below(5);
      for (int64_t& bytes : tuning.staged_src_bytes) bytes = 16 << choices.below(7);
    }
    if (choices.one_in(2)) tuning.cache_sets = 1 << choices.below(13);
    if (choices.one_in(2)) {
      tuning.relay_bytes = 0;
      tuning.relay_tile = 64 << choices.below(8);
    }
    if (choices.one_in(2)) tuning.box_bytes = 256 << choices.below(9);
    if (choices.one_in(4)) tuning.parallel_bytes = 0;
  }
  ~RandomTuning() { dlx::machine() = before_; }
  RandomTuning(const RandomTuning&) = delete;
  RandomTuning& operator=(const RandomTuning&) = delete;

 private:
  dlx::Machine before_;
};

}  // namespace dlx_test

#include "random_copy.inc"

#endif  // DLX_TESTS_SRC_COPY_RANDOM_COPY_H_
