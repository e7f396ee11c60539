#ifndef DLX_SRC_COPY_THREADS_CORES_H_
#define DLX_SRC_COPY_THREADS_CORES_H_

#include <cstdint>

namespace dlx {

/// Cores that this process may use: its CPU affinity, cut by the CPU quota of its control group.
int32_t available_cores() noexcept;

}  // namespace dlx

#endif  // DLX_SRC_COPY_THREADS_CORES_H_
