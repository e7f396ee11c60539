#include "src/copy/execute.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "src/copy/kernels/kernels.h"
#include "src/copy/kernels/lines.h"
#include "src/copy/schedule/loops.h"
#include "src/copy/schedule/machine.h"
#include "src/copy/schedule/schedule.h"
#include "src/copy/schedule/traffic.h"
#include "src/copy/threads/threads.h"
#include "src/copy/ways/buffers.h"
#include "src/copy/ways/in_order.h"
#include "src/copy/ways/plane.h"
#include "src/copy/ways/relay.h"
#include "src/copy/ways/repeat.h"
#include "src/copy/ways/stream.h"
#include "src/copy/ways/strips.h"

namespace dlx {
namespace {

/// Threads that have enough to do in a copy of so many bytes; what makes a copy worth sharing is
/// enough for kThreadsAtOnce.
int64_t threads_for(int64_t bytes) noexcept {
  constexpr int64_t kThreadsAtOnce = 4;
  const int64_t enough = machine().parallel_bytes / kThreadsAtOnce;
  const int64_t usable = usable_threads();
  return enough > 0 && bytes / enough < usable ? bytes / enough : usable;
}

/// Whether dst is nearly all that memory sees of a large copy: rows that are copied again and
/// again, or items that a second-level cache holds.
bool only_writes(const Schedule& s) noexcept {
  constexpr int64_t kCached = 256 << 10;  // bytes
  constexpr int64_t kOften = 4;
  int64_t bytes = s.item;
  int64_t times = 1;
  for (int k = 0; k < s.ndim; ++k) (s.axes[k].src != 0 ? bytes : times) *= s.axes[k].extent;
  if (s.kind == PlaneKind::kRows && s.item <= Packing::kLongestRow && times >= kOften) return true;
  // Small items are arranged faster in registers, where there is a kernel for it.
  const bool by_items = s.by_items() || (s.kind == PlaneKind::kTranspose && s.item >= 8);
  return bytes <= kCached && by_items;
}

constexpr int64_t kRunsCached = 256 << 10;  // bytes

/// Whether the rows of dst are one item each, again and again, and long enough to be written as
/// fast as they could be copied from a cache.
bool has_filled_rows(const CopyPlan& plan) noexcept {
  if (plan.ndim() == 0 || log2_of_item(plan.item()) < 0) return false;
  const CopyAxis& row = plan.axis(plan.ndim() - 1);
  return row.src == 0 && row.dst == plan.item() && row.extent * row.dst >= kLine;
}

/// Where one and the same run of dst comes again and again.
struct Repetition {
  int axis = -1;    ///< the outermost along which it does; -1: none
  int64_t run = 0;  ///< bytes

  bool exists() const noexcept { return axis >= 0; }
  /// Whether no cache holds a run.
  bool is_large() const noexcept { return run > kRunsCached; }
};

/// A run that is an item for itself is repeated by kernels, if there are some for its size, or long
/// ones if dst may stay in the caches.
Repetition repetition_of(const CopyPlan& plan, bool streamed) noexcept {
  constexpr int64_t kShort = 32;       // bytes
  constexpr int64_t kStreamed = 4096;  // at once
  constexpr int64_t kItems = 192;      // which cost as much as to arrange a short run
  constexpr int64_t kOften = 4;
  const int64_t item = plan.item();
  const bool has_kernels = log2_of_item(item) >= 0;
  const bool long_item = item > (streamed ? kLongestRepeated : kShort);
  Repetition found;
  if (has_filled_rows(plan)) return found;
  int64_t bytes = item;
  for (int k = plan.ndim() - 1; k >= 0; --k) {
    const CopyAxis& axis = plan.axis(k);
    const int64_t many = bytes < kShort ? kItems * item : 128;  // bytes of all its repetitions
    const bool worth_it = axis.extent >= kOften && bytes * axis.extent >= many;
    // Few repetitions of an item go past the caches with what follows.
    const bool few = axis.extent <= 2 * kOften || bytes * axis.extent < kStreamed;
    const bool alone = !has_kernels && !long_item && !(streamed && few && axis.dst == bytes);
    if (axis.src == 0 && worth_it && (bytes > item || alone)) found = {k, bytes};
    if (axis.dst != bytes) break;
    bytes *= axis.extent;
  }
  return found;
}

/// Whether threads share a copy of so many bytes.
bool is_parallel(int64_t bytes) noexcept {
  return bytes >= machine().parallel_bytes && num_threads() > 1;
}

/// Whether runs are repeated past the caches. Processors with line registers write whole lines
/// without reading them first.
bool streams_runs(const Kernels& set, Traffic traffic) noexcept {
  return goes_past_caches(traffic) && !set.line_registers();
}

void run_part(const CopyPlan& plan, Traffic traffic) noexcept;

/// Arranges the runs of some places once, as many as a cache holds, and copies each from there
/// along the axis.
void run_repeated(const CopyPlan& plan, const Repetition& repetition, bool streamed) noexcept {
  const int axis = repetition.axis;
  const int64_t run = repetition.run;
  const CopyAxis& repeated = plan.axis(axis);
  Loops places;  // inside a part
  int cut = axis;
  int64_t bytes = run;
  for (; cut > 0 && bytes * plan.axis(cut - 1).extent <= kRunsCached; --cut) {
    bytes *= plan.axis(cut - 1).extent;
    places.add(plan.axis(cut - 1));
  }
  // A part has some indices of the next axis, too.
  const int64_t at_once = kRunsCached / bytes;
  const int split = cut - 1;
  const CopyAxis next = split >= 0 ? plan.axis(split) : kNoAxis;
  Loops parts;
  int64_t at[CopyPlan::kMaxAxes] = {};
  int64_t extent[CopyPlan::kMaxAxes];
  for (int k = plan.ndim() - 1; k >= 0; --k) {
    extent[k] = k == axis || k < split ? 1 : plan.axis(k).extent;
    if (k < split) parts.add(plan.axis(k));
  }
  for (int64_t first = 0; first < next.extent; first += at_once) {
    const int64_t n = std::min(at_once, next.extent - first);
    if (split >= 0) {
      at[split] = first;
      extent[split] = n;
    }
    const CopyPlan once = plan.box(at, extent);
    Loops inside = places;
    inside.add({n, next.dst, next.src});
    parts.each(once.dst(), once.src(), [&](char* part, const char* src) {
      run_part(once.moved(part - once.dst(), src - once.src()), Traffic::kCached);
      inside.each(part, src, [&](char* dst, const char*) {
        repeat((*machine().kernels), dst, run, repeated, streamed);
      });
    });
  }
  if (streamed) (*machine().kernels).fence();
}

/// Arranges the large run of each place once, a part after the other that a cache holds, and copies
/// each part from there along the axis.
void run_large_repeated(const CopyPlan& plan, int axis, bool streamed) noexcept {
  constexpr int64_t kPart = 128 << 10;  // bytes
  const CopyAxis repeated = plan.axis(axis);
  int cut = axis + 1;  // parts have all axes behind it, and some indices of it
  while (cut + 1 < plan.ndim() && plan.axis(cut).dst > kPart) ++cut;
  const CopyAxis parts = plan.axis(cut);
  const int64_t at_once = std::clamp<int64_t>(kPart / parts.dst, 1, parts.extent);
  Loops places;
  int64_t at[CopyPlan::kMaxAxes] = {};
  int64_t extent[CopyPlan::kMaxAxes];
  for (int k = plan.ndim() - 1; k >= 0; --k) {
    extent[k] = k < cut ? 1 : plan.axis(k).extent;
    if (k < cut && k != axis) places.add(plan.axis(k));
  }
  places.each(plan.dst(), plan.src(), [&](char* dst, const char* src) {
    const CopyPlan place = plan.moved(dst - plan.dst(), src - plan.src());
    for (int64_t first = 0; first < parts.extent; first += at_once) {
      at[cut] = first;
      extent[cut] = std::min(at_once, parts.extent - first);
      const CopyPlan part = place.box(at, extent);
      run_part(part, Traffic::kCached);
      (streamed ? (*machine().kernels).stream_rows : (*machine().kernels).rows)(
          part.dst() + repeated.dst, repeated.dst, part.dst(), 0, extent[cut] * parts.dst,
          repeated.extent - 1);
    }
  });
  (*machine().kernels).fence();
}

/// Runs a schedule without repeated runs, and says in words how memory is written. `dry`: only
/// says.
const char* run_schedule(const Schedule& s, const Kernels& set, Traffic traffic,
                         bool dry) noexcept {
  const bool streamed = goes_past_caches(traffic);
  if (streamed && run_fills(s, set, traffic == Traffic::kStreamed, dry)) {
    return "way fills: rows filled past the caches";
  }
  if (has_constant_rows(s) || (streamed && only_writes(s))) {
    if (!dry) write_in_order(s, set);
    return "way in_order: written in order";
  }
  const char* const way =
      streamed ? run_streamed(s, set, traffic == Traffic::kStreamed, dry) : nullptr;
  if (way != nullptr) return way;
  if (!streamed && suits_cached_strips(s)) {
    const Buffers buffers;
    if (buffers.exist()) {
      if (const char* how = run_strips(s, set, buffers, dry)) return how;
    }
  }
  if (!streamed && is_relayed(s, false)) {
    const Buffers buffers;
    if (buffers.exist() && run_relayed(s, set, buffers, false, dry))
      return "way relay: by way of a buffer";
  }
  return run_cached(s, set, streamed, dry);
}

Schedule schedule_of(const CopyPlan& plan, const Kernels& set, Traffic traffic) noexcept {
  Schedule schedule(plan, set);
  schedule.past_caches = traffic != Traffic::kCached;
  return schedule;
}

void run_part(const CopyPlan& plan, Traffic traffic) noexcept {
  const Kernels& set = *machine().kernels;
  const bool streamed = streams_runs(set, traffic);
  const Repetition repetition = repetition_of(plan, streamed);
  if (repetition.is_large()) {
    return run_large_repeated(plan, repetition.axis, goes_past_caches(traffic));
  }
  if (repetition.exists()) return run_repeated(plan, repetition, streamed);
  run_schedule(schedule_of(plan, set, traffic), set, traffic, false);
}

/// A plan cut into pieces that threads take one by one.
struct Pieces {
  const CopyPlan* plan;
  int64_t length[CopyPlan::kMaxAxes];  // of a piece along each axis
  int64_t item;                        // bytes of the item in a piece
  Traffic traffic;
};

/// Bytes from item to item along an axis, on the side where they are nearer: what is less than a
/// line or a page apart, pieces would share. A broadcast item is no nuisance.
int64_t apart(const CopyAxis& axis) noexcept {
  constexpr int64_t kPage = 4096;
  const int64_t src = axis.src != 0 ? std::llabs(axis.src) : kPage;
  return std::min({axis.dst, src, kPage});
}

/// How long a piece along an axis is that is to give about so many: whole lines where its items
/// share them.
int64_t length_of_a_piece(const CopyAxis& axis, int64_t item, int64_t wanted) noexcept {
  const int64_t granule = apart(axis) < kLine && kLine % item == 0 ? kLine / item : 1;
  const int64_t length = axis.extent < 2 * wanted ? 1 : divide_up(axis.extent, wanted);
  return std::min(axis.extent, divide_up(length, granule) * granule);
}

/// Cuts, of the axes that give enough pieces, the one that keeps them furthest apart. Where none
/// does, the one that gives most, then others too, and at last long items. Large runs that come
/// again do so in each piece. Says how many pieces there are.
int64_t cut(Pieces* pieces, int64_t wanted) noexcept {
  const CopyPlan& plan = *pieces->plan;
  const Repetition found = repetition_of(plan, streams_runs((*machine().kernels), pieces->traffic));
  const int repeated = found.is_large() ? found.axis : -1;
  constexpr int64_t kLongItem = 64 << 10;
  for (int k = 0; k < plan.ndim(); ++k) pieces->length[k] = plan.axis(k).extent;
  pieces->item = plan.item();
  int64_t count = 1;
  while (2 * count <= wanted) {
    const int64_t missing = divide_up(wanted, count);
    int best = -1;
    int64_t best_length = 0;
    int64_t best_many = 1;
    for (int k = 0; k < plan.ndim(); ++k) {
      const CopyAxis& axis = plan.axis(k);
      if (pieces->length[k] < axis.extent || k == repeated) continue;
      const int64_t length = length_of_a_piece(axis, plan.item(), missing);
      const int64_t many = std::min(divide_up(axis.extent, length), divide_up(missing, 2));
      const bool further = best >= 0 && apart(axis) > apart(plan.axis(best));
      if (many > best_many || (many == best_many && further)) {
        best = k;
        best_length = length;
        best_many = many;
      }
    }
    if (best < 0) break;
    pieces->length[best] = best_length;
    count *= divide_up(plan.axis(best).extent, best_length);
  }
  if (2 * count <= wanted && plan.item() >= kLongItem) {  // what pieces have of axes is one item
    const int64_t many = divide_up(wanted, count);
    pieces->item = divide_up(divide_up(plan.item(), many), kLine) * kLine;
    count *= divide_up(plan.item(), pieces->item);
  }
  return count;
}

void run_piece(void* data, int64_t index) noexcept {
  const Pieces& pieces = *static_cast<const Pieces*>(data);
  const CopyPlan& plan = *pieces.plan;
  int64_t first[CopyPlan::kMaxAxes];
  int64_t extent[CopyPlan::kMaxAxes];
  for (int k = plan.ndim() - 1; k >= 0; --k) {
    const int64_t many = divide_up(plan.axis(k).extent, pieces.length[k]);
    first[k] = index % many * pieces.length[k];
    extent[k] = std::min(pieces.length[k], plan.axis(k).extent - first[k]);
    index /= many;
  }
  CopyPlan piece = plan.box(first, extent);
  if (pieces.item < plan.item()) {
    const int64_t at = index * pieces.item;
    piece = piece.part_of_item(at, std::min(pieces.item, plan.item() - at));
  }
  run_part(piece, pieces.traffic);
}

const char* name_of(PlaneKind kind) noexcept {
  switch (kind) {
    case PlaneKind::kRows: return "rows";
    case PlaneKind::kTranspose: return "transpose";
    case PlaneKind::kSplit: return "split";
    case PlaneKind::kJoin: return "join";
    case PlaneKind::kGather: return "gather";
    case PlaneKind::kCells: return "cells";
    case PlaneKind::kSpread: return "spread";
  }
  return "?";
}

/// snprintf that can be called again and again: never past the end, counts what did not fit.
class Text {
 public:
  Text(char* buffer, size_t capacity) noexcept : buffer_(buffer), capacity_(capacity) {
    if (capacity > 0) buffer[0] = '\0';
  }
  [[gnu::format(printf, 2, 3)]] void add(const char* format, ...) noexcept {
    const size_t room = length_ < capacity_ ? capacity_ - length_ : 0;
    va_list values;
    va_start(values, format);
    const int n = std::vsnprintf(room > 0 ? buffer_ + length_ : nullptr, room, format, values);
    va_end(values);
    if (n > 0) length_ += static_cast<size_t>(n);
  }
  size_t length() const noexcept { return length_; }

 private:
  char* buffer_;
  size_t capacity_;
  size_t length_ = 0;
};

}  // namespace

void execute(const CopyPlan& plan) noexcept {
  const int64_t bytes = plan.size();
  const bool parallel = is_parallel(bytes);
  const Traffic traffic = traffic_of(plan, parallel);
  if (!parallel) return run_part(plan, traffic);
  const int64_t threads = threads_for(bytes);
  Pieces pieces = {&plan, {}, 0, traffic};
  const int64_t count = cut(&pieces, kPiecesPerThread * threads);
  parallel_for(count, run_piece, &pieces, threads);
}

size_t describe_execution(const CopyPlan& plan, char* buffer, size_t capacity) noexcept {
  Text text(buffer, capacity);
  const Kernels& set = *machine().kernels;
  const int64_t bytes = plan.size();
  const bool parallel = is_parallel(bytes);
  const Traffic traffic = traffic_of(plan, parallel);
  const Schedule s = schedule_of(plan, set, traffic);
  text.add("%s of %lld-byte items, %s", name_of(s.kind), static_cast<long long>(s.item), set.name);
  for (int k = 0; k < s.ndim; ++k) {
    text.add("%s%lld (dst %lld, src %lld)%s", k == 0 ? "; loops " : " x ",
             static_cast<long long>(s.axes[k].extent), static_cast<long long>(s.axes[k].dst),
             static_cast<long long>(s.axes[k].src),
             k >= s.ndim - s.u_count ? " u"
             : s.along_v(k)          ? " v"
                                     : "");
  }
  const Repetition repetition = repetition_of(plan, streams_runs(set, traffic));
  if (repetition.is_large()) {
    text.add("; parts of the runs along loop %d arranged once", repetition.axis);
  } else if (repetition.exists()) {
    text.add("; runs of %lld bytes arranged once along loop %d",
             static_cast<long long>(repetition.run), repetition.axis);
  }
  const char* const way = run_schedule(s, set, traffic, true);
  const char* const planes = planes_in_words(s, set);
  text.add("; %s", way);
  if (planes != nullptr && std::strncmp(way, "way planes", 10) == 0) text.add(", %s", planes);
  text.add("; %d thread%s", parallel ? static_cast<int>(threads_for(bytes)) : 1,
           parallel ? "s" : "");
  return text.length();
}

}  // namespace dlx
