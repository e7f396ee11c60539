#include "src/copy/gathered.h"

#include <algorithm>
#include <cstring>

#include "src/copy/folded.h"
#include "src/copy/lines.h"
#include "src/copy/tuning.h"

namespace dlx {
namespace {

/// Copies a block together, transposes as many of its columns as make a line of src, writes them,
/// and so on: one after the other, which is faster than side by side.
class GatheredBlocks {
 public:
  GatheredBlocks(const FoldedPlanes& planes, int log_item, const Kernels& kernels,
                 const Buffers& buffers) noexcept
      : planes_(planes),
        item_(int64_t{1} << log_item),
        line_(kLine / item_),
        narrowest_(16 / item_),
        most_rows_(rows_of_a_block(planes.rows.n(), item_)),
        pitch_(odd_lines(block_bytes(item_) / most_rows_)),
        in_step_(planes.rows.in_step(kLine)),
        gather_(kernels.gather_rows),
        transpose_(kernels.transpose[log_item]),
        write_(kernels.write_columns),
        block_(buffers[0]),
        columns_(buffers[1]),
        column_pitch_(Strip::kFront + divide_up(most_rows_ * item_, kLine) * kLine),
        begun_(buffers[1] + line_ * column_pitch_) {}

  /// One plane, in blocks that begin at lines of src where rows do, and of dst where columns do.
  void run(char* dst, const char* src) const noexcept {
    const int64_t columns = planes_.columns.n();
    const int64_t most = (pitch_ - kLine) / item_;  // the rest keeps rows out of each other's way
    int64_t end = in_step_ ? -((kLine - to_next_line(src)) % kLine / item_) : 0;
    for (int64_t v = 0; v < columns; v = end) {
      end = std::min(end + most, columns);
      const int64_t first = std::min(v, columns - narrowest_);
      run_columns(dst, src + first * item_, planes_.columns.offset() + first, end - first);
    }
  }

 private:
  /// A part of a second-level cache; more for single bytes, so that parts of rows are as long.
  static int64_t block_bytes(int64_t item) noexcept {
    return tuning().has_larger_cache() || item == 1 ? Buffers::kFirstBytes : Tiling::kBufferBytes;
  }

  /// As many whole lines, but an odd number, with which rows crowd into no set of a cache.
  static int64_t odd_lines(int64_t bytes) noexcept { return ((bytes / kLine - 1) | 1) * kLine; }

  /// As many as their columns have room for in the first-level cache, or a few more rather than a
  /// few at the end.
  static int64_t rows_of_a_block(int64_t rows, int64_t item) noexcept {
    if (item == 1) return 512;
    return rows > 256 && rows <= 384 ? rows : 256;
  }

  void run_columns(char* dst, const char* src, const int64_t* column, int64_t nv) const noexcept {
    const int64_t rows = planes_.rows.n();
    int64_t missing = to_next_line(dst) / item_;
    for (int64_t u = 0, n = 0; u < rows; u += n, missing = 0) {
      n = rows - u;
      if (n > most_rows_) {
        n = (most_rows_ - missing) / line_ * line_ + missing;
        if (rows - u - n < line_) n -= line_;
      }
      gather_(block_, pitch_, src, planes_.rows.offset() + u, n, nv * item_);
      transpose_block(dst + u * item_, n, column, nv, u == 0, u + n == rows);
    }
  }

  void transpose_block(char* dst, int64_t nu, const int64_t* column, int64_t nv, bool begins,
                       bool ends) const noexcept {
    for (int64_t v = 0; v < nv; v += line_) {
      const int64_t n = std::min(line_, nv - v);
      const int64_t more = std::max<int64_t>(0, narrowest_ - n);  // columns of the chunk before
      char* const buffer = columns_ + more * column_pitch_;
      char* const begun = begun_ + v * kLine;
      fetch_edges(dst, column + v, n, nu * item_, begins, ends);
      transpose_(columns_ + Strip::kFront, column_pitch_, block_ + (v - more) * item_, pitch_, nu,
                 n + more);
      for (int64_t i = 0; i < n && !begins; ++i) {
        std::memcpy(buffer + i * column_pitch_, begun + i * kLine, kLine);
      }
      write_({dst, column + v, n, nu * item_, column_pitch_, buffer, begun, kLine, begins, ends});
    }
  }

  const FoldedPlanes& planes_;
  const int64_t item_;       ///< bytes
  const int64_t line_;       ///< items
  const int64_t narrowest_;  ///< rows or columns of a transposition
  const int64_t most_rows_;  ///< of a block
  const int64_t pitch_;      ///< of its rows
  const bool in_step_;
  void (*const gather_)(char* dst, int64_t pitch, const char* src, const int64_t* row, int64_t n,
                        int64_t bytes);
  Kernels::Transpose* const transpose_;
  void (*const write_)(const Chunk& chunk);
  char* const block_;
  char* const columns_;
  const int64_t column_pitch_;
  char* const begun_;  ///< the line that the next block goes on with, of each column
};

}  // namespace

void run_gathered(const Schedule& s, const Kernels& kernels, const Buffers& buffers) noexcept {
  const FoldedPlanes planes(s, true, buffers.offsets()->row, Tiling::kOffsets,
                            buffers.offsets()->column, Tiling::kOffsets);
  const GatheredBlocks blocks(planes, s.log_item, kernels, buffers);
  planes.each([&](char* dst, const char* src) { blocks.run(dst, src); });
  kernels.fence();
}

}  // namespace dlx
