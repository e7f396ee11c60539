#include "src/gpu/kernel_choice.h"

#include <cstdint>
#include <cstring>

#include "src/gpu/tile_choice.h"

namespace dlx::gpu {
namespace {

/// Work items of a group, if the device allows that many.
constexpr uint32_t kGroup = 256;

/// Words of a work item: IN_FLIGHT of strided_copy.cl.
constexpr uint32_t kInFlight = 4;

int32_t log2_of(uint32_t power) noexcept { return __builtin_ctz(power); }

int64_t offset_of(const char* address) noexcept { return reinterpret_cast<intptr_t>(address); }

uint32_t group_size(const Limits& limits) noexcept {
  uint32_t size = kGroup;
  while (limits.max_group_size != 0 && size > limits.max_group_size) size /= 2;
  return size;
}

/// Fills in what every kernel reads.
void fill_common(const CopyPlan& plan, dlx_strided_copy* copy) noexcept {
  copy->dst = offset_of(plan.dst());
  copy->src = offset_of(plan.src());
  copy->axes = static_cast<uint32_t>(plan.ndim());
  copy->item = static_cast<uint32_t>(plan.item());
  for (int k = 0; k < plan.ndim(); ++k) {
    copy->extent[k] = plan.axis(k).extent;
    copy->dst_step[k] = plan.axis(k).dst;
    copy->src_step[k] = plan.axis(k).src;
    copy->by_extent[k] = divisor(static_cast<uint32_t>(plan.axis(k).extent));
  }
}

void choose_elements(const CopyPlan& plan, uint32_t word, const Limits& limits,
                     Launch* out) noexcept {
  dlx_strided_copy& copy = out->copy;
  out->kernel = kElements1 + log2_of(word);
  copy.count = static_cast<uint32_t>(plan.size() / word);
  copy.words = copy.item / word;
  copy.by_words = divisor(copy.words);
  const uint32_t each = group_size(limits) * kInFlight;
  set_groups((copy.count + each - 1) / each, limits, out);
}

}  // namespace

dlx_divisor divisor(uint32_t d) noexcept {
  const uint32_t shift = d == 1 ? 0 : 32 - static_cast<uint32_t>(__builtin_clz(d - 1));
  const uint64_t magic = ((((uint64_t{1} << shift) - d) << 32) / d) + 1;
  return {static_cast<uint32_t>(magic), shift};
}

void set_groups(uint32_t groups, const Limits& limits, Launch* out) noexcept {
  out->groups[0] = groups;
  out->group_size[0] = out->copy.group_size = group_size(limits);
  for (int k = 1; k < 3; ++k) out->groups[k] = out->group_size[k] = 1;
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

void choose_kernel(const CopyPlan& plan, uint64_t dst_base, uint64_t src_base, const Limits& limits,
                   Launch* out) noexcept {
  std::memset(out, 0, sizeof *out);
  fill_common(plan, &out->copy);
  const uint32_t word = common_word(plan, dst_base, src_base);
  if (!choose_tiles(plan, word, limits, out)) choose_elements(plan, word, limits, out);
}

}  // namespace dlx::gpu
