#include <cstdlib>
#include <cstring>

#include "src/copy/kernels/lines.h"
#include "src/copy/schedule/loops.h"
#include "src/copy/ways/item_planes.h"
#include "src/copy/ways/traits.h"
#include "src/copy/ways/way.h"

namespace dlx {
namespace {

constexpr int64_t kSmallPlane = 16;      // items that no kernel arranges together [note 73]
constexpr int64_t kSmallByItems = 64;    // the same if kernels take them one by one [note 73]
constexpr int64_t kSmallStreamed = 128;  // and if each waits for memory [note 73]
constexpr int64_t kLongRow = 32;         // items that a kernel gathers in less time [note 73]
constexpr int64_t kMostMoves = 256;      // [note 88]

/// Offsets of an item from the first one.
struct Move {
  int32_t dst;
  int32_t src;
};

struct Moves {
  int64_t count = 1;
  int64_t dst_reach = 0;  // largest offset from the first item; of src in either direction
  int64_t src_reach = 0;
  Move of[kMostMoves];

  Moves() noexcept { of[0] = {0, 0}; }

  /// Whether offsets still fit into 32 bits with `times` steps of one more axis.
  bool reach(const CopyAxis& axis, int64_t times) const noexcept {
    return axis.dst <= (INT32_MAX - dst_reach) / times &&
           std::llabs(axis.src) <= (INT32_MAX - src_reach) / times;
  }

  /// Repeats all moves along one more axis.
  void repeat(const CopyAxis& axis, int64_t times) noexcept {
    const auto dst = static_cast<int32_t>(axis.dst);
    const auto src = static_cast<int32_t>(axis.src);
    const int64_t all = count * times;
    for (int64_t i = count; i < all; ++i) {
      of[i] = {of[i - count].dst + dst, of[i - count].src + src};
    }
    count = all;
    dst_reach += axis.dst * times;
    src_reach += std::llabs(axis.src) * times;
  }
};

/// The source lines of some moves: one or two offsets in each line.
struct Lines {
  int64_t count = 0;
  int32_t of[kMostMoves];

  Lines() noexcept {}  // NOLINT(modernize-use-equals-default): leaves the table as it is

  void add(const Moves& moves) noexcept {
    for (int64_t i = 0; i < moves.count; ++i) add(moves.of[i].src);
  }

 private:
  void add(int32_t place) noexcept {
    constexpr int64_t kRecent = 16;  // [note 88]
    for (int64_t i = count; i > 0 && i > count - kRecent; --i) {
      if (std::abs(place - of[i - 1]) < kLine / 2) return;
    }
    of[count++] = place;
  }
};

/// Moves an item of W bytes.
template <int W>
struct Whole {
  static void move(char* dst, const char* src, int64_t) noexcept { std::memcpy(dst, src, W); }
};

/// Moves an item of W to 2 W bytes: its first W and its last W, which may overlap.
template <int W>
struct Ends {
  static void move(char* dst, const char* src, int64_t item) noexcept {
    char first[W];
    char last[W];
    std::memcpy(first, src, W);
    std::memcpy(last, src + item - W, W);
    std::memcpy(dst, first, W);
    std::memcpy(dst + item - W, last, W);
  }
};

/// Makes `count` moves, at least one for each line, and prefetches the lines of `next` beside them.
/// Aligned, because a loop that crosses a line of code takes half as long again.
template <class Item>
[[gnu::aligned(64)]] void follow(char* dst, const char* src, int64_t item, const Move* moves,
                                 int64_t count, const char* next, const Lines& lines) {
  int64_t i = 0;
  for (; i < lines.count; ++i) {
    __builtin_prefetch(next + lines.of[i], 0, 2);
    Item::move(dst + moves[i].dst, src + moves[i].src, item);
  }
  for (; i < count; ++i) Item::move(dst + moves[i].dst, src + moves[i].src, item);
}

using Follow = void(char* dst, const char* src, int64_t item, const Move* moves, int64_t count,
                    const char* next, const Lines& lines);

/// NULL for items longer than kLongestMoved.
Follow* follow_for(const Schedule& s) noexcept {
  static constexpr Follow* kWhole[] = {follow<Whole<1>>, follow<Whole<2>>, follow<Whole<4>>,
                                       follow<Whole<8>>, follow<Whole<16>>};
  if (s.log_item >= 0) return kWhole[s.log_item];
  if (s.item < 4) return follow<Ends<2>>;
  if (s.item < 8) return follow<Ends<4>>;
  if (s.item < 16) return follow<Ends<8>>;
  return s.item <= kLongestMoved ? follow<Ends<16>> : nullptr;
}

bool has_small_planes(const Schedule& s, bool by_items, bool streamed) noexcept {
  if (s.kind == PlaneKind::kRows) return has_few_rows(s);
  const int64_t nu = s.axes[s.u].extent;
  if (s.kind == PlaneKind::kGather && nu >= kLongRow) return false;
  const int64_t small = by_items ? (streamed ? kSmallStreamed : kSmallByItems) : kSmallPlane;
  return nu * s.axes[s.v].extent < small;
}

/// Whether each item of a large job has a line of its own: best prefetched beside the item before.
bool has_far_items(const Job& job) noexcept {
  return job.is_large() && std::llabs(job.s.axes[job.s.u].src) >= kLine;
}

/// Whether there are several planes, too small for kernels, of items that are not too long.
bool has_a_table(const Job& job) noexcept {
  const Schedule& s = job.s;
  if (s.kind == PlaneKind::kCells || s.folded() || s.fills()) return false;
  if (follow_for(s) == nullptr || is_arranged(s)) return false;
  return has_small_planes(s, moves_items(s), job.is_large());
}

}  // namespace

bool suits_table(const Job& job) noexcept { return has_a_table(job); }

bool suits_table_of_far_items(const Job& job) noexcept {
  return has_far_items(job) && has_a_table(job);
}

void run_table(const Job& job) noexcept {
  const Schedule& s = job.s;
  const bool streamed = job.is_large();
  Follow* const run = follow_for(s);
  int order[CopyPlan::kMaxAxes];
  order_by_nearness(s, order);
  Moves moves;
  int k = 0;
  for (; k < s.ndim; ++k) {
    const CopyAxis& axis = s.axes[order[k]];
    if (axis.extent > kMostMoves / moves.count || !moves.reach(axis, axis.extent)) break;
    moves.repeat(axis, axis.extent);
  }
  // Take as much of the next axis as fits; `rest` is left at its end.
  CopyAxis pieces = kNoAxis;
  CopyAxis rest = {0, 0, 0};
  int64_t moves_of_rest = 0;
  if (k < s.ndim) {
    const CopyAxis& axis = s.axes[order[k++]];
    int64_t length = kMostMoves / moves.count;
    if (!moves.reach(axis, length)) length = 1;
    pieces = {axis.extent / length, axis.dst * length, axis.src * length};
    rest = {axis.extent % length, pieces.dst * pieces.extent, pieces.src * pieces.extent};
    moves_of_rest = moves.count * rest.extent;
    moves.repeat(axis, length);
  }
  Loops loops;
  Loops loops_of_rest;
  loops.add(pieces);
  for (; k < s.ndim; ++k) {
    loops.add(s.axes[order[k]]);
    loops_of_rest.add(s.axes[order[k]]);
  }
  const Lines none;
  Lines lines;
  if (streamed) lines.add(moves);
  char* to = nullptr;  // one place behind those of the loops
  const char* from = nullptr;
  loops.each(s.dst, s.src, [&](char* dst, const char* src) {
    if (from != nullptr) run(to, from, s.item, moves.of, moves.count, src, lines);
    to = dst;
    from = src;
  });
  run(to, from, s.item, moves.of, moves.count, nullptr, none);
  if (moves_of_rest > 0) {
    loops_of_rest.each(s.dst + rest.dst, s.src + rest.src, [&](char* dst, const char* src) {
      run(dst, src, s.item, moves.of, moves_of_rest, nullptr, none);
    });
  }
}

}  // namespace dlx
