#include <algorithm>
#include <cstdlib>
#include <new>

#include "src/copy/kernels/lines.h"
#include "src/copy/schedule/traffic.h"
#include "src/copy/ways/strips.h"
#include "src/copy/ways/traits.h"
#include "src/copy/ways/way.h"

namespace dlx {
namespace {

constexpr int64_t kAhead = 128;  // rows [note 9]
constexpr uint64_t kHalfPage =
    2048;  // bytes; stores at the same offset in it wait for each other [note 46]

/// Whether a line of each of the first `n` rows occupies at most `ways` ways of any set of the
/// second-level cache.
bool fit(const Machine& machine, const Side& rows, int64_t n, int ways) noexcept {
  constexpr uint64_t kMostSets = 2048;
  const uint64_t sets = std::min(static_cast<uint64_t>(machine.cache_sets), kMostSets);
  uint8_t used[kMostSets] = {};
  for (int64_t i = 0; i < std::min(n, rows.n()); ++i) {
    if (++used[static_cast<uint64_t>(rows.offset()[i]) / kLine % sets] > ways) return false;
  }
  return true;
}

/// Whether rows evict each other from the second-level cache before all their items are used. Wide
/// items do if they nearly fill its sets, narrow items of long rows as soon as two rows share a
/// set.
bool crowd_second_level(const Schedule& s, const FoldedPlanes& planes) noexcept {
  constexpr int64_t kLong = 8 * kLine;  // [note 49]
  return !fit(s.machine(), planes.rows, kAhead,
              s.item <= 4 && planes.columns.n() * s.item >= kLong ? 1 : 6);
}

/// Whether all columns begin at the same offset in a line, and items at multiples of their size
/// (some kernels do not need that).
bool even(const Schedule& s, const FoldedPlanes& planes) noexcept {
  return planes.columns.in_step(kLine) && (s.log_item < 0 || s.begins_at_multiples(s.item));
}

/// Whether narrow stores to the columns of one source line wait for each other, or fill only half a
/// register.
bool stores_wait(const Schedule& s, const FoldedPlanes& planes) noexcept {
  if (s.item < 4) return true;
  const int64_t columns = std::min(planes.columns.n(), kLine / s.item);
  return planes.columns.in_step(columns > 8 ? kHalfPage / 2 : kHalfPage, columns);
}

/// Whether columns can be streamed straight from registers. With narrow registers not if rows are
/// far apart by an odd number of lines; no reason is known.
bool straight(const Schedule& s, const FoldedPlanes& planes) noexcept {
  constexpr int64_t kFar = 8192;  // [note 46]
  if (!even(s, planes)) return false;
  // not covered: only AVX-512 stores lines
  if (s.machine().stores_lines()) return true;
  const bool odd = planes.rows.in_step(kLine) && !planes.rows.in_step(2 * kLine);
  return !(odd && std::llabs(s.axes[s.u].src) >= kFar) && !stores_wait(s, planes);
}

/// The kernel for the item size; NULL: no kernel takes it.
auto kernel(const Schedule& s) noexcept {
  const Kernels& kernels = s.kernels();
  if (s.log_item >= 0) return kernels.transpose_strip[s.log_item];
  const int k = s.item == 3 ? 2 : s.item == 6 ? 3 : s.item == 12 ? 4 : 0;
  return kernels.transpose_thirds_strip[k];
}

/// Runs each strip when the next one is known, and prefetches that one beside it.
class Strips {
 public:
  Strips(const Schedule& s, const Buffers& buffers, const FoldedPlanes& planes,
         bool line_by_line) noexcept
      : line_by_line_(line_by_line),
        at_once_(s.machine().rows_line_by_line(s.item)),
        transpose_(kernel(s)),
        thirds_(s.log_item < 0),
        planes_(planes),
        in_step_(planes.rows.in_step(kLine)),
        end_of_source_(s.end_of_source()) {
    const int64_t group = thirds_ ? 64 : kLine / s.item;
    strip_.item = s.item;
    strip_.room = buffers.rows(0);
    strip_.buffer = buffers[0];
    strip_.row = planes.rows.offset();
    strip_.nu = planes.rows.n();
    // not covered: only AVX-512 reads lines whole
    strip_.staged = s.staged || (line_by_line && s.machine().reads_lines_whole());
    strip_.even = line_by_line ? even(s, planes) : straight(s, planes);
    strip_.cached = !s.past_caches();
    strip_.ahead = line_by_line && strip_.even
                       ? strip_.nu  // no prefetch
                       : std::max(group, std::min(kAhead, strip_.nu) / group * group);
    highest_row_ = *std::max_element(strip_.row, strip_.row + strip_.nu);
    near_ = s.u_count == 1 ? std::llabs(s.axes[s.u].src) : INT64_MAX;
  }

  /// Adds one plane: all rows at once or, line by line, as many as make a line of dst, with more in
  /// the first and last group.
  void add_plane(char* dst, const char* src) noexcept {
    const int64_t rows = planes_.rows.n();
    if (!line_by_line_ || !strip_.even) return add_rows(0, rows, dst, src);
    int64_t n = to_next_line(dst) / strip_.item + at_once_;
    for (int64_t u = 0; u < rows; u += n, n = at_once_) {
      if (rows - u < n + at_once_) n = rows - u;
      add_rows(u, n, dst, src);
    }
  }

  /// Runs the last strip.
  void finish() noexcept {
    strip_.next = {};
    transpose_(strip_);
  }

 private:
  /// Adds some rows, in strips that begin at source lines if all rows do.
  void add_rows(int64_t first_row, int64_t rows, char* dst, const char* src) noexcept {
    const int64_t item = strip_.item;
    const int64_t columns = planes_.columns.n();
    const int64_t block = thirds_ ? 1 : 16 / item;
    const int64_t narrowest = item == 8 || item == 16 ? std::min(2 * block, columns) : block;
    const int64_t widest = line_by_line_ ? wide(columns) : thirds_ && item < 4 ? 20 : kLine / item;
    const int64_t missing = to_next_line(src);
    const bool lines =
        !thirds_ && in_step_ && missing % item == 0 && (missing == 0 || missing / item >= block);
    int64_t width = lines && missing != 0 ? missing / item : widest;
    bool both = !lines;
    for (int64_t v = 0; v < columns;) {
      const int64_t nv = std::min(width, columns - v);
      const int64_t first = std::min(v, columns - narrowest);
      Strip strip = strip_;
      strip.dst = dst + first_row * item;
      strip.row = planes_.rows.offset() + first_row;
      strip.nu = rows;
      strip.column = planes_.columns.offset() + first;
      strip.nv = std::max(nv, narrowest);
      // Items of 3, 6 and 12 bytes are read with some bytes beyond, which are fetched too.
      strip.source = {src + first * item, strip.nv * item - 1 + (thirds_ ? kBeyond : 0), both};
      if (thirds_) strip.staged = first + strip.nv == columns && leaves_source(strip);
      add(strip);
      both = false;
      width = widest;
      v += nv;
    }
  }

  /// Whether a load of the last column would reach beyond the end of src, or a page without any of
  /// it.
  bool leaves_source(const Strip& strip) const noexcept {
    constexpr int64_t kNear = 4096;  // from row to row: the next one begins on the next page
    const char* const last = strip.source.src + strip.source.last_byte - kBeyond;
    if (last + highest_row_ + kBeyond >= end_of_source_) return true;
    const auto leaves = [&](int64_t row) { return leaves_page(last + row, kBeyond); };
    if (near_ <= kNear) return leaves(highest_row_);
    return std::any_of(strip.row, strip.row + strip.nu, leaves);
  }

  /// How many columns go at once, line by line: all, or even parts that fit into the buffer.
  int64_t wide(int64_t columns) const noexcept {
    if (strip_.even) return columns;
    constexpr int64_t kRoom = 256 << 10;  // [note 85]
    static_assert(kRoom + kRoom / 8 <= Buffers::kFirstBytes,
                  "a line of columns more has room, too");
    const int64_t parts = divide_up(columns, kRoom / Strip::wide_pitch(strip_.item));
    const int64_t line = kLine / strip_.item;
    return divide_up(divide_up(columns, parts), line) * line;
  }

  void add(const Strip& next) noexcept {
    if (strip_.source.src != nullptr) {
      if (!line_by_line_) strip_.next = next.source;
      transpose_(strip_);
    }
    strip_ = next;
  }

  static constexpr int64_t kBeyond = 4;  ///< bytes

  const bool line_by_line_;
  const int64_t at_once_;  ///< rows that are read line by line
  void (*const transpose_)(const Strip& strip);
  const bool thirds_;
  const FoldedPlanes& planes_;
  const bool in_step_;
  const char* const end_of_source_;
  int64_t highest_row_;
  int64_t near_;      ///< bytes from row to row, if they are one axis
  Strip strip_ = {};  ///< the strip to run when the next one is known
};

/// Whether the schedule is a transposition of items of any size: only strips have kernels for items
/// of 3, 6 and 12 bytes.
bool transposes_items(const Schedule& s) noexcept {
  if (s.is_transposition()) return true;
  return s.kind == PlaneKind::kRows && s.v >= 0 && s.axes[s.u].dst == s.item &&
         std::llabs(s.axes[s.v].src) == s.item;
}

/// Whether columns are consecutive in dst.
bool compact(const Schedule& s) noexcept { return s.axes[s.v].dst == s.axes[s.u].extent * s.item; }

/// Whether tiles are better than strips: for small items whose runs in dst are long and
/// consecutive, and whose rows fit into a tile.
bool are_tiles_better(const Schedule& s) noexcept {
  if (s.log_item < 0 || s.item >= 4 || s.folded()) return false;
  if (s.axes[s.u].extent * s.item < s.machine().tile_dst_bytes[s.log_item]) return false;
  return compact(s) && s.axes[s.v].extent * s.item <= 4 * kLine;
}

/// Whether rows are long enough to be read from end to end, some side by side: the processor
/// prefetches them however busy memory is. Rows of narrower items must be longer, because they make
/// shorter runs of dst.
bool has_rows_to_follow(const Schedule& s, const FoldedPlanes& planes) noexcept {
  constexpr int64_t kLong = 2048;  // bytes, of items of 16 [note 12]
  return s.item >= 8 && planes.rows.n() >= 2 * Strip::kTogether &&
         planes.columns.n() * s.item >= kLong * 16 / s.item;
}

/// Whether few rows are read at once, line by line: if the processor prefetches rows side by side,
/// long rows; with line registers the rows of one line of dst, if even these share so few cache
/// sets that each line must be read whole. `ahead`: caches hold a line of each row from its
/// prefetch until it is read.
bool goes_line_by_line(const Schedule& s, const FoldedPlanes& planes, bool ahead) noexcept {
  constexpr int kWays = 8;  // [note 49]
  if (s.log_item < 0) return false;
  if (s.machine().follows_rows()) {
    return has_rows_to_follow(s, planes) && (even(s, planes) || crowd_second_level(s, planes));
  }
  if (!s.machine().reads_lines_whole() || ahead || !even(s, planes)) return false;
  if (s.item >= 8) {                  // few rows: tiles are as fast if axes are long
    constexpr int64_t kShort = 1024;  // [note 89]
    return std::min(s.axes[s.u].extent, s.axes[s.v].extent) * s.item < kShort;
  }
  return !fit(s.machine(), planes.rows, kLine / s.item, kWays);
}

/// Whether several rows of a plane are the same row of src.
bool repeats_rows(const Schedule& s) noexcept {
  for (int k = 0; k < s.ndim; ++k) {
    if (s.axes[k].src == 0) return true;
  }
  return false;
}

/// Whether copying some lines of each row together first is best.
bool suits_gathering(const Schedule& s, const FoldedPlanes& planes) noexcept {
  const Machine::Gathers gathers = s.machine().gathers();
  if (s.log_item < 0) return false;
  if (gathers == Machine::Gathers::kColliding) {
    return s.item <= 4 && !repeats_rows(s) && !fit(s.machine(), planes.rows, kAhead, 1);
  }
  if (gathers == Machine::Gathers::kNever) return false;
  if (gathers == Machine::Gathers::kFolded && !s.folded()) return false;
  const CopyAxis& u = s.axes[s.u];
  const int64_t column = planes.rows.n() * s.item;
  const int64_t row = planes.columns.n() * s.item;
  if (crowd_second_level(s, planes)) {
    // Tiles are as fast if short columns of wide items are consecutive in dst.
    if (compact(s) && (s.item == 16 || (s.item == 8 && column < 1024))) return false;
    return row >= 4 * kLine && column >= 4 * kLine;
  }
  if (column < s.machine().long_row_bytes) return false;
  if (s.item <= 2 && row >= 2 * kLine && gathers == Machine::Gathers::kOften) return true;
  // Rows so close that the processor takes a strip for a stream, and fetches the lines between too
  // early.
  constexpr int64_t kClose = 16 * kLine;  // [note 56]
  constexpr int64_t kMany = 32;           // [note 56]
  if (row >= 2 * kLine && u.extent >= kMany && std::llabs(u.src) < kClose) return true;
  // Single bytes that tiles cannot take by lines of dst.
  return s.item == 1 && row >= 4 * kLine && !planes.columns.in_step(kLine);
}

/// Whether strips pay: columns are so long that their partial lines do not matter, and tiles are
/// not faster.
bool has_strips(const Schedule& s, const StripPlan& plan) noexcept {
  const bool only_strips = only_strips_arrange(s.item);
  if (plan.planes.rows.n() * s.item < s.machine().shortest_column(s.item, only_strips))
    return false;
  if (kernel(s) == nullptr) return false;
  return plan.line_by_line || (plan.ahead && !are_tiles_better(s));
}

/// Whether only strips arrange the items, and there are enough of them.
bool are_best_in_strips(const Job& job) noexcept {
  const Schedule& s = job.s;
  if (!only_strips_arrange(s.item) || !transposes_items(s)) return false;
  const int64_t fewest = s.item == 3 ? 32 << 10 : 256 << 10;  // bytes [note 62]
  if (s.bytes() < fewest || !job.has_buffers()) return false;
  const StripPlan* const plan = job.strip_plan();
  return plan != nullptr && has_strips(s, *plan);
}

}  // namespace

StripPlan::StripPlan(const Schedule& s, Buffers::Offsets* offsets) noexcept
    : planes(s, true, offsets->row, s.machine().most_strip_rows(), offsets->column,
             Tiling::kOffsets) {
  ahead = fit(s.machine(), planes.rows, kAhead, s.machine().strip_cache_ways());
  line_by_line = goes_line_by_line(s, planes, ahead);
  gathers = !line_by_line && suits_gathering(s, planes);
}

const StripPlan* Job::strip_plan() const noexcept {
  if (!has_strip_plan_) {
    has_strip_plan_ = true;
    if (transposes_items(s)) {
      const StripPlan& plan = *new (buffers().strip_plan()) StripPlan(s, buffers().offsets());
      if (plan.planes.rows.n() * s.item >= 2 * kLine) strip_plan_ = &plan;
    }
  }
  return strip_plan_;
}

bool suits_cached_strips(const Job& job) noexcept {
  return only_strips_arrange(job.s.item) && !job.s.past_caches() && are_best_in_strips(job);
}

bool suits_cached_strips_past_caches(const Job& job) noexcept {
  return only_strips_arrange(job.s.item) && job.s.past_caches() && are_best_in_strips(job);
}

bool suits_line_by_line(const Job& job) noexcept {
  if (goes_in_order(job)) return false;
  const StripPlan* const plan = job.strip_plan();
  return plan != nullptr && plan->line_by_line && has_strips(job.s, *plan);
}

bool suits_strips(const Job& job) noexcept {
  if (goes_in_order(job)) return false;
  const StripPlan* const plan = job.strip_plan();
  return plan != nullptr && !plan->line_by_line && has_strips(job.s, *plan);
}

void run_strips(const Job& job) noexcept {
  const StripPlan& plan = *job.strip_plan();
  Strips strips(job.s, job.buffers(), plan.planes, plan.line_by_line);
  plan.planes.each([&](char* dst, const char* src) { strips.add_plane(dst, src); });
  strips.finish();
  job.kernels.fence();
}

}  // namespace dlx
