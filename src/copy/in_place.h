#ifndef DLX_SRC_COPY_IN_PLACE_H_
#define DLX_SRC_COPY_IN_PLACE_H_

#include "src/copy/plan/plan.h"

namespace dlx {

/// Runs a plan that counts bytes and whose operands overlap, as if src had been read first.
///
/// Shifts of equal layouts (memmove), and rearrangements in place that are their own inverse
/// (square transposition, reversal), need no memory beyond a tile. Other copies need a temporary:
/// throws Error(OUT_OF_MEMORY) before a byte is written if it cannot be allocated.
void copy_overlapping(const CopyPlan& plan);

}  // namespace dlx

#endif  // DLX_SRC_COPY_IN_PLACE_H_
