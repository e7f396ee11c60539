#include "src/copy/constant.h"

#include <cstring>

#include "src/copy/loops.h"
#include "src/copy/tuning.h"

namespace dlx {
namespace {

constexpr int64_t kLine = 64;
constexpr int64_t kPattern = 16 * kLine;  // bytes

/// One row of `bytes`; `pattern` repeats the item, and has one item more than kPattern bytes.
void write_row(char* dst, int64_t bytes, const char* pattern, int64_t item,
               const Kernels& kernels) noexcept {
  const int64_t head = -reinterpret_cast<intptr_t>(dst) & (kLine - 1);
  std::memcpy(dst, pattern, static_cast<size_t>(head));
  const char* const from = pattern + head % item;  // lines are multiples of items
  char* const end = dst + bytes;
  dst += head;
  while (end - dst >= kLine) {
    const int64_t lines = end - dst < kPattern ? (end - dst) / kLine : kPattern / kLine;
    kernels.stream(dst, from, lines);
    dst += lines * kLine;
  }
  std::memcpy(dst, from, static_cast<size_t>(end - dst));
}

}  // namespace

bool run_constant(const Schedule& s, const Kernels& kernels) noexcept {
  if (s.kind != PlaneKind::kGather || s.axes[s.u].src != 0) return false;
  const int64_t row = s.axes[s.u].extent * s.item;
  if (row < 8 * tuning().long_row_bytes || row < kLine) return false;
  Loops loops;
  for (int k = s.ndim - 1; k >= 0; --k) {
    if (k != s.u) loops.add(s.axes[k]);
  }
  alignas(kLine) char pattern[kPattern + kLine];
  loops.each(s.dst, s.src, [&](char* dst, const char* src) {
    kernels.gather[s.log_item](pattern, src, 0, (kPattern + kLine) / s.item);
    write_row(dst, row, pattern, s.item, kernels);
  });
  kernels.fence();
  return true;
}

}  // namespace dlx
