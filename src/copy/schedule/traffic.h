#ifndef DLX_SRC_COPY_SCHEDULE_TRAFFIC_H_
#define DLX_SRC_COPY_SCHEDULE_TRAFFIC_H_

#include "src/copy/plan/plan.h"
#include "src/copy/schedule/machine.h"

namespace dlx {

/// How a plan, or a piece of one, uses memory.
enum class Traffic {
  kCached,    ///< dst may stay in the caches
  kSparse,    ///< dst may stay, but the lines of dst, gaps included, exceed the caches
  kStreamed,  ///< dst is streamed
  kShared,    ///< dst is streamed, by several threads at once
};

inline bool goes_past_caches(Traffic traffic) noexcept {
  return traffic == Traffic::kStreamed || traffic == Traffic::kShared;
}

/// Whether only strips have kernels that arrange items of this size.
inline bool only_strips_arrange(int64_t item) noexcept { return item == 3 || item == 6; }

/// Use non-temporal stores when dst plus the touched source lines exceed the cache. The limit is
/// higher for rows that are read evenly, unless source lines are most of the traffic; it is lower
/// for items that only strips arrange.
Traffic traffic_of(const CopyPlan& plan, const Machine& machine, bool parallel) noexcept;

}  // namespace dlx

#endif  // DLX_SRC_COPY_SCHEDULE_TRAFFIC_H_
