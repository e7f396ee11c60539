#include "src/copy/kernels/lines.h"
#include "src/copy/schedule/loops.h"
#include "src/copy/ways/way.h"

namespace dlx {

/// Long runs and runs of whole lines are better streamed than treated as a pattern. So are long
/// runs in descending order: a pattern would read their bytes downwards too.
bool suits_runs_alone(const Job& job) noexcept {
  const Schedule& s = job.s;
  constexpr int64_t kLongBackwards = 6 * kLine;  // [note 45]
  if (s.kind != PlaneKind::kRows || s.item < kLine) return false;
  if (s.item >= job.machine.long_run_bytes) return true;
  if (s.ndim > 0 && s.axes[s.u].src < 0 && s.item >= kLongBackwards) return true;
  return s.item % kLine == 0 && s.begins_at_multiples(kLine);
}

bool suits_runs(const Job& job) noexcept {
  return job.s.kind == PlaneKind::kRows && job.s.item >= job.machine.run_bytes;
}

bool suits_runs_of_many_lines(const Job& job) noexcept {
  constexpr int64_t kMany = 4 * kLine;  // [note 45]
  return suits_runs(job) && job.s.item >= kMany;
}

/// In the ascending order of src, which the processor prefetches by itself.
void run_runs(const Job& job) noexcept {
  const Schedule& s = job.s;
  const Kernels& kernels = job.kernels;
  int order[CopyPlan::kMaxAxes];
  order_by_source(s, order);
  char* first_dst = s.dst;
  const char* first_src = s.src;
  const auto upwards = [&](CopyAxis axis) {
    if (axis.src >= 0) return axis;
    first_dst += (axis.extent - 1) * axis.dst;
    first_src += (axis.extent - 1) * axis.src;
    return CopyAxis{axis.extent, -axis.dst, -axis.src};
  };
  const CopyAxis inner = s.ndim > 0 ? upwards(s.axes[order[0]]) : kNoAxis;
  Loops loops;
  for (int i = 1; i < s.ndim; ++i) loops.add(upwards(s.axes[order[i]]));
  loops.each(first_dst, first_src, [&](char* dst, const char* src) {
    kernels.stream_rows(dst, inner.dst, src, inner.src, s.item, inner.extent);
  });
  kernels.fence();
}

}  // namespace dlx
