#ifndef DLX_SRC_COPY_THREADS_THREADS_H_
#define DLX_SRC_COPY_THREADS_THREADS_H_

#include <cstdint>

#include "dlx/dlx.h"

namespace dlx {

/// Sets how many threads a copy may use. 0 restores the default: DLX_NUM_THREADS from the
/// environment, else the number of cores that this process may use. Callers refuse negative
/// numbers.
void set_num_threads(int32_t n) noexcept;

/// The number of threads that was set, at least 1.
int32_t num_threads() noexcept;

/// The most threads that a copy gets: num_threads(), at most kThreadsPerCore for each core that
/// this process may use.
int32_t usable_threads() noexcept;

constexpr int32_t kThreadsPerCore = 4;

/// Cores that this process may use: its CPU affinity, cut by the CPU quota of its control group.
int32_t available_cores() noexcept;

/// Pieces per thread, so that other threads can take the pieces of a delayed thread.
constexpr int64_t kPiecesPerThread = 4;  // [note 90]

/// Hands all parallel work to the host's executor; NULL restores dlx's own pool.
void set_parallel_for(dlx_parallel_for_fn fn, void* user_data);

/// Runs task(data, i) for every i in [0, count) and returns when all are done.
///
/// The calling thread takes part. dlx's own pool starts its threads on first use, at most
/// `most_threads` and usable_threads(). If the pool is busy with another copy, or no thread can be
/// started, the caller does the work alone. After fork() the child starts a new pool. `task` never
/// throws.
void parallel_for(int64_t count, dlx_parallel_task_fn task, void* data,
                  int64_t most_threads = INT64_MAX) noexcept;

}  // namespace dlx

#endif  // DLX_SRC_COPY_THREADS_THREADS_H_
