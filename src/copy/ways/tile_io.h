#ifndef DLX_SRC_COPY_WAYS_TILE_IO_H_
#define DLX_SRC_COPY_WAYS_TILE_IO_H_

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "src/copy/kernels/kernels.h"
#include "src/copy/kernels/lines.h"
#include "src/copy/schedule/schedule.h"
#include "src/copy/ways/tiling.h"

namespace dlx {

/// A part of all axes.
struct Tile {
  char* dst;
  const char* src;
  int64_t run_bytes;
  bool goes_on;    // its runs continue those of the tile before
  bool continued;  // the tile after continues its runs
  int64_t extent[CopyPlan::kMaxAxes];
};

/// The tiles of a tiling, one after the other.
class TileWalk {
 public:
  TileWalk(const Schedule& s, const Tiling& tiling) noexcept : s_(s), tiling_(tiling) {}

  /// Describes the current tile.
  void locate(Tile* tile) const noexcept {
    tile->dst = s_.dst;
    tile->src = s_.src;
    for (int k = 0; k < s_.ndim; ++k) {
      const CopyAxis& axis = s_.axes[k];
      tile->dst += at_[k] * axis.dst;
      tile->src += at_[k] * axis.src;
      tile->extent[k] = std::min(length_at(k), axis.extent - at_[k]);
    }
    tile->run_bytes = tiling_.run_bytes(s_, tile->extent);
  }

  /// Moves to the tile after `tile`, and notes in both whether runs go on; false at the end.
  bool next(Tile* tile, Tile* after) noexcept {
    const bool more = advance();
    if (more) locate(after);
    tile->continued = after->goes_on = more && follows(*tile, *after);
    return more;
  }

 private:
  bool advance() noexcept {
    for (int i = 0; i < s_.ndim; ++i) {
      const int k = tiling_.order[i];
      at_[k] += length_at(k);
      if (at_[k] < s_.axes[k].extent) return true;
      at_[k] = 0;
    }
    return false;
  }

  int64_t length_at(int k) const noexcept {
    return at_[k] == 0 ? tiling_.first[k] : tiling_.extent[k];
  }

  /// Whether the runs of b continue those of a.
  bool follows(const Tile& a, const Tile& b) const noexcept {
    if (!tiling_.carry || b.dst != a.dst + a.run_bytes) return false;
    for (int k = 0; k < tiling_.run_axis; ++k) {
      if (a.extent[k] != b.extent[k]) return false;
    }
    return true;
  }

  const Schedule& s_;
  const Tiling& tiling_;
  int64_t at_[CopyPlan::kMaxAxes] = {};
};

/// Lines and runs that tiles of one shape touch, listed once for all of them.
struct TileLists {
  static constexpr int64_t kLines = 4096;  // of src; tiles that touch more are fetched in part
  static constexpr int64_t kRuns = Tiling::kBufferBytes / 128;
  int64_t line[kLines];
  LinesToWrite::Run run[kRuns];
};

/// The shapes of the last few tiles: inner tiles, and last ones along each axis.
class Shapes {
 public:
  static constexpr int kMax = 4;

  explicit Shapes(int ndim) noexcept : ndim_(ndim) {}

  /// Finds the shape; true if it is new, and has replaced an older one.
  bool find(const Tile& tile, int* which) noexcept {
    for (int i = 0; i < count_; ++i) {
      bool same = true;
      for (int k = 0; k < ndim_; ++k) same = same && extent_[i][k] == tile.extent[k];
      *which = i;
      if (same) return false;
    }
    *which = count_ < kMax ? count_++ : (oldest_ = (oldest_ + 1) % kMax);
    for (int k = 0; k < ndim_; ++k) extent_[*which][k] = tile.extent[k];
    return true;
  }

 private:
  int ndim_;
  int count_ = 0;
  int oldest_ = 0;
  int64_t extent_[kMax][CopyPlan::kMaxAxes];
};

/// Prefetches the source lines of a tile, a few at a time.
class Fetcher : public LinesToFetch {
 public:
  Fetcher(const Schedule& s, const Tiling& tiling, TileLists* lists) noexcept
      : LinesToFetch{}, s_(s), tiling_(tiling), lists_(lists), shapes_(s.ndim) {
    int64_t stretch = s.item;
    for (int i = 0; i < s.ndim; ++i) {
      const CopyAxis& axis = s.axes[tiling.by_source[i]];
      if (std::llabs(axis.src) > stretch + kLine) break;
      stretch += (axis.extent - 1) * std::llabs(axis.src);
    }
    // If tiles follow long runs, the processor prefetches better by itself. Rows inside a tile do
    // not follow runs; with narrow registers their lines are prefetched here.
    const bool follows =
        !s.transposes() && (s.machine().follows_rows_in_tiles() || s.kind != PlaneKind::kRows);
    sequential_ = stretch >= kLongStretch && follows;
    uint64_t all = reinterpret_cast<uintptr_t>(s.src);
    for (int k = 0; k < s.ndim; ++k) {
      if (std::llabs(s.axes[k].src) != s.item) all |= static_cast<uint64_t>(s.axes[k].src);
    }
    aligned_ = all % kLine == 0;
  }

  void start(const Tile& next) noexcept {
    if (sequential_) return;
    int which = 0;
    if (shapes_.find(next, &which)) list_lines(next, which);
    tile = next.src;
    offset = lists_[which].line;
    end = offset + count_[which];
    a_round = a_round_[which];
  }

  void stop() noexcept { offset = end; }

  void fetch(int64_t wanted) noexcept {
    const int64_t* const until = end - offset > wanted ? offset + wanted : end;
    for (; offset < until; ++offset) __builtin_prefetch(tile + *offset, 0, 2);
  }

 private:
  void list_lines(const Tile& shape, int which) noexcept {
    int64_t* const line = lists_[which].line;
    int64_t count = 0;
    int64_t span = s_.item;
    int64_t row = 0;
    int64_t items = 1;
    int loops = 0;
    int loop[CopyPlan::kMaxAxes];
    int64_t index[CopyPlan::kMaxAxes];
    for (int i = 0; i < s_.ndim; ++i) {  // axes whose steps skip no line form a run
      const int k = tiling_.by_source[i];
      const int64_t step = s_.axes[k].src;
      items *= shape.extent[k];
      if (step == 0 || shape.extent[k] == 1) continue;
      const int64_t reach = (shape.extent[k] - 1) * step;
      if (loops == 0 && std::llabs(step) <= span + kLine) {
        span += std::llabs(reach);
        if (reach < 0) row += reach;
      } else {
        loop[loops] = k;
        index[loops++] = 0;
      }
    }
    // A row may begin inside a line, so that its last byte is in one line more.
    const bool whole = aligned_ && row % kLine == 0 && span % kLine == 0;
    for (;;) {
      for (int64_t at = 0; at < span && count < TileLists::kLines; at += kLine) {
        line[count++] = row + at;
      }
      if (!whole && count < TileLists::kLines) line[count++] = row + span - 1;
      int i = 0;
      for (; i < loops; ++i) {
        const int k = loop[i];
        row += s_.axes[k].src;
        if (++index[i] < shape.extent[k]) break;
        row -= s_.axes[k].src * shape.extent[k];
        index[i] = 0;
      }
      if (i == loops || count == TileLists::kLines) break;
    }
    count_[which] = count;
    a_round_[which] = 1 + count * LinesToWrite::kBytes / (items * s_.item);
  }

  static constexpr int64_t kLongStretch = 16 << 10;  // [note 13]

  const Schedule& s_;
  const Tiling& tiling_;
  TileLists* lists_;
  Shapes shapes_;
  bool sequential_ = false;
  bool aligned_ = false;  // tiles and rows of a line or more begin at lines
  int64_t count_[Shapes::kMax] = {};
  int64_t a_round_[Shapes::kMax] = {};
};

/// Writes the runs of a tile out of its buffer, a few lines at a time.
class Writer : public LinesToWrite {
 public:
  Writer(const Schedule& s, const Tiling& tiling, TileLists* lists) noexcept
      : LinesToWrite{},
        s_(s),
        tiling_(tiling),
        kernels_(s.kernels()),
        lists_(lists),
        shapes_(s.ndim) {}

  /// `next_buffer`: the buffer of the tile after this one.
  void start(const Tile& this_tile, char* its_buffer, char* next_buffer) noexcept {
    int which = 0;
    if (shapes_.find(this_tile, &which)) list_runs(this_tile, which);
    tile = this_tile.dst;
    buffer = its_buffer + Tiling::kFront;
    run = lists_[which].run;
    end = run + count_[which];
    a_round = a_round_[which];
    to_next = next_buffer - its_buffer;
    goes_on_ = this_tile.goes_on;
    continued_ = this_tile.continued;
    const bool whole =
        !tiling_.carry &&
        (reinterpret_cast<uintptr_t>(tile) | static_cast<uint64_t>(this_tile.run_bytes)) % kLine ==
            0;
    write_next = whole || (goes_on_ && continued_) ? nullptr : write_edge;
  }

  /// Writes `bytes` or a little more.
  void write(int64_t bytes) noexcept {
    for (; bytes > 0 && run < end; bytes -= run[-1].bytes) write_run();
  }

 private:
  static void write_edge(LinesToWrite* self) noexcept { static_cast<Writer*>(self)->write_run(); }

  /// Writes the whole lines of the run, and hands a partial line on to the run that finishes it.
  void write_run() noexcept {
    char* to = tile + run->dst;
    const char* from = buffer + run->from;
    int64_t bytes = run->bytes;
    const int64_t inside = inside_line(to);
    if (inside != 0 && !goes_on_ && run->first) {
      const int64_t room = kLine - inside;
      const int64_t head = room < bytes ? room : bytes;
      std::memcpy(to, from, static_cast<size_t>(head));
      to += head;
      from += head;
      bytes -= head;
    } else {  // the run or tile before has begun the line
      to -= inside;
      from -= inside;
      bytes += inside;
    }
    const int64_t tail = bytes % kLine;
    kernels_.stream(to, from, bytes / kLine);
    const char* const rest = from + bytes - tail;
    if (tail > 0 && run->next >= 0) {
      char* const target = continued_ ? buffer + run->next + to_next - tail : to + bytes - tail;
      std::memmove(target, rest, static_cast<size_t>(tail));
    }
    ++run;
  }

  /// Lists the runs of a tile, long ones in parts.
  void list_runs(const Tile& shape, int which) noexcept {
    Run* const list = lists_[which].run;
    const auto bytes = static_cast<int32_t>(shape.run_bytes);
    int64_t index[CopyPlan::kMaxAxes] = {};
    int64_t dst = 0;
    int32_t from = 0;
    int64_t count = 0;
    int64_t runs = 0;
    for (;; ++runs) {
      for (int32_t at = 0; at < bytes; at += kBytes) {
        const bool ends = bytes - at <= kBytes;
        list[count++] = {dst + at, from + at, ends ? bytes - at : static_cast<int32_t>(kBytes),
                         ends ? from : -1, at == 0};
      }
      int k = tiling_.run_axis - 1;
      for (; k >= 0; --k) {
        dst += s_.axes[k].dst;
        from += static_cast<int32_t>(tiling_.step[k]);
        if (++index[k] < shape.extent[k]) break;
        dst -= s_.axes[k].dst * shape.extent[k];
        from -= static_cast<int32_t>(tiling_.step[k] * shape.extent[k]);
        index[k] = 0;
      }
      if (k < 0) break;
    }
    count_[which] = count;
    a_round_[which] = 1 + (kBytes - 1) * count / ((runs + 1) * bytes);
  }

  const Schedule& s_;
  const Tiling& tiling_;
  const Kernels& kernels_;
  TileLists* lists_;
  Shapes shapes_;
  bool goes_on_ = false;
  bool continued_ = false;
  int64_t count_[Shapes::kMax] = {};
  int64_t a_round_[Shapes::kMax] = {};
};

}  // namespace dlx

#endif  // DLX_SRC_COPY_WAYS_TILE_IO_H_
