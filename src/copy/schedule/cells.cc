#include "src/copy/schedule/cells.h"

#include <cstdlib>

namespace dlx {
bool complete_cells(Cells* cells, int64_t lowest, int64_t highest) noexcept {
  const int64_t step = std::llabs(cells->src);
  const int64_t room = kReach - (highest - lowest);
  if (step == 0 || room < step) return false;
  int64_t count = 1 + room / step;  // at least 2, also of cells of 8 bytes
  if (count > kReach / cells->dst) count = kReach / cells->dst;
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

int64_t padded(int64_t cell) noexcept {
  int64_t bytes = 1;
  while (bytes < cell) bytes *= 2;
  return bytes;
}

namespace {

/// Takes the innermost `taken` axes as a cell of at most 8 bytes, compact in dst and within one
/// permutation of src. The axis before them repeats the cell: without gaps in dst or, if kernels
/// can leave bytes out, at most 8 bytes apart.
bool find_cells(const Schedule& s, int taken, Cells* cells) noexcept {
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
  const bool apart =
      s.kernels().cells_apart != nullptr && repeated.dst <= 8 && repeated.dst > bytes;
  if ((repeated.dst != bytes && !apart) || std::llabs(repeated.src) > kReach) return false;
  cells->dst = static_cast<int32_t>(bytes);
  cells->src = static_cast<int32_t>(repeated.src);
  return complete_cells(cells, lowest, highest);
}

constexpr int64_t kManyCells = 256;     // [note 68]
constexpr int64_t kManyAlternate = 64;  // of every second item [note 68]

/// Whether short rows of cells along axis u follow each other on both sides: each may reach into
/// the next.
bool cells_go_on(const Schedule& s, int u) noexcept {
  constexpr int64_t kManyRows = 16;  // [note 68]
  constexpr int64_t kFewest = 8;     // cells: fewer are moved faster one by one [note 68]
  if (u == 0 || s.axes[u].extent < kFewest || s.cells.src < 0) return false;
  if (s.cells.every == 2 && s.cells.dst >= 4) return false;  // gathered as fast
  const CopyAxis& row = s.axes[u - 1];
  for (int k = 0; k < u - 1; ++k) {
    if (s.axes[k].src != 0 && std::llabs(s.axes[k].src) < row.src) return false;
  }
  return s.cells.may_read_on(row.src, s.axes[u].extent) && row.extent >= kManyRows &&
         row.dst == s.axes[u].extent * s.cells.dst;
}

}  // namespace

bool choose_cells(Schedule* s, int least) noexcept {
  for (int taken = s->ndim > 3 ? 3 : s->ndim - 1; taken >= least; --taken) {
    if (!find_cells(*s, taken, &s->cells)) continue;
    // Few cells, or few cells at once, are moved faster one by one.
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

}  // namespace dlx
