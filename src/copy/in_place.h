#ifndef DLX_SRC_COPY_IN_PLACE_H_
#define DLX_SRC_COPY_IN_PLACE_H_

#include "src/copy/plan/plan.h"

namespace dlx {

/// Runs a plan that counts bytes and whose operands overlap, as if src had been read first.
///
/// A shift of equal layouts (memmove), and a rearrangement in place that undoes itself when done
/// twice (square transposition, reversal), need no memory beyond a tile. Anything else goes through
/// a temporary: throws Error(OUT_OF_MEMORY) before a byte is written if there is no room for it.
void copy_overlapping(const CopyPlan& plan);

}  // namespace dlx

#endif  // DLX_SRC_COPY_IN_PLACE_H_
