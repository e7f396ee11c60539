#include "src/copy/constant.h"

#include <cstring>

#include "src/copy/loops.h"
#include "src/copy/tuning.h"

namespace dlx {
namespace {

constexpr int64_t kLine = 64;
constexpr int64_t kPattern = 16 * kLine;  // bytes

/// Writes constant rows. The line in which a row ends waits for the row that goes on there.
class Rows {
 public:
  explicit Rows(const Kernels& kernels) noexcept : kernels_(kernels) {}

  /// One row of `bytes`; `pattern` repeats the item, and has kLine bytes more than kPattern.
  void write(char* dst, int64_t bytes, const char* pattern, int64_t item) noexcept {
    if (dst != end_) close();
    end_ = dst + bytes;
    const int64_t head = -reinterpret_cast<intptr_t>(dst) & (kLine - 1);
    if (head > 0) {
      std::memcpy(line_ + kLine - head, pattern, static_cast<size_t>(head));
      if (open_ > 0) {
        kernels_.stream(dst - open_, line_, 1);
      } else {
        std::memcpy(dst, pattern, static_cast<size_t>(head));
      }
    }
    const char* const from = pattern + head % item;  // lines are multiples of items
    for (dst += head; end_ - dst >= kLine;) {
      const int64_t lines = end_ - dst < kPattern ? (end_ - dst) / kLine : kPattern / kLine;
      kernels_.stream(dst, from, lines);
      dst += lines * kLine;
    }
    open_ = end_ - dst;
    std::memcpy(line_, from, static_cast<size_t>(open_));
  }

  /// Writes what is left of a row's last line.
  void close() noexcept {
    if (open_ > 0) std::memcpy(end_ - open_, line_, static_cast<size_t>(open_));
    open_ = 0;
  }

 private:
  const Kernels& kernels_;
  char* end_ = nullptr;  // of the row before
  int64_t open_ = 0;     // bytes of its last line
  alignas(kLine) char line_[kLine];
};

}  // namespace

bool run_constant(const Schedule& s, const Kernels& kernels) noexcept {
  if (s.kind != PlaneKind::kGather || s.axes[s.u].src != 0) return false;
  const int64_t row = s.axes[s.u].extent * s.item;
  if (row < 8 * tuning().long_row_bytes || row < kLine) return false;
  Loops loops;
  for (int k = s.ndim - 1; k >= 0; --k) {
    if (k != s.u) loops.add(s.axes[k]);
  }
  // Each row is written when the pattern of the next one has been stored: what was just stored
  // cannot be loaded before all that is streamed already has left.
  alignas(kLine) char patterns[2][kPattern + kLine];
  int turn = 0;
  char* ready = nullptr;
  Rows rows(kernels);
  loops.each(s.dst, s.src, [&](char* dst, const char* src) {
    turn ^= 1;
    kernels.gather[s.log_item](patterns[turn], src, 0, (kPattern + kLine) / s.item);
    if (ready != nullptr) rows.write(ready, row, patterns[turn ^ 1], s.item);
    ready = dst;
  });
  rows.write(ready, row, patterns[turn], s.item);
  rows.close();
  kernels.fence();
  return true;
}

}  // namespace dlx
