#ifndef DLX_SRC_COPY_WAYS_RELAY_H_
#define DLX_SRC_COPY_WAYS_RELAY_H_

#include "src/copy/kernels/kernels.h"
#include "src/copy/schedule/schedule.h"
#include "src/copy/ways/buffers.h"

namespace dlx {

/// Whether a copy is so slow item by item that run_relayed is worth asking. `streamed`: both sides
/// are more than the caches hold.
bool is_relayed(const Schedule& schedule, bool streamed) noexcept;

/// Copies box after box in two steps that both have fast kernels, where the one has none: from src
/// to a buffer whose axes are in another order, and from there to dst. Says whether there are two
/// such. `dry`: does no more than that.
bool run_relayed(const Schedule& schedule, const Kernels& kernels, const Buffers& buffers,
                 bool streamed, bool dry) noexcept;

}  // namespace dlx

#endif  // DLX_SRC_COPY_WAYS_RELAY_H_
