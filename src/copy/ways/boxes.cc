#include "src/copy/ways/boxes.h"

#include <algorithm>
#include <cstdlib>

#include "src/copy/kernels/lines.h"
#include "src/copy/schedule/loops.h"
#include "src/copy/schedule/machine.h"
#include "src/copy/schedule/side.h"
#include "src/copy/ways/in_order.h"
#include "src/copy/ways/tile_io.h"

namespace dlx {
namespace {

/// What axes make together on one side, from the nearest one on.
class Stretch {
 public:
  explicit Stretch(int64_t item, int64_t gap = 0) noexcept : bytes_(item), gap_(gap) {}

  /// Takes so much of an axis; false if its step leaves too much out, or the one before is not
  /// whole.
  bool add(const Schedule& s, int axis, int64_t step, int64_t extent) noexcept {
    if (!whole_ || step > bytes_ + gap_) return false;
    bytes_ += (extent - 1) * step;
    whole_ = step == 0 || extent == s.axes[axis].extent;
    return true;
  }

  int64_t bytes() const noexcept { return bytes_; }

 private:
  int64_t bytes_;
  int64_t gap_;
  bool whole_ = true;
};

class Boxes {
 public:
  Boxes(const Schedule& s, const Kernels& kernels, const Buffers& buffers) noexcept
      : s_(s),
        kernels_(kernels),
        buffers_(buffers),
        writer_(s, tiling_, kernels, buffers.lists()),
        arranged_(s) {}

  bool build(int64_t least_stretch) noexcept {
    order_by_source(s_, tiling_.by_source);
    return choose_extents() && stretch_bytes(tiling_.extent) >= least_stretch &&
           tiling_.lay_out_runs(s_);
  }

  void run() noexcept {
    TileWalk walk(s_, tiling_);
    Tile tiles[2] = {};
    walk.locate(&tiles[0]);
    for (int t = 0;; t ^= 1) {
      Tile& tile = tiles[t];
      const bool more = walk.next(&tile, &tiles[t ^ 1]);
      arrange(tile);
      writer_.start(tile, buffers_[1], buffers_[1]);
      writer_.write(INT64_MAX);
      if (!more) break;
    }
    // The writer, which points to the tiles, ends with this call.
    kernels_.fence();  // NOLINT(clang-analyzer-core.StackAddressEscape)
  }

 private:
  static constexpr int64_t kRoom = 256 << 10;  ///< bytes of its rows, with what lies between them
  static constexpr int64_t kLongest = 4096;    ///< bytes of a run that are enough

  /// Of the boxes that come as near as there is room to runs of some length on either side, the one
  /// with the fewest beginnings of them.
  bool choose_extents() noexcept {
    double fewest = 1;
    for (int64_t dst = kLongest; dst >= Tiling::kShortestRun; dst /= 2) {
      for (int64_t src = kLongest; src >= Tiling::kShortestRun; src /= 2) {
        int64_t extent[CopyPlan::kMaxAxes];
        propose(dst, src, extent);
        if (bytes(extent) > most_) continue;
        grow(extent);
        const double beginnings = 1. / static_cast<double>(run_bytes(extent)) +
                                  1. / static_cast<double>(stretch_bytes(extent));
        if (beginnings >= fewest) continue;
        if (row_count_ * pitch_ > kRoom || row_count_ > Tiling::kOffsets) continue;
        fewest = beginnings;
        std::copy(extent, extent + s_.ndim, tiling_.extent);
      }
    }
    return fewest < 1;
  }

  void propose(int64_t dst_bytes, int64_t src_bytes, int64_t* extent) const noexcept {
    std::fill_n(extent, s_.ndim, 1);
    Stretch dst(s_.item);
    for (int k = s_.ndim - 1; k >= 0 && dst.bytes() < dst_bytes; --k) {
      const int64_t part = even_part(s_.axes[k].extent, divide_up(dst_bytes, s_.axes[k].dst));
      if (!dst.add(s_, k, s_.axes[k].dst, part)) break;
      extent[k] = part;
    }
    Stretch src(s_.item, kLine);
    for (int i = 0; i < s_.ndim && src.bytes() < src_bytes; ++i) {
      const int k = tiling_.by_source[i];
      const int64_t step = std::llabs(s_.axes[k].src);
      if (step == 0) continue;
      const int64_t part = even_part(s_.axes[k].extent, divide_up(src_bytes, step));
      if (!src.add(s_, k, step, std::max(part, extent[k]))) break;
      extent[k] = std::max(part, extent[k]);
    }
  }

  /// Takes more along src as long as there is room for twice as much, and lays out the rows.
  void grow(int64_t* extent) noexcept {
    for (int i = 0;; ++i) {
      lay_out_rows(extent);
      const int64_t times = std::min(most_ / bytes(extent), kRoom / (row_count_ * pitch_));
      if (times < 2 || i == s_.ndim) return;
      const int k = tiling_.by_source[i];
      if (s_.axes[k].src != 0) extent[k] = even_part(s_.axes[k].extent, extent[k] * times);
    }
  }

  int64_t bytes(const int64_t* extent) const noexcept {
    int64_t all = s_.item;
    for (int k = 0; k < s_.ndim; ++k) all *= extent[k];
    return all;
  }

  int64_t run_bytes(const int64_t* extent) const noexcept {
    Stretch dst(s_.item);
    for (int k = s_.ndim - 1; k >= 0; --k) {
      if (!dst.add(s_, k, s_.axes[k].dst, extent[k])) break;
    }
    return dst.bytes();
  }

  int64_t stretch_bytes(const int64_t* extent) const noexcept {
    Stretch src(s_.item, kLine);
    for (int i = 0; i < s_.ndim; ++i) {
      const int k = tiling_.by_source[i];
      if (!src.add(s_, k, std::llabs(s_.axes[k].src), extent[k])) break;
    }
    return src.bytes();
  }

  /// Where the items of a box lie when its rows are put together, upwards as in src: an odd number
  /// of lines from row to row, so that those do not crowd into few cache sets.
  void lay_out_rows(const int64_t* extent) noexcept {
    constexpr int64_t kLongRow = 16 * kLine;
    Stretch row(s_.item, kLine);
    row_axes_ = 0;
    for (; row_axes_ < s_.ndim && row.bytes() < kLongRow; ++row_axes_) {
      const int k = tiling_.by_source[row_axes_];
      const int64_t step = std::llabs(s_.axes[k].src);
      if (!row.add(s_, k, step, extent[k])) break;
      row_step_[k] = step;
    }
    row_bytes_ = row.bytes();
    pitch_ = row_bytes_ < 4 * kLine ? row_bytes_ : (divide_up(row_bytes_, kLine) | 1) * kLine;
    row_count_ = 1;
    for (int i = row_axes_; i < s_.ndim; ++i) {
      const int k = tiling_.by_source[i];
      row_step_[k] = row_count_ * pitch_;
      row_count_ *= extent[k];
    }
  }

  /// Puts the rows of a box together, and arranges them as runs of dst.
  void arrange(const Tile& tile) noexcept {
    if (!std::equal(tile.extent, tile.extent + s_.ndim, prepared_)) prepare(tile.extent);
    const char* lowest = tile.src;
    for (int k = 0; k < s_.ndim; ++k) {
      lowest += std::min<int64_t>(0, (tile.extent[k] - 1) * s_.axes[k].src);
    }
    kernels_.gather_rows(buffers_[0], pitch_, lowest, buffers_.offsets()->row, row_count_,
                         row_bytes_);
    run_cached(arranged_, kernels_, false, false);
  }

  /// Plans what boxes of one shape have in common.
  void prepare(const int64_t* extent) noexcept {
    std::copy(extent, extent + s_.ndim, prepared_);
    lay_out_rows(extent);
    Side rows(buffers_.offsets()->row, Tiling::kOffsets);
    for (int i = row_axes_; i < s_.ndim; ++i) {
      const int k = tiling_.by_source[i];
      rows.add({extent[k], 0, 0}, std::llabs(s_.axes[k].src));
    }
    CopyAxis axes[CopyPlan::kMaxAxes];
    const char* from = buffers_[0];
    for (int k = 0; k < s_.ndim; ++k) {
      const bool descends = s_.axes[k].src < 0;
      axes[k] = {extent[k], tiling_.step[k], descends ? -row_step_[k] : row_step_[k]};
      if (descends) from += (extent[k] - 1) * row_step_[k];
    }
    char* const to = buffers_[1] + Tiling::kFront;
    arranged_ = Schedule(CopyPlan(to, from, s_.item, axes, s_.ndim), kernels_);
  }

  const Schedule& s_;
  const Kernels& kernels_;
  const Buffers& buffers_;
  const int64_t most_ = machine().box_bytes;
  Tiling tiling_;
  Writer writer_;
  Schedule arranged_;                          ///< from rows to runs
  int64_t prepared_[CopyPlan::kMaxAxes] = {};  ///< the extents that it is for
  int row_axes_ = 0;                           ///< how many of by_source a row goes along
  int64_t row_step_[CopyPlan::kMaxAxes];       ///< of each axis, where rows are together
  int64_t row_bytes_ = 0;
  int64_t row_count_ = 0;
  int64_t pitch_ = 0;  ///< from row to row
};

/// Rows or columns that the processor follows, or writes, side by side.
constexpr int64_t kFewStreams = 16;

/// Bytes of a plane, with all that is folded into it.
int64_t plane_bytes(const Schedule& s) noexcept {
  int64_t bytes = s.item;
  for (int k = 0; k < s.ndim; ++k) {
    if (s.in_plane(k)) bytes *= s.axes[k].extent;
  }
  return bytes;
}

/// Bytes of src from end to end of a plane, about.
int64_t plane_source_bytes(const Schedule& s) noexcept {
  const CopyAxis& u = s.axes[s.u];
  return std::max<int64_t>(plane_bytes(s), std::llabs(u.src) * u.extent);
}

/// Whether planes are matrices that a first-level cache holds, with half of src for gaps at most.
bool is_small_matrix(const Schedule& s) noexcept {
  constexpr int64_t kSmall = 16 << 10;  // bytes
  constexpr int64_t kSmallNarrow = 8 << 10;
  const int64_t source = plane_source_bytes(s);
  return source <= (s.item >= 8 ? kSmall : kSmallNarrow) && source <= 2 * plane_bytes(s);
}

/// Whether so many bytes of src lie alone: with the next plane of dst, reading goes on elsewhere.
bool lie_alone(const Schedule& s, int64_t bytes) noexcept {
  for (int k = s.ndim - 1; k >= 0; --k) {
    if (!s.in_plane(k)) return are_apart(bytes, s.axes[k].src);
  }
  return false;
}

/// The same of the planes themselves.
bool planes_lie_alone(const Schedule& s) noexcept { return lie_alone(s, plane_source_bytes(s)); }

/// Whether streams of src, few enough for the processor to follow them by itself, are put together,
/// or taken apart to few of dst.
bool is_few_streams(const Schedule& s) noexcept {
  constexpr int64_t kSome = 32;
  constexpr int64_t kLong = 4096;  // bytes
  const CopyAxis& v = s.axes[s.v];
  const int64_t row = v.extent * s.item;
  if (!s.folded() && s.axes[s.u].extent <= kSome && row >= kLong / 2) return true;
  const int next = s.ndim - 1 - s.u_count;
  if (next < 0 || v.extent > kFewStreams) return false;
  int64_t streams = 1;
  for (int k = next + 1; k < s.ndim; ++k) {
    if (std::llabs(s.axes[k].src) >= kLong) streams *= s.axes[k].extent;
  }
  const CopyAxis& along = s.axes[next];
  return streams <= kFewStreams && std::llabs(along.src) == row &&
         along.extent * std::llabs(along.src) >= kLong;
}

/// The same of rows of items with gaps between them that become so few columns, the more of them if
/// rows follow each other.
bool is_few_columns(const Schedule& s) noexcept {
  const CopyAxis& v = s.axes[s.v];
  const bool follow = std::llabs(s.axes[s.u].src) <= v.extent * std::llabs(v.src);
  return v.extent <= (follow ? 2 : 1) * kFewStreams;
}

}  // namespace

bool boxes_are_fast(const Kernels& kernels) noexcept {
  return !kernels.line_registers() && !machine().has_1_mib_cache();
}

bool is_followed(const Schedule& s) noexcept {
  constexpr int64_t kFrom = 16;
  constexpr int64_t kFromBackwards = 32;
  constexpr int64_t kTo = 15;
  constexpr int64_t kLong = 1024;  // bytes
  constexpr int64_t kNear = 512;
  if (s.kind != PlaneKind::kTranspose) return false;
  const CopyAxis& u = s.axes[s.u];
  const CopyAxis& v = s.axes[s.v];
  int64_t rows = 1;
  for (int k = s.ndim - s.u_count; k < s.ndim; ++k) rows *= s.axes[k].extent;
  const int64_t from = v.src < 0 && s.item < 16 ? kFromBackwards : kFrom;
  if (rows <= from) return v.extent * s.item >= kLong && v.dst == rows * s.item;
  const int64_t step = std::llabs(u.src);
  if (v.extent > kTo || step > kNear || u.extent * s.item < kLong) return false;
  for (int k = 0; k < s.ndim; ++k) {
    if (k != s.v && std::llabs(s.axes[k].src) < step) return false;
  }
  return true;
}

bool are_small_matrices(const Schedule& s) noexcept {
  const bool matrices = s.kind == PlaneKind::kTranspose || s.kind == PlaneKind::kJoin;
  return matrices && is_small_matrix(s) && !planes_lie_alone(s);
}

bool suits_boxes(const Schedule& s) noexcept {
  constexpr int64_t kShort = 512;  // bytes
  constexpr int64_t kNarrowestGathered = 4;
  const auto alone = [&](int64_t row) { return row < kShort && lie_alone(s, row); };
  switch (s.kind) {
    case PlaneKind::kTranspose:
      return is_small_matrix(s) ? planes_lie_alone(s) : !is_few_streams(s);
    case PlaneKind::kSplit: return alone(s.axes[s.u].extent * std::llabs(s.axes[s.u].src));
    case PlaneKind::kJoin: return alone(s.axes[s.v].extent * s.item);
    case PlaneKind::kRows: return s.item < kLine && s.transposes();
    case PlaneKind::kGather:
      return s.item >= kNarrowestGathered && s.transposes() && !is_few_columns(s);
    default: return false;
  }
}

const char* run_boxed(const Schedule& s, const Kernels& kernels, const Buffers& buffers, bool dry,
                      int64_t least) noexcept {
  if (s.ndim < 2 || s.kind == PlaneKind::kCells || s.axes[s.ndim - 1].dst != s.item) return nullptr;
  Boxes boxes(s, kernels, buffers);
  if (!boxes.build(least)) return nullptr;
  if (!dry) boxes.run();
  return "way boxes: streamed in boxes";
}

}  // namespace dlx
