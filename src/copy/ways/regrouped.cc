#include <algorithm>
#include <cstring>

#include "src/copy/kernels/lines.h"
#include "src/copy/schedule/loops.h"
#include "src/copy/ways/planes.h"
#include "src/copy/ways/traits.h"
#include "src/copy/ways/way.h"

namespace dlx {
namespace {

/// Rows along u that are read side by side: as many as the processor prefetches by itself.
constexpr int64_t kRows = 8;  // [note 12]
/// Most columns; each keeps an unfinished line.
constexpr int64_t kMostColumns = 1024;  // [note 87]

/// Copies kRows rows along u of all columns along v at a time: a few columns are arranged in a
/// buffer, and streamed to dst in whole lines.
class Columns {
 public:
  Columns(const Schedule& s, const Plane& plane, const Kernels& kernels,
          const Buffers& buffers) noexcept
      : kernels_(kernels),
        item_(s.item),
        plane_(plane),
        pitch_(Strip::kFront + divide_up(kRows * s.item, kLine) * kLine),
        buffer_(buffers[0]),
        kept_(buffers[1]),
        column_(buffers.offsets()->column) {
    for (int64_t v = 0; v < std::min(kMostColumns, plane.nv); ++v) column_[v] = v * plane.dv;
  }

  /// Copies the plane that begins at `dst` and `src`.
  void run(char* dst, const char* src) const noexcept {
    for (int64_t v = 0; v < plane_.nv; v += kMostColumns) {
      run_columns(dst + v * plane_.dv, src + v * plane_.sv, std::min(kMostColumns, plane_.nv - v));
    }
  }

 private:
  void run_columns(char* dst, const char* src, int64_t columns) const noexcept {
    constexpr int64_t kTogether = 8192;  // bytes [note 87]
    const int64_t together = kTogether / pitch_;
    for (int64_t u = 0; u < plane_.nu; u += kRows) {
      const int64_t rows = std::min(kRows, plane_.nu - u);
      for (int64_t v = 0; v < columns; v += together) {
        write(dst + u * item_, src + u * plane_.su + v * plane_.sv, rows, v,
              std::min(together, columns - v), u == 0, u + rows == plane_.nu);
      }
    }
  }

  void write(char* dst, const char* src, int64_t rows, int64_t first, int64_t columns, bool begins,
             bool ends) const noexcept {
    const int64_t* const column = column_ + first;
    char* const kept = kept_ + first * kLine;
    fetch_edges(dst, column, columns, rows * item_, begins, ends);
    for (int64_t i = 0; i < columns; ++i, src += plane_.sv) {
      char* const to = buffer_ + i * pitch_;
      if (!begins) std::memcpy(to, kept + i * kLine, kLine);
      kernels_.rows(to + Strip::kFront, item_, src, plane_.su, item_, rows);
    }
    kernels_.write_columns(
        {dst, column, columns, rows * item_, pitch_, buffer_, kept, kLine, begins, ends});
  }

  const Kernels& kernels_;
  const int64_t item_;
  const Plane& plane_;   ///< v ascending in src
  const int64_t pitch_;  ///< of columns in the buffer
  char* const buffer_;
  char* const kept_;  ///< the last line of each column, so far
  int64_t* const column_;
};

}  // namespace

/// Whether rows have a length that gains, and columns are long. With more than 512 KiB of
/// second-level cache, rows of whole lines are read as fast in the order of dst. Consecutive short
/// rows go faster in boxes.
bool suits_regrouped(const Job& job) noexcept {
  const Schedule& s = job.s;
  constexpr int64_t kShortest = 24;      // bytes [note 12]
  constexpr int64_t kLongest = 448;      // [note 12]
  constexpr int64_t kFewest = 4;         // columns [note 87]
  constexpr int64_t kLongColumn = 1024;  // [note 12]
  constexpr int64_t kFewBytes = 2048;    // [note 87]
  if (s.kind != PlaneKind::kRows || !s.transposes()) return false;
  if (s.item < kShortest || s.item > kLongest) return false;
  if (s.has_whole_lines() && job.machine.reads_whole_lines_in_order()) return false;
  const CopyAxis& u = s.axes[s.u];
  if (job.machine.boxes_first() && gains_by_boxes(s) && s.axes[s.v].extent * s.item <= kFewBytes) {
    return false;
  }
  return u.dst == s.item && u.extent * s.item >= kLongColumn && s.axes[s.v].extent >= kFewest;
}

void run_regrouped(const Job& job) noexcept {
  const Schedule& s = job.s;
  const Plane first = ascending_v(plane_of(s));
  const Columns columns(s, first, job.kernels, job.buffers());
  Loops loops;
  loops.add_others(s, [&](int axis) { return axis == s.u || axis == s.v; });
  loops.each(first.dst, first.src, [&](char* dst, const char* src) { columns.run(dst, src); });
  job.kernels.fence();
}

}  // namespace dlx
