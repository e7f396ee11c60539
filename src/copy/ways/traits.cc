#include "src/copy/ways/traits.h"

#include <algorithm>
#include <cstdlib>

#include "src/copy/kernels/lines.h"
#include "src/copy/ways/item_planes.h"
#include "src/copy/ways/planes.h"

namespace dlx {
namespace {

/// Most rows or columns that the processor reads or writes side by side.
constexpr int64_t kFewStreams = 16;  // [note 15]

/// Bytes of a plane, with all folded axes.
int64_t plane_bytes(const Schedule& s) noexcept {
  int64_t bytes = s.item;
  for (int k = 0; k < s.ndim; ++k) {
    if (s.in_plane(k)) bytes *= s.axes[k].extent;
  }
  return bytes;
}

/// About how many bytes of src a plane spans.
int64_t plane_source_bytes(const Schedule& s) noexcept {
  const CopyAxis& u = s.axes[s.u];
  return std::max<int64_t>(plane_bytes(s), std::llabs(u.src) * u.extent);
}

/// Whether planes are matrices that the first-level cache holds, at most half of src being gaps.
bool is_small_matrix(const Schedule& s) noexcept {
  constexpr int64_t kSmall = 16 << 10;       // bytes [note 16]
  constexpr int64_t kSmallNarrow = 8 << 10;  // [note 16]
  const int64_t source = plane_source_bytes(s);
  return source <= (s.item >= 8 ? kSmall : kSmallNarrow) && source <= 2 * plane_bytes(s);
}

/// Whether the source of the next plane of dst does not follow these bytes of src.
bool lie_alone(const Schedule& s, int64_t bytes) noexcept {
  for (int k = s.ndim - 1; k >= 0; --k) {
    if (!s.in_plane(k)) return are_apart(bytes, s.axes[k].src);
  }
  return false;
}

/// The same for whole planes.
bool planes_lie_alone(const Schedule& s) noexcept { return lie_alone(s, plane_source_bytes(s)); }

/// Whether so few streams of src are joined, or split into so few of dst, that the processor
/// prefetches them by itself.
bool is_few_streams(const Schedule& s) noexcept {
  constexpr int64_t kSome = 32;    // [note 64]
  constexpr int64_t kLong = 4096;  // bytes [note 15]
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

/// The same for items with gaps that become few columns; more columns count as few if rows are
/// consecutive.
bool is_few_columns(const Schedule& s) noexcept {
  const CopyAxis& v = s.axes[s.v];
  const bool follow = std::llabs(s.axes[s.u].src) <= v.extent * std::llabs(v.src);
  return v.extent <= (follow ? 2 : 1) * kFewStreams;
}

/// Whether a buffer would cost more than it saves: planes are small matrices that registers
/// arrange, or no kernel arranges the items and they are few or sparse. `cached`: splits are better
/// written through the caches.
bool needs_no_buffer(const Schedule& s, bool cached) noexcept {
  constexpr int64_t kNear = 2048;     // bytes [note 16]
  constexpr int64_t kFew = 32;        // items [note 35]
  constexpr int64_t kPrefetched = 8;  // streams side by side [note 14]
  const int64_t some_streams = s.machine().gathered_streams();
  if (s.ndim < 2 || s.folded() || s.item >= kLine) return false;
  const CopyAxis& u = s.axes[s.u];
  const CopyAxis& v = s.axes[s.v];
  const bool near = u.extent <= kPrefetched || u.extent * std::llabs(u.src) <= kNear;
  if (near && v.extent * v.dst <= kNear) return true;
  if (s.item >= 8 && s.kind == PlaneKind::kTranspose) {  // splits and joins of large items
    const int64_t cell = u.extent * s.item;
    if (u.extent == 2 || (cell <= kLine && (cell % 32 == 0 || v.src < 0))) return true;
    const bool splits = v.extent <= 16 && std::llabs(u.src) <= 4 * kLine && cell >= kNear;
    if (cached && splits) return true;
  }
  // If the first-level cache holds the streams, the order of dst reads no line twice.
  if (s.kind == PlaneKind::kGather && u.extent <= std::min(some_streams, rows_cached(u.src))) {
    return true;
  }
  // Source lines are mostly gaps, and few of their items are read again.
  constexpr int64_t kSparse = 12;    // bytes from item to item [note 35]
  constexpr int64_t kManyRows = 32;  // [note 35]
  const int64_t step = std::llabs(v.src);
  const bool sparse = 3 * step >= kLine || (step >= kSparse && step >= 3 * s.item);
  if (s.kind == PlaneKind::kGather && sparse && rows_cached(u.src) >= kManyRows) return true;
  return s.by_items() && u.extent * v.extent < kFew;
}

}  // namespace

bool is_followed(const Schedule& s) noexcept {
  constexpr int64_t kFrom = 16;           // [note 15]
  constexpr int64_t kFromBackwards = 32;  // [note 18]
  constexpr int64_t kTo = 15;             // [note 15]
  constexpr int64_t kLong = 1024;         // bytes [note 15]
  constexpr int64_t kNear = 512;          // [note 15]
  if (!s.is_transposition()) return false;
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
  const bool matrices = s.is_transposition() || s.kind == PlaneKind::kJoin;
  return matrices && is_small_matrix(s) && !planes_lie_alone(s);
}

bool gains_by_boxes(const Schedule& s) noexcept {
  constexpr int64_t kShort = 512;            // bytes [note 64]
  constexpr int64_t kNarrowestGathered = 4;  // [note 64]
  const auto alone = [&](int64_t row) { return row < kShort && lie_alone(s, row); };
  switch (s.kind) {
    case PlaneKind::kTranspose:
    case PlaneKind::kFolded: return is_small_matrix(s) ? planes_lie_alone(s) : !is_few_streams(s);
    case PlaneKind::kSplit: return alone(s.axes[s.u].extent * std::llabs(s.axes[s.u].src));
    case PlaneKind::kJoin: return alone(s.axes[s.v].extent * s.item);
    case PlaneKind::kRows: return s.item < kLine && s.transposes();
    case PlaneKind::kGather:
      return s.item >= kNarrowestGathered && s.transposes() && !is_few_columns(s);
    default: return false;
  }
}

bool has_few_rows(const Schedule& s) noexcept {
  constexpr int64_t kShortRow = 16;  // items [note 74]
  constexpr int64_t kFewRows = 32;   // [note 74]
  if (s.kind != PlaneKind::kRows || s.item > kLongestMoved) return false;
  return s.axes[s.u].extent <= kShortRow && s.axes[s.v].extent <= kFewRows;
}

bool reads_into_streams(const Schedule& s) noexcept {
  return s.kind == PlaneKind::kGather && ItemPlanes::reads_into_streams(s, plane_of(s));
}

bool goes_in_order(const Job& job) noexcept {
  const bool cached = job.machine.splits_in_order(job.is_alone());
  const bool in_order = job.s.kind == PlaneKind::kSplit ? cached : !job.s.transposes();
  return in_order || needs_no_buffer(job.s, cached);
}

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
