#ifndef DLX_SRC_COPY_WAYS_STRIPS_H_
#define DLX_SRC_COPY_WAYS_STRIPS_H_

#include "src/copy/kernels/kernels.h"
#include "src/copy/schedule/schedule.h"
#include "src/copy/ways/buffers.h"

namespace dlx {

/// Whether strips are best although dst stays in the caches.
bool suits_cached_strips(const Schedule& schedule) noexcept;

/// Runs a large transposition strip by strip: one line of each of many rows, the next line of each,
/// and so on; or gathered, see gathered.h. Past the caches, unless they hold the lines of the
/// schedule. Says how; NULL if that is none, or too narrow. `dry`: only says so.
const char* run_strips(const Schedule& schedule, const Kernels& kernels, const Buffers& buffers,
                       bool dry) noexcept;

}  // namespace dlx

#endif  // DLX_SRC_COPY_WAYS_STRIPS_H_
