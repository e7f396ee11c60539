#ifndef DLX_SRC_COPY_WAYS_LINE_GATHER_H_
#define DLX_SRC_COPY_WAYS_LINE_GATHER_H_

#include "src/copy/kernels/kernels.h"
#include "src/copy/kernels/lines.h"
#include "src/copy/schedule/schedule.h"

namespace dlx {

/// Rows along a schedule's u: whole lines of dst are gathered in registers and go past the caches
/// from there, the items before and behind them are moved as usual.
class LineGather {
 public:
  /// Whether there is a kernel, and lines of dst begin where items do.
  static bool suits(const Schedule& s, const Kernels& kernels) noexcept {
    return kernels.stream_gathered[s.log_item] != nullptr && s.begins_at_multiples(s.item);
  }

  LineGather(const Schedule& s, const Kernels& kernels) noexcept
      : item_(s.item),
        extent_(s.axes[s.u].extent),
        step_(s.axes[s.u].src),
        gather_(kernels.gather[s.log_item]),
        stream_(kernels.stream_gathered[s.log_item]) {}

  /// Items of a row before its first whole line, its whole lines, and items up to the end of those.
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

}  // namespace dlx

#endif  // DLX_SRC_COPY_WAYS_LINE_GATHER_H_
