#include "src/copy/ways/planes.h"

#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <cstring>

#include "src/copy/kernels/lines.h"
#include "src/copy/schedule/cells.h"
#include "src/copy/ways/item_planes.h"
#include "src/copy/ways/transposed.h"
#include "src/copy/ways/way.h"

namespace dlx {

Plane plane_of(const Schedule& s) noexcept {
  const CopyAxis& u = s.u >= 0 ? s.axes[s.u] : kNoAxis;
  const CopyAxis& v = s.v >= 0 ? s.axes[s.v] : kNoAxis;
  return {s.dst, u.dst, v.dst, s.src, u.src, v.src, u.extent, v.extent};
}

Plane ascending_v(Plane p) noexcept {
  if (p.sv < 0) {
    p.src += (p.nv - 1) * p.sv;
    p.dst += (p.nv - 1) * p.dv;
    p.sv = -p.sv;
    p.dv = -p.dv;
  }
  return p;
}

namespace {

/// Joins into cells with gaps between them in dst: into a buffer without gaps first.
void join_apart(const Schedule& s, const Plane& p) noexcept {
  const Kernels& kernels = s.kernels();
  constexpr int64_t kBytes = 2048;  // [note 2]
  alignas(64) char buffer[kBytes];
  const int64_t cell = p.nu * s.item;
  const int64_t pitch = padded(cell);
  Cells cells;
  cells.dst = static_cast<int32_t>(cell);
  cells.src = static_cast<int32_t>(pitch);
  for (int b = 0; b < 8; ++b) cells.from[b] = static_cast<int8_t>(b);
  // not covered from here: only AVX-512 stores under a mask
  const bool masked =
      kernels.cells_apart != nullptr && p.dv <= 8 && complete_cells(&cells, 0, cell);
  // covered again
  // Stores with gaps wait for lines from memory, and not every processor prefetches these.
  const bool asks = s.past_caches() && s.machine().asks_for_stores();
  for (int64_t v = 0; v < p.nv; v += kBytes / pitch) {
    const int64_t nv = std::min(p.nv - v, kBytes / pitch);
    char* const dst = p.dst + v * p.dv;
    for (int64_t b = nv * p.dv; asks && b < 2 * nv * p.dv; b += kLine) {
      __builtin_prefetch(dst + b, 1);
    }
    kernels.join[s.log_item][s.log_group](buffer, pitch, p.src + v * s.item, p.su, p.nu, nv,
                                          s.pick);
    // not covered from here: only AVX-512 stores under a mask
    if (masked) {
      kernels.cells_apart(dst, p.dv, buffer, nv, cells);
      // covered again
    } else {
      kernels.rows(dst, p.dv, buffer, pitch, cell, nv);
    }
  }
}

/// Long rows of items of 4 bytes or more begin with a few items by themselves, so that later stores
/// end with lines.
void split_plane(const Schedule& s, Plane p) noexcept {
  constexpr int64_t kLong = 1024;  // bytes [note 76]
  assert(p.nv * s.item < 16 && p.su > 0 && p.su <= 4096 && p.du == s.item);
  const auto split = s.kernels().split[s.log_item][s.log_group];
  if (s.item >= 4 && p.nu * s.item >= kLong && p.dv % (kLine / 2) == 0) {
    const int64_t head = items_to_half_line(p.dst, s.item);
    split(p.dst, p.dv, p.src, p.su, head, p.nv, s.pick);
    p.dst += head * p.du;
    p.src += head * p.su;
    p.nu -= head;
  }
  split(p.dst, p.dv, p.src, p.su, p.nu, p.nv, s.pick);
}

/// Cells of bytes. Long rows from memory prefetch later rows.
void copy_cells(const Schedule& s, const Plane& p) noexcept {
  const Kernels& kernels = s.kernels();
  constexpr int64_t kLongRow = 1024;    // bytes [note 24]
  constexpr int64_t kCached = 1 << 20;  // [note 86]
  // not covered from here: only AVX-512 stores under a mask
  if (p.du != s.item) {
    for (int64_t v = 0; v < p.nv; ++v) {
      kernels.cells_apart(p.dst + v * p.dv, p.du, p.src + v * p.sv, p.nu, s.cells);
    }
    return;
    // covered again
  }
  const int64_t bytes = p.nu * std::llabs(p.su);
  if (bytes < kLongRow || p.nv * std::llabs(p.sv) < kCached) {
    return kernels.cells(p.dst, p.dv, p.src, p.sv, p.nu, p.nv, s.cells);
  }
  const RowsAhead ahead(bytes, {p.nv, p.dv, p.sv});
  const int64_t lowest = p.su < 0 ? (p.nu - 1) * p.su : 0;
  for (int64_t v = 0; v < p.nv; ++v) {
    const char* const src = p.src + v * p.sv;
    ahead.ask(src + lowest);
    kernels.cells(p.dst + v * p.dv, p.dv, src, p.sv, p.nu, 1, s.cells);
  }
}

}  // namespace

void copy_plane(const Schedule& schedule, const Plane& plane) noexcept {
  const int k = schedule.log_item;
  PlaneKind kind = schedule.kind;
  if (kind == PlaneKind::kTranspose && (plane.nu < 16 >> k || plane.nv < 16 >> k)) {
    kind = PlaneKind::kGather;  // a sliver at the end of a tile
  }
  switch (kind) {
    case PlaneKind::kTranspose: return transpose_plane(schedule, ascending_v(plane));
    case PlaneKind::kSplit:
      if (moves_items(schedule)) break;
      return split_plane(schedule, ascending_v(plane));
    case PlaneKind::kJoin:
      if (plane.dv != plane.nu * schedule.item) return join_apart(schedule, plane);
      return schedule.kernels().join[k][schedule.log_group](
          plane.dst, plane.dv, plane.src, plane.su, plane.nu, plane.nv, schedule.pick);
    case PlaneKind::kCells: return copy_cells(schedule, plane);
    default: break;
  }
  ItemPlanes(schedule, plane).copy(plane.dst, plane.src);
}

namespace {

/// For planes of short rows that are far apart: prefetches the rows of the next plane beside those
/// of this one.
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

}  // namespace

void copy_each(const ItemPlanes& planes, const Loops& loops, const Schedule& s) noexcept {
  loops.each_with_next(s.dst, s.src,
                       [&](char* dst, const char* src, const char* next_dst, const char* next_src) {
                         if (planes.asks()) planes.ask_for(next_dst, dst, next_src, src);
                         planes.copy(dst, src);
                       });
}

const char* planes_in_words(const Schedule& s) noexcept {
  if (s.ndim == 0 || s.folded()) return nullptr;
  if (s.kind == PlaneKind::kTranspose) return transposition_in_words(s, ascending_v(plane_of(s)));
  if (s.kind != PlaneKind::kRows && !moves_items(s)) return nullptr;
  return ItemPlanes(s, plane_of(s)).in_words();
}

void run_planes(const Job& job) noexcept {
  const Schedule& s = job.s;
  Plane plane = plane_of(s);
  if (s.ndim <= 2) return copy_plane(s, plane);
  Loops loops;
  loops.add_others(s, [&](int axis) { return axis == s.u || axis == s.v; });
  if (s.kind == PlaneKind::kRows || moves_items(s)) {
    const ItemPlanes planes(s, plane);
    copy_each(planes, loops, s);
    return;
  }
  if (s.kind != PlaneKind::kTranspose || !is_transposed_directly(s, plane)) {
    loops.each(s.dst, s.src, [&](char* dst, const char* src) {
      plane.dst = dst;
      plane.src = src;
      copy_plane(s, plane);
    });
    return;
  }
  // Planes may be a few registers large: nothing between the loops and the kernel.
  plane = ascending_v(plane);
  Kernels::Transpose* const transpose = transposition(s, plane.dv, plane.su, plane.nu, plane.nv);
  if (plane.nv * s.item <= kLine && std::llabs(plane.su) >= 2 * kLine) {
    return transpose_and_ask(transpose, loops, s.item, plane);
  }
  loops.each(plane.dst, plane.src, [&](char* dst, const char* src) {
    transpose(dst, plane.dv, src, plane.su, plane.nu, plane.nv);
  });
}

}  // namespace dlx
