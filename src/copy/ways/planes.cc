#include "src/copy/ways/planes.h"

#include <algorithm>
#include <cstdlib>

#include "src/copy/kernels/lines.h"
#include "src/copy/ways/plane.h"
#include "src/copy/ways/transposed.h"
#include "src/copy/ways/way.h"

namespace dlx {
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
