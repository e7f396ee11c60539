#ifndef DLX_SRC_COPY_WAYS_STREAM_H_
#define DLX_SRC_COPY_WAYS_STREAM_H_

#include "src/copy/kernels/kernels.h"
#include "src/copy/schedule/schedule.h"

namespace dlx {

/// Fills long rows of one and the same item past the caches: through them, with registers narrower
/// than a line, half of the traffic is reading what is overwritten. False, with nothing done, if
/// the schedule has no such rows, or, with registers of a line, is not many times as large as a
/// cache. `alone`: no other thread has a part of the copy. `dry`: only says so.
bool run_fills(const Schedule& schedule, const Kernels& kernels, bool alone, bool dry) noexcept;

/// Runs a schedule whose dst will not stay in the caches, tile by tile: fetch the source of the
/// next tile, arrange this one in a small buffer, write the one before past the caches in whole
/// lines. Or in one of the ways that are better for some schedules. None, with nothing done, where
/// dst has no runs worth streaming or no buffer can be had.
///
/// The way that was taken, in words; NULL for none. `alone`: no other threads run pieces of the
/// same copy. `dry`: only says which.
const char* run_streamed(const Schedule& schedule, const Kernels& kernels, bool alone,
                         bool dry) noexcept;

}  // namespace dlx

#endif  // DLX_SRC_COPY_WAYS_STREAM_H_
