#ifndef DLX_SRC_COPY_WAYS_TILING_H_
#define DLX_SRC_COPY_WAYS_TILING_H_

#include <cstdint>

#include "src/copy/kernels/lines.h"
#include "src/copy/schedule/schedule.h"

namespace dlx {

/// How a streamed copy is cut into tiles, and how a tile lies in its buffer.
///
/// A tile is a box of the nest. Along the innermost axes of dst it is long enough for a run of dst
/// worth streaming; along the innermost axes of src, for a run of src worth fetching. In the buffer
/// it keeps the order of dst: its runs one after the other, each with room in front for the part of
/// a line that the tile before left over.
struct Tiling {
  static constexpr int64_t kBufferBytes = 192 << 10;
  static constexpr int64_t kFront = 64;               ///< room before a run
  static constexpr int64_t kOffsets = 4096;           ///< most items along u or v
  static constexpr int64_t kShortestRun = 2 * kLine;  ///< bytes of a run worth streaming

  /// False if dst has no runs worth streaming.
  bool build(const Schedule& schedule) noexcept;

  /// Lays out tiles whose extents are there, in the order of by_source. False if their runs are not
  /// worth streaming, or a buffer has no room for them.
  bool lay_out_runs(const Schedule& schedule) noexcept;

  /// Bytes of a run of dst in a box of those extents.
  int64_t run_bytes(const Schedule& schedule, const int64_t* extents) const noexcept;

  /// Items along u, or along v, of a box of those extents.
  int64_t along_u(const Schedule& schedule, const int64_t* extents) const noexcept;
  int64_t along_v(const Schedule& schedule, const int64_t* extents) const noexcept;

  /// Whether u or v takes that axis in.
  bool in_plane(const Schedule& schedule, int axis) const noexcept;

  int64_t extent[CopyPlan::kMaxAxes];  ///< of a tile
  int64_t step[CopyPlan::kMaxAxes];    ///< in the buffer, bytes
  int order[CopyPlan::kMaxAxes];       ///< axes as tiles advance along them, fastest first
  int by_source[CopyPlan::kMaxAxes];   ///< axes, smallest source step first
  int run_axis = 0;                    ///< outermost axis that a run of dst goes along
  int u_first = 0;                     ///< outermost axis taken along u
  int v_count = 1;                     ///< how many of the schedule's v_axes are taken along v
  int64_t first[CopyPlan::kMaxAxes];   ///< of the first tile along an axis: others start at lines
  bool carry = false;                  ///< runs end inside lines, and the next tile goes on
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
