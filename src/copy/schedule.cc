#include "src/copy/schedule.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "src/copy/lines.h"
#include "src/copy/transposed.h"
#include "src/copy/tuning.h"

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

constexpr int64_t kReach = 16;  // bytes that a byte permutation sees

/// Fills in what follows from the bytes of one cell: how many cells a permutation takes at once.
/// False if that is not at least two.
bool complete_cells(Cells* cells, int64_t lowest, int64_t highest) noexcept {
  const int64_t step = std::llabs(cells->src);
  const int64_t room = kReach - (highest - lowest);
  if (step == 0 || step > kReach || room < step) return false;
  int64_t count = 1 + room / step;
  if (count > kReach / cells->dst) count = kReach / cells->dst;
  if (count < 2) return false;
  cells->at_once = static_cast<int32_t>(count);
  const bool every = cells->src == 2 * cells->dst || cells->src == 3 * cells->dst;
  cells->every = static_cast<int8_t>(every ? cells->src / cells->dst : 0);
  for (int j = 0; j < cells->dst; ++j) {
    if (cells->from[j] != j) cells->every = 0;
  }
  const int64_t last = (count - 1) * cells->src;
  cells->lowest = static_cast<int32_t>(last < 0 ? lowest + last : lowest);
  const int64_t used = count * cells->dst;
  const int64_t span = highest - lowest + (count - 1) * step;
  cells->edge_src = static_cast<int32_t>((kReach - span + step - 1) / step);
  cells->edge_dst = static_cast<int32_t>((kReach - used + cells->dst - 1) / cells->dst);
  for (int i = 0; i < 16; ++i) {
    cells->pick.from[i] = cells->pick_up.from[i] = 0;
  }
  for (int i = 0, cell = 0, byte = 0; i < used; ++i) {
    const auto from = static_cast<uint8_t>(cell * cells->src + cells->from[byte] - cells->lowest);
    cells->pick.from[i] = from;
    cells->pick_up.from[16 - used + i] = from;
    if (++byte == cells->dst) {
      byte = 0;
      ++cell;
    }
  }
  for (int i = 0; i < 16; ++i) {
    cells->pick.from[i + 16] = cells->pick.from[i];
    cells->pick_up.from[i + 16] = cells->pick_up.from[i];
  }
  return true;
}

/// Takes the innermost `taken` axes as a cell of at most 8 bytes, compact in dst and within reach
/// of one permutation in src, repeated along the axis before them: right behind each other in dst
/// or, where kernels can leave bytes alone, at most 8 bytes apart.
bool find_cells(const Schedule& s, const Kernels& kernels, int taken, Cells* cells) noexcept {
  int64_t bytes = s.item;
  int64_t lowest = 0;
  int64_t highest = s.item;
  if (bytes > 8) return false;
  for (int64_t b = 0; b < s.item; ++b) cells->from[b] = static_cast<int8_t>(b);
  for (int k = s.ndim - 1; k >= s.ndim - taken; --k) {
    const CopyAxis& axis = s.axes[k];
    if (axis.dst != bytes || bytes * axis.extent > 8 || std::llabs(axis.src) > kReach) return false;
    for (int64_t i = 1; i < axis.extent; ++i) {
      for (int64_t b = 0; b < bytes; ++b) {
        cells->from[i * bytes + b] = static_cast<int8_t>(i * axis.src + cells->from[b]);
      }
    }
    (axis.src < 0 ? lowest : highest) += (axis.extent - 1) * axis.src;
    bytes *= axis.extent;
    if (highest - lowest > kReach) return false;
  }
  const CopyAxis& repeated = s.axes[s.ndim - taken - 1];
  const bool apart = kernels.cells_apart != nullptr && repeated.dst <= 8 && repeated.dst > bytes;
  if ((repeated.dst != bytes && !apart) || std::llabs(repeated.src) > kReach) return false;
  cells->dst = static_cast<int32_t>(bytes);
  cells->src = static_cast<int32_t>(repeated.src);
  return complete_cells(cells, lowest, highest);
}

constexpr int64_t kManyCells = 256;
constexpr int64_t kManyAlternate = 64;  // of every second item

/// Whether short rows of cells along axis u follow each other on both sides: each may reach into the next.
bool cells_go_on(const Schedule& s, int u) noexcept {
  constexpr int64_t kManyRows = 16;
  constexpr int64_t kFewest = 8;  // cells: fewer are moved faster one by one
  if (u == 0 || s.axes[u].extent < kFewest || s.cells.src < 0) return false;
  if (s.cells.every == 2 && s.cells.dst >= 4) return false;  // gathered as fast
  const CopyAxis& row = s.axes[u - 1];
  for (int k = 0; k < u - 1; ++k) {
    if (s.axes[k].src != 0 && std::llabs(s.axes[k].src) < row.src) return false;
  }
  const bool near = row.src > 0 && row.src - (s.axes[u].extent - 1) * s.cells.src < Cells::kNear;
  return near && row.extent >= kManyRows && row.dst == s.axes[u].extent * s.cells.dst;
}

/// Looks for cells of at least `least` axes.
bool choose_cells(Schedule* s, const Kernels& kernels, int least) noexcept {
  for (int taken = s->ndim > 3 ? 3 : s->ndim - 1; taken >= least; --taken) {
    if (!find_cells(*s, kernels, taken, &s->cells)) continue;
    // Few of them, or few at once, are moved faster one by one.
    const int u = s->ndim - taken - 1;
    const int64_t count = s->axes[u].extent;
    const bool can_gather = taken == 0 && log2_of_item(s->item) >= 0;
    const bool ends_cost = can_gather && s->cells.src < 0 && s->cells.edge_dst > 0;
    int64_t many = ends_cost ? 2 * kManyCells : kManyCells;
    if (s->cells.every == 2) many = kManyAlternate;
    const bool open = cells_go_on(*s, u);
    if (!open && (count < 2 * s->cells.at_once || count * s->cells.at_once < many)) continue;
    if (can_gather && s->cells.at_once == 2 && s->cells.every != 2) continue;
    s->kind = PlaneKind::kCells;
    s->item = s->cells.dst;
    s->ndim -= taken;
    return true;
  }
  return false;
}

/// The axis other than u along which src moves least, but does move.
int nearest_source_axis(const Schedule& s) noexcept {
  int best = -1;
  for (int k = s.ndim - 1; k >= 0; --k) {
    if (k == s.u || s.axes[k].src == 0) continue;
    if (best < 0 || std::llabs(s.axes[k].src) < std::llabs(s.axes[best].src)) best = k;
  }
  const int before = s.ndim - 2;
  if (best < 0) return before;
  // Where no lines are shared, rows that are copied again are at hand.
  const int64_t step = std::llabs(s.axes[best].src);
  const bool shares_lines = step < kLine || step <= s.item;
  return s.axes[before].src == 0 && !shares_lines ? before : best;
}

/// Whether rows are of one and the same item, and long enough to be filled one by one.
bool has_long_fills(const Schedule& s) noexcept {
  const CopyAxis& u = s.axes[s.u];
  const int64_t bytes = u.extent * s.item;
  const bool few_items = s.v >= 0 && s.axes[s.v].extent * s.item < 64;
  return u.src == 0 && bytes >= (few_items ? 16 : kLine);
}

/// Bytes from which on an axis is long enough to need no others.
constexpr int64_t kLong = 64;

/// The axis that continues v in src, in either direction, and is not taken along u; -1: none.
int next_along_v(const Schedule& s, int64_t bytes) noexcept {
  for (int k = s.ndim - 1 - s.u_count; k >= 0; --k) {
    if (std::llabs(s.axes[k].src) == bytes && !s.along_v(k)) return k;
  }
  return -1;
}

/// Folds neighbours with u and v where these are short, if that makes both at least a register.
void fold(Schedule* s) noexcept {
  const CopyAxis& u = s->axes[s->u];
  if (has_long_fills(*s)) return;
  if (s->v < 0 || u.dst != s->item || std::llabs(s->axes[s->v].src) != s->item) return;
  int64_t u_bytes = u.extent * s->item;
  int64_t v_bytes = s->axes[s->v].extent * s->item;
  for (;;) {
    int k = s->ndim - 1 - s->u_count;
    if (u_bytes >= kLong || k < 0 || s->axes[k].dst != u_bytes || s->along_v(k)) k = -1;
    const int l = v_bytes < kLong ? next_along_v(*s, v_bytes) : -1;
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
  if (s.folded()) return PlaneKind::kTranspose;
  const CopyAxis& u = s.axes[s.u];
  if (s.log_item < 0) return PlaneKind::kRows;
  if (u.dst != s.item) return PlaneKind::kSpread;
  if (s.v < 0 || std::llabs(s.axes[s.v].src) != s.item) return PlaneKind::kGather;
  const CopyAxis& v = s.axes[s.v];
  const bool narrow_u = u.extent * s.item < 16;
  const bool narrow_v = v.extent * s.item < 16;
  if (has_long_fills(s)) return PlaneKind::kGather;
  // Blocks of two by two would do the one in the middle twice.
  if (s.item == 8 && u.extent == 3 && v.extent >= 64) return PlaneKind::kGather;
  if (!narrow_u && !narrow_v) return PlaneKind::kTranspose;
  constexpr int64_t kFew = 24;  // items, which are moved faster one by one
  if (u.extent * v.extent < kFew) return PlaneKind::kGather;
  if (narrow_v && !narrow_u && u.src > 0 && u.src <= 4096) return PlaneKind::kSplit;
  if (narrow_u && !narrow_v && v.dst >= u.extent * s.item && v.src > 0) return PlaneKind::kJoin;
  return PlaneKind::kGather;
}

/// Whether lines of `rows` source rows crowd into so few sets of a first-level cache (64 sets of 8
/// on most processors) that they would push each other out.
bool rows_collide(int64_t step, int64_t rows) noexcept {
  if (step > -448 && step < 448) return false;
  uint8_t used[64] = {};
  for (int64_t r = 0; r < rows; ++r) {
    if (++used[(static_cast<uint64_t>(r * step) >> 6) & 63] > 8) return true;
  }
  return false;
}

/// What cells are put together in that are to go apart: whole registers hold as many as before.
int64_t padded(int64_t cell) noexcept {
  int64_t bytes = 1;
  while (bytes < cell) bytes *= 2;
  return bytes;
}

/// How many cells of a split or join one register takes, and where their bytes go. `cell` is the
/// step from one cell to the next, `items` of `item` bytes are wanted of each.
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

Schedule::Schedule(const CopyPlan& plan, const Kernels& kernels) noexcept
    : item(plan.item()), ndim(plan.ndim()), dst(plan.dst()), src(plan.src()) {
  for (int k = 0; k < ndim; ++k) axes[k] = plan.axis(k);
  if (ndim == 0) return;
  const bool can_permute = kernels.cells != nullptr;
  const bool permuted = can_permute && choose_cells(this, kernels, 1);
  log_item = log2_of_item(item);
  u = ndim - 1;
  v = v_axes[0] = nearest_source_axis(*this);
  if (permuted) return;
  if (log_item >= 0) fold(this);
  kind = choose_kind(*this);
  // One stream into several at once is better than one after the other; else cells win.
  if (kind == PlaneKind::kGather || kind == PlaneKind::kRows || kind == PlaneKind::kSpread) {
    if (can_permute && choose_cells(this, kernels, 0)) return;
  }
  if (kind == PlaneKind::kTranspose) {
    staged = rows_collide(axes[u].src, std::min(kLine / item, axes[u].extent));
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
  if (kind == PlaneKind::kTranspose) return true;
  if ((kind != PlaneKind::kRows && kind != PlaneKind::kGather) || v < 0) return false;
  const int64_t near = std::llabs(axes[v].src);
  const int64_t line_or_run = std::max(item, kLine);
  const bool shares_lines = near > 0 && (near < kLine || near <= item);
  return shares_lines && std::llabs(axes[u].src) > 2 * line_or_run;
}

const char* Schedule::end_of_source() const noexcept {
  int64_t highest = item;  // behind the highest item
  if (kind == PlaneKind::kCells) {
    highest = 1 + std::max<int64_t>(0, *std::max_element(cells.from, cells.from + cells.dst));
  }
  for (int k = 0; k < ndim; ++k) {
    if (axes[k].src > 0) highest += (axes[k].extent - 1) * axes[k].src;
  }
  return src + highest;
}

bool moves_items(const Schedule& s, const Kernels& kernels) noexcept {
  if (s.kind == PlaneKind::kSplit) return kernels.split[s.log_item][s.log_group] == nullptr;
  return s.by_items();
}

int64_t rows_cached(int64_t step) noexcept {
  constexpr int64_t kPage = 64 * kLine;
  const int64_t apart = std::max(step & -step, kLine);  // between the sets that they share
  return 4 * std::max<int64_t>(kPage / apart, 1);
}

Plane plane_of(const Schedule& s) noexcept {
  const CopyAxis& u = s.u >= 0 ? s.axes[s.u] : kNoAxis;
  const CopyAxis& v = s.v >= 0 ? s.axes[s.v] : kNoAxis;
  return {s.dst, u.dst, v.dst, s.src, u.src, v.src, u.extent, v.extent};
}

Plane ascending_v(Plane p) noexcept {
  if (p.sv < 0) {
    p.src += (p.nv - 1) * p.sv;
    p.dst += (p.nv - 1) * p.dv;
    p.sv = -p.sv;
    p.dv = -p.dv;
  }
  return p;
}

namespace {

/// Joins to cells that are not right behind each other in dst, by way of some that are.
void join_apart(const Schedule& s, const Kernels& kernels, const Plane& p) noexcept {
  constexpr int64_t kBytes = 2048;
  alignas(64) char buffer[kBytes];
  const int64_t cell = p.nu * s.item;
  const int64_t pitch = padded(cell);
  Cells cells;
  cells.dst = static_cast<int32_t>(cell);
  cells.src = static_cast<int32_t>(pitch);
  for (int b = 0; b < 8; ++b) cells.from[b] = static_cast<int8_t>(b);
  const bool masked =
      kernels.cells_apart != nullptr && p.dv <= 8 && complete_cells(&cells, 0, cell);
  // Stores with gaps wait for lines from memory, which not every processor fetches ahead for them.
  const bool asks = s.past_caches && tuning().has_larger_cache();
  for (int64_t v = 0; v < p.nv; v += kBytes / pitch) {
    const int64_t nv = std::min(p.nv - v, kBytes / pitch);
    char* const dst = p.dst + v * p.dv;
    for (int64_t b = nv * p.dv; asks && b < 2 * nv * p.dv; b += kLine) {
      __builtin_prefetch(dst + b, 1);
    }
    kernels.join[s.log_item][s.log_group](buffer, pitch, p.src + v * s.item, p.su, p.nu, nv,
                                          s.pick);
    if (masked) {
      kernels.cells_apart(dst, p.dv, buffer, nv, cells);
    } else {
      kernels.rows(dst, p.dv, buffer, pitch, cell, nv);
    }
  }
}

}  // namespace

namespace {

constexpr int64_t kReadAhead = 8192;  // bytes of rows with gaps between them

}  // namespace

bool ItemPlanes::asks_for_rows(const Schedule& schedule) noexcept {
  return schedule.past_caches && !tuning().has_larger_cache();
}

bool ItemPlanes::arranges(const Kernels& kernels, int64_t item, const Plane& shape) noexcept {
  constexpr int64_t kFurthest = 7;   // items from column to column
  constexpr int64_t kRegister = 16;  // bytes
  constexpr int64_t kShortest = 4;
  // A block costs as much as to move so many bytes of single items.
  constexpr int64_t kWholeBlock = 60;
  constexpr int64_t kNarrowBlock = 40;
  const int log_item = log2_of_item(item);
  if (log_item < 0 || log_item > 1 || kernels.transpose_every[log_item] == nullptr) return false;
  const int64_t step = std::llabs(shape.sv);
  if (shape.du != item || shape.nu * item < kRegister || shape.nv < 2) return false;
  if (step == 0 || step % item != 0 || step > kFurthest * item || step >= std::llabs(shape.su)) {
    return false;
  }
  int64_t load = kRegister;
  while (load > (shape.nv - 1) * step + item) load /= 2;
  if (load < kShortest || load <= step) return false;
  const int64_t columns = (load - item) / step + 1;
  const int64_t blocks = divide_up(shape.nv, columns) * divide_up(shape.nu * item, 2 * kRegister);
  const int64_t block = load == kRegister ? kWholeBlock : kNarrowBlock;
  return shape.nu * shape.nv * item > blocks * block;
}

ItemPlanes::ItemPlanes(const Schedule& schedule, const Kernels& kernels, const Plane& shape,
                       bool asks) noexcept
    : kernels_(kernels),
      item_(schedule.item),
      log_item_(schedule.log_item),
      shape_(shape),
      at_once_(shape.nu) {
  constexpr int64_t kBytesAtOnce = 16384;  // of both sides
  constexpr int64_t kWorthIt = 32;         // items
  Plane& p = shape_;
  fills_ = log_item_ >= 0 && p.su == 0 && p.du == item_ && p.nu * item_ >= 16;
  if (fills_) return;
  if (arranges(kernels, item_, p)) {
    p = ascending_v(p);
    lowest_dst_ = p.dst - shape.dst;
    lowest_src_ = p.src - shape.src;
    every_ = p.sv / item_;
    return;
  }
  const bool backwards = p.su == -item_ && p.du == item_ && p.nu * item_ >= 16;
  few_ = log_item_ >= 0 && p.nu >= 2 && (p.nu <= kFew || backwards) && p.nv > 1;
  if (few_) {
    if (asks) read_ = rows_of(p.su, p.sv, kReadAhead);
    return;
  }
  constexpr int64_t kWorthACall = 96;  // bytes, in runs
  const int64_t few = log_item_ < 0 ? 1 + divide_up(kWorthACall, item_)
                                    : std::min<int64_t>(16, (kLine / 2) >> log_item_);
  // Lines of src hold items of several v: either one after the other along v, or again and again
  // along u, for so many rows as stay in a first-level cache.
  const int64_t sv = std::llabs(p.sv);
  const bool shared = sv != 0 && sv < kLine && sv < std::llabs(p.su) && p.nv > 1;
  const int64_t cached = rows_cached(p.su);
  // A line that holds but two items or three is as soon read again, from the next cache.
  const int64_t kept = cached * std::max<int64_t>(1, sv / 8);
  const int64_t streams_cached = std::min(kWorthIt, rows_cached(p.dv));
  bool along_v = shared && kept < p.nu && cached < streams_cached;
  // What no cache is near enough for is better read from end to end, into a few streams of dst, than
  // as many times as rows have items.
  const bool dense = std::llabs(p.su) < 2 * p.nv * sv;
  const bool streams =
      shared && dense && p.nv <= streams_cached && p.nu * std::llabs(p.su) >= tuning().stream_bytes;
  if (streams) along_v = true;
  // Where rows of dst collide, too, a line goes to as many of them at a time as it holds items.
  const bool crowded = shared && !along_v && cached < kWorthIt && kept < p.nu && 2 * sv <= kLine;
  const bool in_kernels = log_item_ >= 0 && (crowded || (along_v && p.nv >= 2 && p.nv <= kFew));
  if (in_kernels) {
    along_v = true;
  } else if ((along_v ? p.nv : p.nu) < few) {
    along_v = p.nv > p.nu;
  }
  if (along_v) {
    std::swap(p.nu, p.nv);
    std::swap(p.du, p.dv);
    std::swap(p.su, p.sv);
  }
  if (in_kernels) {
    few_ = true;
    at_once_ = crowded ? std::min({kLine / sv, kFew, p.nu, streams_cached}) : p.nu;
    if (asks) read_ = rows_of(p.su, p.sv, kReadAhead);
    return;
  }
  at_once_ = shared && !along_v && cached >= kWorthIt ? cached : p.nu;
  constexpr int64_t kFollowed = 16;  // streams of src, by the processor itself
  const bool many = shared && !along_v && p.nu > kFollowed && p.nu <= at_once_;
  const bool far = p.nu * std::llabs(p.su) >= tuning().stream_bytes;
  if (many && far && p.du == item_) rows_of_a_line_ = kLine / sv;
  const bool again = shared && along_v && !streams;  // dst, as often as rows have items
  if (again || (p.nv > 1 && p.nv < few)) {
    const int64_t bytes =
        std::min<int64_t>(std::llabs(p.du), kLine) + std::min<int64_t>(std::llabs(p.su), kLine);
    at_once_ = kBytesAtOnce / std::max<int64_t>(bytes, 1);
    if (again) at_once_ = std::min(at_once_, rows_cached(p.du));
  }
  if (p.du != item_) written_ = rows_of(p.du, p.dv, 0);
  if (asks) read_ = rows_of(p.su, p.sv, kReadAhead);
}

ItemPlanes::Rows ItemPlanes::rows_of(int64_t along, int64_t across,
                                     int64_t bytes_ahead) const noexcept {
  constexpr int64_t kLongest = 4096;  // bytes
  constexpr int64_t kFewest = 4;      // rows
  constexpr int64_t kMost = 32;
  const int64_t bytes = std::min(at_once_, shape_.nu) * std::llabs(along);
  const int64_t least = bytes_ahead > 0 ? 1 : 2;  // items in a line
  const bool together = along != 0 && least * std::llabs(along) < kLine && bytes <= kLongest;
  const int64_t ahead = together ? std::clamp(bytes_ahead / bytes, kFewest, kMost) : 0;
  return {along,
          across,
          bytes,
          std::min(ahead, shape_.nv),
          together && std::llabs(across) > bytes + 2 * kLine,
          together};
}

inline void ItemPlanes::Rows::ask(const char* row) const noexcept {
  fetch_lines(along < 0 ? row - bytes - along : row, bytes);
}

inline void ItemPlanes::Rows::ask_later(const char* row) const noexcept {
  ask(row + ahead * across);
}

void ItemPlanes::ask_for(const char* next_to, const char* to, const char* next_from,
                         const char* from) const noexcept {
  const auto ask = [&](const Rows& rows, const char* next, const char* now)
                       __attribute__((always_inline)) {
                         const int64_t plane = shape_.nv * std::llabs(rows.across) + rows.bytes;
                         if (!rows.together || std::llabs(next - now) <= plane + kLine) return;
                         for (int64_t v = 0; v < rows.ahead; ++v) rows.ask(next + v * rows.across);
                       };
  ask(written_, next_to, to);
  ask(read_, next_from, from);
}

inline void ItemPlanes::ask_streams(const char* src, int64_t n) const noexcept {
  constexpr int64_t kLinesAhead = 8;
  src += shape_.sv < 0 ? -kLinesAhead * kLine : kLinesAhead * kLine;
  for (int64_t u = 0; u < n; ++u, src += shape_.su) __builtin_prefetch(src, 0, 2);
}

/// Processors with a larger cache have an instruction for long rows that no loop comes up to. The C
/// library knows when to use it.
inline void ItemPlanes::copy_rows(char* dst, const char* src, int64_t n) const noexcept {
  constexpr int64_t kLong = 32 << 10;  // bytes
  const Plane& p = shape_;
  if (item_ < kLong || !tuning().has_larger_cache()) {
    return kernels_.rows(dst, p.du, src, p.su, item_, n);
  }
  for (int64_t i = 0; i < n; ++i) {
    std::memcpy(dst + i * p.du, src + i * p.su, static_cast<size_t>(item_));
  }
}

void ItemPlanes::copy(char* to, const char* from) const noexcept {
  const Plane& p = shape_;
  if (fills_) {
    kernels_.fill_rows(to, p.dv, from, p.sv, item_, p.nu, p.nv);
    return;
  }
  if (every_ > 0) {
    kernels_.transpose_every[log_item_](to + lowest_dst_, p.dv, from + lowest_src_, p.su, every_,
                                        p.nu, p.nv);
    return;
  }
  if (few_) {
    const auto spread = kernels_.spread_short[log_item_];
    const int64_t most = read_.apart ? read_.ahead : p.nv;
    for (int64_t u = 0;; u = std::min(u + at_once_, p.nu - at_once_)) {
      char* const dst = to + u * p.du;
      const char* const src = from + u * p.su;
      for (int64_t v = 0; v < p.nv; v += most) {
        const int64_t rows = std::min(most, p.nv - v);
        for (int64_t i = 0; v + 2 * most <= p.nv && i < rows; ++i) {
          read_.ask_later(src + (v + i) * p.sv);
        }
        spread(dst + v * p.dv, p.du, p.dv, src + v * p.sv, p.su, p.sv, at_once_, rows);
      }
      if (u + at_once_ >= p.nu) return;
    }
  }
  const bool in_rows = log_item_ >= 0 && p.du == item_;
  const bool asks_ahead = written_.apart || read_.apart;
  for (int64_t u = 0; u < p.nu; u += at_once_) {
    const int64_t n = std::min(at_once_, p.nu - u);
    char* dst = to + u * p.du;
    const char* src = from + u * p.su;
    const int64_t together = rows_of_a_line_ > 0 ? rows_of_a_line_ : p.nv;
    const int64_t most = asks_ahead || log_item_ < 0 ? 1 : together;  // in one call
    for (int64_t v = 0, rows; v < p.nv; v += rows, dst += rows * p.dv, src += rows * p.sv) {
      rows = std::min(most, p.nv - v);
      if (rows_of_a_line_ > 0) ask_streams(src, n);
      if (written_.apart && v + written_.ahead < p.nv) written_.ask_later(dst);
      if (read_.apart && v + read_.ahead < p.nv) read_.ask_later(src);
      if (log_item_ < 0) {
        copy_rows(dst, src, n);
      } else if (in_rows) {
        kernels_.gather[log_item_](dst, p.dv, src, p.su, p.sv, n, rows);
      } else {
        kernels_.spread[log_item_](dst, p.du, p.dv, src, p.su, p.sv, n, rows);
      }
    }
  }
}

namespace {

/// Long rows of items of a size that gains by it begin with some items for themselves, so that stores
/// end with lines.
void split_plane(const Schedule& s, const Kernels& kernels, Plane p) noexcept {
  constexpr int64_t kLong = 1024;  // bytes
  const auto split = kernels.split[s.log_item][s.log_group];
  if (s.item >= 4 && p.nu * s.item >= kLong && p.dv % (kLine / 2) == 0) {
    const int64_t head = items_to_half_line(p.dst, s.item);
    split(p.dst, p.dv, p.src, p.su, head, p.nv, s.pick);
    p.dst += head * p.du;
    p.src += head * p.su;
    p.nu -= head;
  }
  split(p.dst, p.dv, p.src, p.su, p.nu, p.nv, s.pick);
}

}  // namespace

void copy_plane(const Schedule& schedule, const Kernels& kernels, const Plane& plane) noexcept {
  const int k = schedule.log_item;
  PlaneKind kind = schedule.kind;
  if (kind == PlaneKind::kTranspose && (plane.nu < 16 >> k || plane.nv < 16 >> k)) {
    kind = PlaneKind::kGather;  // a sliver at the end of a tile
  }
  switch (kind) {
    case PlaneKind::kTranspose: return transpose_plane(schedule, kernels, ascending_v(plane));
    case PlaneKind::kSplit:
      if (moves_items(schedule, kernels)) break;
      return split_plane(schedule, kernels, ascending_v(plane));
    case PlaneKind::kJoin:
      if (plane.dv != plane.nu * schedule.item) return join_apart(schedule, kernels, plane);
      return kernels.join[k][schedule.log_group](plane.dst, plane.dv, plane.src, plane.su, plane.nu,
                                                 plane.nv, schedule.pick);
    default: break;
  }
  if (kind != PlaneKind::kCells) {
    return ItemPlanes(schedule, kernels, plane).copy(plane.dst, plane.src);
  }
  if (plane.du == schedule.item) {
    constexpr int64_t kLongRow = 1024;  // bytes
    constexpr int64_t kCached = 1 << 20;
    const int64_t bytes = plane.nu * std::llabs(plane.su);
    int64_t at_once = plane.nv;
    if (bytes >= kLongRow && plane.nv * std::llabs(plane.sv) >= kCached) at_once = 1;
    const RowsAhead ahead(bytes, {plane.nv, plane.dv, plane.sv});
    const int64_t lowest = plane.su < 0 ? (plane.nu - 1) * plane.su : 0;
    for (int64_t v = 0; v < plane.nv; v += at_once) {
      const char* const src = plane.src + v * plane.sv;
      if (at_once == 1) ahead.ask(src + lowest);
      kernels.cells(plane.dst + v * plane.dv, plane.dv, src, plane.sv, plane.nu, at_once,
                    schedule.cells);
    }
    return;
  }
  for (int64_t v = 0; v < plane.nv; ++v) {
    kernels.cells_apart(plane.dst + v * plane.dv, plane.du, plane.src + v * plane.sv, plane.nu,
                        schedule.cells);
  }
}

}  // namespace dlx
