#include "src/copy/plan/plan.h"

#include "dlx/dlx.h"
#include "src/base/error.h"
#include "src/base/shape_text.h"
#include "src/copy/plan/overlap.h"

namespace dlx {
namespace {

bool same_shape(const DLTensor& a, const DLTensor& b) noexcept {
  if (a.ndim != b.ndim) return false;
  for (int32_t k = 0; k < a.ndim; ++k) {
    if (a.shape[k] != b.shape[k]) return false;
  }
  return true;
}

bool has_no_elements(const DLTensor& tensor) noexcept {
  for (int32_t k = 0; k < tensor.ndim; ++k) {
    if (tensor.shape[k] == 0) return true;
  }
  return false;
}

/// Not pointer arithmetic: a plan's places may be offsets in a device's memory rather than addresses.
template <typename Byte>
Byte* plus(Byte* place, int64_t bytes) noexcept {
  return reinterpret_cast<Byte*>(reinterpret_cast<intptr_t>(place) + bytes);
}

/// Steps of one tensor from the last axis to the first, counted in units.
class Steps {
 public:
  Steps(const DLTensor& tensor, int64_t unit) noexcept : tensor_(tensor), unit_(unit) {}

  int64_t of(int32_t k) noexcept {
    if (tensor_.shape[k] == 1) return 0;  // the stride may be any number
    const int64_t stride = tensor_.strides != nullptr ? tensor_.strides[k] : compact_;
    compact_ *= tensor_.shape[k];
    return stride * unit_;
  }

 private:
  const DLTensor& tensor_;
  int64_t unit_;
  int64_t compact_ = 1;
};

/// Not pointer arithmetic: behind a handle lies an offset rather than an address.
char* first_element(const DLTensor& tensor) noexcept {
  return reinterpret_cast<char*>(reinterpret_cast<uintptr_t>(tensor.data) + tensor.byte_offset);
}

}  // namespace

CopyPlan::CopyPlan(const DLTensor& dst, const DLTensor& src, const CopyItem& item)
    : in_bits_(item.in_bits), item_(item.width) {
  if (!same_shape(dst, src)) {
    fail(DLX_ERROR_INVALID_ARGUMENT, "`src` has another shape than `dst` (got %s, expected %s)",
         shape_text(src.ndim, src.shape).text, shape_text(dst.ndim, dst.shape).text);
  }
  empty_ = has_no_elements(dst);
  if (empty_) return;

  Steps dst_steps(dst, item.dst_pitch * item.lanes);
  Steps src_steps(src, item.src_pitch * item.lanes);
  for (int32_t k = dst.ndim - 1; k >= 0; --k) {
    const int64_t dst_step = dst_steps.of(k);
    const int64_t src_step = src_steps.of(k);
    if (dst.shape[k] != 1) add_axis(dst.shape[k], dst_step, src_step);
  }
  if (item.lanes > 1) add_axis(item.lanes, item.dst_pitch, item.src_pitch);
  dst_ = first_element(dst);
  src_ = first_element(src);
  if (!item.in_bits) {
    dst_ += dst_bit_;
    src_ += src_bit_;
    dst_bit_ = src_bit_ = 0;
  }
  if (repeats_elements(axes_, ndim_)) {
    fail(DLX_ERROR_INVALID_ARGUMENT,
         "`dst` stores several elements in one place (expected strides that keep them apart)");
  }
  fuse();
}

CopyPlan::CopyPlan(char* dst, const char* src, int64_t item, const CopyAxis* axes,
                   int ndim) noexcept
    : item_(item), dst_(dst), src_(src) {
  for (int k = 0; k < ndim; ++k) {
    if (axes[k].extent > 1) add_axis(axes[k].extent, axes[k].dst, axes[k].src);
  }
  fuse();
}

CopyPlan CopyPlan::part(int axis, int64_t first, int64_t extent) const noexcept {
  CopyPlan plan(*this);
  if (in_bits_) {
    plan.dst_bit_ += first * axes_[axis].dst;
    plan.src_bit_ += first * axes_[axis].src;
  } else {
    plan.dst_ = plus(plan.dst_, first * axes_[axis].dst);
    plan.src_ = plus(plan.src_, first * axes_[axis].src);
  }
  plan.axes_[axis].extent = extent;
  if (extent == 1) {
    --plan.ndim_;
    for (int k = axis; k < plan.ndim_; ++k) plan.axes_[k] = plan.axes_[k + 1];
  }
  plan.fuse();
  return plan;
}

CopyPlan CopyPlan::box(const int64_t* first, const int64_t* extent) const noexcept {
  CopyPlan plan(*this);
  plan.ndim_ = 0;
  for (int k = 0; k < ndim_; ++k) {
    plan.dst_ = plus(plan.dst_, first[k] * axes_[k].dst);
    plan.src_ = plus(plan.src_, first[k] * axes_[k].src);
    if (extent[k] > 1) plan.axes_[plan.ndim_++] = {extent[k], axes_[k].dst, axes_[k].src};
  }
  plan.fuse();
  return plan;
}

CopyPlan CopyPlan::moved(int64_t dst_bytes, int64_t src_bytes) const noexcept {
  CopyPlan plan(*this);
  plan.dst_ = plus(dst_, dst_bytes);
  plan.src_ = plus(src_, src_bytes);
  return plan;
}

CopyPlan CopyPlan::part_of_item(int64_t first, int64_t units) const noexcept {
  CopyPlan plan(*this);
  plan.dst_ = plus(plan.dst_, first);
  plan.src_ = plus(plan.src_, first);
  plan.item_ = units;
  return plan;
}

/// Keeps axes sorted by destination step, largest first, and destination steps positive.
void CopyPlan::add_axis(int64_t extent, int64_t dst_step, int64_t src_step) noexcept {
  if (dst_step < 0) {
    dst_bit_ += (extent - 1) * dst_step;
    src_bit_ += (extent - 1) * src_step;
    dst_step = -dst_step;
    src_step = -src_step;
  }
  int place = ndim_++;
  for (; place > 0 && axes_[place - 1].dst < dst_step; --place) axes_[place] = axes_[place - 1];
  axes_[place] = {extent, dst_step, src_step};
}

void CopyPlan::fuse() noexcept {
  int last = -1;
  for (int k = 0; k < ndim_; ++k) {
    const CopyAxis inner = axes_[k];
    if (last >= 0 && axes_[last].dst == inner.extent * inner.dst &&
        axes_[last].src == inner.extent * inner.src) {
      axes_[last] = {axes_[last].extent * inner.extent, inner.dst, inner.src};
    } else {
      axes_[++last] = inner;
    }
  }
  ndim_ = last + 1;
  if (ndim_ > 0 && axes_[last].dst == item_ && axes_[last].src == item_) {
    item_ *= axes_[last].extent;
    --ndim_;
  }
}

int64_t CopyPlan::size() const noexcept {
  int64_t size = empty_ ? 0 : item_;
  for (int k = 0; k < ndim_; ++k) size *= axes_[k].extent;
  return size;
}

bool CopyPlan::count_bytes() noexcept {
  uint64_t all = static_cast<uint64_t>(item_) | static_cast<uint64_t>(dst_bit_) |
                 static_cast<uint64_t>(src_bit_);
  for (int k = 0; k < ndim_; ++k) {
    all |= static_cast<uint64_t>(axes_[k].dst) | static_cast<uint64_t>(axes_[k].src);
  }
  if (!in_bits_ || all % 8 != 0) return !in_bits_;
  in_bits_ = false;
  dst_ += dst_bit_ / 8;
  src_ += src_bit_ / 8;
  dst_bit_ = src_bit_ = 0;
  item_ /= 8;
  for (int k = 0; k < ndim_; ++k) {
    axes_[k].dst /= 8;
    axes_[k].src /= 8;
  }
  return true;
}

CopyPlan CopyPlan::to_compact(char* buffer, int64_t step) const noexcept {
  CopyPlan plan(*this);
  for (int k = ndim_ - 1; k >= 0; --k) {
    plan.axes_[k].dst = step;
    step *= axes_[k].extent;
  }
  plan.dst_ = buffer;
  plan.dst_bit_ = 0;
  plan.fuse();
  return plan;
}

CopyPlan CopyPlan::from_compact(const char* buffer, int64_t step) const noexcept {
  CopyPlan plan(*this);
  for (int k = ndim_ - 1; k >= 0; --k) {
    plan.axes_[k].src = step;
    step *= axes_[k].extent;
  }
  plan.src_ = buffer;
  plan.src_bit_ = 0;
  plan.fuse();
  return plan;
}

}  // namespace dlx
