#include <algorithm>
#include <cstdlib>

#include "src/copy/kernels/lines.h"
#include "src/copy/schedule/loops.h"
#include "src/copy/ways/strips.h"
#include "src/copy/ways/tile_io.h"
#include "src/copy/ways/traits.h"
#include "src/copy/ways/way.h"

namespace dlx {
namespace {

constexpr int64_t kLongRow = 1024;  // bytes [note 64]

/// How many consecutive bytes some axes span on one side, from the innermost axis on.
class Span {
 public:
  explicit Span(int64_t item, int64_t gap = 0) noexcept : bytes_(item), gap_(gap) {}

  /// Adds a part of an axis; false if its step leaves too large a gap, or the axis before is not
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
        writer_(s, tiling_, buffers.lists()),
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
    // The writer does not outlive the tiles that it points to.
    kernels_.fence();  // NOLINT(clang-analyzer-core.StackAddressEscape)
  }

 private:
  static constexpr int64_t kRoom = 256 << 10;  ///< bytes of the rows of a box, gaps included
  static constexpr int64_t kLongest = 4096;    ///< longer runs gain nothing [note 64]

  /// Chooses, among boxes that aim at several run lengths on either side, the one with the fewest
  /// runs per byte.
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
    Span dst(s_.item);
    for (int k = s_.ndim - 1; k >= 0 && dst.bytes() < dst_bytes; --k) {
      const int64_t part = even_part(s_.axes[k].extent, divide_up(dst_bytes, s_.axes[k].dst));
      if (!dst.add(s_, k, s_.axes[k].dst, part)) break;
      extent[k] = part;
    }
    Span src(s_.item, kLine);
    for (int i = 0; i < s_.ndim && src.bytes() < src_bytes; ++i) {
      const int k = tiling_.by_source[i];
      const int64_t step = std::llabs(s_.axes[k].src);
      if (step == 0) continue;
      const int64_t part = even_part(s_.axes[k].extent, divide_up(src_bytes, step));
      if (!src.add(s_, k, step, std::max(part, extent[k]))) break;
      extent[k] = std::max(part, extent[k]);
    }
  }

  /// Extends the box along src while there is room for twice as much, and lays out its rows.
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
    Span dst(s_.item);
    for (int k = s_.ndim - 1; k >= 0; --k) {
      if (!dst.add(s_, k, s_.axes[k].dst, extent[k])) break;
    }
    return dst.bytes();
  }

  int64_t stretch_bytes(const int64_t* extent) const noexcept {
    Span src(s_.item, kLine);
    for (int i = 0; i < s_.ndim; ++i) {
      const int k = tiling_.by_source[i];
      if (!src.add(s_, k, std::llabs(s_.axes[k].src), extent[k])) break;
    }
    return src.bytes();
  }

  /// Lays out the rows of a box in the buffer, upwards as in src: an odd number of lines from row
  /// to row, so that rows spread over the cache sets.
  void lay_out_rows(const int64_t* extent) noexcept {
    Span row(s_.item, kLine);
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

  /// Copies the rows of a box together, and arranges them as runs of dst.
  void arrange(const Tile& tile) noexcept {
    if (!std::equal(tile.extent, tile.extent + s_.ndim, prepared_)) prepare(tile.extent);
    const char* lowest = tile.src;
    for (int k = 0; k < s_.ndim; ++k) {
      lowest += std::min<int64_t>(0, (tile.extent[k] - 1) * s_.axes[k].src);
    }
    kernels_.gather_rows(buffers_[0], pitch_, lowest, buffers_.offsets()->row, row_count_,
                         row_bytes_);
    run_in_caches(arranged_);
  }

  /// Plans the steps for boxes of one shape.
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
    arranged_ =
        Schedule(CopyPlan(to, from, s_.item, axes, s_.ndim), s_.machine(), Held::kNeither, false);
  }

  const Schedule& s_;
  const Kernels& kernels_;
  const Buffers& buffers_;
  const int64_t most_ = s_.machine().box_bytes;
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

/// Plans boxes in scratch. False if runs of dst are too short, or source runs shorter than
/// `least_stretch`.
bool plan_boxes(const Job& job, int64_t least_stretch) noexcept {
  const Schedule& s = job.s;
  if (s.ndim < 2 || s.kind == PlaneKind::kCells || s.axes[s.ndim - 1].dst != s.item) return false;
  return job.buffers().make_plan<Boxes>(s, job.kernels, job.buffers()).build(least_stretch);
}

/// The first row that is next to row 0 in src; 0: no row is.
int64_t neighbouring_row(const FoldedPlanes& planes, int64_t row) noexcept {
  for (int64_t i = 1; i < planes.rows.n(); ++i) {
    if (!are_apart(row, planes.rows.offset()[i])) return i;
  }
  return 0;
}

/// Whether rows are short and consecutive in src, so that boxes read many in one run. Gathered
/// blocks are better if rows are not scattered in dst, and strips for items of 4 bytes.
bool have_short_rows(const Schedule& s, const StripPlan& plan) noexcept {
  constexpr int64_t kShort = 512;  // [note 64]
  constexpr int64_t kFew = 8;      // [note 64]
  const int64_t row = plan.planes.columns.n() * s.item;
  if (s.log_item < 0 || row <= kLine || row > kLongRow) return false;
  if (is_followed(s) || are_small_matrices(s)) return false;
  const int64_t next = neighbouring_row(plan.planes, row);
  if (row < kShort && next > kFew) return true;
  return !plan.gathers && s.item != 4 && next > 0;
}

}  // namespace

bool suits_boxes_of_gathered_items(const Job& job) noexcept {
  return job.s.kind == PlaneKind::kGather && suits_boxes_first(job);
}

bool suits_boxes_of_rows(const Job& job) noexcept {
  if (!job.machine.boxes_first() || goes_in_order(job)) return false;
  const StripPlan* const plan = job.strip_plan();
  if (plan == nullptr || plan->line_by_line || !have_short_rows(job.s, *plan)) return false;
  return plan_boxes(job, 2 * plan->planes.columns.n() * job.s.item);
}

bool suits_boxes_first(const Job& job) noexcept {
  return job.machine.boxes_first() && gains_by_boxes(job.s) && plan_boxes(job, 0);
}

bool suits_boxes(const Job& job) noexcept {
  return !job.machine.boxes_first() && gains_by_boxes(job.s) && plan_boxes(job, 0);
}

void run_boxes(const Job& job) noexcept { job.buffers().plan<Boxes>().run(); }

}  // namespace dlx
