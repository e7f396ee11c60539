#include "src/copy/schedule/traffic.h"

#include <cstdlib>

#include "src/copy/kernels/lines.h"
#include "src/copy/schedule/machine.h"

namespace dlx {
namespace {

/// About the bytes of the lines that a copy touches on one side, small gaps included.
int64_t line_bytes(const CopyPlan& plan, int64_t CopyAxis::* side) noexcept {
  struct Axis {
    int64_t extent;
    int64_t step;
  };
  Axis axes[CopyPlan::kMaxAxes];  // nearest first
  int n = 0;
  for (int k = plan.ndim() - 1; k >= 0; --k) {
    const Axis axis = {plan.axis(k).extent, std::llabs(plan.axis(k).*side)};
    if (axis.step == 0) continue;
    int place = n++;
    for (; place > 0 && axes[place - 1].step > axis.step; --place) axes[place] = axes[place - 1];
    axes[place] = axis;
  }
  int64_t run = plan.item();
  int64_t runs = 1;
  for (int k = 0; k < n; ++k) {
    if (axes[k].step <= run + kLine && runs == 1) {
      run += (axes[k].extent - 1) * axes[k].step;
    } else {
      runs *= axes[k].extent;
    }
  }
  return runs * divide_up(run, kLine) * kLine;
}

/// Whether rows of dst come from consecutive, or nearly consecutive, bytes of src: caches and
/// memory are fastest then.
bool goes_by_evenly(const CopyPlan& plan) noexcept {
  constexpr int64_t kLong = 1024;  // bytes [note 53]
  if (plan.ndim() == 0 || plan.item() >= kLong) return true;
  const CopyAxis& row = plan.axis(plan.ndim() - 1);
  return std::llabs(row.src) <= plan.item() + kLine && row.extent * row.dst >= kLong;
}

}  // namespace

Traffic traffic_of(const CopyPlan& plan, const Machine& machine, bool parallel) noexcept {
  const Traffic large = parallel ? Traffic::kShared : Traffic::kStreamed;
  const int64_t bytes = plan.size();
  const int64_t fewest = machine.stream_bytes;
  if (bytes / 3 >= fewest) return large;
  // This few bytes fit, even with two lines for each byte.
  if (bytes < fewest / kLine) return Traffic::kCached;
  const int64_t source = line_bytes(plan, &CopyAxis::src);
  const int64_t both = bytes + source;
  const bool stays = goes_by_evenly(plan) && both <= 3 * bytes + kLine;
  const bool leaves = only_strips_arrange(plan.item()) && machine.streams_odd_items_sooner();
  if (both / (stays ? 3 : leaves ? 1 : 2) >= fewest) return large;
  const bool sparse = (line_bytes(plan, &CopyAxis::dst) + source) / 2 >= fewest;
  return sparse ? Traffic::kSparse : Traffic::kCached;
}

}  // namespace dlx
