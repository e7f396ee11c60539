#include "src/copy/ways/in_order.h"

#include <algorithm>
#include <cstdlib>

#include "src/copy/kernels/lines.h"
#include "src/copy/schedule/loops.h"
#include "src/copy/ways/folded.h"
#include "src/copy/ways/item_planes.h"
#include "src/copy/ways/plane.h"
#include "src/copy/ways/table.h"
#include "src/copy/ways/transposed.h"

namespace dlx {
namespace {

/// Plane after plane; memory is asked for the next one beside each.
void copy_each(const ItemPlanes& planes, const Loops& loops, const Schedule& s) noexcept {
  loops.each_with_next(s.dst, s.src,
                       [&](char* dst, const char* src, const char* next_dst, const char* next_src) {
                         if (planes.asks()) planes.ask_for(next_dst, dst, next_src, src);
                         planes.copy(dst, src);
                       });
}

/// Planes of three axes or more, with few rows along v, in long loops all the same: along the
/// nearest other axis, for as many rows as leave their lines in a first-level cache until all along
/// v are copied. False, with nothing done, where that would not be longer.
bool run_across(const Schedule& s, const Kernels& kernels, bool dry) noexcept {
  constexpr int64_t kFewRows = 16;
  constexpr int64_t kLongRow = 8;      // lines of both sides: cells come in long loops anyway
  constexpr int64_t kWorthCalls = 32;  // for what a table takes as well
  const bool cells = s.kind == PlaneKind::kCells;
  if (!(s.by_items() || cells || s.kind == PlaneKind::kRows)) return false;
  if (s.axes[s.v].extent >= kFewRows) return false;
  const CopyAxis& u = s.axes[s.u];
  const CopyAxis& v = s.axes[s.v];
  int order[CopyPlan::kMaxAxes];
  order_by_nearness(s, order);
  int at = 0;
  while (order[at] == s.u || order[at] == s.v) ++at;
  const CopyAxis& w = s.axes[order[at]];
  const auto lines = [&](int64_t step) {
    return divide_up(u.extent * std::min(std::max(step, s.item), kLine), kLine);
  };
  const int64_t a_row = lines(std::llabs(u.src)) + lines(u.dst);
  const int64_t n = std::min(
      {w.extent, kFirstLevelLines / (v.extent * a_row), rows_cached(w.src), rows_cached(w.dst)});
  if (has_few_rows(s) && n < kWorthCalls) return false;
  if (n < 2 * v.extent || (cells && a_row > kLongRow)) return false;
  if (dry) return true;
  const auto run = [&](int64_t first, int64_t rows, int64_t times) {
    Plane plane = {s.dst, u.dst, w.dst, s.src, u.src, w.src, u.extent, rows};
    const ItemPlanes planes(s, kernels, plane, false);
    Loops loops;
    loops.add(v);
    loops.add({times, rows * w.dst, rows * w.src});
    for (int k = 0; k < s.ndim; ++k) {
      if (k != at && order[k] != s.u && order[k] != s.v) loops.add(s.axes[order[k]]);
    }
    loops.each(s.dst + first * w.dst, s.src + first * w.src, [&](char* dst, const char* src) {
      if (!cells) return planes.copy(dst, src);
      plane.dst = dst;
      plane.src = src;
      copy_plane(s, kernels, plane);
    });
  };
  run(0, n, w.extent / n);
  if (w.extent % n != 0) run(w.extent - w.extent % n, w.extent % n, 1);
  return true;
}

/// Several planes at once, of a schedule that has more than one. NULL, with nothing done, where each
/// is better copied for itself.
const char* run_together(const Schedule& s, const Kernels& kernels, bool fetch, bool dry) noexcept {
  const bool moves = moves_items(s, kernels);
  if (moves && ItemPlanes::arranges(kernels, s.item, plane_of(s))) return nullptr;
  // From memory, items that have a line each are best asked for beside the ones before.
  const bool table_first = fetch && std::llabs(s.axes[s.u].src) >= kLine;
  constexpr const char* kTable = "way table: written in order, by a table of offsets";
  if (table_first && run_by_table(s, moves, fetch, dry)) return kTable;
  if (run_across(s, kernels, dry)) return "way across: written in order, across planes";
  return !table_first && run_by_table(s, moves, fetch, dry) ? kTable : nullptr;
}

/// Planes of short rows that are far apart: those of the next one are asked for beside this one, as
/// many at a time.
void transpose_and_ask(Kernels::Transpose* transpose, const Loops& loops, int64_t item,
                       const Plane& plane) noexcept {
  const int64_t least = 16 / item;
  const int64_t part = std::max(least, even_part(plane.nu, 32));
  loops.each_with_next(
      plane.dst, plane.src, [&](char* dst, const char* src, char*, const char* next) {
        each_part(plane.nu, part, 0, least, [&](int64_t u, int64_t n) {
          for (int64_t i = u; i < u + n; ++i) __builtin_prefetch(next + i * plane.su);
          transpose(dst + u * item, plane.dv, src + u * plane.su, plane.su, n, plane.nv);
        });
      });
}

/// Plane after plane, straight from src to dst.
void run_direct(const Schedule& s, const Kernels& kernels) noexcept {
  Plane plane = plane_of(s);
  if (s.ndim <= 2) return copy_plane(s, kernels, plane);
  Loops loops;
  loops.add_others(s, [&](int axis) { return axis == s.u || axis == s.v; });
  if (s.kind == PlaneKind::kRows || moves_items(s, kernels)) {
    const ItemPlanes planes(s, kernels, plane);
    copy_each(planes, loops, s);
    return;
  }
  if (s.kind != PlaneKind::kTranspose || !is_transposed_directly(s, plane)) {
    loops.each(s.dst, s.src, [&](char* dst, const char* src) {
      plane.dst = dst;
      plane.src = src;
      copy_plane(s, kernels, plane);
    });
    return;
  }
  // Planes may be a few registers large: nothing between the loops and the kernel.
  plane = ascending_v(plane);
  Kernels::Transpose* const transpose =
      transposition(kernels, s.log_item, plane.dv, plane.su, plane.nu, plane.nv);
  if (plane.nv * s.item <= kLine && std::llabs(plane.su) >= 2 * kLine) {
    return transpose_and_ask(transpose, loops, s.item, plane);
  }
  loops.each(plane.dst, plane.src, [&](char* dst, const char* src) {
    transpose(dst, plane.dv, src, plane.su, plane.nu, plane.nv);
  });
}

}  // namespace

bool has_constant_rows(const Schedule& s) noexcept {
  constexpr int64_t kMany = 16;
  return s.fills() && (s.axes[s.u].extent >= kMany || s.axes[s.u].extent * s.item >= kLine);
}

void write_in_order(const Schedule& s, const Kernels& kernels) noexcept {
  const CopyAxis& u = s.ndim > 0 ? s.axes[s.ndim - 1] : kNoAxis;
  const CopyAxis& v = s.ndim > 1 ? s.axes[s.ndim - 2] : kNoAxis;
  Loops loops;
  for (int k = s.ndim - 3; k >= 0; --k) loops.add(s.axes[k]);
  const ItemPlanes planes(s, kernels,
                          {s.dst, u.dst, v.dst, s.src, u.src, v.src, u.extent, v.extent});
  copy_each(planes, loops, s);
}

const char* run_cached(const Schedule& s, const Kernels& kernels, bool fetch, bool dry) noexcept {
  if (has_constant_rows(s)) {
    if (!dry) write_in_order(s, kernels);
    return "way in_order: written in order";
  }
  if (run_folded(s, kernels, dry)) return "way folded: written in order, axes folded";
  if (s.ndim > 2) {
    if (const char* const how = run_together(s, kernels, fetch, dry)) return how;
  }
  if (!dry) run_direct(s, kernels);
  return "way planes: written in order, plane by plane";
}

}  // namespace dlx
