#ifndef DLX_SRC_COPY_WAYS_FOLDED_H_
#define DLX_SRC_COPY_WAYS_FOLDED_H_

#include "src/copy/kernels/kernels.h"
#include "src/copy/schedule/loops.h"
#include "src/copy/schedule/schedule.h"

namespace dlx {

/// The planes of a transposition, each side of which may be several axes, and the loops around
/// them.
struct FoldedPlanes {
  /// Takes the axes of the schedule along u and v or, if `far`, all axes that continue them. `row`
  /// and `column` have room for `most_rows` and `most_columns`.
  FoldedPlanes(const Schedule& schedule, bool far, int64_t* row, int64_t most_rows, int64_t* column,
               int64_t most_columns) noexcept;

  /// Calls run(dst, src) for the first item of each plane, of rows.n() times columns.n() items.
  template <class Run>
  void each(const Run& run) const noexcept {
    loops.each(dst, src, [&](char* to, const char* from) {
      for (int64_t u = 0; u < rows.parts(); ++u) {
        for (int64_t v = 0; v < columns.parts(); ++v) {
          run(to + rows.dst(u) + columns.dst(v), from + rows.src(u) + columns.src(v));
        }
      }
    });
  }

  Side rows;     ///< along u: compact in dst
  Side columns;  ///< along v: compact in src, in ascending order
  Loops loops;
  char* dst;
  const char* src;

 private:
  void add_column_axis(CopyAxis axis) noexcept;
};

}  // namespace dlx

#endif  // DLX_SRC_COPY_WAYS_FOLDED_H_
