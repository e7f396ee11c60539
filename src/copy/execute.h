#ifndef DLX_SRC_COPY_EXECUTE_H_
#define DLX_SRC_COPY_EXECUTE_H_

#include <cstddef>

#include "src/copy/plan/plan.h"
#include "src/copy/schedule/schedule.h"
#include "src/copy/schedule/traffic.h"

namespace dlx {

/// Describes how execute() would run a plan; returns the length of the whole text.
[[gnu::cold]] size_t describe_execution(const CopyPlan& plan, char* buffer,
                                        size_t capacity) noexcept;

// Decisions that both functions make.

/// The number of threads that share a copy of `bytes`; 0: the calling thread runs it alone.
int64_t threads_of(int64_t bytes, const Machine& machine) noexcept;

/// Whether repetitions of runs are streamed.
bool streams_runs(const Machine& machine, Traffic traffic) noexcept;

Schedule schedule_of(const CopyPlan& plan, const Machine& machine, Traffic traffic) noexcept;

}  // namespace dlx

#endif  // DLX_SRC_COPY_EXECUTE_H_
