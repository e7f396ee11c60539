#ifndef DLX_SRC_COPY_WAYS_TABLE_H_
#define DLX_SRC_COPY_WAYS_TABLE_H_

#include "src/copy/schedule/schedule.h"

namespace dlx {

/// Whether planes are a few short rows of items that have no kernel but one for rows: calls of it
/// would take longer than items.
bool has_few_rows(const Schedule& schedule) noexcept;

/// Runs a schedule of several planes that are too small for the kernels: the offsets of up to a few
/// hundred items are written down once, and followed from one place after the other. So an element
/// costs the same however many axes there are.
///
/// In a large copy (`streamed`), what memory holds of the next place is fetched beside it.
/// `by_items`: kernels would move one item at a time (moves_items()).
/// False, with nothing done, where planes are large enough or the item is too long. `dry`: only says
/// so.
bool run_by_table(const Schedule& schedule, bool by_items, bool streamed, bool dry) noexcept;

}  // namespace dlx

#endif  // DLX_SRC_COPY_WAYS_TABLE_H_
