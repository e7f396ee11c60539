#include <algorithm>
#include <cassert>
#include <cstring>

#include "src/copy/kernels/lines.h"
#include "src/copy/ways/folded.h"
#include "src/copy/ways/strips.h"
#include "src/copy/ways/traits.h"
#include "src/copy/ways/way.h"

namespace dlx {
namespace {

/// Copies the rows of a block together, then transposes and writes its columns, one source line of
/// them at a time. One step after the other is faster than all side by side.
class GatheredBlocks {
 public:
  GatheredBlocks(const FoldedPlanes& planes, const Schedule& s, const Buffers& buffers) noexcept
      : planes_(planes),
        machine_(s.machine()),
        item_(s.item),
        line_(kLine / item_),
        narrowest_(16 / item_),
        pitch_(pitch(planes.columns.n() * item_, item_)),
        most_rows_(most_rows(planes.rows.n(), pitch_, item_)),
        in_step_(planes.rows.in_step(kLine)),
        gather_(s.kernels().gather_rows),
        transpose_(s.kernels().transpose[s.log_item]),
        write_(s.kernels().write_columns),
        block_(buffers[0]),
        columns_(buffers[1]),
        column_pitch_(Strip::kFront + divide_up(most_rows_ * item_, kLine) * kLine),
        begun_(buffers[1] + line_ * column_pitch_) {}

  /// One plane, in blocks that begin at line boundaries of src and dst where possible.
  void run(char* dst, const char* src) const noexcept {
    const int64_t columns = planes_.columns.n();
    const int64_t most = pitch_ / item_;
    int64_t end = in_step_ ? -((kLine - to_next_line(src)) % kLine / item_) : 0;
    for (int64_t v = 0; v < columns; v = end) {
      end = std::min(end + most, columns);
      const int64_t first = std::min(v, columns - narrowest_);
      run_columns(dst, src + first * item_, planes_.columns.offset() + first, end - first);
    }
  }

 private:
  /// Fewest rows of a block: columns of half a KiB or more.
  int64_t fewest_rows(int64_t item) const noexcept {
    return std::max<int64_t>(512 / item, machine_.fewest_block_rows());
  }

  /// Bytes of a block: a part of the second-level cache; more for single bytes, so that rows are as
  /// long.
  int64_t room(int64_t item) const noexcept {
    return machine_.has_large_blocks() || item == 1 ? Buffers::kFirstBytes : Tiling::kBufferBytes;
  }

  /// The size of even parts of n: at most `most`, multiples of `unit`; the first part may begin
  /// inside a unit.
  static int64_t even_units(int64_t n, int64_t most, int64_t unit) noexcept {
    return std::min(most, divide_up(even_part(n, most), unit) * unit + unit);
  }

  /// An odd number of lines, so that rows spread over the cache sets.
  int64_t pitch(int64_t row, int64_t item) const noexcept {
    const int64_t longest = ((room(item) / fewest_rows(item) / kLine - 1) | 1) * kLine;
    return (even_units(row, longest, kLine) / kLine | 1) * kLine;
  }

  /// As many rows as the block has room for, and as the first-level cache has room for their
  /// columns.
  int64_t most_rows(int64_t rows, int64_t pitch, int64_t item) const noexcept {
    const int64_t line = kLine / item;
    const int64_t most = std::min<int64_t>(room(item) / pitch / line * line, item == 1 ? 512 : 256);
    return even_units(rows, most, line);
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
  const Machine& machine_;
  const int64_t item_;       ///< bytes
  const int64_t line_;       ///< items
  const int64_t narrowest_;  ///< rows or columns of a transposition
  const int64_t pitch_;      ///< of the rows of a block
  const int64_t most_rows_;  ///< of a block
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

bool suits_gathered(const Job& job) noexcept {
  if (goes_in_order(job)) return false;
  const StripPlan* const plan = job.strip_plan();
  return plan != nullptr && plan->gathers;
}

void run_gathered(const Job& job) noexcept {
  const Schedule& s = job.s;
  const Buffers& buffers = job.buffers();
  const FoldedPlanes planes(s, true, buffers.offsets()->row, Tiling::kOffsets,
                            buffers.offsets()->column, Tiling::kOffsets);
  assert(planes.rows.n() * s.item >= 2 * kLine && planes.columns.n() * s.item >= 16);
  const GatheredBlocks blocks(planes, s, buffers);
  planes.each([&](char* dst, const char* src) { blocks.run(dst, src); });
  job.kernels.fence();
}

}  // namespace dlx
