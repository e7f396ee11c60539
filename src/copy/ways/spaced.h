#ifndef DLX_SRC_COPY_WAYS_SPACED_H_
#define DLX_SRC_COPY_WAYS_SPACED_H_

#include "src/copy/kernels/kernels.h"
#include "src/copy/schedule/schedule.h"

namespace dlx {

/// Streams rows of items with gaps between them in src, as in x[:, ::3]: each line of dst is put
/// together in registers, and nothing but loads stands between one and the next, from which the
/// processor knows by itself what to fetch.
///
/// False, with nothing done, where rows are none such, or short. `dry`: only says so.
bool run_spaced(const Schedule& schedule, const Kernels& kernels, bool dry) noexcept;

}  // namespace dlx

#endif  // DLX_SRC_COPY_WAYS_SPACED_H_
