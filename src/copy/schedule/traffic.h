#ifndef DLX_SRC_COPY_SCHEDULE_TRAFFIC_H_
#define DLX_SRC_COPY_SCHEDULE_TRAFFIC_H_

#include "src/copy/plan/plan.h"
#include "src/copy/schedule/machine.h"

namespace dlx {

/// How a plan, or a piece of one, uses memory.
enum class Traffic {
  kCached,    ///< dst may stay in the caches
  kSparse,    ///< the same, but for its lines: there are gaps in them
  kStreamed,  ///< it goes past the caches
  kShared,    ///< the same, from other threads at once
};

inline bool goes_past_caches(Traffic traffic) noexcept {
  return traffic == Traffic::kStreamed || traffic == Traffic::kShared;
}

/// Whether nothing but strips arranges several items of that size at once.
inline bool only_strips_arrange(int64_t item) noexcept { return item == 3 || item == 6; }

/// Dst goes past the caches where they would not hold it and the lines of src as well. What goes by
/// evenly stays there for longer, unless most of it is lines of src; what only strips arrange, and
/// goes unevenly, leaves sooner.
Traffic traffic_of(const CopyPlan& plan, const Machine& machine, bool parallel) noexcept;

}  // namespace dlx

#endif  // DLX_SRC_COPY_SCHEDULE_TRAFFIC_H_
