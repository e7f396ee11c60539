#include "src/copy/kernels/lines.h"
#include "src/copy/ways/folded_planes.h"
#include "src/copy/ways/way.h"

namespace dlx {

void run_folded(const Job& job) noexcept {
  const Schedule& s = job.s;
  constexpr int64_t kMost = 512;  // [note 80]
  int64_t row[kMost];
  int64_t column[kMost];
  const FoldedPlanes planes(s, false, row, kMost, column, kMost);
  const int64_t nu = planes.rows.n();
  const int64_t nv = planes.columns.n();
  const bool is_short = nu * s.item < 2 * kLine;
  // Short rows are best read one after the other if all columns begin at the same offset in a line.
  const bool in_step = planes.columns.in_step(kLine / 2) && nv * s.item < 3 * kLine;
  // The first-level cache holds a line of each row. For short columns, more lines can be in flight.
  Kernels::TransposeFolded* transpose = job.kernels.transpose_columns_folded[s.log_item];
  if (transpose == nullptr || is_short || in_step || !job.machine.writes_columns_apart()) {
    transpose = job.kernels.transpose_folded[s.log_item];
  }
  const int64_t block = 16 >> s.log_item;
  planes.each([&](char* dst, const char* src) {
    // First the items up to half a line, so that no later store crosses the end of a line. Some of
    // these items are written twice.
    const int64_t head = in_step && !is_short ? items_to_half_line(dst, s.item) : 0;
    if (head > 0) transpose(dst, column, src, row, divide_up(head, block) * block, nv);
    transpose(dst + head * s.item, column, src, row + head, nu - head, nv);
  });
}

}  // namespace dlx
