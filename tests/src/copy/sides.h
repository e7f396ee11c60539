// Both sides of a layout, with data.
#ifndef DLX_TESTS_SRC_COPY_SIDES_H_
#define DLX_TESTS_SRC_COPY_SIDES_H_

#include <cstring>
#include <vector>

#include "copy_test.h"
#include "layouts.h"
#include "random_copy.h"
#include "src/copy/copy.h"

namespace dlx_test {

/// Both sides of a layout in memory; dst has noise around it.
class Sides {
 public:
  explicit Sides(const Layout& layout) : layout_(layout) {
    dst_.assign(static_cast<size_t>(span(layout.dst_steps, &dst_first_) + 2 * kAround), 0xCD);
    src_ = Choices(7).noise(span(layout.src_steps, &src_first_) + 2 * kAround);
    dst_first_ += kAround - (reinterpret_cast<uintptr_t>(dst_.data()) & 63) + layout.dst_start % 64;
    src_first_ += kAround - (reinterpret_cast<uintptr_t>(src_.data()) & 63) + layout.src_start % 64;
    expected_ = dst_;
    int64_t count = 1;
    for (const int64_t extent : layout.shape) count *= extent;
    for (int64_t i = 0; i < count; ++i) {
      int64_t rest = i, d = 0, s = 0;
      for (size_t k = layout.shape.size(); k-- > 0; rest /= layout.shape[k]) {
        d += rest % layout.shape[k] * layout.dst_steps[k];
        s += rest % layout.shape[k] * layout.src_steps[k];
      }
      std::memcpy(expected_.data() + dst_first_ + d * layout.item,
                  src_.data() + src_first_ + s * layout.item, static_cast<size_t>(layout.item));
    }
  }

  dlx::CopyPlan plan() {
    const DLDataType dtype = {kDLUInt, 8, static_cast<uint16_t>(layout_.item)};
    return dlx::plan_copy(
        Described(dst_.data() + dst_first_, layout_.shape, layout_.dst_steps, dtype).tensor, false,
        Described(src_.data() + src_first_, layout_.shape, layout_.src_steps, dtype).tensor, false);
  }

  void clear() { std::memset(dst_.data(), 0xCD, dst_.size()); }
  bool is_right() const { return dst_ == expected_; }

 private:
  static constexpr int64_t kAround = 256;  // bytes

  /// All bytes, and the bytes before the first item.
  int64_t span(const std::vector<int64_t>& steps, int64_t* first) const {
    int64_t lowest = 0, highest = 0;
    for (size_t k = 0; k < steps.size(); ++k) {
      const int64_t reach = (layout_.shape[k] - 1) * steps[k];
      (reach < 0 ? lowest : highest) += reach;
    }
    *first = -lowest * layout_.item;
    return (highest - lowest + 1) * layout_.item;
  }

  const Layout& layout_;
  int64_t dst_first_ = 0;
  int64_t src_first_ = 0;
  std::vector<uint8_t> dst_;
  std::vector<uint8_t> src_;
  std::vector<uint8_t> expected_;
};

}  // namespace dlx_test

#endif  // DLX_TESTS_SRC_COPY_SIDES_H_
