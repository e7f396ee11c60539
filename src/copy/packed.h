#ifndef DLX_SRC_COPY_PACKED_H_
#define DLX_SRC_COPY_PACKED_H_

#include "src/copy/buffers.h"
#include "src/copy/kernels.h"
#include "src/copy/schedule.h"

namespace dlx {

/// Streams short rows that lie one behind the other in dst, as in a crop, wherever they begin and
/// end. False, with nothing done, where rows are none such.
bool run_packed(const Schedule& schedule, const Kernels& kernels, const Buffers& buffers) noexcept;

}  // namespace dlx

#endif  // DLX_SRC_COPY_PACKED_H_
