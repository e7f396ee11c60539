#include "src/copy/turned.h"

#include <cstring>

#include "src/copy/loops.h"
#include "src/copy/tuning.h"

namespace dlx {
namespace {

constexpr int64_t kLine = 64;

int64_t inside_line(const char* p) noexcept {
  return static_cast<int64_t>(reinterpret_cast<uintptr_t>(p) % kLine);
}

/// Writes rows one after the other. Where a row ends inside a line and the next one goes on there,
/// that line waits until the next row has come to its beginning.
class Rows {
 public:
  Rows(const Schedule& s, const Kernels& kernels) noexcept
      : kernels_(kernels), cells_(s.cells), count_(s.axes[s.u].extent), step_(s.axes[s.u].src) {}

  void write(char* dst, const char* src) noexcept {
    dst_ = dst;
    src_ = src;
    char* const end = dst + count_ * cells_.dst;
    char* const last_line = end - inside_line(end);
    char* const first_line = dst + (kLine - inside_line(dst)) % kLine;
    if (last_line < end) {
      std::memcpy(next_open_, arrange(last_line, end), static_cast<size_t>(end - last_line));
    }
    for (char* upper = last_line; upper > first_line;) {
      char* const lower = upper - first_line > kChunk ? upper - kChunk : first_line;
      kernels_.stream(lower, arrange(lower, upper), (upper - lower) / kLine);
      upper = lower;
    }
    if (dst < first_line) {
      finish_line(dst, first_line);
    } else {
      close();
    }
    std::memcpy(open_, next_open_, kLine);
    open_end_ = end;
  }

  /// Writes what is left of a row's last line.
  void close() noexcept {
    if (open_end_ == nullptr) return;
    const int64_t bytes = inside_line(open_end_);
    std::memcpy(open_end_ - bytes, open_, static_cast<size_t>(bytes));
    open_end_ = nullptr;
  }

 private:
  static constexpr int64_t kChunk = 2048;

  /// The bytes of [lower, upper), which may begin and end inside a cell, in the buffer.
  const char* arrange(const char* lower, const char* upper) noexcept {
    const int64_t first = (lower - dst_) / cells_.dst;
    const int64_t behind = (upper - dst_ + cells_.dst - 1) / cells_.dst;
    char* const bytes = buffer_ + kLine;
    kernels_.cells_backwards(bytes - (lower - dst_ - first * cells_.dst), src_ + first * step_,
                             behind - first, cells_);
    return bytes;
  }

  /// The first bytes of a row, up to a line.
  void finish_line(char* dst, char* line_end) noexcept {
    const int64_t inside = inside_line(dst);
    if (open_end_ != dst) {
      close();
      std::memcpy(dst, arrange(dst, line_end), static_cast<size_t>(line_end - dst));
      return;
    }
    std::memcpy(open_ + inside, arrange(dst, line_end), static_cast<size_t>(line_end - dst));
    kernels_.stream(dst - inside, open_, 1);
    open_end_ = nullptr;
  }

  const Kernels& kernels_;
  const Cells& cells_;
  const int64_t count_;
  const int64_t step_;
  char* dst_ = nullptr;
  const char* src_ = nullptr;
  char* open_end_ = nullptr;  // end of the row whose last line is open; NULL: none
  alignas(kLine) char open_[kLine];
  char next_open_[kLine];
  alignas(kLine) char buffer_[kLine + kChunk + kLine];
};

}  // namespace

bool run_turned(const Schedule& s, const Kernels& kernels) noexcept {
  if (s.kind != PlaneKind::kCells || s.ndim < 2) return false;
  const CopyAxis& u = s.axes[s.u];
  const int64_t row = u.extent * s.item;
  if (u.src >= 0 || u.dst != s.item || row < kLine || row < tuning().long_row_bytes) return false;
  Loops loops;
  int order[CopyPlan::kMaxAxes];
  order_by_nearness(s, order);
  for (int i = 0; i < s.ndim; ++i) {
    if (order[i] != s.u) loops.add(s.axes[order[i]]);
  }
  Rows rows(s, kernels);
  loops.each(s.dst, s.src, [&](char* dst, const char* src) { rows.write(dst, src); });
  rows.close();
  kernels.fence();
  return true;
}

}  // namespace dlx
