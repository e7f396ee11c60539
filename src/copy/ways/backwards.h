#ifndef DLX_SRC_COPY_WAYS_BACKWARDS_H_
#define DLX_SRC_COPY_WAYS_BACKWARDS_H_

#include "src/copy/kernels/kernels.h"
#include "src/copy/schedule/schedule.h"
#include "src/copy/ways/buffers.h"

namespace dlx {

/// Streams rows of dst that run backwards in src, as in a flipped picture: src is read as it lies,
/// which the processor fetches ahead by itself, and each row of dst is written from its end.
///
/// False, with nothing done, where rows are none such, or short. `dry`: only says so.
bool run_turned(const Schedule& schedule, const Kernels& kernels, const Buffers& buffers,
                bool dry) noexcept;

}  // namespace dlx

#endif  // DLX_SRC_COPY_WAYS_BACKWARDS_H_
