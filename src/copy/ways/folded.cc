#include "src/copy/ways/folded.h"

#include <cstdlib>

#include "src/copy/kernels/lines.h"
#include "src/copy/ways/way.h"

namespace dlx {

FoldedPlanes::FoldedPlanes(const Schedule& s, bool far, int64_t* row, int64_t most_rows,
                           int64_t* column, int64_t most_columns) noexcept
    : rows(row, most_rows), columns(column, most_columns), dst(s.dst), src(s.src) {
  bool taken[CopyPlan::kMaxAxes] = {};
  int64_t v_bytes = s.item;
  for (int i = 0; i < s.v_count && columns.whole(); ++i) {
    const CopyAxis& axis = s.axes[s.v_axes[i]];
    taken[s.v_axes[i]] = true;
    v_bytes *= axis.extent;
    add_column_axis(axis);
  }
  int64_t u_bytes = s.item;
  int next = s.ndim - 1;  // along u
  const auto take_u = [&] {
    const CopyAxis& axis = s.axes[next];
    taken[next--] = true;
    u_bytes *= axis.extent;
    rows.add(axis, axis.src);
  };
  while (next >= s.ndim - s.u_count && rows.whole()) take_u();
  while (far) {
    const bool u_goes_on = next >= 0 && !taken[next] && s.axes[next].dst == u_bytes && rows.whole();
    int along_v = -1;
    for (int k = 0; k < s.ndim && columns.whole(); ++k) {
      if (!taken[k] && std::llabs(s.axes[k].src) == v_bytes) along_v = k;
    }
    if (!u_goes_on && along_v < 0) break;
    // An axis that continues both goes along u, unless v is short.
    if (along_v < 0 || (u_goes_on && along_v == next && (v_bytes >= 256 || v_bytes >= u_bytes))) {
      take_u();
    } else {
      taken[along_v] = true;
      v_bytes *= s.axes[along_v].extent;
      add_column_axis(s.axes[along_v]);
    }
  }
  loops.add_others(s, [&](int axis) { return taken[axis]; });
}

void FoldedPlanes::add_column_axis(CopyAxis axis) noexcept {
  if (axis.src < 0) {  // from the other end
    src += (axis.extent - 1) * axis.src;
    dst += (axis.extent - 1) * axis.dst;
    axis = {axis.extent, -axis.dst, -axis.src};
  }
  columns.add(axis, axis.dst);
}

void run_folded(const Job& job) noexcept {
  const Schedule& s = job.s;
  constexpr int64_t kMost = 512;  // [note 85]
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
