#ifndef DLX_SRC_COPY_WAYS_STRIPS_H_
#define DLX_SRC_COPY_WAYS_STRIPS_H_

#include "src/copy/ways/buffers.h"
#include "src/copy/ways/folded.h"

namespace dlx {

/// How strips or gathered blocks would carry out a transposition.
struct StripPlan {
  StripPlan(const Schedule& schedule, Buffers::Offsets* offsets) noexcept;

  FoldedPlanes planes;
  bool ahead;         ///< caches hold a line of each row from its prefetch until it is read
  bool line_by_line;  ///< few rows are read at once, from end to end
  bool gathers;       ///< some lines of each row are copied together first
};

}  // namespace dlx

#endif  // DLX_SRC_COPY_WAYS_STRIPS_H_
