#ifndef DLX_SRC_COPY_WAYS_TILING_H_
#define DLX_SRC_COPY_WAYS_TILING_H_

#include <cstdint>

#include "src/copy/kernels/lines.h"
#include "src/copy/schedule/schedule.h"

namespace dlx {

/// How a streamed copy is cut into tiles, and how a tile lies in its buffer.
///
/// A tile is a part of all axes: long enough along the innermost axes of dst for runs worth
/// streaming, and along the innermost axes of src for runs worth fetching. In the buffer its runs
/// are in the order of dst, each with room in front for a partial line of the tile before.
struct Tiling {
  static constexpr int64_t kBufferBytes = 192 << 10;
  static constexpr int64_t kFront = 64;               ///< room before a run
  static constexpr int64_t kOffsets = 4096;           ///< most items along u or v
  static constexpr int64_t kShortestRun = 2 * kLine;  ///< bytes of a run worth streaming [note 37]

  /// False if dst has no runs worth streaming.
  bool build(const Schedule& schedule) noexcept;

  /// Lays out tiles whose `extent` and `by_source` are set. False if their runs are not worth
  /// streaming, or do not fit into a buffer.
  bool lay_out_runs(const Schedule& schedule) noexcept;

  /// Bytes of a run of dst in a tile of these extents.
  int64_t run_bytes(const Schedule& schedule, const int64_t* extents) const noexcept;

  /// Items along u, or along v, of a tile of these extents.
  int64_t along_u(const Schedule& schedule, const int64_t* extents) const noexcept;
  int64_t along_v(const Schedule& schedule, const int64_t* extents) const noexcept;

  /// Whether the axis is folded into u or v.
  bool in_plane(const Schedule& schedule, int axis) const noexcept;

  int64_t extent[CopyPlan::kMaxAxes];  ///< of a tile
  int64_t step[CopyPlan::kMaxAxes];    ///< in the buffer, bytes
  int order[CopyPlan::kMaxAxes];       ///< axes as tiles advance along them, fastest first
  int by_source[CopyPlan::kMaxAxes];   ///< axes, smallest source step first
  int run_axis = 0;                    ///< outermost axis that a run of dst goes along
  int u_first = 0;                     ///< outermost axis taken along u
  int v_count = 1;                     ///< how many of the schedule's v_axes are taken along v
  int64_t first[CopyPlan::kMaxAxes];   ///< of the first tile along an axis: others start at lines
  bool carry = false;                  ///< runs end inside lines; the next tile completes them
  int64_t piece_u = 0;                 ///< items of a plane between two rounds of streaming
  int64_t piece_v = 0;

 private:
  void choose_extents(const Schedule& s) noexcept;
  void fold(const Schedule& s) noexcept;
  int64_t lay_out(const Schedule& s) noexcept;
  bool align_dst(const Schedule& s) noexcept;
  void align_src(const Schedule& s) noexcept;
  void choose_order(const Schedule& s) noexcept;
  void choose_pieces(const Schedule& s) noexcept;
};

}  // namespace dlx

#endif  // DLX_SRC_COPY_WAYS_TILING_H_
