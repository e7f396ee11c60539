#ifndef DLX_SRC_COPY_WAYS_PLANES_H_
#define DLX_SRC_COPY_WAYS_PLANES_H_

#include "src/copy/schedule/loops.h"
#include "src/copy/ways/item_planes.h"

namespace dlx {

/// Plane after plane; each one prefetches the next.
void copy_each(const ItemPlanes& planes, const Loops& loops, const Schedule& schedule) noexcept;

/// How planes are copied one by one, in words; NULL if the kind of the schedule says all.
const char* planes_in_words(const Schedule& schedule) noexcept;

}  // namespace dlx

#endif  // DLX_SRC_COPY_WAYS_PLANES_H_
