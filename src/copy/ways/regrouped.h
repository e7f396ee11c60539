#ifndef DLX_SRC_COPY_WAYS_REGROUPED_H_
#define DLX_SRC_COPY_WAYS_REGROUPED_H_

#include "src/copy/kernels/kernels.h"
#include "src/copy/schedule/schedule.h"
#include "src/copy/ways/buffers.h"

namespace dlx {

/// Streams rows that lie side by side in src and far apart in dst, such as the heads of attention:
/// src is read as it lies, some of its longer rows at a time, into as many streams of dst. False,
/// with nothing done, where the schedule is none such. `dry`: only says so.
bool run_regrouped(const Schedule& schedule, const Kernels& kernels, const Buffers& buffers,
                   bool dry) noexcept;

}  // namespace dlx

#endif  // DLX_SRC_COPY_WAYS_REGROUPED_H_
