#ifndef DLX_SRC_COPY_WAYS_PLANE_H_
#define DLX_SRC_COPY_WAYS_PLANE_H_

#include <cstdint>

#include "src/copy/kernels/kernels.h"
#include "src/copy/schedule/schedule.h"

namespace dlx {

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

}  // namespace dlx

#endif  // DLX_SRC_COPY_WAYS_PLANE_H_
