#include "src/copy/gathered.h"

#include <algorithm>

#include "src/copy/lines.h"

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
        most_rows_(item_ == 1 ? 512 : 256),
        pitch_(Tiling::kBufferBytes / most_rows_ / kLine * kLine),
        in_step_(planes.rows.in_step(kLine)),
        gather_(kernels.gather_rows),
        transpose_(kernels.transpose[log_item]),
        write_(kernels.finish_strips),
        block_(buffers[0]),
        columns_(buffers[1]) {}

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
      transpose_block(dst + u * item_, n, column, nv);
    }
  }

  void transpose_block(char* dst, int64_t nu, const int64_t* column, int64_t nv) const noexcept {
    const int64_t pitch = Strip::kFront + most_rows_ * item_;
    for (int64_t v = 0; v < nv; v += line_) {
      const int64_t first = std::min(v, nv - narrowest_);
      const int64_t n = std::min(line_, nv - first);
      transpose_(columns_ + Strip::kFront, pitch, block_ + first * item_, pitch_, nu, n);
      Chunk chunk = {dst, column + first, n, nu * item_, pitch, columns_, nullptr, true, true, 0};
      write_(chunk);
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
  void (*const write_)(Chunk& chunk);
  char* const block_;
  char* const columns_;
};

}  // namespace

void run_gathered(const FoldedPlanes& planes, int log_item, const Kernels& kernels,
                  const Buffers& buffers) noexcept {
  const GatheredBlocks blocks(planes, log_item, kernels, buffers);
  planes.each([&](char* dst, const char* src) { blocks.run(dst, src); });
  kernels.fence();
}

}  // namespace dlx
