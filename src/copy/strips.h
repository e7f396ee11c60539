#ifndef DLX_SRC_COPY_STRIPS_H_
#define DLX_SRC_COPY_STRIPS_H_

#include "src/copy/buffers.h"
#include "src/copy/kernels.h"
#include "src/copy/schedule.h"

namespace dlx {

/// Whether nothing but strips arranges several items of that size at once.
inline bool only_strips_arrange(int64_t item) noexcept { return item == 3 || item == 6; }

/// Whether strips are best although dst stays in the caches.
bool suits_cached_strips(const Schedule& schedule) noexcept;

/// Runs a large transposition strip by strip: one line of each of many rows, the next line of each,
/// and so on; or gathered, see gathered.h. Past the caches, unless they hold the lines of the
/// schedule. Says how; NULL if that is none, or too narrow. `dry`: only says so.
const char* run_strips(const Schedule& schedule, const Kernels& kernels, const Buffers& buffers,
                       bool dry) noexcept;

}  // namespace dlx

#endif  // DLX_SRC_COPY_STRIPS_H_
