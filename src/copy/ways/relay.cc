#include <algorithm>
#include <cstdlib>

#include "src/copy/kernels/lines.h"
#include "src/copy/schedule/loops.h"
#include "src/copy/ways/item_planes.h"
#include "src/copy/ways/way.h"

namespace dlx {
namespace {

/// The cost of memory, in nanoseconds.
struct Distance {
  double item;  ///< of an item whose next one is in another line
  double byte;  ///< of a byte that is written to a buffer and read again
};
constexpr Distance kCached = {0.1, 0};       // [note 66]
constexpr Distance kStreamed = {0.6, 0.03};  // [note 66]

constexpr double kPerByte = 0.06;  // nanoseconds, by kernels, in a second-level cache [note 66]

/// About how many nanoseconds a byte takes; `far`: the cost of an item whose neighbour is in
/// another line.
double cost(const Schedule& s, double far) noexcept {
  constexpr double kCall = 6;        // of a kernel [note 84]
  constexpr double kRun = 1.5;       // of bytes, or of up to 16 bytes that are permuted [note 84]
  constexpr double kTurn = 1;        // of a row that runs backwards [note 84]
  constexpr double kMove = 0.4;      // of one item [note 66]
  constexpr double kRow = 3;         // [note 84]
  constexpr double kFewRow = 0.3;    // [note 84]
  constexpr int64_t kEnough = 16;    // items [note 84]
  constexpr double kAgain = 2.5;     // [note 84]
  constexpr int64_t kFewLines = 32;  // [note 84]
  const auto item = static_cast<double>(s.item);
  if (s.ndim == 0) return kPerByte;
  const CopyAxis& u = s.axes[s.u];
  const CopyAxis& v = s.v >= 0 ? s.axes[s.v] : kNoAxis;
  const double row = item * static_cast<double>(u.extent);
  switch (s.kind) {
    case PlaneKind::kTranspose:
    case PlaneKind::kFolded: return kPerByte;
    case PlaneKind::kRows: return kPerByte + kRun / item;
    case PlaneKind::kCells: {
      const double bytes = s.cells.every != 0 ? 24 : s.cells.at_once * s.cells.dst;
      return kRun / bytes + kCall / row;
    }
    case PlaneKind::kSplit:
    case PlaneKind::kJoin: {
      // Cells with gaps between them are stored one by one. [note 28]
      const bool gaps = s.kind == PlaneKind::kJoin && v.dst > u.extent * s.item;
      const double calls = 2 * kCall / (row * static_cast<double>(v.extent));
      return kPerByte + (gaps ? kMove / row : 0) + calls;
    }
    default: {
      if (u.src == -s.item) return kRun / 16 + kTurn / row;
      // ItemPlanes moves few items of many rows side by side.
      const bool few = u.extent <= ItemPlanes::kFew;
      const CopyAxis& along = few || u.extent >= kEnough || v.extent <= u.extent ? u : v;
      const auto near = [](const CopyAxis& x) {
        return std::llabs(x.src) < kLine && x.dst < kLine;
      };
      const bool crowded = rows_cached(along.src) < kFewLines;  // each line is read several times
      const bool in_streams = near(along) || (few && near(v));
      const double each = kMove + (in_streams ? 0 : crowded ? kAgain * far : far);
      return each / item + (few ? kFewRow : kRow) / (item * static_cast<double>(along.extent));
    }
  }
}

/// Copies the boxes of a schedule through a buffer.
class Relay {
 public:
  Relay(const Schedule& s, char* buffer) noexcept : s_(s), buffer_(buffer) {
    int order[CopyPlan::kMaxAxes];
    order_by_source(s, order);
    for (int i = 0; i < s.ndim; ++i) {
      const int64_t step = s.axes[order[i]].src;
      if (step == 0) continue;
      descends_ = descends_ || step < 0;
      by_source_[near_++] = order[i];
    }
  }

  /// Chooses the box, and the order of its axes in the buffer. False if that gains too little.
  bool plan(const Distance& more) noexcept {
    constexpr double kGain = 0.75;  // a smaller gain may be a loss [note 66]
    if (near_ < 2 || !choose_extents()) return false;
    double least = kGain * cost(s_, more.item);
    const int64_t first[CopyPlan::kMaxAxes] = {};
    int64_t step[CopyPlan::kMaxAxes];
    bool found = false;
    for (const Order order : {kBySource, kSplitFirst, kJoinLast}) {
      for (const bool straight : {true, false}) {
        if (!straight && !descends_) continue;
        lay_out(order, straight, step);
        double both = more.byte + cost(read(first, extent_, step), more.item);
        if (both < least) both += cost(write(first, extent_, step), 0);
        if (both >= least) continue;
        least = both;
        found = true;
        std::copy(step, step + s_.ndim, step_);
      }
    }
    return found;
  }

  void run() const noexcept {
    int64_t at[CopyPlan::kMaxAxes] = {};
    int64_t extent[CopyPlan::kMaxAxes];
    Schedule whole_in = read(at, extent_, step_);
    Schedule whole_out = write(at, extent_, step_);
    const char* const src = whole_in.src - (source(at, extent_) - s_.src);
    char* const dst = whole_out.dst - (destination(at, extent_) - s_.dst);
    const bool fetches = whole_in.is_transposition();
    do {
      bool whole = true;
      for (int k = 0; k < s_.ndim; ++k) {
        extent[k] = std::min(extent_[k], s_.axes[k].extent - at[k]);
        whole = whole && extent[k] == extent_[k];
      }
      if (fetches) fetch(at, extent);
      if (whole) {
        whole_in.src = src + (source(at, extent) - s_.src);
        whole_out.dst = dst + (destination(at, extent) - s_.dst);
        run_in_caches(whole_in);
        run_in_caches(whole_out);
      } else {
        run_in_caches(read(at, extent, step_));
        run_in_caches(write(at, extent, step_));
      }
    } while (advance(at));
  }

 private:
  /// The order of axes in the buffer, innermost first.
  enum Order {
    kBySource,    ///< as in src
    kSplitFirst,  ///< as in src, with the innermost axis outermost
    kJoinLast,    ///< as in dst, with the innermost axis outermost
  };

  /// Chooses extents that make runs long on both sides, and fit into the buffer.
  bool choose_extents() noexcept {
    constexpr int64_t kRun = 512;  // bytes [note 66]
    const int64_t most = s_.machine().relay_tile;
    for (int k = 0; k < s_.ndim; ++k) extent_[k] = 1;
    int64_t span = 0;
    for (int k = s_.ndim - 1; k >= 0 && span <= kRun / 2; --k) {
      const CopyAxis& axis = s_.axes[k];
      extent_[k] = even_part(axis.extent, divide_up(kRun, axis.dst));
      if (extent_[k] < axis.extent) break;
      span = axis.extent * axis.dst;
    }
    span = 0;
    for (int i = 0; i < near_ && span <= kRun / 2; ++i) {
      const CopyAxis& axis = s_.axes[by_source_[i]];
      const int64_t step = std::llabs(axis.src);
      int64_t& extent = extent_[by_source_[i]];
      extent = std::max(extent, even_part(axis.extent, divide_up(kRun, step)));
      span = std::max(span, extent * step);
    }
    while (bytes() > most || in_lines() > 2 * most) {
      int64_t& longest = *std::max_element(extent_, extent_ + s_.ndim);
      if (longest == 1) return false;
      longest = divide_up(longest, 2);
    }
    for (int i = 0; i < near_ && 2 * bytes() <= most && in_lines() <= most; ++i) {
      int64_t& extent = extent_[by_source_[i]];
      const int64_t times = std::min(most / bytes(), 2 * most / in_lines());
      extent = even_part(s_.axes[by_source_[i]].extent, extent * times);
    }
    return true;
  }

  /// Bytes of a box in the buffer.
  int64_t bytes() const noexcept {
    int64_t bytes = s_.item;
    for (int i = 0; i < near_; ++i) bytes *= extent_[by_source_[i]];
    return bytes;
  }

  // Functions that are called in several places, once for each box, are not inlined: that would
  // double the code.

  /// About how many bytes the source lines of a box have.
  [[gnu::noinline]] int64_t in_lines() const noexcept {
    int64_t bytes = s_.item;
    bool apart = false;
    for (int i = 0; i < near_; ++i) {
      const int64_t extent = extent_[by_source_[i]];
      const int64_t step = std::llabs(s_.axes[by_source_[i]].src);
      if (!apart && step > bytes + kLine) {
        bytes += kLine;
        apart = true;
      }
      bytes = apart ? bytes * extent : bytes + (extent - 1) * step;
    }
    return bytes;
  }

  /// Steps of a box in the buffer. `straight`: as in src along all axes, so that a box is read
  /// upwards.
  void lay_out(Order order, bool straight, int64_t* step) const noexcept {
    int axes[CopyPlan::kMaxAxes];
    int n = 0;
    for (int k = s_.ndim - 1; k >= 0; --k) {
      step[k] = 0;
      if (s_.axes[k].src != 0) axes[n++] = k;
    }
    if (order != kJoinLast) std::copy(by_source_, by_source_ + n, axes);
    int64_t bytes = s_.item;
    bool apart = false;
    for (int i = 0; i < n; ++i) {
      // An odd number of lines from row to row, so that rows spread over the cache sets.
      if (bytes >= 4 * kLine && !apart) {
        bytes = (divide_up(bytes, kLine) | 1) * kLine;
        apart = true;
      }
      const int k = axes[order == kBySource || i + 1 < n ? i + (order != kBySource) : 0];
      step[k] = straight && s_.axes[k].src < 0 ? -bytes : bytes;
      bytes *= extent_[k];
    }
  }

  /// The first step of a box: src to buffer.
  [[gnu::noinline]] Schedule read(const int64_t* at, const int64_t* extent,
                                  const int64_t* step) const noexcept {
    CopyAxis axes[CopyPlan::kMaxAxes];
    const char* src = source(at, extent);
    for (int i = 0; i < near_; ++i) {
      const int k = by_source_[i];
      axes[i] = {extent[k], step[k], s_.axes[k].src};
      if (step[k] >= 0) continue;
      src += (extent[k] - 1) * s_.axes[k].src;
      axes[i] = {extent[k], -step[k], -s_.axes[k].src};
    }
    return Schedule(CopyPlan(buffer_, src, s_.item, axes, near_), s_.machine(), Held::kDst, false);
  }

  /// The second step: buffer to dst.
  [[gnu::noinline]] Schedule write(const int64_t* at, const int64_t* extent,
                                   const int64_t* step) const noexcept {
    CopyAxis axes[CopyPlan::kMaxAxes];
    const char* src = buffer_;
    for (int k = 0; k < s_.ndim; ++k) {
      axes[k] = {extent[k], s_.axes[k].dst, step[k]};
      if (step[k] < 0) src -= (extent[k] - 1) * step[k];
    }
    return Schedule(CopyPlan(destination(at, extent), src, s_.item, axes, s_.ndim), s_.machine(),
                    Held::kSrc, s_.past_caches());
  }

  /// The index of a box along an axis. Boxes are visited in the order of src, so from the other end
  /// along descending axes.
  int64_t index(int k, const int64_t* at, const int64_t* extent) const noexcept {
    return s_.axes[k].src < 0 ? s_.axes[k].extent - at[k] - extent[k] : at[k];
  }

  [[gnu::noinline]] const char* source(const int64_t* at, const int64_t* extent) const noexcept {
    const char* src = s_.src;
    for (int k = 0; k < s_.ndim; ++k) src += index(k, at, extent) * s_.axes[k].src;
    return src;
  }

  [[gnu::noinline]] char* destination(const int64_t* at, const int64_t* extent) const noexcept {
    char* dst = s_.dst;
    for (int k = 0; k < s_.ndim; ++k) dst += index(k, at, extent) * s_.axes[k].dst;
    return dst;
  }

  /// Moves to the next box, along src first; false at the end.
  bool advance(int64_t* at) const noexcept {
    const auto next = [&](int k) {
      at[k] += extent_[k];
      if (at[k] < s_.axes[k].extent) return true;
      at[k] = 0;
      return false;
    };
    for (int i = 0; i < near_; ++i) {
      if (next(by_source_[i])) return true;
    }
    for (int k = s_.ndim - 1; k >= 0; --k) {
      if (s_.axes[k].src == 0 && next(k)) return true;
    }
    return false;
  }

  /// Touches each source line of a box, row after row. Loads, because the processor drops so many
  /// prefetches.
  void fetch(const int64_t* at, const int64_t* extent) const noexcept {
    const char* src = source(at, extent);
    int64_t span = s_.item;
    Loops loops;
    for (int i = 0; i < near_; ++i) {
      const int k = by_source_[i];
      const int64_t step = std::llabs(s_.axes[k].src);
      const int64_t reach = (extent[k] - 1) * step;
      if (s_.axes[k].src < 0) src -= reach;
      if (step > span + kLine) {
        loops.add({extent[k], 0, step});
      } else {
        span += reach;
      }
    }
    loops.each(buffer_, src, [&](char*, const char* from) {
      for (int64_t i = 0; i < span; i += kLine) (void)*static_cast<const volatile char*>(from + i);
    });
  }

  const Schedule& s_;
  char* buffer_;
  int near_ = 0;           ///< axes along which src moves
  bool descends_ = false;  ///< src moves downwards along one of them
  int by_source_[CopyPlan::kMaxAxes];
  int64_t extent_[CopyPlan::kMaxAxes];  ///< of a box
  int64_t step_[CopyPlan::kMaxAxes];    ///< in the buffer, bytes
};

/// Whether item by item a copy is so slow that planning pays.
bool is_slow(const Schedule& s, bool streamed) noexcept {
  constexpr double kSlow = 3 * kPerByte;  // [note 84]
  if (s.kind == PlaneKind::kCells) return false;
  if (s.kind == PlaneKind::kSpread) {  // items also leave the buffer one by one
    constexpr int64_t kFewest = 16;    // [note 65]
    constexpr int64_t kWidest = 4;     // bytes [note 65]
    const CopyAxis& row = s.axes[s.u];
    if (s.item > kWidest || row.extent < kFewest || std::llabs(row.src) < 2 * kLine) return false;
  }
  // Larger items are as fast one by one.
  if (streamed && s.item > s.machine().largest_relayed_item()) return false;
  if (cost(s, streamed ? kStreamed.item : kCached.item) < kSlow) return false;
  return s.bytes() >= s.machine().relay_bytes;
}

}  // namespace

bool suits_relay(const Job& job) noexcept {
  if (!is_slow(job.s, job.is_large()) || !job.has_buffers()) return false;
  const Buffers& buffers = job.buffers();
  return buffers.make_plan<Relay>(job.s, buffers[0]).plan(job.is_large() ? kStreamed : kCached);
}

void run_relay(const Job& job) noexcept { job.buffers().plan<Relay>().run(); }

}  // namespace dlx
