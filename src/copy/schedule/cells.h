#ifndef DLX_SRC_COPY_SCHEDULE_CELLS_H_
#define DLX_SRC_COPY_SCHEDULE_CELLS_H_

#include "src/copy/schedule/schedule.h"

namespace dlx {

constexpr int64_t kReach = 16;  ///< bytes that a byte permutation sees

/// Makes cells of at least `least` innermost axes the item of the schedule, if some are worth it.
bool choose_cells(Schedule* schedule, int least) noexcept;

/// Fills in what follows from the bytes of one cell: how many cells a permutation takes at once.
/// False if that is not at least two.
bool complete_cells(Cells* cells, int64_t lowest, int64_t highest) noexcept;

/// The bytes that a cell takes in a buffer from which cells are stored apart: the next power of
/// two.
int64_t padded(int64_t cell) noexcept;

}  // namespace dlx

#endif  // DLX_SRC_COPY_SCHEDULE_CELLS_H_
