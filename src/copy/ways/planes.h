#ifndef DLX_SRC_COPY_WAYS_PLANES_H_
#define DLX_SRC_COPY_WAYS_PLANES_H_

#include <cstdint>

#include "src/copy/kernels/kernels.h"
#include "src/copy/schedule/loops.h"
#include "src/copy/schedule/schedule.h"

namespace dlx {

class ItemPlanes;

/// One plane of a schedule, wherever its data is: nu x nv items and their steps.
struct Plane {
  char* dst;
  int64_t du;
  int64_t dv;
  const char* src;
  int64_t su;
  int64_t sv;
  int64_t nu;
  int64_t nv;
};

/// The first plane of the schedule.
Plane plane_of(const Schedule& schedule) noexcept;

/// The same plane with `sv` positive.
Plane ascending_v(Plane plane) noexcept;

/// Copies one plane. `du` may differ from that of the schedule only if dst is not compact along u
/// there.
void copy_plane(const Schedule& schedule, const Plane& plane) noexcept;

/// Plane after plane; each one prefetches the next.
void copy_each(const ItemPlanes& planes, const Loops& loops, const Schedule& schedule) noexcept;

/// How planes are copied one by one, in words; NULL if the kind of the schedule says all.
const char* planes_in_words(const Schedule& schedule) noexcept;

}  // namespace dlx

#endif  // DLX_SRC_COPY_WAYS_PLANES_H_
