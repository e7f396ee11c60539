#ifndef DLX_SRC_COPY_GATHERED_H_
#define DLX_SRC_COPY_GATHERED_H_

#include "src/copy/buffers.h"
#include "src/copy/folded.h"
#include "src/copy/kernels.h"

namespace dlx {

/// Transposes planes of items of 2^log_item bytes, 16 at most: some lines of some rows are copied
/// together, and go from there to dst. Planes have at least a line of items in each column, and 16
/// bytes in each row.
void run_gathered(const FoldedPlanes& planes, int log_item, const Kernels& kernels,
                  const Buffers& buffers) noexcept;

}  // namespace dlx

#endif  // DLX_SRC_COPY_GATHERED_H_
