#ifndef DLX_SRC_COPY_STRIPS_H_
#define DLX_SRC_COPY_STRIPS_H_

#include "src/copy/buffers.h"
#include "src/copy/kernels.h"
#include "src/copy/schedule.h"

namespace dlx {

/// Runs a large transposition strip by strip: one line of each of many rows, the next line of each,
/// and so on; or gathered, see gathered.h. Says how; NULL if the schedule is none, or too narrow.
/// `dry`: only says so.
const char* run_strips(const Schedule& schedule, const Kernels& kernels, const Buffers& buffers,
                       bool dry) noexcept;

}  // namespace dlx

#endif  // DLX_SRC_COPY_STRIPS_H_
