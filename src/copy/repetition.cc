#include "src/copy/repetition.h"

#include "src/copy/kernels/lines.h"
#include "src/copy/schedule/schedule.h"
#include "src/copy/ways/repeat.h"

namespace dlx {
namespace {

/// Whether each row of dst repeats one item, and is long enough to be written as fast as copied
/// from a cache. [note 72]
bool has_filled_rows(const CopyPlan& plan) noexcept {
  if (plan.ndim() == 0 || log2_of_item(plan.item()) < 0) return false;
  const CopyAxis& row = plan.axis(plan.ndim() - 1);
  return row.src == 0 && row.dst == plan.item() && row.extent * row.dst >= kLine;
}

}  // namespace

Repetition repetition_of(const CopyPlan& plan, bool streamed) noexcept {
  constexpr int64_t kShort = 32;       // bytes [note 72]
  constexpr int64_t kStreamed = 4096;  // at once [note 43]
  constexpr int64_t kItems = 192;      // which cost as much as to arrange a short run
  constexpr int64_t kOften = 4;        // [note 43]
  const int64_t item = plan.item();
  const bool has_kernels = log2_of_item(item) >= 0;
  const bool long_item = item > (streamed ? kLongestRepeated : kShort);
  Repetition found;
  if (has_filled_rows(plan)) return found;
  int64_t bytes = item;
  for (int k = plan.ndim() - 1; k >= 0; --k) {
    const CopyAxis& axis = plan.axis(k);
    const int64_t many = bytes < kShort ? kItems * item : 128;  // bytes of all its repetitions
    const bool worth_it = axis.extent >= kOften && bytes * axis.extent >= many;
    // Few repetitions of an item are streamed with what follows.
    const bool few = axis.extent <= 2 * kOften || bytes * axis.extent < kStreamed;
    const bool alone = !has_kernels && !long_item && !(streamed && few && axis.dst == bytes);
    if (axis.src == 0 && worth_it && (bytes > item || alone)) found = {k, bytes};
    if (axis.dst != bytes) break;
    bytes *= axis.extent;
  }
  return found;
}

}  // namespace dlx
