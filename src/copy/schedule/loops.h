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

  /// Calls run(dst, src) at each place, the loop added first being the innermost.
  template <class Run>
  void each(char* dst, const char* src, const Run& run) const noexcept {
    each_with_next(dst, src,
                   [&](char* to, const char* from, char*, const char*) { run(to, from); });
  }

  /// The same, also with the place that comes next; the first place comes after the last.
  template <class Run>
  void each_with_next(char* dst, const char* src, const Run& run) const noexcept {
    const int count = count_;
    int64_t index[CopyPlan::kMaxAxes];
    for (int i = 0; i < count; ++i) index[i] = 0;
    for (;;) {
      char* next_dst = dst;
      const char* next_src = src;
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

}  // namespace dlx

#endif  // DLX_SRC_COPY_SCHEDULE_LOOPS_H_
