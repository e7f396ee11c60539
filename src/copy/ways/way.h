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

/// A schedule to carry out: everything that the choice of a way depends on. Costly properties are
/// computed on first use.
class Job {
 public:
  Job(const Schedule& schedule, Traffic traffic_in) noexcept
      : s(schedule),
        traffic(traffic_in),
        machine(schedule.machine()),
        kernels(schedule.kernels()) {}
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  /// Whether both sides together exceed the caches.
  bool is_large() const noexcept { return goes_past_caches(traffic); }
  /// Whether one thread makes the whole copy.
  bool is_alone() const noexcept { return traffic == Traffic::kStreamed; }

  /// Whether there is memory for buffers. Ways may call buffers() only then.
  bool has_buffers() const noexcept {
    if (!buffers_.has_value()) buffers_.emplace();
    return buffers_->exist();
  }
  const Buffers& buffers() const noexcept {
    return *buffers_;  // NOLINT(bugprone-unchecked-optional-access): has_buffers() made them
  }

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
  /// Whether the way can do the job, and does it well if no earlier way in the list suits. Changes
  /// nothing but scratch, and asks no other way.
  bool (*suits)(const Job& job) noexcept;
  /// Does the job. buffers().plan() has what the last suits() computed.
  void (*run)(const Job& job) noexcept;
};

/// Whether each row repeats one item, and is long enough for the order of dst.
inline bool has_constant_rows(const Schedule& s) noexcept {
  constexpr int64_t kMany = 16;  // [note 88]
  return s.fills() && (s.axes[s.u].extent >= kMany || s.axes[s.u].extent * s.item >= kLine);
}

/// The first way in the list that suits. The last way suits every job.
const Way& way_for(const Job& job) noexcept;

/// Runs a schedule whose data is in the caches, without buffers.
void run_in_caches(const Schedule& schedule) noexcept;

/// For tests: calls see(way, data) for each way that way_for() may choose for large jobs, or for
/// other jobs.
void each_way(bool large, void (*see)(const Way& way, void* data), void* data);

/// Describes how some ways copy planes; NULL for other ways.
const char* details_of(const Way& way, const Schedule& schedule) noexcept;

// Each way is in the file of its name. What the choice for a small copy asks is inline.

#define DLX_WAY(NAME)                         \
  bool suits_##NAME(const Job& job) noexcept; \
  void run_##NAME(const Job& job) noexcept

/// Fills long rows of one item past the caches.
DLX_WAY(fills);
/// Rows of one item, or read repeatedly: in the order of dst, through the caches.
inline bool suits_in_order(const Job& job) noexcept { return has_constant_rows(job.s); }
void run_in_order(const Job& job) noexcept;
bool suits_in_order_when_large(const Job& job) noexcept;
/// Rows that lie side by side in src and far apart in dst, such as heads of attention: some longer
/// rows of src are read at a time, into one stream of dst for each column.
DLX_WAY(regrouped);
/// Long runs, in the order of src.
DLX_WAY(runs);
bool suits_runs_alone(const Job& job) noexcept;
bool suits_runs_of_many_lines(const Job& job) noexcept;
/// Items with gaps in src, as in x[:, ::3]: each line of dst is gathered in registers.
DLX_WAY(spaced);
/// A repeated pattern of source bytes: lines are permuted in registers.
DLX_WAY(pattern);
/// Rows that run backwards: src is read upwards, each row of dst is written from its end.
DLX_WAY(backwards);
/// Box by box: rows are copied together in the order of src, arranged in the second-level cache,
/// and streamed. So src is read in long runs, whatever the axes.
DLX_WAY(boxes);
bool suits_boxes_of_gathered_items(const Job& job) noexcept;
bool suits_boxes_of_rows(const Job& job) noexcept;
bool suits_boxes_first(const Job& job) noexcept;
/// Box by box in two steps with fast kernels, if a single step has none: from src to a buffer whose
/// axes are in another order, and from the buffer to dst.
DLX_WAY(relay);
/// Transpositions: some lines of some rows are copied together in a block, and transposed from
/// there.
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
/// Planes that are too small for kernels: a table of the offsets of up to 256 items is applied at
/// each place.
DLX_WAY(table);
bool suits_table_of_far_items(const Job& job) noexcept;
/// Planes with few rows along v: loops along another axis, over as many rows as the first-level
/// cache holds.
DLX_WAY(across);
/// Plane after plane, straight from src to dst. Suits every job: planes of a kind without kernels
/// are copied item by item.
inline bool suits_planes(const Job&) noexcept { return true; }
void run_planes(const Job& job) noexcept;

#undef DLX_WAY

/// Whether a large job is faster through the caches than by any way that streams. The list asks
/// before the streaming ways, before boxes, and before tiles.
bool suits_caches(const Job& job) noexcept;
bool suits_caches_rather_than_boxes(const Job& job) noexcept;
bool suits_caches_rather_than_tiles(const Job& job) noexcept;

}  // namespace dlx

#endif  // DLX_SRC_COPY_WAYS_WAY_H_
