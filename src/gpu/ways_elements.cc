// Rows, patterns, and each word on its own: rows.cl, pattern.cl and elements.cl.
#include <algorithm>
#include <cstdint>

#include "src/gpu/kernels.h"
#include "src/gpu/ways.h"

namespace dlx::gpu {
namespace {

/// Bytes that a work item makes.
constexpr int64_t kChunk = 16;

/// Shorter items are copied in words, unless they have no even number of them.
constexpr int64_t kRow = 16;
constexpr int64_t kLeastRow = 4;
/// Whether items are copied as rows.
bool is_row(int64_t item, uint32_t word) noexcept {
  return item >= kRow || (item != word && item >= kLeastRow);
}

/// Fills in a launch that numbers chunks of `per` items of the dst run. `aligned`: each run begins at a chunk.
bool number_chunks(const Facts& facts, const Axes& axes, int64_t run, int64_t per, bool aligned,
                   int64_t each, Launch* out) {
  dlx_strided_copy& copy = out->copy;
  copy.dst_run = static_cast<uint32_t>(run);
  copy.dst_tiles = static_cast<uint32_t>(divide_up(run + (aligned ? 0 : per - 1), per));
  copy.by_dst_tiles = divisor(copy.dst_tiles);
  return set_count(copy.dst_tiles * axes.outer_count(), each, facts.limits, out);
}

/// A pattern of pattern.cl.
struct Pattern {
  int32_t kernel;
  int64_t item, per;
  int64_t step;     // from one item to the next in src
  bool is_turned;   // the bytes of an item are turned
  int64_t aligned;  // runs of dst
};

constexpr Pattern kPatterns[] = {
    {kPattern1Every2, 1, 16, 2, false, 16}, {kPattern1Every3, 1, 16, 3, false, 16},
    {kPattern1Every4, 1, 16, 4, false, 16}, {kPattern1Back, 1, 16, -1, false, 16},
    {kPattern2Every2, 2, 8, 4, false, 16},  {kPattern2Every3, 2, 8, 6, false, 16},
    {kPattern2Back, 2, 8, -2, false, 16},   {kPattern3Back, 3, 4, -3, false, 4},
    {kPattern3Of4, 3, 4, 4, false, 4},      {kPattern3Turned, 3, 4, 3, true, 4},
};

}  // namespace

bool choose_pattern(const Facts& facts, Launch* out) {
  if (facts.last < 0 || facts.word > 2) return false;
  // The bytes of an item, if they are turned, are an axis of their own.
  const CopyAxis& last = facts.axis(facts.last);
  const bool turned = facts.item == 1 && last.extent == 3 && last.dst == 1 && last.src == -1;
  const int inner = facts.last - (turned ? 1 : 0);
  if (inner < 0) return false;
  const int64_t item = turned ? 3 : facts.item;
  const CopyAxis& axis = facts.axis(inner);
  for (const Pattern& pattern : kPatterns) {
    if (pattern.item != item || pattern.step != axis.src || pattern.is_turned != turned) continue;
    if (item == 2 && facts.word != 2) continue;  // words of src are picked as they lie
    if (axis.dst != item || axis.extent < 2 * pattern.per || axis.extent * item > INT32_MAX / 2)
      continue;
    Axes axes(facts);
    if (turned) axes.to_src(facts.last);  // the last axis of the launch
    axes.to_dst(inner);
    axes.extend_dst(item, INT32_MAX);
    // Where runs begin; the axis of the bytes is part of an item.
    uint64_t begins = facts.dst_at;
    for (int k = 0; k < inner; ++k) {
      if (axes.is_outer(k)) begins |= static_cast<uint64_t>(axes[k].dst);
    }
    if (begins % static_cast<uint64_t>(pattern.aligned) != 0) return false;
    out->kernel = pattern.kernel;
    axes.fill(static_cast<uint32_t>(facts.item), &out->copy);
    const int64_t run = axes.dst.units * item;
    return number_chunks(facts, axes, run, pattern.per * item, true, 1, out);
  }
  return false;
}

int64_t numbered(int64_t item, uint32_t word, const Limits& limits) noexcept {
  if (!is_row(item, word) || (limits.missing >> kRows & 1) != 0) return divide_up(item, word);
  return divide_up(item + (word == kChunk ? 0 : kChunk - 1), kChunk);
}

bool choose_rows(const Facts& facts, Launch* out) {
  if (!is_row(facts.item, facts.word)) return false;
  Axes axes(facts);
  const int64_t item = std::min(facts.item, kMostRow);
  if (item != facts.item) axes.split_item(facts.item, static_cast<uint32_t>(item));
  axes.extend_dst(item, INT32_MAX);
  const bool aligned = facts.word == kChunk;
  out->kernel = aligned ? kRows16 : kRowsAny;
  axes.fill(static_cast<uint32_t>(item), &out->copy);
  out->copy.by_unit = divisor(static_cast<uint32_t>(item));
  return number_chunks(facts, axes, axes.dst.units * item, kChunk, aligned, 2, out);
}

bool choose_elements(const Facts& facts, Launch* out) {
  if (facts.word > 8) return false;
  Axes axes(facts);
  if (!facts.is_word()) axes.split_item(facts.item, facts.word);
  const int64_t word = facts.word;
  axes.extend_dst(word, INT32_MAX);
  if (axes.dst.count == 0) return false;
  out->kernel = kElements1 + log2_of(facts.word);
  axes.fill(facts.word, &out->copy);
  return number_chunks(facts, axes, axes.dst.units, kChunk / word, false, 1, out);
}

bool choose_scatter(const Facts& facts, Launch* out) {
  Axes axes(facts);
  if (!facts.is_word()) axes.split_item(facts.item, facts.word);
  out->kernel = kScatter1 + log2_of(facts.word);
  axes.fill(facts.word, &out->copy);
  return set_count(axes.outer_count(), 4, facts.limits, out);
}

}  // namespace dlx::gpu
