#include "src/copy/execute.h"

#include <algorithm>

#include "src/copy/copy.h"
#include "src/copy/kernels/kernels.h"
#include "src/copy/schedule/loops.h"
#include "src/copy/threads/pieces.h"
#include "src/copy/threads/threads.h"
#include "src/copy/ways/repeat.h"
#include "src/copy/ways/way.h"

namespace dlx {
namespace {

/// The number of threads for a copy of `bytes`; kThreadsAtOnce for the smallest shared copy.
int64_t threads_for(const Machine& machine, int64_t bytes) noexcept {
  constexpr int64_t kThreadsAtOnce = 4;  // [note 90]
  const int64_t enough = machine.parallel_bytes / kThreadsAtOnce;
  const int64_t usable = usable_threads();
  return enough > 0 && bytes / enough < usable ? bytes / enough : usable;
}

void run_part(const Machine& machine, const CopyPlan& plan, Traffic traffic) noexcept;

/// Arranges as many runs as a cache holds, and copies each of them along the axis from there.
void run_repeated(const Machine& machine, const CopyPlan& plan, const Repetition& repetition,
                  bool streamed) noexcept {
  const Kernels& kernels = *machine.kernels;
  const int axis = repetition.axis;
  const int64_t run = repetition.run;
  const CopyAxis& repeated = plan.axis(axis);
  Loops places;  // places inside a part
  int cut = axis;
  int64_t bytes = run;
  for (; cut > 0 && bytes * plan.axis(cut - 1).extent <= kRunsCached; --cut) {
    bytes *= plan.axis(cut - 1).extent;
    places.add(plan.axis(cut - 1));
  }
  // A part also has some indices of the next axis.
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
      run_part(machine, once.moved(part - once.dst(), src - once.src()), Traffic::kCached);
      inside.each(part, src,
                  [&](char* dst, const char*) { repeat(kernels, dst, run, repeated, streamed); });
    });
  }
  if (streamed) kernels.fence();
}

/// Arranges large runs in parts that a cache holds, and copies each part along the axis from there.
void run_large_repeated(const Machine& machine, const CopyPlan& plan, int axis,
                        bool streamed) noexcept {
  const Kernels& kernels = *machine.kernels;
  const CopyAxis repeated = plan.axis(axis);
  int cut = axis + 1;  // parts have some indices of this axis, and all axes after it
  while (cut + 1 < plan.ndim() && plan.axis(cut).dst > kRunsCached) ++cut;
  const CopyAxis parts = plan.axis(cut);
  const int64_t at_once = std::clamp<int64_t>(kRunsCached / parts.dst, 1, parts.extent);
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
      run_part(machine, part, Traffic::kCached);
      (streamed ? kernels.stream_rows : kernels.rows)(part.dst() + repeated.dst, repeated.dst,
                                                      part.dst(), 0, extent[cut] * parts.dst,
                                                      repeated.extent - 1);
    }
  });
  kernels.fence();
}

void run_part(const Machine& machine, const CopyPlan& plan, Traffic traffic) noexcept {
  const bool streamed = streams_runs(machine, traffic);
  const Repetition repetition = repetition_of(plan, streamed);
  if (repetition.is_large()) {
    return run_large_repeated(machine, plan, repetition.axis, goes_past_caches(traffic));
  }
  if (repetition.exists()) return run_repeated(machine, plan, repetition, streamed);
  const Schedule schedule = schedule_of(plan, machine, traffic);
  const Job job(schedule, traffic);
  way_for(job).run(job);
}

/// The state of a copy that threads share.
struct Work {
  const Machine& machine;
  const Pieces& pieces;
  Traffic traffic;
};

void run_piece(void* data, int64_t index) noexcept {
  const Work& work = *static_cast<const Work*>(data);
  run_part(work.machine, work.pieces.piece(index), work.traffic);
}

}  // namespace

bool streams_runs(const Machine& machine, Traffic traffic) noexcept {
  return goes_past_caches(traffic) && machine.streams_repeated_runs();
}

Schedule schedule_of(const CopyPlan& plan, const Machine& machine, Traffic traffic) noexcept {
  return Schedule(plan, machine, Held::kNeither, traffic != Traffic::kCached);
}

int64_t threads_of(int64_t bytes, const Machine& machine) noexcept {
  const bool parallel = bytes >= machine.parallel_bytes && num_threads() > 1;
  return parallel ? threads_for(machine, bytes) : 0;
}

void execute_alone(const CopyPlan& plan) noexcept {
  const Machine& machine = dlx::machine();
  run_part(machine, plan, traffic_of(plan, machine, false));
}

void execute(const CopyPlan& plan) noexcept {
  const Machine& machine = dlx::machine();
  const int64_t threads = threads_of(plan.size(), machine);
  const Traffic traffic = traffic_of(plan, machine, threads > 0);
  if (threads == 0) return run_part(machine, plan, traffic);
  const Repetition found = repetition_of(plan, streams_runs(machine, traffic));
  const Pieces pieces(plan, kPiecesPerThread * threads, found.is_large() ? found.axis : -1);
  Work work = {machine, pieces, traffic};
  parallel_for(pieces.count(), run_piece, &work, threads);
}

}  // namespace dlx
