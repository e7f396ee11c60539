#ifndef DLX_SRC_COPY_SCHEDULE_SCHEDULE_H_
#define DLX_SRC_COPY_SCHEDULE_SCHEDULE_H_

#include <cstdint>

#include "src/copy/kernels/kernels.h"
#include "src/copy/plan/plan.h"

namespace dlx {

/// The kernels' index of an item of so many bytes; -1: there are none for its size.
int log2_of_item(int64_t item) noexcept;

/// How a plan's two innermost loops are run. Which one follows from the structure of the steps,
/// never from a dtype or a list of known layouts.
enum class PlaneKind {
  kRows,       ///< runs of bytes, far apart on either side
  kTranspose,  ///< unit step of dst along u, of src along v
  kSplit,      ///< the same with few items along v: one stream becomes several
  kJoin,       ///< the same with few items along u: several streams become one
  kGather,     ///< unit step of dst along u, any step of src
  kCells,      ///< short cells of bytes, permuted inside
  kSpread,     ///< any steps
};

/// A plan with its plane chosen: which two axes the kernels run along, and which kernel that is.
struct Schedule {
  explicit Schedule(const CopyPlan& plan, const Kernels& kernels) noexcept;

  /// Whether neighbours in src are far apart in dst and the other way round: only tiles that are
  /// long on both sides use each line once.
  bool transposes() const noexcept;

  /// Whether rows that lie side by side in src share no line of it, or but few.
  bool has_whole_lines() const noexcept;

  /// Whether items are moved one by one, whatever the order.
  bool by_items() const noexcept {
    return kind == PlaneKind::kGather || kind == PlaneKind::kSpread;
  }

  /// Whether rows are of one and the same item, and at least a register.
  bool fills() const noexcept {
    return kind == PlaneKind::kGather && axes[u].src == 0 && axes[u].extent * item >= 16;
  }

  /// Of dst.
  int64_t bytes() const noexcept {
    int64_t all = item;
    for (int k = 0; k < ndim; ++k) all *= axes[k].extent;
    return all;
  }

  /// Whether items of dst, wherever they are along all axes but one, begin at multiples of so many
  /// bytes, a power of two.
  bool begins_at_multiples(int64_t bytes, int but = -1) const noexcept {
    uint64_t all = reinterpret_cast<uintptr_t>(dst);
    for (int k = 0; k < ndim; ++k) {
      if (k != but) all |= static_cast<uint64_t>(axes[k].dst);
    }
    return all % static_cast<uint64_t>(bytes) == 0;
  }

  /// The highest byte of an item in src, counted from where it begins there.
  int64_t highest_of_item() const noexcept;

  /// Behind the last byte that is read.
  const char* end_of_source() const noexcept;

  PlaneKind kind = PlaneKind::kRows;
  int log_item = -1;  ///< log2_of_item()
  int64_t item = 0;
  int ndim = 0;
  int u = -1;  ///< axis along which dst is written; -1: a single item
  int v = -1;  ///< the other axis of the plane; -1: none

  /// Short axes are folded with their neighbours: the innermost `u_count` axes go along u, and
  /// along v those of v_axes. Together they are compact in dst and in src. More than one only in
  /// planes of kTranspose.
  int u_count = 1;
  int v_count = 1;
  int v_axes[CopyPlan::kMaxAxes] = {-1};
  bool folded() const noexcept { return u_count > 1 || v_count > 1; }
  bool along_v(int axis) const noexcept;
  bool in_plane(int axis) const noexcept { return axis >= ndim - u_count || along_v(axis); }

  /// What caches hold anyway: loops go in the order of the other.
  enum Held { kNeither, kDst, kSrc } held = kNeither;
  bool past_caches = false;  ///< caches do not hold the lines of dst and src together

  char* dst = nullptr;
  const char* src = nullptr;
  int log_group = 0;    ///< of split and join
  bool staged = false;  ///< rows of a transposition collide in the cache: copy them together first
  bool woven = false;   ///< staged, by kernels that fetch and stream beside it
  Pick pick;
  Cells cells;
  CopyAxis axes[CopyPlan::kMaxAxes];  ///< sorted by dst step, largest first
};

/// Fills in what follows from the bytes of one cell: how many cells a permutation takes at once.
/// False if that is not at least two.
bool complete_cells(Cells* cells, int64_t lowest, int64_t highest) noexcept;

/// What cells are put together in that are to go apart: whole registers hold as many as before.
int64_t padded(int64_t cell) noexcept;

/// Whether planes are for ItemPlanes: items move one by one, or cells of bytes of which no two lie
/// in one load are split.
bool moves_items(const Schedule& schedule, const Kernels& kernels) noexcept;

/// How many rows so far apart leave a line each in half of a first-level cache.
int64_t rows_cached(int64_t step) noexcept;

}  // namespace dlx

#endif  // DLX_SRC_COPY_SCHEDULE_SCHEDULE_H_
