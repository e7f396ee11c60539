#include "src/copy/regrouped.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "src/copy/lines.h"
#include "src/copy/loops.h"
#include "src/copy/tuning.h"

namespace dlx {
namespace {

/// Rows along u that are read side by side: the processor follows no more than these by itself.
constexpr int64_t kRows = 8;
/// Columns, of which each has a line that waits for what comes next.
constexpr int64_t kMostColumns = 1024;

/// Rows of all columns along v, kRows along u at a time: a few columns are put together in a buffer,
/// and go on in dst from there in whole lines.
class Columns {
 public:
  Columns(const Schedule& s, const Kernels& kernels, const Buffers& buffers) noexcept
      : kernels_(kernels),
        item_(s.item),
        rows_(s.axes[s.u]),
        pitch_(Strip::kFront + divide_up(kRows * s.item, kLine) * kLine),
        together_(std::max<int64_t>(1, kTogether / pitch_)),
        buffer_(buffers[0]),
        kept_(buffers[1]),
        column_(buffers.offsets()->column) {}

  void run(char* dst, const char* src, const CopyAxis& columns) const noexcept {
    for (int64_t v = 0; v < columns.extent; ++v) column_[v] = v * columns.dst;
    for (int64_t u = 0; u < rows_.extent; u += kRows) {
      const int64_t n = std::min(kRows, rows_.extent - u);
      for (int64_t v = 0; v < columns.extent; v += together_) {
        write(dst + u * item_, src + u * rows_.src + v * columns.src, n, v,
              std::min(together_, columns.extent - v), columns.src, u == 0, u + n == rows_.extent);
      }
    }
  }

 private:
  static constexpr int64_t kTogether = 8192;  // bytes

  void write(char* dst, const char* src, int64_t rows, int64_t first, int64_t columns, int64_t step,
             bool begins, bool ends) const noexcept {
    const int64_t* const column = column_ + first;
    char* const kept = kept_ + first * kLine;
    fetch_edges(dst, column, columns, rows * item_, begins, ends);
    for (int64_t i = 0; i < columns; ++i, src += step) {
      char* const to = buffer_ + i * pitch_;
      if (!begins) std::memcpy(to, kept + i * kLine, kLine);
      kernels_.rows(to + Strip::kFront, item_, src, rows_.src, item_, rows);
    }
    kernels_.write_columns(
        {dst, column, columns, rows * item_, pitch_, buffer_, kept, kLine, begins, ends});
  }

  const Kernels& kernels_;
  const int64_t item_;
  const CopyAxis& rows_;
  const int64_t pitch_;  ///< of columns in the buffer
  const int64_t together_;
  char* const buffer_;
  char* const kept_;  ///< the last line of each column, so far
  int64_t* const column_;
};

/// Whether rows are of a length that gains by it, and what they become is long. Whole lines are read as
/// fast in the order of dst where second-level caches are larger than 512 KiB.
bool suits(const Schedule& s) noexcept {
  constexpr int64_t kShortest = 24;  // bytes
  constexpr int64_t kLongest = 448;
  constexpr int64_t kFewest = 4;  // columns
  constexpr int64_t kLongColumn = 1024;
  if (s.kind != PlaneKind::kRows || !s.transposes()) return false;
  if (s.item < kShortest || s.item > kLongest) return false;
  const bool whole_lines = s.item % kLine == 0 || s.item >= 2 * kLine;
  if (whole_lines && tuning().has_large_cache()) return false;
  const CopyAxis& u = s.axes[s.u];
  return u.dst == s.item && u.extent * s.item >= kLongColumn && s.axes[s.v].extent >= kFewest &&
         std::llabs(s.axes[s.v].src) <= s.item + kLine;
}

}  // namespace

bool run_regrouped(const Schedule& s, const Kernels& kernels, const Buffers& buffers,
                   bool dry) noexcept {
  if (!suits(s)) return false;
  if (dry) return true;
  const Columns columns(s, kernels, buffers);
  Loops loops;
  loops.add_others(s, [&](int axis) { return axis == s.u || axis == s.v; });
  CopyAxis v = s.axes[s.v];
  char* first_dst = s.dst;
  const char* first_src = s.src;
  if (v.src < 0) {
    first_dst += (v.extent - 1) * v.dst;
    first_src += (v.extent - 1) * v.src;
    v = {v.extent, -v.dst, -v.src};
  }
  loops.each(first_dst, first_src, [&](char* dst, const char* src) {
    for (int64_t i = 0; i < v.extent; i += kMostColumns) {
      columns.run(dst + i * v.dst, src + i * v.src,
                  {std::min(kMostColumns, v.extent - i), v.dst, v.src});
    }
  });
  kernels.fence();
  return true;
}

}  // namespace dlx
