#ifndef DLX_SRC_GPU_WAYS_H_
#define DLX_SRC_GPU_WAYS_H_

#include <cstdint>

#include "src/copy/plan/plan.h"
#include "src/gpu/launch.h"
#include "src/gpu/strided_copy.h"

namespace dlx::gpu {

/// Chooses the kernel of one launch, and fills in its arguments. docs/devices-internals.md lists
/// the kernels.

/// Memory moves in sectors of this size.
constexpr int64_t kSector = 32;

/// What the ways ask about a plan that fits one launch.
struct Facts {
  Facts(const CopyPlan& plan, uint64_t dst_base, uint64_t src_base, const Limits& limits) noexcept;

  const CopyPlan& plan;
  const Limits& limits;
  uint64_t dst_at, src_at;  ///< the addresses of the first items, modulo 2^64
  uint32_t word;            ///< the common word
  int64_t item;             ///< bytes
  int last;                 ///< the axis with the smallest step in dst; -1 if there is no axis
  int dense;          ///< the axis with the smallest step in src, if that is another one; or -1
  bool whole_groups;  ///< the device takes groups of 256

  const CopyAxis& axis(int k) const noexcept { return plan.axis(k); }
  /// Whether an item is a word of 1, 2, 4, 8 or 16 bytes.
  bool is_word() const noexcept { return item == word; }
  bool near(int k) const noexcept;
};

/// A way to copy: false if it does not take the plan, or if it would waste most of its work.
using Way = bool (*)(const Facts& facts, Launch* out);

/// One for each structure, by the files ways_*.cc.
bool choose_planes(const Facts& facts, Launch* out);
bool choose_few(const Facts& facts, Launch* out);
bool choose_small(const Facts& facts, Launch* out);
bool choose_turn(const Facts& facts, Launch* out);
bool choose_pattern(const Facts& facts, Launch* out);
bool choose_rows(const Facts& facts, Launch* out);
bool choose_tiles(const Facts& facts, Launch* out);
bool choose_elements(const Facts& facts, Launch* out);
bool choose_scatter(const Facts& facts, Launch* out);

/// Chooses a way for a plan that fits one launch, and fills in the launch.
void choose_kernel(const CopyPlan& plan, uint64_t dst_base, uint64_t src_base, const Limits& limits,
                   Launch* out) noexcept;

/// The common word: the largest power of two, at most 16, that divides every address, step and item
/// of a plan.
uint32_t common_word(const CopyPlan& plan, uint64_t dst_base, uint64_t src_base) noexcept;

/// Longer items are rows in pieces of so many bytes: the kernels count the bytes of a run in 31 bits.
constexpr int64_t kMostRow = int64_t{1} << 30;
/// What choose_rows(), or without it choose_scatter(), numbers of an item: the most that any way does.
int64_t numbered(int64_t item, uint32_t word, const Limits& limits) noexcept;

/// Division by `d` for the kernels; 1 <= d <= 2^31.
dlx_divisor divisor(uint32_t d) noexcept;

/// Fills in the group sizes of a launch with `groups` groups along one axis. False: too many groups.
bool set_groups(int64_t groups, const Limits& limits, Launch* out) noexcept;
/// The same for `count` things of which a work item takes `each`.
bool set_count(int64_t count, int64_t each, const Limits& limits, Launch* out) noexcept;

/// Writes an axis, and the division by its extent, to place `at` of a launch.
void put_axis(const CopyAxis& axis, int at, dlx_strided_copy* copy) noexcept;

inline int32_t log2_of(uint32_t power) noexcept { return __builtin_ctz(power); }

/// The axes of a launch as they are put together, each part with its fastest axis first.
class Axes {
 public:
  /// All axes are outer ones.
  explicit Axes(const Facts& facts) noexcept;

  struct Run {
    int64_t units = 1;
    int count = 0;
  };
  Run dst, src;

  /// Makes an outer axis the slowest one of a run.
  void to_dst(int k) noexcept { move(k, &dst, 1); }
  void to_src(int k) noexcept { move(k, &src, 2); }
  /// Adds to the dst run all axes that continue it, as long as it has fewer than `most` units of
  /// `unit` bytes and their steps in src have 32 bits.
  void extend_dst(int64_t unit, int64_t most) noexcept;
  void extend_src(int64_t unit, int64_t most) noexcept;
  /// Turns outer axes whose steps in src are negative.
  void make_src_positive() noexcept;
  /// An axis of the parts of an item, as the fastest of the dst run.
  void split_item(int64_t item, uint32_t word) noexcept;

  bool is_outer(int k) const noexcept { return part_[k] == 0; }
  const CopyAxis& operator[](int k) const noexcept { return axes_[k]; }
  int64_t outer_count() const noexcept;

  /// Whether the addresses of the items that axes outside of the dst (src) run select are multiples
  /// of `bytes`; with `outer`, those that outer axes select.
  bool dst_is_aligned(const Facts& facts, uint64_t bytes, bool outer = false) const noexcept;
  bool src_is_aligned(const Facts& facts, uint64_t bytes, bool outer = false) const noexcept;

  /// Writes the parts in the kernel's order. Items have `item` bytes.
  void fill(uint32_t item, dlx_strided_copy* copy) const noexcept;

 private:
  void move(int k, Run* run, signed char part) noexcept;

  CopyAxis axes_[CopyPlan::kMaxAxes + 1];
  signed char part_[CopyPlan::kMaxAxes + 1];   // 0: outer, 1: dst run, 2: src run
  signed char place_[CopyPlan::kMaxAxes + 1];  // in its run
  int ndim_;
  int64_t dst_first_, src_first_;
};

}  // namespace dlx::gpu

#endif  // DLX_SRC_GPU_WAYS_H_
