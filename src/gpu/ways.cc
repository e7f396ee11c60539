#include "src/gpu/ways.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "src/gpu/kernels.h"

namespace dlx::gpu {
namespace {

/// Work items of a group, if the device allows that many.
constexpr uint32_t kGroup = 256;

/// Most work items of a launch: HIP counts them in 32 bits.
constexpr int64_t kMostWorkItems = (int64_t{1} << 32) - 1;

/// The ways by structure, from the most special one to the one that takes every plan. A way whose family
/// is not there is left out.
constexpr struct {
  Family family;
  Way choose;
} kWays[] = {
    {kFew, choose_planes},       // 3 and 4 bytes, in registers
    {kFew, choose_few},          // few items against long rows
    {kFew, choose_small},        // many small matrices
    {kTurn, choose_turn},        // transpositions
    {kPattern, choose_pattern},  // near each other in src, by a fixed pattern
    {kTiles, choose_tiles},      // transpositions of items that are no words
    {kRows, choose_rows},        // contiguous on both sides
    {kElements, choose_elements}, {kElements, choose_scatter},
};

int64_t offset_of(const char* address) noexcept { return reinterpret_cast<intptr_t>(address); }

uint32_t group_size(const Limits& limits) noexcept {
  uint32_t size = kGroup;
  while (limits.max_group_size != 0 && size > limits.max_group_size) size /= 2;
  return size;
}

bool is_near(const CopyAxis& axis) noexcept {
  return axis.dst <= INT32_MAX && axis.dst >= -INT32_MAX && axis.src <= INT32_MAX &&
         axis.src >= -INT32_MAX;
}

}  // namespace

dlx_divisor divisor(uint32_t d) noexcept {
  const uint32_t shift = d == 1 ? 0 : 32 - static_cast<uint32_t>(__builtin_clz(d - 1));
  const uint64_t magic = ((((uint64_t{1} << shift) - d) << 32) / d) + 1;
  return {static_cast<uint32_t>(magic), shift};
}

void put_axis(const CopyAxis& axis, int at, dlx_strided_copy* copy) noexcept {
  const dlx_divisor by = divisor(static_cast<uint32_t>(axis.extent));
  copy->extent[at] = static_cast<uint32_t>(axis.extent);
  copy->magic[at] = by.magic;
  copy->shift[at] = static_cast<unsigned char>(by.shift);
  copy->dst_step[at] = axis.dst;
  copy->src_step[at] = axis.src;
}

bool set_groups(int64_t groups, const Limits& limits, Launch* out) noexcept {
  const uint32_t size = group_size(limits);
  if (groups > INT32_MAX || groups * size > kMostWorkItems) return false;
  if (limits.max_groups != 0 && static_cast<uint64_t>(groups) > limits.max_groups) return false;
  out->groups[0] = static_cast<uint32_t>(groups);
  out->group_size[0] = out->copy.group_size = size;
  for (int k = 1; k < 3; ++k) out->groups[k] = out->group_size[k] = 1;
  return true;
}

bool set_count(int64_t count, int64_t each, const Limits& limits, Launch* out) noexcept {
  each *= group_size(limits);
  // A work item may count up to one group beyond the end, and divisions are exact below 2^31.
  if (count > INT32_MAX - each) return false;
  out->copy.count = static_cast<uint32_t>(count);
  return set_groups(divide_up(count, each), limits, out);
}

uint32_t common_word(const CopyPlan& plan, uint64_t dst_base, uint64_t src_base) noexcept {
  uint64_t all = (dst_base + static_cast<uint64_t>(offset_of(plan.dst()))) |
                 (src_base + static_cast<uint64_t>(offset_of(plan.src()))) |
                 static_cast<uint64_t>(plan.item()) | 16;
  for (int k = 0; k < plan.ndim(); ++k) {
    all |= static_cast<uint64_t>(plan.axis(k).dst) | static_cast<uint64_t>(plan.axis(k).src);
  }
  return static_cast<uint32_t>(all & -all);
}

Facts::Facts(const CopyPlan& plan, uint64_t dst_base, uint64_t src_base,
             const Limits& limits) noexcept
    : plan(plan),
      limits(limits),
      dst_at(dst_base + static_cast<uint64_t>(offset_of(plan.dst()))),
      src_at(src_base + static_cast<uint64_t>(offset_of(plan.src()))),
      word(common_word(plan, dst_base, src_base)),
      item(plan.item()),
      last(plan.ndim() - 1),
      dense(-1),
      whole_groups(group_size(limits) == kGroup) {
  for (int k = 0; k < last; ++k) {
    const int64_t step = std::abs(axis(k).src);
    if (step == 0 || step >= std::abs(axis(last).src)) continue;
    if (dense < 0 || step <= std::abs(axis(dense).src)) dense = k;
  }
}

bool Facts::near(int k) const noexcept { return is_near(axis(k)); }

Axes::Axes(const Facts& facts) noexcept
    : ndim_(facts.plan.ndim()),
      dst_first_(offset_of(facts.plan.dst())),
      src_first_(offset_of(facts.plan.src())) {
  for (int k = 0; k < ndim_; ++k) {
    axes_[k] = facts.axis(k);
    part_[k] = place_[k] = 0;
  }
}

void Axes::move(int k, Run* run, signed char part) noexcept {
  part_[k] = part;
  place_[k] = static_cast<signed char>(run->count++);
  run->units *= axes_[k].extent;
}

void Axes::extend_dst(int64_t unit, int64_t most) noexcept {
  for (int k = ndim_ - 1; k >= 0; --k) {  // by growing steps in dst
    if (dst.units >= most) return;
    if (!is_outer(k) || axes_[k].dst != dst.units * unit || !is_near(axes_[k])) continue;
    if (dst.units * axes_[k].extent * unit > INT32_MAX / 2) return;
    to_dst(k);
  }
}

void Axes::extend_src(int64_t unit, int64_t most) noexcept {
  for (bool more = true; more && src.units < most;) {
    more = false;
    for (int k = ndim_ - 1; k >= 0 && !more; --k) {
      if (!is_outer(k) || axes_[k].src != src.units * unit || !is_near(axes_[k])) continue;
      if (src.units * axes_[k].extent * unit > INT32_MAX / 2) continue;
      to_src(k);
      more = true;
    }
  }
}

void Axes::make_src_positive() noexcept {
  for (int k = 0; k < ndim_; ++k) {
    if (!is_outer(k) || axes_[k].src >= 0) continue;
    dst_first_ += (axes_[k].extent - 1) * axes_[k].dst;
    src_first_ += (axes_[k].extent - 1) * axes_[k].src;
    axes_[k].dst = -axes_[k].dst;
    axes_[k].src = -axes_[k].src;
  }
}

void Axes::split_item(int64_t item, uint32_t word) noexcept {
  axes_[ndim_] = {item / word, word, word};
  part_[ndim_] = place_[ndim_] = 0;
  ++ndim_;
}

int64_t Axes::outer_count() const noexcept {
  int64_t count = 1;
  for (int k = 0; k < ndim_; ++k) count *= is_outer(k) ? axes_[k].extent : 1;
  return count;
}

bool Axes::dst_is_aligned(const Facts& facts, uint64_t bytes, bool outer) const noexcept {
  const uint64_t moved = static_cast<uint64_t>(dst_first_ - offset_of(facts.plan.dst()));
  uint64_t all = facts.dst_at + moved;
  for (int k = 0; k < ndim_; ++k) {
    if (part_[k] == 0 || (part_[k] == 2 && !outer)) all |= static_cast<uint64_t>(axes_[k].dst);
  }
  return (all & (bytes - 1)) == 0;
}

bool Axes::src_is_aligned(const Facts& facts, uint64_t bytes, bool outer) const noexcept {
  const uint64_t moved = static_cast<uint64_t>(src_first_ - offset_of(facts.plan.src()));
  uint64_t all = facts.src_at + moved;
  for (int k = 0; k < ndim_; ++k) {
    if (part_[k] == 0 || (part_[k] == 1 && !outer)) all |= static_cast<uint64_t>(axes_[k].src);
  }
  return (all & (bytes - 1)) == 0;
}

void Axes::fill(uint32_t item, dlx_strided_copy* copy) const noexcept {
  copy->dst = dst_first_;
  copy->src = src_first_;
  copy->item = item;
  copy->axes = static_cast<uint32_t>(ndim_);
  copy->dst_axes = static_cast<uint32_t>(dst.count);
  copy->src_axes = static_cast<uint32_t>(src.count);
  copy->outer_axes = copy->axes - copy->dst_axes - copy->src_axes;
  int outer = dst.count + src.count;
  for (int k = ndim_ - 1; k >= 0; --k) {
    const int at = part_[k] == 0 ? outer++ : part_[k] == 1 ? place_[k] : dst.count + place_[k];
    put_axis(axes_[k], at, copy);
  }
}

void choose_kernel(const CopyPlan& plan, uint64_t dst_base, uint64_t src_base, const Limits& limits,
                   Launch* out) noexcept {
  const Facts facts(plan, dst_base, src_base, limits);
  for (const auto& way : kWays) {
    if ((limits.missing >> way.family & 1) != 0) continue;
    std::memset(out, 0, sizeof *out);
    if (way.choose(facts, out)) return;
  }
  out->kernel = -1;
}

}  // namespace dlx::gpu
