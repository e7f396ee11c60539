#ifndef DLX_SRC_COPY_THREADS_THREADS_H_
#define DLX_SRC_COPY_THREADS_THREADS_H_

#include <cstdint>

#include "dlx/dlx.h"

namespace dlx {

/// How many threads one copy may use; 0 restores the default: DLX_NUM_THREADS from the environment,
/// else the cores that this process may run on. Negative numbers are the caller's to refuse.
void set_num_threads(int32_t n) noexcept;

/// At least 1: what was set.
int32_t num_threads() noexcept;

/// The threads that a copy really gets, at most: those set, but no more than kThreadsPerCore for
/// each core that this process may run on.
int32_t usable_threads() noexcept;

constexpr int32_t kThreadsPerCore = 4;

/// Pieces of work for each thread, so that one which is held up leaves some to others.
constexpr int64_t kPiecesPerThread = 4;

/// Hands all parallel work to the host's executor; NULL brings the own pool back.
void set_parallel_for(dlx_parallel_for_fn fn, void* user_data);

/// Runs task(data, i) for every i in [0, count) and returns when all are done.
///
/// The calling thread takes part. The own pool starts its threads on first use, up to
/// `most_threads` and usable_threads(); where it is busy with another copy, or a thread cannot be
/// had, the caller does the work alone. After fork() the child starts a pool of its own. `task`
/// never throws.
void parallel_for(int64_t count, dlx_parallel_task_fn task, void* data,
                  int64_t most_threads = INT64_MAX) noexcept;

}  // namespace dlx

#endif  // DLX_SRC_COPY_THREADS_THREADS_H_
