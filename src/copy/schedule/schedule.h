#ifndef DLX_SRC_COPY_SCHEDULE_SCHEDULE_H_
#define DLX_SRC_COPY_SCHEDULE_SCHEDULE_H_

#include <cstdint>

#include "src/copy/kernels/kernels.h"
#include "src/copy/plan/plan.h"
#include "src/copy/schedule/machine.h"

namespace dlx {

/// The index of kernels for items of that size; -1: no kernel takes it.
int log2_of_item(int64_t item) noexcept;

/// How the two innermost loops of a plan are run. The kind follows from the structure of the steps,
/// never from a dtype or a list of known layouts.
enum class PlaneKind {
  kRows,       ///< runs of bytes, far apart on either side
  kTranspose,  ///< unit step of dst along u, of src along v; at least a register on both sides
  kFolded,     ///< the same, of axes that are folded with their neighbours
  kSplit,      ///< the same with few items along v: one stream becomes several
  kJoin,       ///< the same with few items along u: several streams become one
  kGather,     ///< unit step of dst along u, any step of src
  kCells,      ///< short cells of bytes, permuted inside
  kSpread,     ///< any steps
};

/// The side that the caches hold in any order: loops go in the order of the other side.
enum class Held { kNeither, kDst, kSrc };

/// A plan with its plane chosen: which two axes the kernels run along, and which kernel that is.
class Schedule {
 public:
  /// `past_caches`: the caches do not hold the lines of dst and src together.
  Schedule(const CopyPlan& plan, const Machine& machine, Held held, bool past_caches) noexcept;

  /// Whether planes are transposed in registers.
  bool is_transposition() const noexcept {
    return kind == PlaneKind::kTranspose || kind == PlaneKind::kFolded;
  }

  /// Whether neighbours in src are far apart in dst and vice versa, so that only tiles that are
  /// long on both sides use each line once.
  bool transposes() const noexcept;

  /// Whether neighbouring rows share few or no cache lines in src.
  bool has_whole_lines() const noexcept;

  /// Whether items are moved one by one, in any order.
  bool by_items() const noexcept {
    return kind == PlaneKind::kGather || kind == PlaneKind::kSpread;
  }

  /// Whether each row repeats one item, and is at least a register.
  bool fills() const noexcept {
    return kind == PlaneKind::kGather && axes[u].src == 0 && axes[u].extent * item >= 16;
  }

  /// Bytes written.
  int64_t bytes() const noexcept {
    int64_t all = item;
    for (int k = 0; k < ndim; ++k) all *= axes[k].extent;
    return all;
  }

  /// Whether all items of dst begin at multiples of `bytes`, a power of two; steps along axis `but`
  /// do not count.
  bool begins_at_multiples(int64_t bytes, int but = -1) const noexcept {
    uint64_t all = reinterpret_cast<uintptr_t>(dst);
    for (int k = 0; k < ndim; ++k) {
      if (k != but) all |= static_cast<uint64_t>(axes[k].dst);
    }
    return all % static_cast<uint64_t>(bytes) == 0;
  }

  /// The highest byte of an item in src, counted from where the item begins.
  int64_t highest_of_item() const noexcept;

  /// One past the last byte read.
  const char* end_of_source() const noexcept;

  const Machine& machine() const noexcept { return *machine_; }
  const Kernels& kernels() const noexcept { return *machine_->kernels; }
  Held held() const noexcept { return held_; }
  bool past_caches() const noexcept { return past_caches_; }

  PlaneKind kind = PlaneKind::kRows;
  int log_item = -1;  ///< log2_of_item()
  int64_t item = 0;
  int ndim = 0;
  int u = -1;  ///< axis along which dst is written; -1: a single item
  int v = -1;  ///< the other axis of the plane; -1: none

  /// kFolded: the innermost `u_count` axes go along u, and v_axes along v. Together they are
  /// compact in dst and in src. Other kinds: one axis each.
  int u_count = 1;
  int v_count = 1;
  int v_axes[CopyPlan::kMaxAxes] = {-1};
  bool folded() const noexcept { return kind == PlaneKind::kFolded; }
  bool along_v(int axis) const noexcept;
  bool in_plane(int axis) const noexcept { return axis >= ndim - u_count || along_v(axis); }

  char* dst = nullptr;
  const char* src = nullptr;
  int log_group = 0;    ///< of split and join
  bool staged = false;  ///< rows of a transposition collide in the cache: copy them together first
  bool woven = false;   ///< staged, by kernels that fetch and stream beside it
  Pick pick;
  Cells cells;
  CopyAxis axes[CopyPlan::kMaxAxes];  ///< sorted by dst step, largest first

 private:
  const Machine* machine_;
  Held held_;
  bool past_caches_;
};

/// Whether ItemPlanes copies the planes: items move one by one, or a split has only one cell in a
/// load.
bool moves_items(const Schedule& schedule) noexcept;

}  // namespace dlx

#endif  // DLX_SRC_COPY_SCHEDULE_SCHEDULE_H_
