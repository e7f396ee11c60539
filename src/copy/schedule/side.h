#ifndef DLX_SRC_COPY_SCHEDULE_SIDE_H_
#define DLX_SRC_COPY_SCHEDULE_SIDE_H_

#include <cstdint>

#include "src/copy/plan/plan.h"

namespace dlx {

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

#endif  // DLX_SRC_COPY_SCHEDULE_SIDE_H_
