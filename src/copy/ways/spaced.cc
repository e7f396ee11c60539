#include <algorithm>
#include <cstdlib>

#include "src/copy/kernels/lines.h"
#include "src/copy/schedule/loops.h"
#include "src/copy/ways/traits.h"
#include "src/copy/ways/way.h"

namespace dlx {
namespace {

/// Rows along u: whole lines of dst are gathered in registers and streamed, the items before and
/// after them are moved one by one.
class LineGather {
 public:
  /// Whether there is a kernel, and lines of dst begin with an item.
  static bool suits(const Schedule& s, const Kernels& kernels) noexcept {
    return kernels.stream_gathered[s.log_item] != nullptr && s.begins_at_multiples(s.item);
  }

  LineGather(const Schedule& s, const Kernels& kernels) noexcept
      : item_(s.item),
        extent_(s.axes[s.u].extent),
        step_(s.axes[s.u].src),
        gather_(kernels.gather[s.log_item]),
        stream_(kernels.stream_gathered[s.log_item]) {}

  /// Items of a row before its first whole line, its whole lines, and items up to their end.
  int64_t head(const char* row) const noexcept { return to_next_line(row) / item_; }
  int64_t lines(const char* row) const noexcept { return (extent_ - head(row)) * item_ / kLine; }
  int64_t behind(const char* row) const noexcept { return head(row) + lines(row) * kLine / item_; }

  /// Moves the items of a row from `begin` to `end`.
  void move(char* row, const char* src, int64_t begin, int64_t end) const noexcept {
    if (begin == end) return;
    gather_(row + begin * item_, 0, src + begin * step_, step_, 0, end - begin, 1);
  }

  /// Streams n of the lines from `line` on, whose items begin at `src`.
  void stream(char* line, const char* src, int64_t first, int64_t n) const noexcept {
    stream_(line + first * kLine, src + first * kLine / item_ * step_, step_, n);
  }

 private:
  const int64_t item_;    ///< bytes
  const int64_t extent_;  ///< items
  const int64_t step_;    ///< in src
  void (*const gather_)(char* dst, int64_t dv, const char* src, int64_t su, int64_t sv, int64_t nu,
                        int64_t nv);
  void (*const stream_)(char* dst, const char* src, int64_t su, int64_t lines);
};

/// Whether items are so near that the processor prefetches them, but too far apart for a pattern to
/// have several in one window.
bool is_spaced(const Schedule& s) noexcept {
  constexpr int64_t kFurthest = 96;  // bytes from item to item [note 34]
  const int64_t step = std::llabs(s.axes[s.u].src);
  return step >= (s.item == 16 ? 2 : 3) * s.item && step < kFurthest;
}

/// The rows of one schedule, read upwards.
class SpacedRows {
 public:
  SpacedRows(const Schedule& s, const Kernels& kernels, const CopyAxis& rows) noexcept
      : item_(s.item),
        extent_(s.axes[s.u].extent),
        step_(s.axes[s.u].src),
        bytes_(extent_ * std::llabs(step_)),
        ahead_(bytes_, rows),
        asks_beside_(bytes_ > kLong && are_apart(bytes_, rows.src)),
        gather_(s, kernels) {}

  /// Copies one row; `next_src` is the row that follows.
  void copy(char* dst, const char* src, const char* next_dst, const char* next_src) const noexcept {
    const int64_t head = gather_.head(dst);
    const int64_t lines = gather_.lines(dst);
    const int64_t behind = gather_.behind(dst);
    // Prefetch the line that the row shares with others.
    __builtin_prefetch((step_ < 0 ? next_dst : dst) + behind * item_, 1);
    if (step_ < 0) gather_.move(dst, src, behind, extent_);
    if (step_ >= 0) gather_.move(dst, src, 0, head);
    char* const to = dst + head * item_;
    const char* const from = src + head * step_;
    if (asks_beside_) {
      stream_and_ask(to, from, lines, lowest(next_src));
    } else {
      ahead_.ask(lowest(src));
      gather_.stream(to, from, 0, lines);
    }
    if (step_ < 0) gather_.move(dst, src, 0, head);
    if (step_ >= 0) gather_.move(dst, src, behind, extent_);
  }

 private:
  static constexpr int64_t kLong = 4096;   // bytes of src
  static constexpr int64_t kAsked = 8192;  // [note 34]
  static constexpr int64_t kLongStream =
      32 << 10;  // the processor prefetches longer ones by itself [note 34]

  const char* lowest(const char* src) const noexcept {
    return step_ < 0 ? src + (extent_ - 1) * step_ : src;
  }

  /// Prefetches, beside each line, the source of a later line of this row or the next.
  void stream_and_ask(char* dst, const char* src, int64_t lines, const char* next) const noexcept {
    const int64_t of_a_line = kLine / item_ * std::llabs(step_);
    const int64_t ahead = std::min(lines, divide_up(kAsked, of_a_line));
    const auto stream = [&](int64_t first, int64_t n) {
      gather_.stream(dst, src, step_ < 0 ? lines - first - n : first, n);
    };
    const auto ask_beside = [&](int64_t first, int64_t n, const char* asked) {
      for (int64_t i = first; i < first + n; ++i, asked += of_a_line) {
        fetch_lines(asked, of_a_line);
        stream(i, 1);
      }
    };
    if (bytes_ > kLongStream) {
      stream(0, lines - ahead);
    } else {
      const char* const first = step_ < 0 ? src + (lines * kLine / item_ - 1) * step_ : src;
      ask_beside(0, lines - ahead, first + ahead * of_a_line);
    }
    ask_beside(lines - ahead, ahead, next);
  }

  const int64_t item_;    ///< bytes
  const int64_t extent_;  ///< items
  const int64_t step_;    ///< in src
  const int64_t bytes_;   ///< of src
  const RowsAhead ahead_;
  const bool asks_beside_;
  const LineGather gather_;
};

}  // namespace

bool suits_spaced(const Job& job) noexcept {
  const Schedule& s = job.s;
  if (s.kind != PlaneKind::kGather || s.transposes() || !is_spaced(s)) return false;
  const int64_t row = s.axes[s.u].extent * s.item;
  if (!LineGather::suits(s, job.kernels) || reads_into_streams(s)) return false;
  return row >= std::max(2 * kLine, 2 * job.machine.long_row_bytes);
}

void run_spaced(const Job& job) noexcept {
  const Schedule& s = job.s;
  Loops loops;
  loops.add_others(s, [&](int axis) { return axis == s.u; });
  const SpacedRows rows(s, job.kernels, loops.innermost());
  loops.each_with_next(s.dst, s.src,
                       [&](char* dst, const char* src, char* next_dst, const char* next_src) {
                         rows.copy(dst, src, next_dst, next_src);
                       });
  job.kernels.fence();
}

}  // namespace dlx
