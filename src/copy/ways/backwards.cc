#include <algorithm>
#include <cstring>

#include "src/copy/kernels/lines.h"
#include "src/copy/schedule/loops.h"
#include "src/copy/ways/planes.h"
#include "src/copy/ways/traits.h"
#include "src/copy/ways/way.h"

namespace dlx {
namespace {

constexpr int64_t kMostItem = 1024;  // bytes [note 88]

/// Writes rows one after the other, each from its end, a segment at a time. The lines of a segment
/// are streamed when the next segment is arranged: a line that was just stored cannot be loaded at
/// once.
///
/// If a row ends inside a line in which the next row begins, the line is written when the next row
/// is finished.
class Rows {
 public:
  Rows(const Schedule& s, const Kernels& kernels, char* buffer) noexcept
      : s_(s),
        kernels_(kernels),
        buffers_{buffer, buffer + kBuffer},
        loose_(s.cells),
        count_(s.axes[s.u].extent),
        step_(s.axes[s.u].src),
        highest_(s.highest_of_item()),
        end_of_source_(s.end_of_source()) {
    loose_.edge_src = loose_.edge_dst = 0;
  }

  void write(char* dst, const char* src) noexcept {
    if (open_end_ != dst) close();
    dst_ = dst;
    src_ = src;
    char* const end = dst + count_ * s_.item;
    for (char* upper = end; upper > dst;) {
      char* lower = dst;
      if (upper - dst > kSegment + kLine) {
        lower = upper - kSegment;
        lower -= inside_line(lower);
      }
      arrange(lower, upper);
      pass_on(lower, upper, end);
      upper = lower;
    }
    std::memcpy(open_, next_open_, kLine);
    open_end_ = inside_line(end) != 0 ? end : nullptr;
  }

  /// Writes the lines that were kept back.
  void finish() noexcept {
    stream();
    close();
  }

 private:
  static constexpr int64_t kSegment = 64 * kLine;        // [note 88]
  static constexpr int64_t kAround = kMostItem + kLine;  // most bytes of items beyond a segment
  // Loads from one buffer must not look like loads of bytes just stored in the other: addresses are
  // compared by their last 12 bits. A distance from 2 KiB to 768 bytes before a multiple of 4 KiB
  // took twice as long.
  static constexpr int64_t kBuffer = 2 * kSegment - 2 * kLine;  // [note 21]
  static_assert(kBuffer >= kSegment + 2 * kAround, "they do not overlap");

  /// The place in the buffer of the segment that begins at `lower`; its lines are lines of the
  /// buffer.
  char* place(const char* lower) noexcept { return buffers_[turn_] + kAround + inside_line(lower); }

  /// Arranges the cells that [lower, upper) touches.
  void arrange(const char* lower, const char* upper) noexcept {
    turn_ ^= 1;
    // First the part after the last line, so that the stores of a long row do not cross lines.
    if (s_.kind == PlaneKind::kCells && upper - lower >= kSegment / 2 && inside_line(upper) != 0) {
      arrange_cells(lower, upper - inside_line(upper), upper);
      upper -= inside_line(upper);
    }
    arrange_cells(lower, lower, upper);
    stream();
  }

  /// Arranges the cells of [from, to), and the cells below that the same register takes.
  void arrange_cells(const char* lower, const char* from, const char* to) noexcept {
    int64_t first = (from - dst_) / s_.item;
    const int64_t behind = divide_up(to - dst_, s_.item);
    if (s_.kind != PlaneKind::kCells) {
      char* const dst = place(lower) + (first * s_.item - (lower - dst_));
      return copy_plane(s_, {dst, s_.item, 0, src_ + first * step_, step_, 0, behind - first, 1});
    }
    if (behind - first < s_.cells.at_once) {
      first = behind > s_.cells.at_once ? behind - s_.cells.at_once : 0;
    }
    const char* const src = src_ + first * step_;
    // Bytes that are read beyond the row lie between items of src, on a page of the row.
    const char* const last_read = src + s_.cells.lowest + 15;
    const char* const last = src_ + highest_;
    const bool inside =
        last_read < end_of_source_ && (last_read <= last || !leaves_page(last, last_read - last));
    kernels_.cells_backwards(place(lower) + (first * s_.item - (lower - dst_)), src, behind - first,
                             inside ? loose_ : s_.cells);
  }

  /// Keeps the lines of a segment, of the row that ends at `end`, to be written.
  void pass_on(char* lower, char* upper, const char* end) noexcept {
    char* from = place(lower);
    const int64_t inside = inside_line(lower);
    const int64_t tail = inside_line(upper);
    if (upper == end) std::memcpy(next_open_, from + (upper - lower) - tail, kLine);
    if (open_end_ == lower) {  // only where the row begins
      std::memcpy(from - inside, open_, static_cast<size_t>(inside));
      from -= inside;
      lower -= inside;
    } else if (inside != 0) {
      const int64_t head = kLine - inside;
      std::memcpy(lower, from, static_cast<size_t>(head));
      from += head;
      lower += head;
    }
    to_ = lower;
    from_ = from;
    lines_ = (upper - lower) / kLine;
  }

  void stream() noexcept {
    kernels_.stream(to_, from_, lines_);
    lines_ = 0;
  }

  /// Writes the rest of a row's last line.
  void close() noexcept {
    if (open_end_ == nullptr) return;
    const int64_t bytes = inside_line(open_end_);
    std::memcpy(open_end_ - bytes, open_, static_cast<size_t>(bytes));
    open_end_ = nullptr;
  }

  const Schedule& s_;
  const Kernels& kernels_;
  char* const buffers_[2];
  Cells loose_;  ///< may read above the first cell and write below it
  const int64_t count_;
  const int64_t step_;
  const int64_t highest_;  ///< byte of an item, counted from its first one
  const char* const end_of_source_;
  char* dst_ = nullptr;
  const char* src_ = nullptr;
  char* to_ = nullptr;  // lines that are arranged but not yet written
  const char* from_ = nullptr;
  int64_t lines_ = 0;
  char* open_end_ = nullptr;  // end of the row whose last line is open; NULL: none
  int turn_ = 0;
  alignas(kLine) char open_[kLine];
  char next_open_[kLine];
};

/// The loops over rows.
Loops rows_of(const Schedule& s) noexcept {
  Loops loops;
  loops.add_others(s, [&](int axis) { return axis == s.u; });
  return loops;
}

}  // namespace

bool suits_backwards(const Job& job) noexcept {
  const Schedule& s = job.s;
  if (s.ndim == 0 || s.item > kMostItem || s.transposes()) return false;
  if (s.kind != PlaneKind::kRows && s.kind != PlaneKind::kGather && s.kind != PlaneKind::kCells) {
    return false;
  }
  const CopyAxis& u = s.axes[s.u];
  const int64_t row = u.extent * s.item;
  if (u.src >= 0 || u.dst != s.item || reads_into_streams(s)) return false;
  if (row < std::max(4 * kLine, job.machine.long_row_bytes / 2)) return false;
  // Short rows in few cache sets would wait for memory one after the other.
  constexpr int64_t kShort = 16 * kLine;
  constexpr int64_t kAlike = 16 << 10;  // [note 24]
  return row >= kShort || rows_of(s).innermost().src % kAlike != 0;
}

void run_backwards(const Job& job) noexcept {
  const Schedule& s = job.s;
  const CopyAxis& u = s.axes[s.u];
  const Loops loops = rows_of(s);
  Rows rows(s, job.kernels, job.buffers()[0]);
  const int64_t bytes = u.extent * -u.src;
  const RowsAhead ahead(bytes, loops.innermost());
  loops.each(s.dst, s.src, [&](char* dst, const char* src) {
    ahead.ask(src - u.src - bytes);
    rows.write(dst, src);
  });
  rows.finish();
  job.kernels.fence();
}

}  // namespace dlx
