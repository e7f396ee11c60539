#include "src/copy/schedule/loops.h"

#include <algorithm>
#include <cstdlib>

#include "src/copy/kernels/lines.h"

namespace dlx {

void order_by_nearness(const Schedule& schedule, int* order) noexcept {
  constexpr int64_t kLoads =
      4;  // loads wait side by side and cost as much as one store, which waits alone [note 10]
  int64_t near[CopyPlan::kMaxAxes];
  for (int k = schedule.ndim - 1, count = 0; k >= 0; --k, ++count) {
    const CopyAxis& axis = schedule.axes[k];
    const int64_t src = std::llabs(axis.src);
    const int64_t weight = src < kLine ? 1 : kLoads;
    int64_t nearest = std::min(weight * src, axis.dst);
    if (schedule.held() == Held::kDst) nearest = src;
    if (schedule.held() == Held::kSrc) nearest = axis.dst;
    int place = count;
    for (; place > 0 && near[place - 1] > nearest; --place) {
      near[place] = near[place - 1];
      order[place] = order[place - 1];
    }
    near[place] = nearest;
    order[place] = k;
  }
}

void order_by_source(const Schedule& schedule, int* order) noexcept {
  for (int k = 0; k < schedule.ndim; ++k) {
    int place = k;
    for (; place > 0; --place) {
      const int before = order[place - 1];
      if (std::llabs(schedule.axes[before].src) <= std::llabs(schedule.axes[k].src)) break;
      order[place] = before;
    }
    order[place] = k;
  }
}

}  // namespace dlx
