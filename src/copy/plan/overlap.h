#ifndef DLX_SRC_COPY_PLAN_OVERLAP_H_
#define DLX_SRC_COPY_PLAN_OVERLAP_H_

#include <cstdint>

#include "src/copy/plan/plan.h"

namespace dlx {

/// Whether two indices of a destination share a unit. `axes` are sorted by destination step,
/// largest first, none of them negative, all multiples of the pitch of an item. Exact,
/// unless the search would take more than a bounded number of steps: then the answer is yes.
bool repeats_elements(const CopyAxis* axes, int ndim) noexcept;

/// Whether source and destination share a unit. The pitches are the units that an item takes on
/// each side. Exact in the same sense.
bool operands_overlap(const CopyPlan& plan, int64_t dst_pitch, int64_t src_pitch) noexcept;

}  // namespace dlx

#endif  // DLX_SRC_COPY_PLAN_OVERLAP_H_
