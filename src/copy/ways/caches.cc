#include "src/copy/ways/traits.h"
#include "src/copy/ways/way.h"

namespace dlx {

bool suits_caches(const Job& job) noexcept {
  // Where boxes are not first, streams were not compared with tiles.
  return (job.machine.boxes_first() && reads_into_streams(job.s)) || !job.has_buffers();
}

bool suits_caches_rather_than_boxes(const Job& job) noexcept {
  return job.machine.boxes_first() && (is_followed(job.s) || are_small_matrices(job.s));
}

bool suits_caches_rather_than_tiles(const Job& job) noexcept {
  return goes_in_order(job) || (job.machine.boxes_first() && job.s.kind == PlaneKind::kRows);
}

}  // namespace dlx
