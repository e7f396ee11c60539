#ifndef DLX_SRC_COPY_WAYS_WAY_H_
#define DLX_SRC_COPY_WAYS_WAY_H_

#include <optional>

#include "src/copy/kernels/kernels.h"
#include "src/copy/schedule/machine.h"
#include "src/copy/schedule/schedule.h"
#include "src/copy/schedule/traffic.h"
#include "src/copy/ways/buffers.h"

namespace dlx {

struct StripPlan;

/// A schedule to be carried out: all that the choice of a way depends on. Nothing is set later;
/// what is costly is worked out when it is asked for first.
class Job {
 public:
  Job(const Schedule& schedule, Traffic traffic_in) noexcept
      : s(schedule),
        traffic(traffic_in),
        machine(schedule.machine()),
        kernels(schedule.kernels()) {}
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  /// Whether both sides are more than the caches hold.
  bool is_large() const noexcept { return goes_past_caches(traffic); }
  /// Whether no other thread has a part of the copy.
  bool is_alone() const noexcept { return traffic == Traffic::kStreamed; }

  /// Whether there is memory for buffers: only then may a way ask for them.
  bool has_buffers() const noexcept {
    if (!buffers_.has_value()) buffers_.emplace();
    return buffers_->exist();
  }
  const Buffers& buffers() const noexcept { return *buffers_; }

  /// How strips or blocks would transpose it; NULL if it is no transposition, or too narrow. Needs
  /// buffers.
  const StripPlan* strip_plan() const noexcept;

  const Schedule& s;
  const Traffic traffic;
  const Machine& machine;
  const Kernels& kernels;

 private:
  mutable std::optional<Buffers> buffers_;
  mutable bool has_strip_plan_ = false;
  mutable const StripPlan* strip_plan_ = nullptr;
};

/// A strategy that carries out a job.
struct Way {
  const char* name;
  const char* words;
  /// Whether the way can do it, and does so well, as far as no way before it in the list does. Has
  /// no effect but on scratch, and asks no other way.
  bool (*suits)(const Job& job) noexcept;
  /// Does it. Whatever suits() worked out last is in buffers().plan().
  void (*run)(const Job& job) noexcept;
};

/// Whether each row repeats one item, and is long enough for the order of dst.
inline bool has_constant_rows(const Schedule& s) noexcept {
  constexpr int64_t kMany = 16;
  return s.fills() && (s.axes[s.u].extent >= kMany || s.axes[s.u].extent * s.item >= kLine);
}

/// The first way in the list that suits; there always is one.
const Way& way_for(const Job& job) noexcept;

/// Runs a schedule whose data is in the caches, without buffers.
void run_in_caches(const Schedule& schedule) noexcept;

/// Calls see(way, data) for each way that way_for() may choose for a large job, or for others: for
/// tests.
void each_way(bool large, void (*see)(const Way& way, void* data), void* data);

/// A few more words on how planes are copied, for some ways; NULL for others.
const char* details_of(const Way& way, const Schedule& schedule) noexcept;

// Each way stands in the file of its name; what small copies ask is inline.

#define DLX_WAY(NAME)                         \
  bool suits_##NAME(const Job& job) noexcept; \
  void run_##NAME(const Job& job) noexcept

/// Fills long rows of one item past the caches.
DLX_WAY(fills);
/// Rows that need no help, in the order of dst, through the caches.
inline bool suits_in_order(const Job& job) noexcept { return has_constant_rows(job.s); }
void run_in_order(const Job& job) noexcept;
bool suits_in_order_when_large(const Job& job) noexcept;
/// Rows that lie side by side in src and far apart in dst, such as heads of attention: src is read
/// as it lies, some of its longer rows at a time, into as many streams of dst.
DLX_WAY(regrouped);
/// Long runs, in the order of src.
DLX_WAY(runs);
bool suits_runs_alone(const Job& job) noexcept;
bool suits_runs_of_many_lines(const Job& job) noexcept;
/// Items with gaps in src, as in x[:, ::3]: each line of dst is gathered in registers.
DLX_WAY(spaced);
/// The same pattern of source bytes again and again: lines are permuted in registers.
DLX_WAY(pattern);
/// A few long rows whose items take turns on one side, such as channels of an image that become
/// planes: arranged in a buffer, some cells at a time.
DLX_WAY(turns);
/// Rows of dst that run backwards in src: src is read upwards, each row of dst written from its
/// end.
DLX_WAY(backwards);
/// Box by box: rows are put together as they lie in src, arranged in the second-level cache, and
/// streamed. So all of src is read in long stretches, whatever the axes.
DLX_WAY(boxes);
bool suits_boxes_of_gathered_items(const Job& job) noexcept;
bool suits_boxes_of_rows(const Job& job) noexcept;
bool suits_boxes_first(const Job& job) noexcept;
/// Box by box in two steps that have fast kernels, where one step has none: from src to a buffer
/// whose axes are in another order, and from there to dst.
DLX_WAY(relay);
/// Transpositions: some lines of some rows are copied together in a block, and go from there to
/// dst.
DLX_WAY(gathered);
/// Transpositions: a line of each of many rows, the next line of each, and so on.
DLX_WAY(strips);
bool suits_cached_strips(const Job& job) noexcept;
bool suits_cached_strips_past_caches(const Job& job) noexcept;
/// Transpositions: few rows at once, from end to end.
bool suits_line_by_line(const Job& job) noexcept;
/// Tile by tile: the source of the next tile is fetched, this one arranged in a buffer, and the one
/// before streamed.
DLX_WAY(tiles);
/// Planes of axes folded with their neighbours, straight from src to dst.
inline bool suits_folded(const Job& job) noexcept { return job.s.folded(); }
void run_folded(const Job& job) noexcept;
/// Planes that are too small for kernels: a table of the offsets of up to a few hundred items is
/// followed from place to place.
DLX_WAY(table);
bool suits_table_of_far_items(const Job& job) noexcept;
/// Planes with few rows along v: along another axis, for as many rows as the first-level cache
/// holds.
DLX_WAY(across);
/// Plane after plane, straight from src to dst. The last resort, which does everything: planes of a
/// kind without kernels go item by item.
inline bool suits_planes(const Job&) noexcept { return true; }
void run_planes(const Job& job) noexcept;

#undef DLX_WAY

/// Whether the caches serve a large job better than any way past them: tried before all of these,
/// before tiles and after boxes, and where tiles are left.
bool suits_caches(const Job& job) noexcept;
bool suits_caches_rather_than_boxes(const Job& job) noexcept;
bool suits_caches_rather_than_tiles(const Job& job) noexcept;

}  // namespace dlx

#endif  // DLX_SRC_COPY_WAYS_WAY_H_
