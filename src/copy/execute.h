#ifndef DLX_SRC_COPY_EXECUTE_H_
#define DLX_SRC_COPY_EXECUTE_H_

#include <cstddef>

#include "src/copy/plan/plan.h"
#include "src/copy/schedule/schedule.h"
#include "src/copy/schedule/traffic.h"

namespace dlx {

/// Says in words how execute() would run it; returns the length of the whole text.
[[gnu::cold]] size_t describe_execution(const CopyPlan& plan, char* buffer,
                                        size_t capacity) noexcept;

// The steps of both.

/// The threads that share it; 0: the calling one does it alone.
int64_t threads_of(const CopyPlan& plan, const Machine& machine) noexcept;

/// Whether runs are repeated past the caches.
bool streams_runs(const Machine& machine, Traffic traffic) noexcept;

Schedule schedule_of(const CopyPlan& plan, const Machine& machine, Traffic traffic) noexcept;

}  // namespace dlx

#endif  // DLX_SRC_COPY_EXECUTE_H_
