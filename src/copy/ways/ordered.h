#ifndef DLX_SRC_COPY_WAYS_ORDERED_H_
#define DLX_SRC_COPY_WAYS_ORDERED_H_

#include "src/copy/kernels/kernels.h"
#include "src/copy/schedule/schedule.h"
#include "src/copy/ways/buffers.h"

namespace dlx {

/// Streams what can be written in the order of dst without reading source lines in vain: short
/// rows, cells, items with gaps, joined streams, small matrices. A few hundred bytes at a time are
/// put together, wherever they begin and end, and leave in whole lines. False, with nothing done,
/// where the schedule is none such. `dry`: only says so.
bool run_ordered(const Schedule& schedule, const Kernels& kernels, const Buffers& buffers,
                 bool dry) noexcept;

}  // namespace dlx

#endif  // DLX_SRC_COPY_WAYS_ORDERED_H_
