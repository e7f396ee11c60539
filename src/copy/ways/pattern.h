#ifndef DLX_SRC_COPY_WAYS_PATTERN_H_
#define DLX_SRC_COPY_WAYS_PATTERN_H_

#include "src/copy/kernels/kernels.h"
#include "src/copy/schedule/schedule.h"
#include "src/copy/ways/buffers.h"

namespace dlx {

/// Streams, straight from registers, what in the order of dst is the same pattern of source bytes
/// again and again: reversals, every second or third item, flips, channel swaps, joined streams,
/// short rows. False, with nothing done, where the schedule is none such. `dry`: only says so.
bool run_pattern(const Schedule& schedule, const Kernels& kernels, const Buffers& buffers,
                 bool dry) noexcept;

}  // namespace dlx

#endif  // DLX_SRC_COPY_WAYS_PATTERN_H_
