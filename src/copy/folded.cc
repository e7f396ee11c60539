#include "src/copy/folded.h"

#include <cstdlib>

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
  const int last = far ? 0 : s.ndim - s.u_count;
  for (int k = s.ndim - 1; k >= last && rows.whole(); --k) {
    const CopyAxis& axis = s.axes[k];
    if (axis.dst != u_bytes || taken[k]) break;
    taken[k] = true;
    u_bytes *= axis.extent;
    rows.add(axis, axis.src);
  }
  for (bool found = far; found && columns.whole();) {
    found = false;
    const int64_t step = s.axes[s.v].src < 0 ? -v_bytes : v_bytes;
    for (int k = 0; k < s.ndim && !found; ++k) {
      if (taken[k] || s.axes[k].src != step) continue;
      found = taken[k] = true;
      v_bytes *= s.axes[k].extent;
      add_column_axis(s.axes[k]);
    }
  }
  int order[CopyPlan::kMaxAxes];
  order_by_nearness(s, order);
  for (int i = 0; i < s.ndim; ++i) {
    if (!taken[order[i]]) loops.add(s.axes[order[i]]);
  }
}

void FoldedPlanes::add_column_axis(CopyAxis axis) noexcept {
  if (axis.src < 0) {  // from the other end
    src += (axis.extent - 1) * axis.src;
    dst += (axis.extent - 1) * axis.dst;
    axis = {axis.extent, -axis.dst, -axis.src};
  }
  columns.add(axis, axis.dst);
}

bool run_folded(const Schedule& s, const Kernels& kernels) noexcept {
  if (!s.folded()) return false;
  constexpr int64_t kMost = 512;
  int64_t row[kMost];
  int64_t column[kMost];
  const FoldedPlanes planes(s, false, row, kMost, column, kMost);
  planes.each([&](char* dst, const char* src) {
    kernels.transpose_folded[s.log_item](dst, column, src, row, planes.rows.n(),
                                         planes.columns.n());
  });
  return true;
}

}  // namespace dlx
