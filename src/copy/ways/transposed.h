#ifndef DLX_SRC_COPY_WAYS_TRANSPOSED_H_
#define DLX_SRC_COPY_WAYS_TRANSPOSED_H_

#include "src/copy/schedule/schedule.h"
#include "src/copy/ways/planes.h"

namespace dlx {

/// The kernel for planes of a shape. On processors with slow stores across the ends of lines, it
/// goes in the order of dst for long columns that begin at different offsets in lines, for items of
/// one and two bytes in long rows, and for items of 16 bytes.
Kernels::Transpose* transposition(const Schedule& s, int64_t dv, int64_t su, int64_t nu,
                                  int64_t nv) noexcept;

/// Whether planes of this shape go from src to dst by the kernel alone.
bool is_transposed_directly(const Schedule& s, const Plane& shape) noexcept;

/// Describes how such planes are transposed.
const char* transposition_in_words(const Schedule& s, const Plane& shape) noexcept;

/// Copies a plane of kTranspose, at least a register on either side, whose `sv` is the item.
void transpose_plane(const Schedule& s, const Plane& plane) noexcept;

}  // namespace dlx

#endif  // DLX_SRC_COPY_WAYS_TRANSPOSED_H_
