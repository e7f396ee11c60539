#ifndef DLX_SRC_COPY_WAYS_BOXES_H_
#define DLX_SRC_COPY_WAYS_BOXES_H_

#include "src/copy/kernels/kernels.h"
#include "src/copy/schedule/schedule.h"
#include "src/copy/ways/buffers.h"

namespace dlx {

/// Whether boxes were measured to be better than tiles, and than many other ways: with registers
/// narrower than a line, and 512 KiB of second-level cache. Elsewhere they do what nothing else
/// does.
bool boxes_are_fast(const Kernels& kernels) noexcept;

/// Whether boxes are better than to write a schedule in its order, or in tiles that end inside
/// lines: it transposes, and is neither a few streams nor small matrices, one behind another.
bool suits_boxes(const Schedule& schedule) noexcept;

/// Whether few streams of src are joined, or split to few of dst, and all of a line is used at
/// once: the processor follows by itself.
bool is_followed(const Schedule& schedule) noexcept;

/// Whether planes are matrices that lie one behind another and that a first-level cache holds: in
/// the order of dst, src is read from end to end.
bool are_small_matrices(const Schedule& schedule) noexcept;

/// Copies a schedule box by box, whose rows are put together as they lie in src, arranged in a
/// second-level cache, and written past the caches from there. So all of src is read in long
/// stretches, whatever the axes. Says so in words, or NULL if dst has no runs worth it, or src no
/// stretches of at least that many bytes; `dry`: does no more than that.
const char* run_boxed(const Schedule& schedule, const Kernels& kernels, const Buffers& buffers,
                      bool dry, int64_t least_stretch = 0) noexcept;

}  // namespace dlx

#endif  // DLX_SRC_COPY_WAYS_BOXES_H_
