#include "src/copy/strips.h"

#include <algorithm>
#include <cstdlib>

#include "src/copy/folded.h"
#include "src/copy/lines.h"
#include "src/copy/tuning.h"

namespace dlx {
namespace {

constexpr int64_t kAhead = 128;  // rows
constexpr int64_t kMostRows = 2048;

/// Whether all items of a side begin at the same place of a line.
bool in_step(const Side& side) noexcept {
  uint64_t all = 0;
  for (int64_t i = 0; i < side.n(); ++i) all |= static_cast<uint64_t>(side.offset()[i]);
  return all % kLine == 0;
}

/// Whether so many rows ahead can be fetched, a line of each, without pushing each other out of a
/// second-level cache: 2048 sets of 8 on most processors.
bool fit_ahead(const Side& rows) noexcept {
  constexpr uint64_t kSets = 2048;
  constexpr int kHalfFull = 4;
  uint8_t used[kSets] = {};
  for (int64_t i = 0; i < std::min(kAhead, rows.n()); ++i) {
    if (++used[static_cast<uint64_t>(rows.offset()[i]) / kLine % kSets] > kHalfFull) return false;
  }
  return true;
}

/// Whether the columns of a plane all begin at the same place of a line, and items, unless their
/// kernel looks for itself, at multiples of their size.
bool even(const Schedule& s, const FoldedPlanes& planes) noexcept {
  if (!in_step(planes.columns)) return false;
  if (s.log_item < 0) return true;
  uint64_t all = reinterpret_cast<uintptr_t>(planes.dst);
  for (int k = 0; k < s.ndim; ++k) all |= static_cast<uint64_t>(s.axes[k].dst);
  return all % static_cast<uint64_t>(s.item) == 0;
}

/// The kernel for items of that size; NULL: there is none.
auto kernel(const Schedule& s, const Kernels& kernels) noexcept {
  if (s.log_item >= 0) return kernels.transpose_strip[s.log_item];
  const int k = s.item == 3 ? 2 : s.item == 6 ? 3 : s.item == 12 ? 4 : 0;
  return kernels.transpose_thirds_strip[k];
}

/// Runs each strip when the next one is known, which is fetched beside it.
class Strips {
 public:
  Strips(const Schedule& s, const Kernels& kernels, const Buffers& buffers,
         const FoldedPlanes& planes) noexcept
      : transpose_(kernel(s, kernels)),
        finish_(kernels.finish_strips),
        thirds_(s.log_item < 0),
        planes_(planes),
        in_step_(in_step(planes.rows)),
        end_of_source_(s.end_of_source()) {
    chunk_.buffer = buffers[0];
    chunk_.next = buffers[0] + Strip::kBuffer;
    const int64_t group = thirds_ ? 64 : kLine / s.item;
    strip_.item = s.item;
    strip_.row = planes.rows.offset();
    strip_.nu = planes.rows.n();
    strip_.ahead = std::max(group, std::min(kAhead, strip_.nu) / group * group);
    strip_.staged = s.staged;
    strip_.even = even(s, planes);
    highest_row_ = *std::max_element(strip_.row, strip_.row + strip_.nu);
  }

  /// One plane, in strips that begin at lines of src where all its rows do.
  void add_plane(char* dst, const char* src) noexcept {
    const int64_t item = strip_.item;
    const int64_t columns = planes_.columns.n();
    const int64_t block = thirds_ ? 1 : 16 / item;
    const int64_t widest = thirds_ && item < 4 ? 20 : kLine / item;
    const int64_t missing = to_next_line(src);
    const bool lines =
        !thirds_ && in_step_ && missing % item == 0 && (missing == 0 || missing / item >= block);
    int64_t width = lines && missing != 0 ? missing / item : widest;
    bool both = !lines;
    for (int64_t v = 0; v < columns;) {
      const int64_t nv = std::min(width, columns - v);
      const int64_t first = nv < block ? columns - block : v;
      Strip strip = strip_;
      strip.dst = dst;
      strip.column = planes_.columns.offset() + first;
      strip.nv = std::max(nv, block);
      strip.source = {src + first * item, strip.nv * item - 1, both};
      // Items of three quarters are read with some bytes beyond, which have to be of src.
      if (thirds_) {
        strip.staged =
            strip.source.src + highest_row_ + strip.source.last_byte + 16 >= end_of_source_;
      }
      add(strip);
      both = false;
      width = widest;
      v += nv;
    }
  }

  /// Runs the last one.
  void finish() noexcept {
    strip_.next = {};
    transpose_(strip_, chunk_);
    finish_(chunk_);
  }

 private:
  void add(const Strip& next) noexcept {
    if (strip_.source.src != nullptr) {
      strip_.next = next.source;
      transpose_(strip_, chunk_);
    }
    strip_ = next;
  }

  void (*const transpose_)(const Strip& strip, Chunk& chunk);
  void (*const finish_)(Chunk& chunk);
  const bool thirds_;
  const FoldedPlanes& planes_;
  const bool in_step_;
  const char* const end_of_source_;
  int64_t highest_row_;
  Strip strip_ = {};  ///< the one to be run when the next is known
  Chunk chunk_ = {};
};

/// Whether that is a transposition that waits for memory more than for its kernels.
bool suits(const Schedule& s, const Kernels& kernels) noexcept {
  if (s.kind == PlaneKind::kTranspose) {
    // Small items fill tiles well, if their runs in dst are long enough.
    const bool tiled = s.item < 4 && !s.folded() &&
                       s.axes[s.u].extent * s.item >= tuning().tile_dst_bytes[s.log_item];
    return kernel(s, kernels) != nullptr && !tiled;
  }
  return s.kind == PlaneKind::kRows && s.v >= 0 && kernel(s, kernels) != nullptr &&
         s.axes[s.u].dst == s.item && std::llabs(s.axes[s.v].src) == s.item;
}

}  // namespace

bool run_strips(const Schedule& s, const Kernels& kernels, const Buffers& buffers) noexcept {
  if (!suits(s, kernels)) return false;
  const FoldedPlanes planes(s, true, buffers.offsets()->row, kMostRows, buffers.offsets()->column,
                            Tiling::kOffsets);
  // Partial lines at either end of a column are written by themselves.
  const int64_t bytes = planes.rows.n() * s.item;
  if (bytes < 2 * kLine || bytes < 2 * tuning().long_row_bytes || !fit_ahead(planes.rows)) {
    return false;
  }
  Strips strips(s, kernels, buffers, planes);
  planes.each([&](char* dst, const char* src) { strips.add_plane(dst, src); });
  strips.finish();
  kernels.fence();
  return true;
}

}  // namespace dlx
