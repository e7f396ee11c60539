#include "src/copy/plan/overlap.h"

#include <numeric>

namespace dlx {
namespace {

/// Holds sums of at most 130 products of steps and counts, each below 2^63.
__extension__ typedef __int128 wide;

/// Can sum(step[k] * x[k]) be `target` for some 0 <= x[k] <= count[k]?
///
/// A bounded Diophantine equation. Strides of real tensors nest, so that a greedy search from the
/// largest step down, cut by the reach and the divisor of what remains, ends after a few nodes; a
/// budget guards against the rest (the general problem is NP-complete).
class StepSum {
 public:
  void add(int64_t step, wide count) noexcept {
    if (step == 0 || count == 0) return;
    if (step < 0) {  // count - x takes the place of x
      shift_ += static_cast<wide>(step) * count;
      step = -step;
    }
    int place = size_;
    while (place > 0 && term_[place - 1].step < step) --place;
    if (place > 0 && term_[place - 1].step == step) {
      term_[place - 1].count += count;
      return;
    }
    for (int k = size_++; k > place; --k) term_[k] = term_[k - 1];
    term_[place] = {step, count, 0, 0};
  }

  /// False means proven impossible.
  bool can_be(wide target) noexcept {
    wide reach = 0;
    int64_t divisor = 0;
    for (int k = size_ - 1; k >= 0; --k) {
      reach += static_cast<wide>(term_[k].step) * term_[k].count;
      divisor = std::gcd(divisor, term_[k].step);
      term_[k].reach = reach;
      term_[k].divisor = divisor;
    }
    budget_ = kBudget;
    return search(0, target - shift_);
  }

 private:
  static constexpr int kBudget = 10000;  // [note 91]

  struct Term {
    int64_t step;
    wide count;
    wide reach;       // largest sum of this term and the smaller ones
    int64_t divisor;  // of every such sum
  };

  // Rarely needed, and large if inlined into itself.
  [[gnu::noinline]] bool search(int k, wide target) noexcept {
    if (target == 0) return true;
    if (k == size_ || target < 0 || target > term_[k].reach || target % term_[k].divisor != 0) {
      return false;
    }
    if (--budget_ < 0) return true;
    const Term& term = term_[k];
    const wide rest = k + 1 < size_ ? term_[k + 1].reach : 0;
    wide first = target > rest ? (target - rest + term.step - 1) / term.step : 0;
    wide last = target / term.step;
    if (last > term.count) last = term.count;
    for (wide x = first; x <= last; ++x) {
      if (search(k + 1, target - x * term.step)) return true;
    }
    return false;
  }

  int size_ = 0;
  int budget_ = 0;
  wide shift_ = 0;
  Term term_[2 * CopyPlan::kMaxAxes + 2];
};

}  // namespace

bool repeats_elements(const CopyAxis* axes, int ndim) noexcept {
  wide reach = 0;  // of the axes inside axis k
  for (int k = ndim - 1; k >= 0; --k) {
    const wide step = axes[k].dst;
    if (step == 0) return true;
    if (step <= reach) {
      // Two indices that differ by d >= 1 on this axis, and by anything on the inner ones.
      StepSum sum;
      sum.add(axes[k].dst, axes[k].extent - 2);
      wide target = -step;
      for (int inner = k + 1; inner < ndim; ++inner) {
        sum.add(axes[inner].dst, 2 * static_cast<wide>(axes[inner].extent - 1));
        target += static_cast<wide>(axes[inner].dst) * (axes[inner].extent - 1);
      }
      if (sum.can_be(target)) return true;
    }
    reach += step * (axes[k].extent - 1);
  }
  return false;
}

bool operands_overlap(const CopyPlan& plan, int64_t dst_pitch, int64_t src_pitch) noexcept {
  const int64_t units_per_byte = plan.in_bits() ? 8 : 1;
  const wide distance = (static_cast<wide>(reinterpret_cast<intptr_t>(plan.src())) -
                         static_cast<wide>(reinterpret_cast<intptr_t>(plan.dst()))) *
                            units_per_byte +
                        plan.src_bit() - plan.dst_bit();
  // dst + sum(dst steps) + [0, dst_pitch) meets src + sum(src steps) + [0, src_pitch).
  wide low = 0;
  wide high = 0;
  for (int k = 0; k < plan.ndim(); ++k) {
    const CopyAxis& axis = plan.axis(k);
    high += static_cast<wide>(axis.dst) * (axis.extent - 1);
    (axis.src > 0 ? low : high) -= static_cast<wide>(axis.src) * (axis.extent - 1);
  }
  if (distance <= low - src_pitch || distance >= high + dst_pitch) return false;

  StepSum sum;
  for (int k = 0; k < plan.ndim(); ++k) {
    const CopyAxis& axis = plan.axis(k);
    sum.add(axis.dst, axis.extent - 1);
    sum.add(-axis.src, axis.extent - 1);
  }
  sum.add(1, dst_pitch + src_pitch - 2);
  return sum.can_be(distance + src_pitch - 1);
}

}  // namespace dlx
