#ifndef DLX_SRC_COPY_SCHEDULE_LOOPS_H_
#define DLX_SRC_COPY_SCHEDULE_LOOPS_H_

#include <algorithm>
#include <cstdint>

#include "src/copy/plan/plan.h"
#include "src/copy/schedule/schedule.h"

namespace dlx {

/// Orders the axes by their smaller step on either side, smallest first, so that the lines of both
/// sides are used again soon.
void order_by_nearness(const Schedule& schedule, int* order) noexcept;

/// Orders the axes by the size of their src step, smallest first; equal ones keep their order.
void order_by_source(const Schedule& schedule, int* order) noexcept;

/// Calls run(first, n) for parts of an axis of `length` items, and `least` or more. The second part
/// begins `back` items before the first one ends, at a line; the last part may overlap the one
/// before it.
template <class Run>
void each_part(int64_t extent, int64_t length, int64_t back, int64_t least,
               const Run& run) noexcept {
  for (int64_t first = 0;;) {
    const int64_t n = std::min(length, extent - first);
    run(first, n);
    first += n;
    if (first == extent) return;
    if (first == length) first -= back;
    first = std::min(first, extent - least);
  }
}

/// Nested loops over places in dst and src; no loops mean one place.
class Loops {
 public:
  /// Adds a loop around the others.
  void add(const CopyAxis& axis) noexcept { axes_[count_++] = axis; }

  /// Adds loops over all axes of a schedule except those for which taken(axis) is true, by
  /// nearness.
  template <class Taken>
  void add_others(const Schedule& schedule, const Taken& taken) noexcept {
    int order[CopyPlan::kMaxAxes];
    order_by_nearness(schedule, order);
    for (int i = 0; i < schedule.ndim; ++i) {
      if (!taken(order[i])) add(schedule.axes[order[i]]);
    }
  }

  /// The innermost loop, or kNoAxis.
  CopyAxis innermost() const noexcept { return count_ > 0 ? axes_[0] : kNoAxis; }

  /// Calls run(dst, src) at each place, the loop added first being the innermost. Places are
  /// addresses, or numbers of bits.
  template <class Dst, class Src, class Run>
  void each(Dst dst, Src src, const Run& run) const noexcept {
    each_with_next(dst, src, [&](Dst to, Src from, Dst, Src) { run(to, from); });
  }

  /// The same, also with the place that comes next; the first place comes after the last.
  template <class Dst, class Src, class Run>
  void each_with_next(Dst dst, Src src, const Run& run) const noexcept {
    const int count = count_;
    int64_t index[CopyPlan::kMaxAxes];
    for (int i = 0; i < count; ++i) index[i] = 0;
    for (;;) {
      Dst next_dst = dst;
      Src next_src = src;
      int i = 0;
      for (; i < count; ++i) {
        const CopyAxis& axis = axes_[i];
        if (++index[i] < axis.extent) {
          next_dst += axis.dst;
          next_src += axis.src;
          break;
        }
        next_dst -= axis.dst * (axis.extent - 1);
        next_src -= axis.src * (axis.extent - 1);
        index[i] = 0;
      }
      run(dst, src, next_dst, next_src);
      if (i == count) return;
      dst = next_dst;
      src = next_src;
    }
  }

 private:
  int count_ = 0;
  CopyAxis axes_[CopyPlan::kMaxAxes];
};

/// Several axes as one: a table of where each item begins on the side on which they are not
/// compact. `offset` has room for `most` items; an axis that does not fit is taken in parts.
class Side {
 public:
  Side(int64_t* offset, int64_t most) noexcept : offset_(offset), most_(most) { offset[0] = 0; }

  /// Adds an axis whose items are `step` bytes apart on that side. No axis can follow one that is
  /// taken in parts.
  void add(const CopyAxis& axis, int64_t step) noexcept {
    last_ = axis;
    parts_ = divide_up(axis.extent, most_ / n_);
    part_ = divide_up(axis.extent, parts_);
    const int64_t all = n_ * part_;
    for (int64_t i = n_; i < all; ++i) offset_[i] = offset_[i - n_] + step;
    n_ = all;
  }

  const int64_t* offset() const noexcept { return offset_; }
  int64_t n() const noexcept { return n_; }  ///< items, or those of one part
  int64_t parts() const noexcept { return parts_; }
  bool whole() const noexcept { return parts_ == 1; }

  /// Whether the first items, or all, begin at multiples of `bytes` from the first one.
  bool in_step(uint64_t bytes, int64_t first = INT64_MAX) const noexcept {
    uint64_t all = 0;
    for (int64_t i = 0; i < n_ && i < first; ++i) all |= static_cast<uint64_t>(offset_[i]);
    return all % bytes == 0;
  }

  /// Offsets of dst and src at the beginning of a part. The last part ends with the axis, and may
  /// overlap the one before it.
  int64_t dst(int64_t part) const noexcept { return first(part) * last_.dst; }
  int64_t src(int64_t part) const noexcept { return first(part) * last_.src; }

 private:
  int64_t first(int64_t part) const noexcept {
    const int64_t last = last_.extent - part_;
    return part * part_ < last ? part * part_ : last;
  }

  int64_t* offset_;
  int64_t most_;
  int64_t n_ = 1;
  CopyAxis last_ = kNoAxis;
  int64_t part_ = 1;
  int64_t parts_ = 1;
};

}  // namespace dlx

#endif  // DLX_SRC_COPY_SCHEDULE_LOOPS_H_
