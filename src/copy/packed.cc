#include "src/copy/packed.h"

#include <new>

#include "src/copy/lines.h"
#include "src/copy/loops.h"
#include "src/copy/tuning.h"

namespace dlx {
namespace {

constexpr int64_t kShortest = 48;  // bytes of a row

void start(Packing* packing, char* dst) noexcept {
  const int64_t inside = inside_line(dst);
  packing->begin = dst;
  packing->line = dst - inside;
  packing->filled = inside;
  packing->written = 0;
}

}  // namespace

bool run_packed(const Schedule& s, const Kernels& kernels, const Buffers& buffers) noexcept {
  constexpr int64_t kFew = 4;  // streams that need no tiles
  if (s.kind != PlaneKind::kRows || s.ndim == 0) return false;
  if (s.transposes() && s.axes[s.u].extent > kFew) return false;
  if (s.item < kShortest || s.item > Packing::kLongestRow) return false;
  int first = s.ndim;  // outermost axis of a stretch
  int64_t stretch = s.item;
  for (; first > 0 && s.axes[first - 1].dst == stretch; --first)
    stretch *= s.axes[first - 1].extent;
  if (first == s.ndim || stretch < kLine || stretch < 8 * tuning().long_row_bytes) return false;

  Loops inside;
  Loops outside;
  const CopyAxis& inner = s.axes[s.ndim - 1];
  const CopyAxis& outer = first <= s.ndim - 2 ? s.axes[s.ndim - 2] : kNoAxis;
  for (int k = s.ndim - 1; k-- > 0;) {
    if (k < first) {
      outside.add(s.axes[k]);
    } else if (k < s.ndim - 2) {
      inside.add(s.axes[k]);
    }
  }
  static_assert(sizeof(Packing) <= Tiling::kBufferBytes, "it lies in a buffer");
  Packing& packing = *new (buffers[0]) Packing;
  outside.each(s.dst, s.src, [&](char* dst, const char* src) {
    start(&packing, dst);
    inside.each(dst, src,
                [&](char*, const char* row) { kernels.pack(&packing, row, inner, outer, s.item); });
    kernels.finish_packing(&packing);
  });
  kernels.fence();
  return true;
}

}  // namespace dlx
