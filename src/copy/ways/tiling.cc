#include "src/copy/ways/tiling.h"

#include <algorithm>
#include <cstdlib>

#include "src/copy/kernels/lines.h"
#include "src/copy/schedule/loops.h"

namespace dlx {
namespace {

/// A tile length of about `wanted`, in whole lines, that leaves no small remainder at the end of
/// the axis.
int64_t even_length(int64_t extent, int64_t wanted, int64_t item) noexcept {
  if (wanted >= extent) return extent;
  const int64_t even = even_part(extent, wanted);
  const int64_t granule = kLine % item == 0 ? kLine / item : 1;
  return std::min(extent, divide_up(even, granule) * granule);
}

/// A part of at most `limit` items that divides `extent` evenly, into whole lines if possible, else
/// into whole registers.
int64_t even_piece(int64_t extent, int64_t limit, int64_t item) noexcept {
  if (extent <= limit) return extent;
  const int64_t even = even_part(extent, limit);
  const int64_t granule =
      std::max<int64_t>(1, (extent * item % kLine == 0 ? kLine : kLine / 4) / item);
  return std::min(limit, divide_up(even, granule) * granule);
}

}  // namespace

bool Tiling::build(const Schedule& s) noexcept {
  if (s.ndim == 0 || s.axes[s.u].dst != s.item) return false;
  order_by_source(s, by_source);
  choose_extents(s);
  while (lay_out(s) > kBufferBytes) {  // halve the longest axis, outside the runs if possible
    int longest = run_axis;
    for (int k = 0; k < run_axis; ++k) {
      if (extent[k] > 8 && (longest == run_axis || extent[k] > extent[longest])) longest = k;
    }
    while (longest < s.ndim && extent[longest] == 1) ++longest;
    if (longest == s.ndim) return false;  // an item is larger than the buffer
    extent[longest] = divide_up(extent[longest], 2);
    // Runs end at this axis now.
    if (longest > run_axis) {
      for (int k = run_axis; k < longest; ++k) extent[k] = 1;
      run_axis = longest;
    }
  }
  if (run_bytes(s, extent) < kShortestRun) return false;
  // An axis along u and v cannot be folded if tiles keep it in their runs. [note 58]
  const int64_t narrow = std::min(along_u(s, extent), along_v(s, extent));
  if (s.folded() && narrow * s.item < kLine) return false;
  // not covered from here: tiles of the sizes that a machine sets are shorter
  if (s.is_transposition() &&
      std::max<int64_t>(along_u(s, extent), along_v(s, extent)) > kOffsets) {
    return false;
    // covered again
  }
  choose_order(s);
  choose_pieces(s);
  return true;
}

bool Tiling::lay_out_runs(const Schedule& s) noexcept {
  int64_t run = s.item;
  for (int k = s.ndim - 1; k >= 0 && s.axes[k].dst == run; --k) {
    run_axis = k;
    run *= extent[k];
    if (extent[k] < s.axes[k].extent) break;
  }
  if (run < kShortestRun || lay_out(s) > kBufferBytes - kFront) return false;
  choose_order(s);
  return true;
}

void Tiling::choose_extents(const Schedule& s) noexcept {
  for (int k = 0; k < s.ndim; ++k) extent[k] = 1;
  const int64_t streams = s.kind == PlaneKind::kSplit ? s.axes[s.v].extent : 1;
  const bool transposes = s.transposes();
  // Runs that cannot end at lines are continued by the next tile, whatever their length. Then long
  // runs of src, which waste part of a line at each end, matter more than long runs of dst.
  uint64_t steps = 0;
  for (int k = 0; k + 1 < s.ndim; ++k) steps |= static_cast<uint64_t>(s.axes[k].dst);
  const bool in_lines = steps % kLine == 0;
  const bool even = in_lines || s.log_item < 2;
  const int row = s.log_item >= 0 ? s.log_item : 4;
  const Machine& t = s.machine();
  const int64_t long_run = s.woven ? t.staged_dst_bytes[row] : t.tile_dst_bytes[row];
  const int64_t dst_bytes = even || s.woven ? long_run : long_run / 2;
  const int64_t aim = transposes ? dst_bytes : t.tile_bytes / streams;
  int64_t run = s.item;
  for (int k = s.ndim - 1; k >= 0 && s.axes[k].dst == run; --k) {
    run_axis = k;
    if (run >= aim) break;
    extent[k] = even_length(s.axes[k].extent, divide_up(aim, run), run);
    if (extent[k] < s.axes[k].extent) break;
    run *= extent[k];
  }
  int64_t src_bytes = s.woven ? t.staged_src_bytes[row] : t.tile_src_bytes[row];
  const bool short_rows = s.v >= 0 && s.axes[s.v].extent * s.item < src_bytes;
  if (!even && (s.woven || short_rows)) src_bytes *= 2;
  // If tiles advance along src, they take one line of each row: after two lines the processor would
  // fetch a third.
  const bool alone = in_lines && s.log_item == 0 && !s.woven && !short_rows;
  if (alone && t.fetches_single_lines()) src_bytes = std::min(src_bytes, kLine);
  if (s.log_item < 0) src_bytes *= 4;
  for (int i = 0; i < s.ndim; ++i) {
    const int k = by_source[i];
    const int64_t step = std::llabs(s.axes[k].src);
    if (step == 0 || step >= src_bytes) continue;
    const int64_t wanted = divide_up(src_bytes, step);
    if (wanted > extent[k]) extent[k] = even_length(s.axes[k].extent, wanted, step);
  }
}

/// Folds the axes that the schedule folds, as far as a tile keeps them together.
void Tiling::fold(const Schedule& s) noexcept {
  u_first = static_cast<int>(std::max<int64_t>(run_axis, s.ndim - s.u_count));
  while (u_first < s.ndim - 1 && along_u(s, extent) > kOffsets) ++u_first;
  for (v_count = 1; v_count < s.v_count; ++v_count) {
    const int k = s.v_axes[v_count - 1];
    const int next = s.v_axes[v_count];
    if (k >= run_axis || next >= run_axis || extent[k] < s.axes[k].extent) break;
    if (along_v(s, extent) * extent[next] > kOffsets) break;
    if ((s.axes[k].src < 0) != (s.axes[next].src < 0)) break;  // not one axis in the buffer
  }
}

int64_t Tiling::run_bytes(const Schedule& s, const int64_t* extents) const noexcept {
  int64_t bytes = s.item;
  for (int k = s.ndim - 1; k >= run_axis; --k) bytes *= extents[k];
  return bytes;
}

int64_t Tiling::along_u(const Schedule& s, const int64_t* extents) const noexcept {
  int64_t n = 1;
  for (int k = u_first; k < s.ndim; ++k) n *= extents[k];
  return n;
}

int64_t Tiling::along_v(const Schedule& s, const int64_t* extents) const noexcept {
  int64_t n = 1;
  for (int i = 0; i < v_count && s.v >= 0; ++i) n *= extents[s.v_axes[i]];
  return n;
}

bool Tiling::in_plane(const Schedule& s, int axis) const noexcept {
  if (axis >= u_first) return true;
  for (int i = 0; i < v_count; ++i) {
    if (s.v_axes[i] == axis) return true;
  }
  return false;
}

/// Lays out the tile; returns the bytes of the buffer.
int64_t Tiling::lay_out(const Schedule& s) noexcept {
  fold(s);
  int64_t bytes = s.item;
  int k = s.ndim - 1;
  for (; k >= run_axis; --k) {
    step[k] = bytes;
    bytes *= extent[k];
  }
  // An odd number of lines from run to run, so that runs spread over the cache sets.
  bytes =
      (divide_up(bytes, kLine) | 1) * kLine + (divide_up(bytes, kLine) % 2 == 1 ? 2 : 0) * kLine;
  if (v_count > 1) {  // evenly spaced, so that they form one axis in the buffer
    for (int i = 0; i < v_count; ++i) {
      step[s.v_axes[i]] = bytes;
      bytes *= extent[s.v_axes[i]];
    }
  }
  for (; k >= 0; --k) {
    if (v_count > 1 && in_plane(s, k)) continue;
    step[k] = bytes;
    bytes *= extent[k];
  }
  return bytes;
}

/// Whether runs can begin and end at lines. If only the beginning of dst prevents that, the first
/// tile is made shorter.
bool Tiling::align_dst(const Schedule& s) noexcept {
  const int64_t step = s.axes[run_axis].dst;
  uint64_t all = static_cast<uint64_t>(extent[run_axis] * step);
  for (int k = 0; k < run_axis; ++k) all |= static_cast<uint64_t>(s.axes[k].dst);
  if (all % kLine != 0) return false;
  const int64_t missing = to_next_line(s.dst);
  if (missing % step != 0 || missing / step >= extent[run_axis]) return missing == 0;
  if (missing > 0) first[run_axis] = missing / step;
  return true;
}

/// Makes the first tile along v shorter, so that later ones begin at source lines: a run that
/// begins inside a line touches one line more.
void Tiling::align_src(const Schedule& s) noexcept {
  if (!s.is_transposition() || s.v == run_axis || s.axes[s.v].src < 0) return;
  uint64_t all = 0;
  for (int k = 0; k < s.ndim; ++k) {
    if (k != s.v) all |= static_cast<uint64_t>(s.axes[k].src);
  }
  const int64_t missing = to_next_line(s.src);
  if (all % kLine == 0 && missing % s.item == 0 && missing > 0 && missing / s.item < extent[s.v] &&
      extent[s.v] < s.axes[s.v].extent) {
    first[s.v] = missing / s.item;
  }
}

void Tiling::choose_order(const Schedule& s) noexcept {
  for (int k = 0; k < s.ndim; ++k) first[k] = extent[k];
  carry = !s.transposes() || !align_dst(s);
  align_src(s);
  int n = 0;
  bool taken[CopyPlan::kMaxAxes] = {};
  if (carry) {  // along compact axes of dst, so that a tile continues the tile before
    int64_t next = s.item;
    for (int k = s.ndim - 1; k >= 0 && s.axes[k].dst == next; --k) {
      order[n++] = k;
      taken[k] = true;
      next *= s.axes[k].extent;
      if (s.transposes() && k <= run_axis) break;
    }
  }
  for (int i = 0; i < s.ndim; ++i) {
    if (!taken[by_source[i]]) order[n++] = by_source[i];
  }
}

void Tiling::choose_pieces(const Schedule& s) noexcept {
  constexpr int64_t kPiece = 4096;  // [note 40]
  const int64_t nu = along_u(s, extent);
  const int64_t nv = along_v(s, extent);
  switch (s.kind) {
    case PlaneKind::kTranspose:
    case PlaneKind::kFolded:
      if (!s.woven) {
        piece_u = kLine / s.item;
        piece_v = (s.staged ? 512 : 256) / s.item;
        break;
      }
      piece_u = even_piece(nu, Block::kMaxRows, s.item);
      piece_v = even_piece(nv, Block::kRowBytes / s.item, s.item);
      break;
    case PlaneKind::kSplit:
      piece_u = std::max<int64_t>(kLine, kPiece / nv) / s.item;
      piece_v = nv;
      break;
    default:  // a few lines of src at a time
      piece_v = std::max<int64_t>(1, 4 * kLine / s.item);
      piece_u = std::max<int64_t>(1, kPiece / (s.item * std::min(nv, piece_v)));
  }
}

}  // namespace dlx
