#include "src/copy/schedule/schedule.h"

#include <algorithm>
#include <cstdlib>

#include "src/copy/kernels/lines.h"
#include "src/copy/schedule/cells.h"

namespace dlx {

int log2_of_item(int64_t item) noexcept {
  switch (item) {
    case 1: return 0;
    case 2: return 1;
    case 4: return 2;
    case 8: return 3;
    case 16: return 4;
    default: return -1;
  }
}

namespace {

constexpr int64_t kFewItems = 24;  // planes with fewer items move faster item by item [note 73]

/// About how many lines `extent` items touch; neighbouring rows may share one.
double lines(int64_t extent, int64_t step, int64_t item) noexcept {
  if (step == 0 || extent == 1) return 1;
  const int64_t far = std::llabs(step);
  if (far >= kLine) return static_cast<double>(extent);
  return std::max(1.0, static_cast<double>((extent - 1) * far + item) / kLine);
}

/// Rows of dst with gaps share lines of dst with the next rows along `before`, the axis outside u,
/// and lines of src with the next rows along `near`. Says whether rows go along `before`: compares
/// how many lines a row takes from the next cache.
bool goes_along_dst(const Schedule& s, const CopyAxis& before, const CopyAxis& near) noexcept {
  constexpr double kStore = 2;   // cost of a line of dst: stores do not overlap [note 26]
  constexpr double kCall = 16;   // cost of a plane [note 26]
  constexpr int64_t kMany = 64;  // rows, from which on kCall does not matter [note 26]
  const CopyAxis& u = s.axes[s.u];
  const auto part = [](int64_t step) {
    return static_cast<double>(std::min<int64_t>(std::llabs(step), kLine)) / kLine;
  };
  const auto call = [&](const CopyAxis& v) {
    return kCall / static_cast<double>(std::min<int64_t>(v.extent, kMany));
  };
  // The lines of src that stay in a first-level cache. Steps of less than a line cost no sets.
  const bool apart = std::llabs(u.src) >= kLine;
  const bool rows_apart = std::llabs(before.src) >= kLine;
  const int64_t steps = (apart ? u.src : 0) | (rows_apart ? before.src : 0);
  const double most = steps == 0 ? kFirstLevelLines : 2 * rows_cached(steps);
  const double row = lines(u.extent, u.src, s.item);
  const double rows = lines(before.extent, before.src, s.item);
  const bool holds = row * rows <= most;
  const bool holds_row = !apart || u.extent <= 2 * rows_cached(u.src);
  const double read = row * (holds ? part(near.src) : holds_row ? part(before.src) : 1);
  const double alone = std::max(1.0, static_cast<double>(u.extent * u.dst) / kLine);
  const double together = before.dst < kLine ? part(before.dst) : alone;
  const double written = near.extent <= 2 * rows_cached(near.dst) ? together : alone;
  const double along_dst = read + kStore * together + call(before);
  const double along_src = row * part(near.src) + kStore * written + call(near);
  // If rows share no lines of src, neighbouring rows are read fastest.
  return along_dst < along_src || (along_dst == along_src && std::llabs(near.src) < kLine);
}

/// Whether items touch along u in dst and along axis k in src, so that registers can transpose
/// them.
bool touch_along(const Schedule& s, int k) noexcept {
  return s.axes[s.u].dst == s.item && std::llabs(s.axes[k].src) == s.item;
}

/// The axis along which rows share most lines of src: the nearest one or, if nothing can be
/// transposed along it, the one with most items in a line. -1: src does not move. [note 27]
int axis_of_shared_lines(const Schedule& s) noexcept {
  int near = -1;
  int most = -1;
  int64_t near_items = 0;  // in a line
  int64_t most_items = 0;
  for (int k = s.ndim - 1; k >= 0; --k) {
    const int64_t step = std::llabs(s.axes[k].src);
    if (k == s.u || step == 0) continue;
    const int64_t items = step > kLine ? 0 : std::min<int64_t>(s.axes[k].extent, kLine / step);
    if (near < 0 || step < std::llabs(s.axes[near].src)) {
      near = k;
      near_items = items;
    }
    if (most < 0 || items > most_items) {
      most = k;
      most_items = items;
    }
  }
  return near_items == most_items || touch_along(s, near) ? near : most;
}

/// The axis v of planes: the axis of shared lines, or the one outside u.
int axis_of_rows(const Schedule& s) noexcept {
  const int near = axis_of_shared_lines(s);
  const int before = s.ndim - 2;
  if (near < 0 || near == before) return before;
  const CopyAxis& u = s.axes[s.u];
  const int64_t step = std::llabs(s.axes[near].src);
  const bool shares_lines = step < kLine || step <= s.item;
  // If rows share no lines, repeated rows are still in the cache.
  if (s.axes[before].src == 0 && !shares_lines) return before;
  const bool compact = u.dst == s.item && s.axes[before].dst == u.extent * u.dst;
  const bool arranged = touch_along(s, near) && u.extent * s.axes[near].extent >= kFewItems;
  if (compact || arranged) return near;
  const bool is_repeated = u.src == 0;  // all rows read the same line of src
  return is_repeated || goes_along_dst(s, s.axes[before], s.axes[near]) ? before : near;
}

/// Whether each row repeats one item, and is long enough to be filled by itself.
bool has_long_fills(const Schedule& s) noexcept {
  const CopyAxis& u = s.axes[s.u];
  const int64_t bytes = u.extent * s.item;
  const bool few_items = s.v >= 0 && s.axes[s.v].extent * s.item < 64;
  return u.src == 0 && bytes >= (few_items ? 16 : kLine);
}

/// The axis that continues v in src, in either direction, and is not taken along u; -1: none.
int next_along_v(const Schedule& s, int64_t bytes) noexcept {
  for (int k = s.ndim - 1 - s.u_count; k >= 0; --k) {
    if (std::llabs(s.axes[k].src) == bytes && !s.along_v(k)) return k;
  }
  return -1;
}

/// Folds neighbours into u and v if these are shorter than a line, and if both become at least a
/// register. [note 85]
void fold(Schedule* s) noexcept {
  const CopyAxis& u = s->axes[s->u];
  if (has_long_fills(*s)) return;
  if (s->v < 0 || !touch_along(*s, s->v)) return;
  int64_t u_bytes = u.extent * s->item;
  int64_t v_bytes = s->axes[s->v].extent * s->item;
  for (;;) {
    int k = s->ndim - 1 - s->u_count;
    if (u_bytes >= kLine || k < 0 || s->axes[k].dst != u_bytes || s->along_v(k)) k = -1;
    const int l = v_bytes < kLine ? next_along_v(*s, v_bytes) : -1;
    if (l >= 0 && (k < 0 || v_bytes <= u_bytes)) {
      s->v_axes[s->v_count++] = l;
      v_bytes *= s->axes[l].extent;
    } else if (k >= 0) {
      ++s->u_count;
      u_bytes *= s->axes[k].extent;
    } else {
      break;
    }
  }
  constexpr int64_t kRegister = 16;
  if (u_bytes < kRegister || v_bytes < kRegister) s->u_count = s->v_count = 1;
}

PlaneKind choose_kind(const Schedule& s) noexcept {
  if (s.u_count > 1 || s.v_count > 1) return PlaneKind::kFolded;
  const CopyAxis& u = s.axes[s.u];
  if (s.log_item < 0) return PlaneKind::kRows;
  if (u.dst != s.item) return PlaneKind::kSpread;
  if (s.v < 0 || !touch_along(s, s.v)) return PlaneKind::kGather;
  const CopyAxis& v = s.axes[s.v];
  const bool narrow_u = u.extent * s.item < 16;
  const bool narrow_v = v.extent * s.item < 16;
  if (has_long_fills(s)) return PlaneKind::kGather;
  // Blocks of two by two would copy the middle one twice.
  if (s.item == 8 && u.extent == 3 && v.extent >= 64) return PlaneKind::kGather;
  if (!narrow_u && !narrow_v) return PlaneKind::kTranspose;
  if (u.extent * v.extent < kFewItems) return PlaneKind::kGather;
  if (narrow_v && !narrow_u && u.src > 0 && u.src <= 4096) return PlaneKind::kSplit;
  if (narrow_u && !narrow_v && v.dst >= u.extent * s.item && v.src > 0) return PlaneKind::kJoin;
  return PlaneKind::kGather;
}

/// Whether lines of `rows` source rows, at most 64, share so few sets of the first-level cache that
/// they evict each other.
bool crowd_first_level(int64_t step, int64_t rows) noexcept {
  constexpr int64_t kNear =
      448;  // bytes: with steps below, as many rows cannot fill a set [note 50]
  if (step > -kNear && step < kNear) return false;
  uint8_t used[kFirstLevelSets] = {};
  for (int64_t r = 0; r < rows; ++r) {
    const uint64_t line = static_cast<uint64_t>(r * step) / kLine;
    if (++used[line % kFirstLevelSets] > kFirstLevelWays) return true;
  }
  return false;
}

/// Chooses how many cells of a split or join one register takes, and where their bytes go. `cell`:
/// step from cell to cell; `items`: items wanted of each.
void choose_group(Schedule* s, int64_t cell, int64_t items, bool split) noexcept {
  int64_t group = 8 / s->item;
  while (group > 1 &&
         (items * group * s->item > kReach || (group - 1) * cell + items * s->item > kReach)) {
    group /= 2;
  }
  s->log_group = group == 8 ? 3 : group == 4 ? 2 : group == 2 ? 1 : 0;
  for (uint8_t& from : s->pick.from) from = 0;
  for (int64_t i = 0; i < items; ++i) {
    for (int64_t c = 0; c < group; ++c) {
      for (int64_t b = 0; b < s->item; ++b) {
        const int64_t in_cell = c * cell + i * s->item + b;
        const int64_t in_unit = i * group * s->item + c * s->item + b;
        const int64_t to = split ? in_unit : in_cell;
        const int64_t from = split ? in_cell : in_unit;
        s->pick.from[to] = s->pick.from[to + 16] = static_cast<uint8_t>(from);
      }
    }
  }
}

}  // namespace

Schedule::Schedule(const CopyPlan& plan, const Machine& machine, Held held,
                   bool past_caches) noexcept
    : item(plan.item()),
      ndim(plan.ndim()),
      dst(plan.dst()),
      src(plan.src()),
      machine_(&machine),
      held_(held),
      past_caches_(past_caches) {
  for (int k = 0; k < ndim; ++k) axes[k] = plan.axis(k);
  if (ndim == 0) return;
  const Kernels& kernels = *machine.kernels;
  const bool can_permute = kernels.cells != nullptr;
  const bool permuted = can_permute && choose_cells(this, 1);
  log_item = log2_of_item(item);
  u = ndim - 1;
  v = v_axes[0] = axis_of_rows(*this);
  if (permuted) return;
  if (log_item >= 0) fold(this);
  kind = choose_kind(*this);
  // Splitting a stream into several at once beats cells; else cells win.
  if (kind == PlaneKind::kGather || kind == PlaneKind::kRows || kind == PlaneKind::kSpread) {
    if (can_permute && choose_cells(this, 0)) return;
  }
  if (is_transposition()) {
    staged = crowd_first_level(axes[u].src, std::min(kLine / item, axes[u].extent));
    woven = (staged || folded()) && kernels.weave[log_item] != nullptr;
  }
  if (!can_permute) return;
  if (kind == PlaneKind::kSplit) choose_group(this, axes[u].src, axes[v].extent, true);
  if (kind == PlaneKind::kJoin) {
    const int64_t cell = axes[u].extent * item;
    const bool apart = axes[v].dst != cell;
    choose_group(this, apart ? padded(cell) : cell, axes[u].extent, false);
  }
}

bool Schedule::along_v(int axis) const noexcept {
  for (int i = 0; i < v_count; ++i) {
    if (v_axes[i] == axis) return true;
  }
  return false;
}

bool Schedule::has_whole_lines() const noexcept {
  return kind == PlaneKind::kRows && (item % kLine == 0 || item >= 2 * kLine);
}

bool Schedule::transposes() const noexcept {
  if (is_transposition()) return true;
  if ((kind != PlaneKind::kRows && kind != PlaneKind::kGather) || v < 0) return false;
  const int64_t near = std::llabs(axes[v].src);
  const int64_t line_or_run = std::max(item, kLine);
  const bool shares_lines = near > 0 && (near < kLine || near <= item);
  return shares_lines && std::llabs(axes[u].src) > 2 * line_or_run;
}

int64_t Schedule::highest_of_item() const noexcept {
  if (kind != PlaneKind::kCells) return item - 1;
  return std::max<int64_t>(0, *std::max_element(cells.from, cells.from + cells.dst));
}

const char* Schedule::end_of_source() const noexcept {
  int64_t highest = highest_of_item() + 1;
  for (int k = 0; k < ndim; ++k) {
    if (axes[k].src > 0) highest += (axes[k].extent - 1) * axes[k].src;
  }
  return src + highest;
}

bool moves_items(const Schedule& s) noexcept {
  if (s.kind == PlaneKind::kSplit) return s.kernels().split[s.log_item][s.log_group] == nullptr;
  return s.by_items();
}

}  // namespace dlx
