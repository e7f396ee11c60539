#ifndef DLX_SRC_COPY_THREADS_PIECES_H_
#define DLX_SRC_COPY_THREADS_PIECES_H_

#include <cstdint>

#include "src/copy/plan/plan.h"

namespace dlx {

/// A plan cut into pieces, which threads take one by one.
class Pieces {
 public:
  /// About as many pieces as `wanted`. Axis `whole` is not cut; -1: any may be.
  Pieces(const CopyPlan& plan, int64_t wanted, int whole) noexcept;

  int64_t count() const noexcept { return count_; }
  CopyPlan piece(int64_t index) const noexcept;

 private:
  void cut_axes(int64_t wanted, int whole) noexcept;

  const CopyPlan& plan_;
  int64_t length_[CopyPlan::kMaxAxes];  ///< of a piece along each axis
  int64_t item_;                        ///< bytes of the item in a piece
  int64_t count_ = 1;
};

}  // namespace dlx

#endif  // DLX_SRC_COPY_THREADS_PIECES_H_
