#include <algorithm>
#include <cstdlib>

#include "src/copy/kernels/lines.h"
#include "src/copy/schedule/loops.h"
#include "src/copy/ways/item_planes.h"
#include "src/copy/ways/planes.h"
#include "src/copy/ways/traits.h"
#include "src/copy/ways/way.h"

namespace dlx {
namespace {

/// The nearest axis outside the plane, and how many of its rows keep their lines in a first-level
/// cache until all rows along v are copied.
struct Across {
  explicit Across(const Schedule& s) noexcept {
    const CopyAxis& u = s.axes[s.u];
    order_by_nearness(s, order);
    while (order[at] == s.u || order[at] == s.v) ++at;
    const CopyAxis& w = s.axes[order[at]];
    const auto lines = [&](int64_t step) {
      return divide_up(u.extent * std::min(std::max(step, s.item), kLine), kLine);
    };
    lines_of_a_row = lines(std::llabs(u.src)) + lines(u.dst);
    rows = std::min({w.extent, kFirstLevelLines / (s.axes[s.v].extent * lines_of_a_row),
                     rows_cached(w.src), rows_cached(w.dst)});
  }

  int order[CopyPlan::kMaxAxes];
  int at = 0;              ///< index of the axis in `order`
  int64_t lines_of_a_row;  ///< on both sides
  int64_t rows;
};

}  // namespace

bool suits_across(const Job& job) noexcept {
  constexpr int64_t kFewRows = 16;  // [note 73]
  constexpr int64_t kLongRow = 8;  // lines of both sides: cells come in long loops anyway [note 73]
  constexpr int64_t kWorthCalls = 32;  // for planes that a table takes too [note 74]
  const Schedule& s = job.s;
  const bool cells = s.kind == PlaneKind::kCells;
  if (!(s.by_items() || cells || s.kind == PlaneKind::kRows)) return false;
  if (s.axes[s.v].extent >= kFewRows || is_arranged(s)) return false;
  const Across across(s);
  if (has_few_rows(s) && across.rows < kWorthCalls) return false;
  return across.rows >= 2 * s.axes[s.v].extent && !(cells && across.lines_of_a_row > kLongRow);
}

void run_across(const Job& job) noexcept {
  const Schedule& s = job.s;
  const Across across(s);
  const CopyAxis& u = s.axes[s.u];
  const CopyAxis& v = s.axes[s.v];
  const CopyAxis& w = s.axes[across.order[across.at]];
  const bool cells = s.kind == PlaneKind::kCells;
  const int64_t n = across.rows;
  const auto run = [&](int64_t first, int64_t rows, int64_t times) {
    Plane plane = {s.dst, u.dst, w.dst, s.src, u.src, w.src, u.extent, rows};
    const ItemPlanes planes(s, plane, false);
    Loops loops;
    loops.add(v);
    loops.add({times, rows * w.dst, rows * w.src});
    const int* const order = across.order;
    for (int k = 0; k < s.ndim; ++k) {
      if (k != across.at && order[k] != s.u && order[k] != s.v) loops.add(s.axes[order[k]]);
    }
    loops.each(s.dst + first * w.dst, s.src + first * w.src, [&](char* dst, const char* src) {
      if (!cells) return planes.copy(dst, src);
      plane.dst = dst;
      plane.src = src;
      copy_plane(s, plane);
    });
  };
  run(0, n, w.extent / n);
  if (w.extent % n != 0) run(w.extent - w.extent % n, w.extent % n, 1);
}

}  // namespace dlx
