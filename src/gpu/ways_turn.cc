// Transpositions: dlx_turn_* of turn.cl.
#include <algorithm>
#include <cstdint>

#include "src/gpu/kernels.h"
#include "src/gpu/ways.h"

namespace dlx::gpu {
namespace {

/// A kernel of turn.cl: its tile, and how many items of a row more it loads.
struct Shape {
  int32_t kernel;
  int64_t a, b, skew;
};

/// By the logarithm of the item.
constexpr Shape kSkewed[] = {{kTurn1, 128, 96, 32},
                             {kTurn2, 64, 48, 16},
                             {kTurn4, 64, 64, 8},
                             {kTurn8, 32, 32, 4},
                             {kTurn16, 16, 32, 2}};
constexpr Shape kEven[] = {{kTurn1Even, 128, 128, 0},
                           {kTurn2Even, 64, 64, 0},
                           {kTurn4Even, 64, 64, 0},
                           {kTurn8Even, 32, 32, 0},
                           {kTurn16Even, 16, 16, 0}};
constexpr Shape kNarrow = {kTurn1Narrow, 128, 64, 0};
constexpr int32_t kTables[] = {kTurn1Table, kTurn2Table, kTurn4Table, kTurn8Table, kTurn16Table};

/// At least this part of a tile must be in use: dlx_tiles_* fits its tiles to the runs, at three times the
/// cost of a word.
constexpr double kLeastUse = 0.25;
/// Runs of several axes must be so much better used, because of the tables.
constexpr double kWorthTable = 1.25;

int64_t tiles_along_b(const Shape& shape, int64_t units) noexcept {
  return divide_up(units + std::max<int64_t>(shape.skew - 1, 0), shape.b);
}

/// The part of the tiles that items fill.
double use(const Shape& shape, const Axes& axes) noexcept {
  const double in_a = static_cast<double>(axes.src.units) /
                      static_cast<double>(divide_up(axes.src.units, shape.a) * shape.a);
  const double in_b = static_cast<double>(axes.dst.units) /
                      static_cast<double>(tiles_along_b(shape, axes.dst.units) * shape.b);
  return in_a * in_b;
}

}  // namespace

bool choose_turn(const Facts& facts, Launch* out) {
  if (!facts.is_word() || facts.dense < 0 || !facts.whole_groups) return false;
  const int64_t item = facts.item;
  const int size = log2_of(facts.word);
  if (!facts.near(facts.last) || !facts.near(facts.dense)) return false;
  const int64_t dst_gap = facts.axis(facts.last).dst,
                src_gap = std::abs(facts.axis(facts.dense).src);
  const bool gaps = dst_gap != item || src_gap != item;
  if (gaps && (item < 4 || src_gap > kSector || dst_gap > kSector)) return false;

  Axes direct(facts);
  direct.to_dst(facts.last);
  direct.make_src_positive();
  Axes table = direct;
  direct.to_src(facts.dense);
  table.to_src(facts.dense);
  for (const int64_t tiles : {1, 4}) {
    table.extend_dst(item, tiles * kSkewed[size].b);
    table.extend_src(item, tiles * kSkewed[size].a);
  }

  const bool even = dst_gap != item || (direct.dst_is_aligned(facts, kSector) &&
                                        (item >= 4 || direct.src_is_aligned(facts, 4)));
  const bool narrow = even && size == 0 && direct.dst.units <= kNarrow.b;
  Shape shape = narrow ? kNarrow : even ? kEven[size] : kSkewed[size];
  const Axes* axes = &direct;
  const double direct_use = use(shape, direct);
  double part = direct_use;
  if (!gaps && table.dst.count + table.src.count > 2) {
    const double table_use = use(kSkewed[size], table);
    if (table_use > kWorthTable * direct_use) {
      shape = kSkewed[size];
      shape.kernel = kTables[size];
      axes = &table;
      part = table_use;
    }
  }
  if (part < kLeastUse) return false;
  // Kernels count the bytes of a run in 31 bits.
  if (std::max(axes->src.units, axes->dst.units) * std::max(src_gap, dst_gap) > INT32_MAX / 2)
    return false;

  dlx_strided_copy& copy = out->copy;
  out->kernel = shape.kernel;
  axes->fill(facts.word, &copy);
  copy.src_run = static_cast<uint32_t>(axes->src.units);
  copy.dst_run = static_cast<uint32_t>(axes->dst.units);
  copy.src_tiles = static_cast<uint32_t>(divide_up(axes->src.units, shape.a));
  copy.dst_tiles = static_cast<uint32_t>(tiles_along_b(shape, axes->dst.units));
  copy.by_src_tiles = divisor(copy.src_tiles);
  copy.by_dst_tiles = divisor(copy.dst_tiles);
  copy.src_unit_step = static_cast<int>(src_gap);
  copy.dst_unit_step = static_cast<int>(dst_gap);
  return set_groups(int64_t{copy.src_tiles} * copy.dst_tiles * axes->outer_count(), facts.limits,
                    out);
}

}  // namespace dlx::gpu
