#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "src/copy/kernels/lines.h"
#include "src/copy/schedule/loops.h"
#include "src/copy/ways/plane.h"
#include "src/copy/ways/traits.h"
#include "src/copy/ways/way.h"

namespace dlx {
namespace {

constexpr int64_t kMostJoined = 16;  // rows that the processor prefetches side by side [note 14]
constexpr int64_t kMostSplit = 8;    // rows that it writes side by side [note 14]
constexpr int64_t kLargestCell = 3 * kLine;
constexpr int64_t kShortestRow = 4096;  // bytes

/// Whether items of a few rows of src become consecutive cells of dst. Rows must go upwards, here
/// and below: downwards, the processor prefetches fewer.
bool joins(const Schedule& s) noexcept {
  const CopyAxis& u = s.axes[s.u];
  const CopyAxis& v = s.axes[s.v];
  const int64_t cell = u.extent * s.item;
  const bool turns = u.dst == s.item && v.dst == cell && v.src > 0 && v.src < kLine;
  return turns && u.extent <= kMostJoined && cell <= kLargestCell && std::llabs(u.src) >= kLine &&
         v.extent * cell >= kShortestRow;
}

/// Whether rows of dst take their items by turns from src.
bool splits(const Schedule& s) noexcept {
  const CopyAxis& u = s.axes[s.u];
  const CopyAxis& v = s.axes[s.v];
  const bool turns =
      u.dst == s.item && u.src > 0 && u.src <= kLine && v.extent * std::llabs(v.src) <= u.src;
  return turns && v.extent <= kMostSplit && u.extent * s.item >= kShortestRow;
}

/// Planes that are arranged in a buffer, some cells at a time.
class Buffered {
 public:
  Buffered(const Schedule& s, const Kernels& kernels, char* buffer) noexcept
      : s_(s),
        kernels_(kernels),
        u_(s.axes[s.u]),
        v_(s.axes[s.v]),
        buffer_(buffer),
        joins_(joins(s)) {
    const int64_t cell = joins_ ? u_.extent * s.item : v_.extent * s.item;
    cells_ = std::max(kAtOnce / cell, kFewest);
    step_ = joins_ ? cell : s.item;
    rows_ = joins_ ? 1 : static_cast<int>(v_.extent);
    pitch_ = divide_up(cells_ * step_, kLine) * kLine + 3 * kLine;  // rows are not a page apart
  }

  void copy(char* dst, const char* src) const noexcept {
    Row row[kMostSplit];
    for (int k = 0; k < rows_; ++k) row[k] = {dst + k * v_.dst, 0};
    const CopyAxis& along = joins_ ? v_ : u_;
    for (int64_t first = 0; first < along.extent; first += cells_) {
      const int64_t n = std::min(cells_, along.extent - first);
      char* const to = buffer_ + kLine;
      const char* const from = src + first * along.src;
      if (joins_) {
        copy_plane(s_, {to, u_.dst, v_.dst, from, u_.src, v_.src, u_.extent, n});
      } else {
        copy_plane(s_, {to, u_.dst, pitch_, from, u_.src, v_.src, n, v_.extent});
      }
      for (int k = 0; k < rows_; ++k) stream(row[k], to + k * pitch_, n * step_);
    }
    for (int k = 0; k < rows_; ++k) {
      std::memcpy(row[k].to, buffer_ + kLine + k * pitch_ - row[k].left,
                  static_cast<size_t>(row[k].left));
    }
  }

 private:
  static constexpr int64_t kAtOnce = 2048;  // bytes [note 14]
  static constexpr int64_t kFewest = kLine;

  /// The end of the written part of a row of dst, and how many bytes before its place in the buffer
  /// are still to be written.
  struct Row {
    char* to;
    int64_t left;
  };

  /// Writes whole lines, beginning with the rest of the last ones, and moves the new rest to its
  /// place.
  void stream(Row& row, char* from, int64_t bytes) const noexcept {
    const char* begin = from - row.left;
    const char* const end = from + bytes;
    if (const int64_t head = std::min(to_next_line(row.to), end - begin); head > 0) {
      std::memcpy(row.to, begin, static_cast<size_t>(head));
      row.to += head;
      begin += head;
    }
    const int64_t lines = (end - begin) / kLine;
    kernels_.stream(row.to, begin, lines);
    row.to += lines * kLine;
    begin += lines * kLine;
    row.left = end - begin;
    char last[kLine];
    std::memcpy(last, begin, static_cast<size_t>(row.left));
    std::memcpy(from - row.left, last, static_cast<size_t>(row.left));
  }

  const Schedule& s_;
  const Kernels& kernels_;
  const CopyAxis u_;
  const CopyAxis v_;
  char* const buffer_;
  const bool joins_;
  int64_t cells_;  ///< in the buffer
  int64_t step_;   ///< bytes of a row of it, from cell to cell
  int rows_;
  int64_t pitch_;
};

/// Whether a kernel arranges the items of the rows.
bool has_rows(const Schedule& s) noexcept {
  if (s.ndim < 2 || s.v < 0 || s.folded() || s.log_item < 0) return false;
  return s.kind != PlaneKind::kRows && s.kind != PlaneKind::kCells && !reads_into_streams(s);
}

}  // namespace

bool suits_turns(const Job& job) noexcept {
  return has_rows(job.s) && (joins(job.s) || splits(job.s));
}

void run_turns(const Job& job) noexcept {
  const Schedule& s = job.s;
  const Buffered planes(s, job.kernels, job.buffers()[0]);
  Loops loops;
  loops.add_others(s, [&](int axis) { return axis == s.u || axis == s.v; });
  loops.each(s.dst, s.src, [&](char* dst, const char* src) { planes.copy(dst, src); });
  job.kernels.fence();
}

}  // namespace dlx
