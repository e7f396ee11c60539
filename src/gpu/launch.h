#ifndef DLX_SRC_GPU_LAUNCH_H_
#define DLX_SRC_GPU_LAUNCH_H_

#include <cstddef>
#include <cstdint>

#include "src/copy/plan/plan.h"
#include "src/gpu/strided_copy.h"

namespace dlx::gpu {

/// One launch of a kernel with the arguments (dst pointer, src pointer, dlx_strided_copy by value).
struct Launch {
  int32_t kernel;  ///< index into kernel_name()
  uint32_t groups[3];
  uint32_t group_size[3];
  dlx_strided_copy copy;
};

/// What the device tells about itself; 0 where it is not known.
struct Limits {
  uint32_t max_group_size;
  uint32_t compute_units;
  uint64_t max_groups[3];
};

/// Number of kernels and their names in every image.
int32_t kernel_count() noexcept;
const char* kernel_name(int32_t kernel) noexcept;

/// The launches that carry a plan out, in order, one at a time: usually a single one. The plan counts bytes,
/// is not empty, and its addresses are offsets (DeviceAddress); `dst_base` and `src_base` are the
/// addresses that these are added to (0 for a handle), of which only the alignment is looked at.
class Launches {
 public:
  Launches(const CopyPlan& plan, uint64_t dst_base, uint64_t src_base, const Limits& limits);
  /// False: no more.
  bool next(Launch* out);

 private:
  /// Loops whose extent the device cannot take in one launch go in chunks: the axes, then the item.
  void limit_steps(int axis) noexcept;
  void limit_axes() noexcept;
  void limit_count(int64_t most_words) noexcept;
  int64_t extent(int loop) const noexcept;
  bool advance() noexcept;

  CopyPlan plan_;
  uint64_t dst_base_;
  uint64_t src_base_;
  Limits limits_;
  uint32_t word_;  // bytes that everything is a multiple of, 16 at most
  bool done_ = false;
  int64_t chunk_[CopyPlan::kMaxAxes + 1];
  int64_t first_[CopyPlan::kMaxAxes + 1];
};

/// Code for a kind of device, which stays; a NULL `data` means that there is none for it, or no memory to
/// unpack it. The size of a text does not count its zero.
struct Image {
  const char* data;
  size_t size;
};
/// PTX text (zero-terminated), for every NVIDIA GPU since Maxwell.
Image ptx_image();
/// A code object for an AMD architecture such as "gfx90a" (what follows a ':' is not looked at).
Image amdgcn_image(const char* architecture);
/// OpenCL C 1.2 source, zero-terminated; and the same as HIP C++ for hiprtc.
Image opencl_source() noexcept;
Image hip_source() noexcept;

}  // namespace dlx::gpu

#endif  // DLX_SRC_GPU_LAUNCH_H_
