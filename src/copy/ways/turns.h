#ifndef DLX_SRC_COPY_WAYS_TURNS_H_
#define DLX_SRC_COPY_WAYS_TURNS_H_

#include "src/copy/kernels/kernels.h"
#include "src/copy/schedule/schedule.h"
#include "src/copy/ways/buffers.h"

namespace dlx {

/// Streams planes of a few long rows whose items take turns on one side, such as channels of an
/// image that become planes, or planes that become channels: a stretch after the other, short
/// enough for the first-level cache. The processor fetches so few streams by itself, and better
/// than it could be asked to.
///
/// The way that was taken, in words; NULL, with nothing done, where planes are none such, or short.
/// `dry`: only says which.
const char* run_interleaved(const Schedule& schedule, const Kernels& kernels,
                            const Buffers& buffers, bool dry) noexcept;

}  // namespace dlx

#endif  // DLX_SRC_COPY_WAYS_TURNS_H_
