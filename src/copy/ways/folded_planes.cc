#include "src/copy/ways/folded_planes.h"

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

}  // namespace dlx
