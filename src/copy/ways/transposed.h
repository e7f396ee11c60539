#ifndef DLX_SRC_COPY_WAYS_TRANSPOSED_H_
#define DLX_SRC_COPY_WAYS_TRANSPOSED_H_

#include "src/copy/schedule/schedule.h"
#include "src/copy/ways/plane.h"

namespace dlx {

/// The kernel for planes of that shape. On processors that take long over stores across the ends of
/// lines, it is one in the order of dst where long columns begin at different places of lines, for
/// items of one and two bytes in long rows, and for those of 16 bytes.
Kernels::Transpose* transposition(const Schedule& s, int64_t dv, int64_t su, int64_t nu,
                                  int64_t nv) noexcept;

/// Whether planes of this shape go from src to dst by the kernel alone.
bool is_transposed_directly(const Schedule& s, const Plane& shape) noexcept;

/// How such planes are transposed, in words.
const char* transposition_in_words(const Schedule& s, const Plane& shape) noexcept;

/// Copies one plane of kTranspose, at least a register large on either side, with `sv` the item.
void transpose_plane(const Schedule& s, const Plane& plane) noexcept;

}  // namespace dlx

#endif  // DLX_SRC_COPY_WAYS_TRANSPOSED_H_
