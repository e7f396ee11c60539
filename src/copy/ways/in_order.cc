#include "src/copy/schedule/loops.h"
#include "src/copy/ways/item_planes.h"
#include "src/copy/ways/planes.h"
#include "src/copy/ways/repeat.h"
#include "src/copy/ways/traits.h"
#include "src/copy/ways/way.h"

namespace dlx {
namespace {

/// Whether nearly all traffic of a large copy is writing dst: rows are read again and again, or the
/// second-level cache holds src.
bool only_writes(const Schedule& s) noexcept {
  constexpr int64_t kCached = 256 << 10;  // bytes [note 47]
  constexpr int64_t kOften = 4;           // [note 47]
  int64_t bytes = s.item;
  int64_t times = 1;
  for (int k = 0; k < s.ndim; ++k) (s.axes[k].src != 0 ? bytes : times) *= s.axes[k].extent;
  if (s.kind == PlaneKind::kRows && s.item <= kLongestRepeated && times >= kOften) return true;
  // Kernels transpose small items faster.
  const bool by_items = s.by_items() || (s.is_transposition() && s.item >= 8);
  return bytes <= kCached && by_items;
}

}  // namespace

bool suits_in_order_when_large(const Job& job) noexcept {
  return has_constant_rows(job.s) || only_writes(job.s);
}

/// In the order of dst, through the caches.
void run_in_order(const Job& job) noexcept {
  const Schedule& s = job.s;
  const CopyAxis& u = s.ndim > 0 ? s.axes[s.ndim - 1] : kNoAxis;
  const CopyAxis& v = s.ndim > 1 ? s.axes[s.ndim - 2] : kNoAxis;
  Loops loops;
  for (int k = s.ndim - 3; k >= 0; --k) loops.add(s.axes[k]);
  const ItemPlanes planes(s, {s.dst, u.dst, v.dst, s.src, u.src, v.src, u.extent, v.extent});
  copy_each(planes, loops, s);
}

}  // namespace dlx
