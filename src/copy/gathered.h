#ifndef DLX_SRC_COPY_GATHERED_H_
#define DLX_SRC_COPY_GATHERED_H_

#include "src/copy/buffers.h"
#include "src/copy/kernels.h"
#include "src/copy/schedule.h"

namespace dlx {

/// Transposes items of 1, 2, 4, 8 or 16 bytes: some lines of some rows are copied together, and go
/// from there to dst. Planes have at least two lines of items in each column, and 16 bytes in each
/// row.
void run_gathered(const Schedule& schedule, const Kernels& kernels,
                  const Buffers& buffers) noexcept;

}  // namespace dlx

#endif  // DLX_SRC_COPY_GATHERED_H_
