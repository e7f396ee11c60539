#ifndef DLX_SRC_COPY_WAYS_GATHERED_H_
#define DLX_SRC_COPY_WAYS_GATHERED_H_

#include "src/copy/kernels/kernels.h"
#include "src/copy/schedule/schedule.h"
#include "src/copy/ways/buffers.h"

namespace dlx {

/// Transposes items of 1, 2, 4, 8 or 16 bytes: some lines of some rows are copied together, and go
/// from there to dst. Planes have at least two lines of items in each column, and 16 bytes in each
/// row.
void run_gathered(const Schedule& schedule, const Kernels& kernels,
                  const Buffers& buffers) noexcept;

}  // namespace dlx

#endif  // DLX_SRC_COPY_WAYS_GATHERED_H_
