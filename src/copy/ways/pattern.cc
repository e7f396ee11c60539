#include <algorithm>
#include <cstdlib>
#include <new>
#include <numeric>

#include "src/copy/kernels/lines.h"
#include "src/copy/schedule/loops.h"
#include "src/copy/ways/planes.h"
#include "src/copy/ways/traits.h"
#include "src/copy/ways/way.h"

namespace dlx {
namespace {

/// Compact bytes of dst that repeat along one axis, and the source offset of each.
class Cell {
 public:
  static constexpr int64_t kMost = Pattern::kLines * kLine;  // bytes

  /// The item of the schedule, at most kMost bytes.
  explicit Cell(const Schedule& s) noexcept : bytes_(s.item) {
    const bool permuted = s.kind == PlaneKind::kCells;
    for (int64_t b = 0; b < bytes_; ++b) from_[b] = permuted ? s.cells.from[b] : b;
  }

  /// Makes an axis along which the cell repeats part of the cell.
  void add(const CopyAxis& axis) noexcept {
    const int64_t all = bytes_ * axis.extent;
    for (int64_t b = bytes_; b < all; ++b) from_[b] = from_[b - bytes_] + axis.src;
    bytes_ = all;
  }

  int64_t bytes() const noexcept { return bytes_; }
  int64_t from(int64_t byte) const noexcept { return from_[byte]; }

  /// The lowest byte that is read, and one past the highest.
  int64_t begin() const noexcept { return *std::min_element(from_, from_ + bytes_); }
  int64_t end() const noexcept { return *std::max_element(from_, from_ + bytes_) + 1; }

 private:
  int64_t bytes_;
  int64_t from_[kMost];
};

/// Iterates over the source offsets of the bytes of cells along an axis.
class Bytes {
 public:
  Bytes(const Cell& cell, int64_t step, int64_t first) noexcept
      : cell_(cell), step_(step), byte_(first % cell.bytes()), at_(first / cell.bytes() * step) {}

  int64_t next() noexcept {
    const int64_t from = at_ + cell_.from(byte_);
    if (++byte_ == cell_.bytes()) {
      byte_ = 0;
      at_ += step_;
    }
    return from;
  }

  /// Where the cell of the next byte begins.
  int64_t cell() const noexcept { return at_; }

 private:
  const Cell& cell_;
  const int64_t step_;
  int64_t byte_;
  int64_t at_;
};

/// Cells along one axis of a schedule, as a pattern of lines.
class PatternedRuns {
 public:
  PatternedRuns(const Schedule& s, const Kernels& kernels) noexcept
      : s_(s), kernels_(kernels), cell_(s) {}

  /// Chooses the axis and makes the pattern. False if there is no pattern, or runs of dst are
  /// short.
  bool build() noexcept {
    for (axis_ = s_.ndim - 1;; --axis_) {
      const bool outermost = axis_ == 0 || s_.axes[axis_ - 1].dst != run_bytes();
      if (axis().dst != cell_.bytes() || std::lcm(cell_.bytes(), kLine) > Cell::kMost) return false;
      if (outermost || run_bytes() >= long_run_bytes()) break;
      if (run_bytes() > Cell::kMost) return false;
      cell_.add(axis());
    }
    return suits() && make_pattern();
  }

  void run() const noexcept {
    Loops loops;
    for (int k = axis_ - 1; k >= 0; --k) loops.add(s_.axes[k]);
    loops.each(s_.dst, s_.src, [&](char* dst, const char* src) { write(dst, src); });
    kernels_.fence();
  }

 private:
  static constexpr int64_t kBlock = 16;               // bytes
  static constexpr int64_t kBlocks = kLine / kBlock;  // of a line
  static constexpr int64_t kLinesAhead = 64;          // [note 41]
  static constexpr int64_t kPage = 4096;              // bytes

  const CopyAxis& axis() const noexcept { return s_.axes[axis_]; }
  int64_t run_bytes() const noexcept { return cell_.bytes() * axis().extent; }

  bool runs_backwards() const noexcept { return axis().src < 0; }

  /// Shorter runs lose more by shared lines than they gain. Runs that are apart in src lose less,
  /// because later ones are prefetched.
  int64_t long_run_bytes() const noexcept {
    const bool apart =
        axis_ > 0 && are_apart(axis().extent * std::llabs(axis().src), s_.axes[axis_ - 1].src);
    return (runs_backwards() ? (apart ? 16 : 7) : (apart ? 6 : 16)) * s_.machine().long_row_bytes;
  }

  /// Whether the way `backwards` reverses the runs with whole registers, which is faster.
  bool is_reversal_by_registers() const noexcept {
    return s_.kind == PlaneKind::kCells && s_.cells.edge_dst == 0 && axis_ == s_.ndim - 1 &&
           axis().src == -s_.item;
  }

  /// Whether runs are long, begin at the same offset in a line, and share no lines of src.
  bool suits() const noexcept {
    constexpr int64_t kSparseRows = 1024;  // times the bytes taken [note 45]
    const int64_t c = cell_.bytes();
    const int64_t shared = std::gcd(c, kLine);
    const int64_t step = std::llabs(axis().src);
    const int64_t furthest =
        s_.has_whole_lines() ? kSparseRows * c : std::max(3 * c, std::min(5 * c, kBlock));
    if (run_bytes() < long_run_bytes() || step == 0 || step > furthest) return false;
    if (is_reversal_by_registers()) return false;
    for (int k = 0; k < axis_; ++k) {
      if (s_.axes[k].dst % shared != 0 || std::llabs(s_.axes[k].src) < kLine) return false;
    }
    return true;
  }

  bool make_pattern() noexcept {
    const int64_t c = cell_.bytes();
    const int64_t period = std::lcm(c, kLine);
    const int64_t step = std::llabs(axis().src);
    first_ = to_next_line(s_.dst) % std::gcd(c, kLine);
    end_ = cell_.end();
    whole_ = c >= kBlock && end_ - cell_.begin() == c;
    // Windows may read beyond a cell only within the page of this cell or the next.
    if (!whole_ && step >= kPage) return false;
    pattern_.lines = period / kLine;
    pattern_.src = period / c * step;
    pattern_.windows = 1;
    pattern_.fetches = 0;
    Bytes bytes(cell_, axis().src, first_);
    for (int64_t block = 0; block < period / kBlock; ++block) {
      if (!add_block(block, bytes)) return false;
    }
    if (beyond_ > 0) margin_ = (beyond_ / step + 1) * c;
    if (runs_backwards()) return true;  // the processor prefetches by itself
    for (int64_t line = 0; line < pattern_.lines; ++line) add_fetches(line);
    return true;
  }

  /// Covers the next bytes with windows, the lowest first. False if they are too many.
  bool add_block(int64_t block, Bytes& bytes) noexcept {
    constexpr uint8_t kNone = 128;
    constexpr int64_t kTaken = INT64_MAX;
    Pattern::Line& line = pattern_.line[place(block / kBlocks)];
    const int64_t first = block % kBlocks / 2 * 2 * Pattern::kWindows + block % 2;
    int64_t from[kBlock];
    int64_t last_window[kBlock];  // that does not leave its cell
    for (int64_t b = 0; b < kBlock; ++b) {
      last_window[b] = whole_ ? bytes.cell() + end_ - kBlock : kTaken;
      from[b] = bytes.next();
    }
    const int64_t begin = *std::min_element(from, from + kBlock);
    const int64_t behind = *std::max_element(from, from + kBlock) + 1;
    // Any byte between the first and the last byte of a block may be read.
    const bool near = behind - begin >= kBlock && behind - begin <= Pattern::kWindows * kBlock;
    int64_t left = kBlock;
    for (int w = 0; w < Pattern::kWindows; ++w) {
      const int64_t at = first + 2 * w;
      uint8_t* const pick = line.pick + at * kBlock;
      std::fill_n(pick, kBlock, kNone);
      if (left == 0) {
        line.offset[at] = line.offset[first];
        continue;
      }
      const int64_t lowest = std::min_element(from, from + kBlock) - from;
      int64_t window = std::min(from[lowest], last_window[lowest]);
      if (near) window = std::min(window, behind - kBlock);
      int64_t taken = 0;
      for (int64_t b = 0; b < kBlock; ++b) {
        if (from[b] == kTaken || from[b] >= window + kBlock) continue;
        pick[b] = static_cast<uint8_t>(from[b] - window);
        taken = std::max(taken, from[b] - window + 1);
        from[b] = kTaken;
        --left;
      }
      if (!whole_ && !near) beyond_ = std::max(beyond_, kBlock - taken);
      line.offset[at] = window;
      pattern_.windows = std::max(pattern_.windows, w + 1);
    }
    return left == 0;
  }

  /// The place of a line in the pattern: lines are in the order of src.
  int64_t place(int64_t line) const noexcept {
    return runs_backwards() ? pattern_.lines - 1 - line : line;
  }

  /// Lists the source lines that a later line of dst needs and the line before it does not. If rows
  /// begin at other offsets in a line than the first row, a little too much is fetched.
  void add_fetches(int64_t line) noexcept {
    const int64_t later = line + kLinesAhead;
    const auto inside = reinterpret_cast<intptr_t>(s_.src + shape_of(s_.dst).src) & (kLine - 1);
    int64_t lines[2 * kLine];  // so far
    int count = 0;
    int64_t* const fetch = pattern_.line[line].fetch;
    int n = 0;
    Bytes bytes(cell_, axis().src, first_ + (later - 1) * kLine);
    for (int64_t i = 0; i < 2 * kLine; ++i) {
      const int64_t from = bytes.next();
      const int64_t its_line = (from + inside) & -kLine;
      if (i == kLine) fetch[0] = from;  // if there is none
      if (count > 0 && lines[count - 1] == its_line) continue;
      if (std::find(lines, lines + count, its_line) != lines + count) continue;
      lines[count++] = its_line;
      if (i >= kLine && n < Pattern::kFetches) fetch[n++] = from;
    }
    pattern_.fetches = std::max(pattern_.fetches, n);
    std::fill(fetch + std::max(n, 1), fetch + Pattern::kFetches, fetch[0]);
  }

  /// Bytes [begin, end) of a run, and the whole cells in them.
  struct Edge {
    int64_t begin;
    int64_t end;
    int64_t first;
    int64_t behind;
  };

  Edge edge(int64_t begin, int64_t end) const noexcept {
    return {begin, end, divide_up(begin, cell_.bytes()), end / cell_.bytes()};
  }

  /// The layout of a run, by the number of bytes before its first line. Computed once, because a
  /// dozen divisions take as long as a short run.
  struct Shape {
    int64_t lines = -1;  ///< -1: not known yet
    int64_t head;        ///< bytes before the first one
    int64_t line;        ///< of the pattern, that begins with the same byte of a cell
    int64_t src;         ///< from where the run begins to where the pattern does
    Edge front;
    Edge back;
  };

  const Shape& shape_of(const char* dst) const noexcept {
    const int64_t inside = to_next_line(dst + margin_);
    Shape& shape = shapes_[inside];
    if (shape.lines >= 0) return shape;
    const int64_t c = cell_.bytes();
    const int64_t head = margin_ + inside;
    int64_t line = 0;
    while ((first_ + line * kLine) % c != head % c) ++line;
    const int64_t lines = std::max<int64_t>((run_bytes() - margin_ - head) / kLine, 0);
    const int64_t behind = head + lines * kLine;
    shape = {lines,
             head,
             line,
             (head - line * kLine - first_) / c * axis().src,
             edge(0, lines > 0 ? head : run_bytes()),
             edge(behind, run_bytes())};
    return shape;
  }

  /// Writes a run from where src begins.
  void write(char* dst, const char* src) const noexcept {
    const Shape& shape = shape_of(dst);
    if (shape.lines == 0) return write_edge(dst, src, shape.front);
    const CopyAxis& next = axis_ > 0 ? s_.axes[axis_ - 1] : kNoAxis;
    // Prefetch the line of the edge that is written last, or first in the next run.
    __builtin_prefetch(dst + shape.back.begin + (runs_backwards() ? next.dst : 0), 1);
    if (runs_backwards()) {
      write_edge(dst, src, shape.back);
      stream(dst, src, shape, shape.lines - 1, shape.lines, 0);
      return write_edge(dst, src, shape.front);
    }
    // With the last lines, the first lines of the next run are fetched.
    const int64_t last = std::min(shape.lines, kLinesAhead);
    write_edge(dst, src, shape.front);
    stream(dst, src, shape, 0, shape.lines - last, 0);
    stream(dst, src, shape, shape.lines - last, last, next.src - axis().extent * axis().src);
    write_edge(dst, src, shape.back);
  }

  /// Writes `n` lines of the run at `dst` from its `first` one on, in the order of src.
  void stream(char* dst, const char* src, const Shape& shape, int64_t first, int64_t n,
              int64_t fetch_on) const noexcept {
    const int64_t line = shape.line + first;
    const int64_t step = runs_backwards() ? -pattern_.src : pattern_.src;
    kernels_.stream_pattern[pattern_.windows - 1][runs_backwards()](
        dst + shape.head + first * kLine, src + shape.src + line / pattern_.lines * step, pattern_,
        place(line % pattern_.lines), n, fetch_on);
  }

  void write_edge(char* dst, const char* src, const Edge& edge) const noexcept {
    const int64_t c = cell_.bytes();
    if (axis_ != s_.ndim - 1 || edge.first >= edge.behind) {
      return write_bytes(dst, src, edge.begin, edge.end);
    }
    write_bytes(dst, src, edge.begin, edge.first * c);
    copy_plane(s_, {dst + edge.first * c, c, 0, src + edge.first * axis().src, axis().src, 0,
                    edge.behind - edge.first, 1});
    write_bytes(dst, src, edge.behind * c, edge.end);
  }

  void write_bytes(char* dst, const char* src, int64_t begin, int64_t end) const noexcept {
    if (begin == end) return;
    Bytes bytes(cell_, axis().src, begin);
    for (int64_t x = begin; x < end; ++x) dst[x] = src[bytes.next()];
  }

  const Schedule& s_;
  const Kernels& kernels_;
  int axis_ = -1;
  Cell cell_;
  bool whole_ = false;  ///< cells use all bytes between their ends: windows stay inside
  int64_t end_ = 0;     ///< of a cell in src
  int64_t first_ = 0;   ///< byte of a cell with which the pattern begins
  int64_t beyond_ = 0;  ///< bytes that windows read beyond those of their block
  int64_t margin_ = 0;  ///< bytes at both ends of a run whose windows might leave it
  Pattern pattern_;
  mutable Shape shapes_[kLine];  ///< by the bytes before a line
};

/// In a buffer: suits_pattern() makes the pattern, run_pattern() follows it.
PatternedRuns* place_of_pattern(const Job& job) noexcept {
  static_assert(sizeof(PatternedRuns) <= Tiling::kBufferBytes, "it lies in a buffer");
  return reinterpret_cast<PatternedRuns*>(job.buffers()[0]);
}

}  // namespace

bool suits_pattern(const Job& job) noexcept {
  const Schedule& s = job.s;
  if (job.kernels.stream_pattern[0][0] == nullptr || s.ndim == 0) return false;
  if (s.item > Cell::kMost) return false;
  if (s.transposes() && !s.has_whole_lines()) return false;
  if (s.kind == PlaneKind::kSplit || s.kind == PlaneKind::kJoin) return false;
  return !reads_into_streams(s) &&
         (new (place_of_pattern(job)) PatternedRuns(s, job.kernels))->build();
}

void run_pattern(const Job& job) noexcept { place_of_pattern(job)->run(); }

}  // namespace dlx
