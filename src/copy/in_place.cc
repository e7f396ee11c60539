#include "src/copy/in_place.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "dlx/dlx.h"
#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/copy/copy.h"

namespace dlx {
namespace {

/// Bytes from the first byte of dst to one past the last, without the axes before `first`.
int64_t reach(const CopyPlan& plan, int first) noexcept {
  int64_t bytes = plan.item();
  for (int k = first; k < plan.ndim(); ++k) {
    bytes += plan.axis(k).dst * (plan.axis(k).extent - 1);
  }
  return bytes;
}

/// Whether axes nest, so that index order is address order.
bool is_nested(const CopyPlan& plan) noexcept {
  for (int k = 0; k < plan.ndim(); ++k) {
    if (plan.axis(k).dst < reach(plan, k + 1)) return false;
  }
  return true;
}

bool is_shift(const CopyPlan& plan) noexcept {
  for (int k = 0; k < plan.ndim(); ++k) {
    if (plan.axis(k).src != plan.axis(k).dst) return false;
  }
  return is_nested(plan);
}

/// Calls run(part) for parts of the outermost axis, at most `length` long, beginning at the end at
/// which src lies: each part overwrites only bytes that were read before.
template <class Run>
void each_shifted_part(const CopyPlan& plan, int64_t length, const Run& run) noexcept {
  const int64_t extent = plan.axis(0).extent;
  for (int64_t done = 0; done < extent; done += length) {
    const int64_t n = std::min(length, extent - done);
    run(plan.part(0, plan.src() > plan.dst() ? done : extent - done - n, n));
  }
}

constexpr int64_t kShiftBytes = 16 << 10;  // of the buffer [note 82]

[[gnu::noinline]] void shift_by_buffer(const CopyPlan& plan, int64_t length) noexcept {
  alignas(64) char buffer[kShiftBytes];
  each_shifted_part(plan, length, [&](const CopyPlan& part) {
    execute(part.to_compact(buffer));
    execute(part.from_compact(buffer));
  });
}

/// Equal layouts, `src` some bytes above or below. Copies as much at a time as the distance allows
/// or, if that is little, as a buffer holds.
void copy_shift(const CopyPlan& plan) noexcept {
  constexpr int64_t kLittle = 4 << 10;  // bytes [note 82]
  const int64_t distance = std::llabs(plan.src() - plan.dst());
  if (distance == 0) return;
  if (distance >= reach(plan, 0)) return execute(plan);
  if (plan.ndim() == 0) {
    std::memmove(plan.dst(), plan.src(), static_cast<size_t>(plan.item()));
    return;
  }
  const CopyAxis axis = plan.axis(0);
  const int64_t inner = reach(plan, 1);
  const int64_t length = distance >= inner ? (distance - inner) / axis.dst + 1 : 1;
  const int64_t index = plan.size() / axis.extent;  // bytes of one
  if (length * index < kLittle && index <= kShiftBytes) {
    return shift_by_buffer(plan, kShiftBytes / index);
  }
  each_shifted_part(plan, length, [](const CopyPlan& part) { copy_shift(part); });
}

/// A copy onto its own elements that is its own inverse: pairs of equally long axes are swapped,
/// and axes are reversed. Index i takes the value of index f(i), and f(f(i)) = i.
///
/// Boxes of indices are exchanged in pairs, or rearranged where they map to themselves, each small
/// enough for a buffer.
class Involution {
 public:
  explicit Involution(const CopyPlan& plan) noexcept : plan_(plan) {}

  /// False if the plan is not such a copy.
  bool find() noexcept {
    const char* first = plan_.dst();
    for (int k = 0; k < plan_.ndim(); ++k) {
      const CopyAxis& axis = plan_.axis(k);
      partner_[k] = -1;
      for (int j = 0; j < plan_.ndim(); ++j) {
        if (plan_.axis(j).dst == std::llabs(axis.src) && plan_.axis(j).extent == axis.extent) {
          partner_[k] = j;
        }
      }
      if (partner_[k] < 0 || (axis.src < 0 && partner_[k] != k)) return false;
      if (axis.src < 0) first -= (axis.extent - 1) * axis.src;
    }
    for (int k = 0; k < plan_.ndim(); ++k) {
      if (partner_[partner_[k]] != k) return false;
    }
    return plan_.src() == first && is_nested(plan_);
  }

  void run() {
    buffer_ = allocate_temporary(plan_.item() > kBytes ? plan_.item() : kBytes);
    Box all;
    for (int k = 0; k < plan_.ndim(); ++k) {
      all.first[k] = 0;
      all.extent[k] = plan_.axis(k).extent;
    }
    rearrange(all);
  }

 private:
  static constexpr int64_t kBytes = 64 << 10;

  struct Box {
    int64_t first[CopyPlan::kMaxAxes];
    int64_t extent[CopyPlan::kMaxAxes];
  };

  CopyPlan plan_of(const Box& box) const noexcept { return plan_.box(box.first, box.extent); }

  bool fits(const Box& box) const noexcept {
    int64_t bytes = plan_.item();
    for (int k = 0; k < plan_.ndim(); ++k) bytes *= box.extent[k];
    return bytes <= kBytes || longest(box) < 0;
  }

  /// Longest axis; -1 if the box is a single item.
  int longest(const Box& box) const noexcept {
    int best = -1;
    for (int k = 0; k < plan_.ndim(); ++k) {
      if (box.extent[k] > (best < 0 ? 1 : box.extent[best])) best = k;
    }
    return best;
  }

  static Box cut(const Box& box, int axis, int64_t offset, int64_t extent) noexcept {
    Box part = box;
    part.first[axis] += offset;
    part.extent[axis] = extent;
    return part;
  }

  Box image(const Box& box) const noexcept {
    Box other;
    for (int k = 0; k < plan_.ndim(); ++k) {
      const int64_t end = box.first[k] + box.extent[k];
      other.first[partner_[k]] = plan_.axis(k).src < 0 ? plan_.axis(k).extent - end : box.first[k];
      other.extent[partner_[k]] = box.extent[k];
    }
    return other;
  }

  /// A box that is its own image.
  void rearrange(const Box& box) noexcept {
    if (fits(box)) {
      const CopyPlan plan = plan_of(box);
      execute(plan.to_compact(buffer_.get()));
      execute(plan.from_compact(buffer_.get()));
      return;
    }
    const int k = longest(box);
    const int64_t half = box.extent[k] / 2;
    const int64_t rest = box.extent[k] - half;
    if (partner_[k] != k) {
      const int j = partner_[k];
      const Box low = cut(box, k, 0, half);
      const Box high = cut(box, k, half, rest);
      rearrange(cut(low, j, 0, half));
      rearrange(cut(high, j, half, rest));
      exchange(cut(low, j, half, rest));
    } else if (plan_.axis(k).src > 0) {
      rearrange(cut(box, k, 0, half));
      rearrange(cut(box, k, half, rest));
    } else {
      exchange(cut(box, k, 0, half));
      if (rest > half) rearrange(cut(box, k, half, 1));
    }
  }

  /// A box and its image, which share no index.
  void exchange(const Box& box) noexcept {
    if (!fits(box)) {
      const int k = longest(box);
      const int64_t half = box.extent[k] / 2;
      exchange(cut(box, k, 0, half));
      exchange(cut(box, k, half, box.extent[k] - half));
      return;
    }
    const CopyPlan plan = plan_of(box);
    execute(plan.to_compact(buffer_.get()));
    execute(plan_of(image(box)));
    execute(plan.from_compact(buffer_.get()));
  }

  const CopyPlan& plan_;
  int partner_[CopyPlan::kMaxAxes];
  Temporary buffer_;
};

}  // namespace

Temporary allocate_temporary(int64_t bytes) {
  Temporary memory(static_cast<char*>(std::malloc(static_cast<size_t>(bytes))));
  if (memory == nullptr) {
    fail(DLX_ERROR_OUT_OF_MEMORY, "`dst` and `src` overlap: no room for a temporary of %lld bytes",
         static_cast<long long>(bytes));
  }
  return memory;
}

void copy_overlapping(const CopyPlan& plan) {
  if (is_shift(plan)) return copy_shift(plan);
  Involution involution(plan);
  if (involution.find()) return involution.run();
  const Temporary buffer = allocate_temporary(plan.size());
  execute(plan.to_compact(buffer.get()));
  execute(plan.from_compact(buffer.get()));
}

}  // namespace dlx
