#ifndef DLX_TESTS_SRC_GPU_KERNEL_COPY_H_
#define DLX_TESTS_SRC_GPU_KERNEL_COPY_H_

#include <cstdint>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "guarded.h"
#include "opencl_device.h"
#include "src/copy/copy.h"
#include "src/copy/plan/plan.h"
#include "src/gpu/launch.h"

namespace dlx_test {

/// Carries out a launch on the host, by its first fields alone.
inline void carry_out(const dlx_strided_copy& copy, char* dst, const char* src) {
  int64_t index[DLX_STRIDED_COPY_AXES] = {};
  for (;;) {
    int64_t to = copy.dst, from = copy.src;
    for (uint32_t k = 0; k < copy.axes; ++k) {
      to += index[k] * copy.dst_step[k];
      from += index[k] * copy.src_step[k];
    }
    std::memcpy(dst + to, src + from, copy.item);
    int k = static_cast<int>(copy.axes) - 1;
    for (; k >= 0 && ++index[k] == copy.extent[k]; --k) index[k] = 0;
    if (k < 0) return;
  }
}

/// The bytes from the lowest to the highest item of one side, counted from its first item.
struct Reach {
  int64_t low = 0;
  int64_t high = 0;
};

inline Reach reach(const dlx::CopyPlan& plan, bool is_dst) {
  Reach result;
  for (int k = 0; k < plan.ndim(); ++k) {
    const int64_t step = is_dst ? plan.axis(k).dst : plan.axis(k).src;
    (step < 0 ? result.low : result.high) += step * (plan.axis(k).extent - 1);
  }
  result.high += plan.item();
  return result;
}

/// One side of a copy, moved between two pages without access.
class Side {
 public:
  /// Next to the upper or the lower page, up to 32 bytes away: keeps the address modulo 32.
  Side(const dlx::CopyPlan& plan, bool is_dst, bool at_end)
      : reach_(reach(plan, is_dst)),
        original_(const_cast<char*>(is_dst ? plan.dst() : plan.src()) + reach_.low),
        memory_(static_cast<size_t>(bytes()) + 64) {
    const auto phase = static_cast<int64_t>(reinterpret_cast<uintptr_t>(original_) % 32);
    int64_t place = phase == 0 ? 32 : phase;  // offset 0 would be NULL for a plan
    if (at_end) {
      place = memory_.end() - memory_.begin() - bytes();
      place -= (place - phase) & 31;
    }
    place_ = memory_.begin() + place;
    std::memset(memory_.begin(), kFill, static_cast<size_t>(memory_.end() - memory_.begin()));
    std::memcpy(place_, original_, static_cast<size_t>(bytes()));
  }

  char* buffer() const { return memory_.begin(); }
  size_t buffer_size() const { return static_cast<size_t>(memory_.end() - memory_.begin()); }
  /// Of the first item.
  uint64_t offset() const { return static_cast<uint64_t>(place_ - memory_.begin() - reach_.low); }

  void bring_back() const {
    for (const char* p = memory_.begin(); p < memory_.end(); ++p) {
      if (p == place_) p += bytes();
      if (p < memory_.end() && *p != kFill) throw std::runtime_error("written outside of dst");
    }
    std::memcpy(original_, place_, static_cast<size_t>(bytes()));
  }

 private:
  static constexpr char kFill = 0x5a;
  int64_t bytes() const { return reach_.high - reach_.low; }

  Reach reach_;
  char* original_;
  Guarded memory_;
  char* place_;
};

/// A copier for RandomCopy that uses launches: on the device, or on the host without one.
class KernelCopy {
 public:
  using Note = void (*)(const dlx::gpu::Launch&);

  /// `note` is called with every launch.
  KernelCopy(OpenClDevice* device, dlx::gpu::Limits limits, Note note = nullptr)
      : device_(device), limits_(limits), note_(note) {}

  /// False, without copying, for packed elements, which kernels do not copy.
  bool copy(const DLTensor& dst, const DLTensor& src, const dlx::CopyItem& item) {
    dlx::CopyPlan plan(dst, src, item);
    if (plan.empty()) return true;
    if (!plan.count_bytes()) return false;
    const Side to(plan, true, (++turn_ & 1) != 0);
    const Side from(plan, false, (turn_ & 2) != 0);
    dlx::CopyPlan moved(at(dst, to, plan.dst()), at(src, from, plan.src()), item);
    moved.count_bytes();
    run(moved, to, from);
    to.bring_back();
    return true;
  }

  void operator()(const DLTensor& dst, bool dst_padded, const DLTensor& src, bool src_padded) {
    const int64_t bits = dst.dtype.bits * dst.dtype.lanes;
    dlx::CopyItem item = {bits, bits, bits, 1, true};
    if (dst.dtype.bits < 8 && dst_padded && src_padded) {
      item = {dst.dtype.lanes, dst.dtype.lanes, dst.dtype.lanes, 1, false};
    }
    const bool whole = dst.dtype.bits >= 8 || dst_padded == src_padded;
    if (!whole || !copy(dst, src, item)) dlx::copy_tensor(dst, dst_padded, src, src_padded);
  }

 private:
  /// The tensor with an offset into its side's buffer as its address.
  static DLTensor at(DLTensor tensor, const Side& side, const char* first) {
    // The plan's first item may differ from the tensor's: plans reverse negative steps.
    const char* start = static_cast<char*>(tensor.data) + tensor.byte_offset;
    const int64_t offset = static_cast<int64_t>(side.offset()) + (start - first);
    tensor.data = reinterpret_cast<void*>(1);
    tensor.byte_offset = static_cast<uint64_t>(offset - 1);
    return tensor;
  }

  void run(const dlx::CopyPlan& plan, const Side& to, const Side& from) {
    dlx::gpu::Launches launches(plan, 0, 0, limits_);
    dlx::gpu::Launch launch;
    dlx::opencl::Memory dst = nullptr, src = nullptr;
    if (device_ != nullptr) {
      dst = device_->wrap(to.buffer(), to.buffer_size());
      src = device_->wrap(from.buffer(), from.buffer_size());
    }
    while (launches.next(&launch)) {
      if (note_ != nullptr) note_(launch);
      if (device_ == nullptr) {
        carry_out(launch.copy, to.buffer(), from.buffer());
      } else {
        device_->run(dst, src, launch);
      }
    }
    if (device_ == nullptr) return;
    device_->unwrap(dst, to.buffer(), to.buffer_size());
    device_->unwrap(src, from.buffer(), from.buffer_size());
  }

  OpenClDevice* device_;
  dlx::gpu::Limits limits_;
  Note note_;
  unsigned turn_ = 0;
};

}  // namespace dlx_test

#endif  // DLX_TESTS_SRC_GPU_KERNEL_COPY_H_
