#ifndef DLX_SRC_COPY_BOXED_H_
#define DLX_SRC_COPY_BOXED_H_

#include "src/copy/buffers.h"
#include "src/copy/kernels.h"
#include "src/copy/schedule.h"

namespace dlx {

/// Whether boxes are better than to write a schedule in its order, or in tiles that end inside lines:
/// it transposes, and is neither a few streams nor small matrices, one behind another.
bool suits_boxes(const Schedule& schedule) noexcept;

/// Copies a schedule box by box, whose rows are put together as they lie in src, arranged in a
/// second-level cache, and written past the caches from there. So all of src is read in long stretches,
/// whatever the axes. False if dst has no runs worth it; `dry`: says only that.
bool run_boxed(const Schedule& schedule, const Kernels& kernels, const Buffers& buffers,
               bool dry) noexcept;

}  // namespace dlx

#endif  // DLX_SRC_COPY_BOXED_H_
