#ifndef DLX_SRC_COPY_IN_PLACE_H_
#define DLX_SRC_COPY_IN_PLACE_H_

#include <cstdint>
#include <memory>

#include "src/base/memory.h"
#include "src/copy/plan/plan.h"

namespace dlx {

/// Runs a plan that counts bytes and whose operands overlap, as if src had been read first.
///
/// Shifts of equal layouts (memmove), and rearrangements in place that are their own inverse
/// (square transposition, reversal), need no memory beyond a tile. Other copies need a temporary:
/// throws Error(OUT_OF_MEMORY) before a byte is written if it cannot be allocated.
void copy_overlapping(const CopyPlan& plan);

/// Memory for the elements of operands that overlap, between reading src and writing dst. Throws
/// Error(OUT_OF_MEMORY).
using Temporary = std::unique_ptr<char, Free>;
Temporary allocate_temporary(int64_t bytes);

}  // namespace dlx

#endif  // DLX_SRC_COPY_IN_PLACE_H_
