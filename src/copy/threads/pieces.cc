#include "src/copy/threads/pieces.h"

#include <algorithm>
#include <cstdlib>

#include "src/copy/kernels/lines.h"

namespace dlx {
namespace {

/// Bytes from item to item along an axis, on the side where they are nearer: items less than a line
/// or a page apart would be shared by pieces. A broadcast item does not count.
int64_t apart(const CopyAxis& axis) noexcept {
  constexpr int64_t kPage = 4096;
  const int64_t src = axis.src != 0 ? std::llabs(axis.src) : kPage;
  return std::min({axis.dst, src, kPage});
}

/// The length of a piece along an axis that is cut into about `wanted`: whole lines if items share
/// them.
int64_t length_of_a_piece(const CopyAxis& axis, int64_t item, int64_t wanted) noexcept {
  const int64_t granule = apart(axis) < kLine && kLine % item == 0 ? kLine / item : 1;
  const int64_t length = axis.extent < 2 * wanted ? 1 : divide_up(axis.extent, wanted);
  return std::min(axis.extent, divide_up(length, granule) * granule);
}

}  // namespace

/// Cuts the axis that gives enough pieces and keeps them furthest apart. If no axis gives enough,
/// cuts the axis that gives most, then other axes, and finally long items.
Pieces::Pieces(const CopyPlan& plan, int64_t wanted, int whole) noexcept
    : plan_(plan), item_(plan.item()) {
  constexpr int64_t kLongItem = 64 << 10;  // [note 90]
  cut_axes(wanted, whole);
  if (2 * count_ <= wanted && plan.item() >= kLongItem) {  // pieces have one item
    const int64_t many = divide_up(wanted, count_);
    item_ = divide_up(divide_up(plan.item(), many), kLine) * kLine;
    count_ *= divide_up(plan.item(), item_);
  }
}

void Pieces::cut_axes(int64_t wanted, int whole) noexcept {
  for (int k = 0; k < plan_.ndim(); ++k) length_[k] = plan_.axis(k).extent;
  while (2 * count_ <= wanted) {
    const int64_t missing = divide_up(wanted, count_);
    int best = -1;
    int64_t best_length = 0;
    int64_t best_many = 1;
    for (int k = 0; k < plan_.ndim(); ++k) {
      const CopyAxis& axis = plan_.axis(k);
      if (length_[k] < axis.extent || k == whole) continue;
      const int64_t length = length_of_a_piece(axis, plan_.item(), missing);
      const int64_t many = std::min(divide_up(axis.extent, length), divide_up(missing, 2));
      const bool further = best >= 0 && apart(axis) > apart(plan_.axis(best));
      if (many > best_many || (many == best_many && further)) {
        best = k;
        best_length = length;
        best_many = many;
      }
    }
    if (best < 0) break;
    length_[best] = best_length;
    count_ *= divide_up(plan_.axis(best).extent, best_length);
  }
}

CopyPlan Pieces::piece(int64_t index) const noexcept {
  int64_t first[CopyPlan::kMaxAxes];
  int64_t extent[CopyPlan::kMaxAxes];
  for (int k = plan_.ndim() - 1; k >= 0; --k) {
    const int64_t many = divide_up(plan_.axis(k).extent, length_[k]);
    first[k] = index % many * length_[k];
    extent[k] = std::min(length_[k], plan_.axis(k).extent - first[k]);
    index /= many;
  }
  const CopyPlan piece = plan_.box(first, extent);
  if (item_ == plan_.item()) return piece;
  const int64_t at = index * item_;
  return piece.part_of_item(at, std::min(item_, plan_.item() - at));
}

}  // namespace dlx
