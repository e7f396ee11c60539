#ifndef DLX_SRC_COPY_SCHEDULE_H_
#define DLX_SRC_COPY_SCHEDULE_H_

#include <cstdint>

#include "src/copy/kernels.h"
#include "src/copy/plan.h"

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
  bool past_caches = false;  ///< caches do not hold dst and the lines of src together

  char* dst = nullptr;
  const char* src = nullptr;
  int log_group = 0;    ///< of split and join
  bool staged = false;  ///< rows of a transposition collide in the cache: copy them together first
  bool woven = false;   ///< staged, by kernels that fetch and stream beside it
  Pick pick;
  Cells cells;
  CopyAxis axes[CopyPlan::kMaxAxes];  ///< sorted by dst step, largest first
};

/// Whether planes are for ItemPlanes: items move one by one, or cells of bytes of which no two lie in one
/// load are split.
bool moves_items(const Schedule& schedule, const Kernels& kernels) noexcept;

/// How many rows so far apart leave a line each in half of a first-level cache (64 sets of 8 on
/// most processors).
int64_t rows_cached(int64_t step) noexcept;

/// One plane of a schedule: nu x nv items, with the steps that they have where they are.
struct Plane {
  char* dst;
  int64_t du;
  int64_t dv;
  const char* src;
  int64_t su;
  int64_t sv;
  int64_t nu;
  int64_t nv;
};

/// The first one.
Plane plane_of(const Schedule& schedule) noexcept;

/// The same plane with source along v in ascending order, whatever its sign.
Plane ascending_v(Plane plane) noexcept;

/// Copies one plane. `du` may differ from the schedule's only where the schedule's dst is not
/// compact along u.
void copy_plane(const Schedule& schedule, const Kernels& kernels, const Plane& plane) noexcept;

/// Copies planes of one shape item by item, or run by run, in long loops: along the longer axis where
/// the other is short, some at a time, so that the lines of both sides stay at hand.
class ItemPlanes {
 public:
  static constexpr int64_t kFew = 8;  ///< items along u that there is a kernel for

  /// `shape`: any of those planes. `asks`: rows of src with gaps behind them are asked for ahead.
  ItemPlanes(const Schedule& schedule, const Kernels& kernels, const Plane& shape,
             bool asks) noexcept;
  ItemPlanes(const Schedule& schedule, const Kernels& kernels, const Plane& shape) noexcept
      : ItemPlanes(schedule, kernels, shape, asks_for_rows(schedule)) {}

  /// Whether such planes, of items of so many bytes, are transposed in registers: those of few
  /// columns, and of columns with gaps between them.
  static bool arranges(const Kernels& kernels, int64_t item, const Plane& shape) noexcept;

  /// One of them, from its first item on.
  void copy(char* to, const char* from) const noexcept;

  /// Whether memory should be asked for the next plane beside this one,
  bool asks() const noexcept { return written_.together || read_.together; }

  /// and does so, for its first rows.
  void ask_for(const char* next_to, const char* to, const char* next_from,
               const char* from) const noexcept;

 private:
  /// Rows on one side. Short ones that do not go on where the one before ended are no stream that the
  /// processor sees: they are asked for.
  struct Rows {
    /// Asks for a row, or for the one `ahead` rows after it.
    __attribute__((always_inline)) inline void ask(const char* row) const noexcept;
    __attribute__((always_inline)) inline void ask_later(const char* row) const noexcept;

    int64_t along = 0;   ///< bytes from item to item
    int64_t across = 0;  ///< from row to row
    int64_t bytes = 0;   ///< of a row
    int64_t ahead = 0;   ///< rows
    bool apart = false;  ///< from row to row there are gaps
    bool together =
        false;  ///< a line holds more of their items than the processor waits for at once
  };

  /// Whether it pays: out of the caches, what is asked for is only in the way, and processors with a
  /// larger cache read many rows side by side.
  static bool asks_for_rows(const Schedule& schedule) noexcept;

  /// `bytes_ahead`: how far ahead rows are asked for, but a few at least.
  Rows rows_of(int64_t along, int64_t across, int64_t bytes_ahead) const noexcept;

  /// Copies n rows of bytes, which lie along u.
  void copy_rows(char* dst, const char* src, int64_t n) const noexcept;

  /// Asks for a later line of each of n streams of src.
  __attribute__((always_inline)) inline void ask_streams(const char* src, int64_t n) const noexcept;

  const Kernels& kernels_;
  int64_t item_;
  int log_item_;
  Plane shape_;             ///< the longer loop along u
  int64_t at_once_;         ///< items along u
  bool fills_;              ///< rows of one and the same item
  int64_t every_ = 0;       ///< how many items of src a column is apart, in registers; else 0
  int64_t lowest_dst_ = 0;  ///< bytes from the first column to the one that is lowest in src
  int64_t lowest_src_ = 0;
  bool few_ = false;            ///< at once, or backwards: in a kernel for rows of those
  int64_t rows_of_a_line_ = 0;  ///< of src, where its streams are asked for; else 0
  Rows written_;
  Rows read_;
};

}  // namespace dlx

#endif  // DLX_SRC_COPY_SCHEDULE_H_
