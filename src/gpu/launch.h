#ifndef DLX_SRC_GPU_LAUNCH_H_
#define DLX_SRC_GPU_LAUNCH_H_

#include <cstdint>

#include "src/copy/plan/plan.h"
#include "src/gpu/strided_copy.h"

namespace dlx::gpu {

/// A strided copy as launches of the kernels.

/// One launch of a kernel of kernels.h with the arguments (dst pointer, src pointer, dlx_strided_copy by value).
struct Launch {
  int32_t kernel;  ///< -1: the families that are there take no such plan
  uint32_t groups[3];
  uint32_t group_size[3];
  dlx_strided_copy copy;
};

/// Limits of a device; 0 if not known.
struct Limits {
  uint32_t missing;  ///< families of kernels that it does not have, as bits
  uint32_t max_group_size;
  uint32_t compute_units;
  uint64_t max_groups;  ///< along the first axis; along the others there is one
};

/// The launches that carry out a plan, in order; usually one. The plan counts bytes, is not empty,
/// and its addresses are offsets (DeviceAddress) from `dst_base` and `src_base` (0 for a handle),
/// of which only the alignment matters.
class Launches {
 public:
  Launches(const CopyPlan& plan, uint64_t dst_base, uint64_t src_base, const Limits& limits);
  /// False after the last one.
  bool next(Launch* out);
  /// Begins anew, within other limits. Copying an item twice does no harm.
  void again(const Limits& limits, Launch* out);

 private:
  // Loops that are too long for one launch are divided into chunks: the axes, and the item.
  void begin(int64_t bytes, int64_t first);
  void limit_axes() noexcept;
  void limit_count() noexcept;
  int64_t extent(int loop) const noexcept;
  bool advance() noexcept;
  void choose(Launch* out) const;

  CopyPlan whole_;
  CopyPlan plan_;  // some bytes of each item
  uint64_t dst_base_;
  uint64_t src_base_;
  Limits limits_;
  uint32_t word_;  // the common word
  bool done_ = false;
  int64_t item_end_ = 0;  // of plan_ in whole_
  int64_t chunk_[CopyPlan::kMaxAxes + 1];
  int64_t first_[CopyPlan::kMaxAxes + 1];
};

}  // namespace dlx::gpu

#endif  // DLX_SRC_GPU_LAUNCH_H_
