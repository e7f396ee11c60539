#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "src/copy/kernels/lines.h"
#include "src/copy/schedule/loops.h"
#include "src/copy/ways/plane.h"
#include "src/copy/ways/traits.h"
#include "src/copy/ways/way.h"

namespace dlx {
namespace {

/// Bytes that are arranged at once. More would fill the queue of stores, which then leave without
/// anything being read beside them.
constexpr int64_t kPiece = 1024;

/// The innermost axes of dst, as far as it is compact, and the loops around them.
struct CompactRun {
  explicit CompactRun(const Schedule& s) noexcept : first(s.ndim), bytes(s.item) {
    for (; first > 0 && s.axes[first - 1].dst == bytes; --first) bytes *= s.axes[first - 1].extent;
    for (int k = first - 1; k >= 0; --k) around.add(s.axes[k]);
  }

  int first;  ///< outermost axis
  int64_t bytes;
  Loops around;
};

void start(Packing* packing, char* dst) noexcept {
  const int64_t inside = inside_line(dst);
  packing->begin = dst;
  packing->line = dst - inside;
  packing->filled = inside;
  packing->written = 0;
}

/// The rows of a stretch, one after the other.
void run_rows(const Schedule& s, const Kernels& kernels, const CompactRun& stretch,
              Packing& packing) noexcept {
  Loops inside;
  const CopyAxis& inner = s.axes[s.ndim - 1];
  const CopyAxis& outer = stretch.first <= s.ndim - 2 ? s.axes[s.ndim - 2] : kNoAxis;
  for (int k = s.ndim - 3; k >= stretch.first; --k) inside.add(s.axes[k]);
  stretch.around.each(s.dst, s.src, [&](char* dst, const char* src) {
    start(&packing, dst);
    inside.each(dst, src,
                [&](char*, const char* row) { kernels.pack(&packing, row, inner, outer, s.item); });
    kernels.finish_packing(&packing);
  });
}

/// Writes a stretch in whole lines, a piece later than it was put together: what a store has just
/// put into a buffer cannot be loaded as a line yet.
class LaggingWriter {
 public:
  LaggingWriter(const Kernels& kernels, char* buffer) noexcept
      : kernels_(kernels), buffers_{buffer, buffer + kBuffer} {}

  void begin(char* dst) noexcept {
    begin_ = dst;
    line_ = dst - inside_line(dst);
    bytes_ = inside_line(dst);
    from_ = room() - bytes_;
    turn_ ^= 1;
  }

  /// Where the next piece belongs, with room for kPiece and a line more.
  char* room() noexcept { return other() + kLine; }

  /// Takes the piece that is there, and writes the one before.
  void push(int64_t bytes) noexcept {
    const int64_t tail = bytes_ % kLine;
    char* const to = room() - tail;
    write_lines();
    turn_ ^= 1;
    std::memcpy(to, from_ + bytes_ - tail, static_cast<size_t>(tail));
    from_ = to;
    bytes_ = tail + bytes;
  }

  void end() noexcept {
    const int64_t tail = bytes_ % kLine;
    write_lines();
    const int64_t before = line_ < begin_ ? begin_ - line_ : 0;
    if (tail > before) {
      std::memcpy(line_ + before, from_ + bytes_ - tail + before,
                  static_cast<size_t>(tail - before));
    }
  }

 private:
  static constexpr int64_t kBuffer = 3 * kPiece;

  char* other() noexcept { return buffers_[turn_]; }

  void write_lines() noexcept {
    int64_t lines = bytes_ / kLine;
    const char* from = from_;
    if (lines > 0 && line_ < begin_) {  // dst begins inside this line
      const int64_t before = begin_ - line_;
      std::memcpy(begin_, from + before, static_cast<size_t>(kLine - before));
      line_ += kLine;
      from += kLine;
      --lines;
    }
    kernels_.stream(line_, from, lines);
    line_ += lines * kLine;
  }

  const Kernels& kernels_;
  char* const buffers_[2];
  int turn_ = 0;
  char* begin_ = nullptr;
  char* line_ = nullptr;        // of dst, to be written next: `from_` holds it
  const char* from_ = nullptr;  // the piece that waits, behind the end of a line before it
  int64_t bytes_ = 0;           // of both
};

/// GappedRuns of a stretch of items with gaps between them in src: some of the innermost axes, and a
/// part of the one before them.
class GappedRuns {
 public:
  GappedRuns(const Schedule& s, const CompactRun& stretch) noexcept
      : s_(s), v_(s.ndim - 2), cut_(s.ndim - 1), bytes_(s.item) {
    while (cut_ > stretch.first && bytes_ * s.axes[cut_].extent <= kPiece / 2) {
      bytes_ *= s.axes[cut_--].extent;
    }
    at_once_ = kPiece / bytes_;
    if (cut_ < v_ && at_once_ > s.axes[v_].extent) v_ = cut_;
    for (int k = s.ndim - 2; k > cut_; --k) {
      if (k != v_) inside_.add(s.axes[k]);
    }
    for (int k = cut_ - 1; k >= stretch.first; --k) along_.add(s.axes[k]);
  }

  /// Whether src can be read ahead, which the processor does by itself where a few long streams go
  /// on from piece to piece.
  bool suit() const noexcept {
    constexpr int64_t kLong = 4096;  // bytes
    constexpr int64_t kNear = 256;
    constexpr int64_t kFewStreams = 8;
    constexpr int64_t kMostStreams = 31;
    const CopyAxis& cut = s_.axes[cut_];
    const int64_t step = std::llabs(cut.src);
    return step > 0 && step <= kNear && cut.extent * step >= kLong &&
           (cut_ == s_.u ||
            (s_.axes[s_.u].extent <= kFewStreams && bytes_ <= kMostStreams * s_.item)) &&
           (!s_.transposes() || s_.v >= cut_);
  }

  void run(char* dst, const char* src, LaggingWriter& writer) const noexcept {
    const CopyAxis& cut = s_.axes[cut_];
    along_.each(dst, src, [&](char*, const char* from) {
      for (int64_t i = 0; i < cut.extent; i += at_once_) {
        const int64_t n = std::min(at_once_, cut.extent - i);
        arrange(writer.room(), from + i * cut.src, n);
        writer.push(n * bytes_);
      }
    });
  }

 private:
  void arrange(char* to, const char* from, int64_t n) const noexcept {
    const auto extent = [&](int axis) { return axis == cut_ ? n : s_.axes[axis].extent; };
    const int u = s_.ndim - 1;
    Plane plane = {to, s_.item, 0, from, s_.axes[u].src, 0, extent(u), 1};
    if (cut_ < u) {
      plane.dv = s_.axes[v_].dst;
      plane.sv = s_.axes[v_].src;
      plane.nv = extent(v_);
    }
    const CopyAxis& cut = s_.axes[cut_];
    for (int64_t i = 0; i < (cut_ < v_ ? n : 1); ++i) {
      inside_.each(to + i * cut.dst, from + i * cut.src, [&](char* dst, const char* src) {
        plane.dst = dst;
        plane.src = src;
        copy_plane(s_, plane);
      });
    }
  }

  const Schedule& s_;
  int v_;            ///< of planes: the axis before the innermost one, or the outermost if longer
  int cut_;          ///< the outermost axis of a piece, of which it takes a part
  int64_t bytes_;    ///< of one index of that axis
  int64_t at_once_;  ///< indices
  Loops inside_;     ///< other axes of a piece that are not in its planes
  Loops along_;      ///< other axes of the stretch
};

/// Whether dst is a good part of what memory sees, or there are streams side by side. Rows that
/// run backwards are turned by register, and need no help unless they are long.
bool is_dense(const Schedule& s) noexcept {
  constexpr int64_t kDense = 24;          // bytes from item to item
  constexpr int64_t kLongRow = 64 << 10;  // bytes
  const CopyAxis& u = s.axes[s.u];
  if (u.src == -s.item && u.extent * s.item < kLongRow) return false;
  return u.src != 0 && (std::llabs(u.src) <= kDense || s.transposes());
}

/// Whether rows of items are apart in src: then plain stores are better.
bool rows_are_apart(const Schedule& s) noexcept {
  const CopyAxis& u = s.axes[s.u];
  return s.u > 0 && are_apart(u.extent * std::llabs(u.src), s.axes[s.u - 1].src);
}

/// How many streams of rows side by side are put together faster than they are streamed one by one.
int64_t few_streams(int64_t row) noexcept {
  if (row <= 2 * kLine) return 16;
  return row < 4 * kLine ? 8 : 4;
}

bool is_short_rows(const Schedule& s) noexcept {
  constexpr int64_t kShortest = 48;  // bytes of a row
  constexpr int64_t kShortestFar = 16;
  if (s.ndim == 0 || s.kind != PlaneKind::kRows) return false;
  if (s.transposes()) {
    if (s.axes[s.u].extent > few_streams(s.item)) return false;
    if (s.v != s.ndim - 2 && s.machine().boxes_first()) return false;  // no streams that go on
  }
  const bool far = std::llabs(s.axes[s.u].src) > s.item + 2 * kLine;
  return s.item >= (far ? kShortestFar : kShortest) && s.item <= Packing::kLongestRow;
}

/// Whether rows are so far apart in src that to ask for their lines is what counts.
bool has_far_rows(const Schedule& s) noexcept {
  if (s.kind != PlaneKind::kRows || s.ndim == 0 || s.transposes()) return false;
  const int64_t gap = std::llabs(s.axes[s.u].src) - s.item;
  return gap > (s.item < 96 ? kLine : std::max(4 * kLine, s.item / 2));
}

}  // namespace

bool suits_ordered(const Job& job) noexcept {
  const Schedule& s = job.s;
  // Stores narrower than these would leave as slowly from a buffer as straight to dst.
  const bool gaps = s.kind == PlaneKind::kGather && s.item >= 4 && is_dense(s);
  const bool alternates = s.kind == PlaneKind::kCells && s.cells.every == 2;
  const bool rows = is_short_rows(s);
  if ((!gaps && !alternates && !rows) || reads_into_streams(s)) return false;
  const CompactRun run(s);
  if (run.first == s.ndim || run.bytes < kLine || run.bytes < 8 * job.machine.long_row_bytes) {
    return false;
  }
  if (rows) return true;
  return GappedRuns(s, run).suit() && !(rows_are_apart(s) && job.machine.stores_rows_apart());
}

bool suits_ordered_far_rows(const Job& job) noexcept {
  return has_far_rows(job.s) && suits_ordered(job);
}

void run_ordered(const Job& job) noexcept {
  const Schedule& s = job.s;
  const CompactRun run(s);
  if (is_short_rows(s)) {
    static_assert(sizeof(Packing) <= Tiling::kBufferBytes, "it lies in a buffer");
    run_rows(s, job.kernels, run, *new (job.buffers()[0]) Packing);
  } else {
    const GappedRuns runs(s, run);
    LaggingWriter writer(job.kernels, job.buffers()[0]);
    run.around.each(s.dst, s.src, [&](char* dst, const char* src) {
      writer.begin(dst);
      runs.run(dst, src, writer);
      writer.end();
    });
  }
  job.kernels.fence();
}

}  // namespace dlx
