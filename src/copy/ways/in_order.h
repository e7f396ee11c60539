#ifndef DLX_SRC_COPY_WAYS_IN_ORDER_H_
#define DLX_SRC_COPY_WAYS_IN_ORDER_H_

#include "src/copy/kernels/kernels.h"
#include "src/copy/schedule/schedule.h"

namespace dlx {

/// Whether rows are of one and the same item, and long enough for the order of dst.
bool has_constant_rows(const Schedule& schedule) noexcept;

/// In the order of dst, and through the caches: what is written may as well stay there, in part.
void write_in_order(const Schedule& schedule, const Kernels& kernels) noexcept;

/// Through the caches, in whatever order uses them best: that of dst, folded, by a table of
/// offsets, or plane after plane. `fetch`: both sides are more than they hold. Says which way that is;
/// `dry`: does no more.
const char* run_cached(const Schedule& schedule, const Kernels& kernels, bool fetch,
                       bool dry) noexcept;

}  // namespace dlx

#endif  // DLX_SRC_COPY_WAYS_IN_ORDER_H_
