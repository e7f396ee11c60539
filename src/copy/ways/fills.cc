#include "src/copy/kernels/lines.h"
#include "src/copy/schedule/loops.h"
#include "src/copy/ways/repeat.h"
#include "src/copy/ways/way.h"

namespace dlx {

// With registers narrower than a line, plain stores would first read every line that they
// overwrite.

bool suits_fills(const Job& job) noexcept {
  constexpr int64_t kLines = 16 * kLine;  // [note 47]
  const Schedule& s = job.s;
  if (!s.fills() || s.log_item < 0) return false;
  const int64_t row = s.axes[s.u].extent * s.item;
  // If rows share lines, every end of a row waits for the shared line.
  if (row < (s.begins_at_multiples(kLine, s.u) ? kLines : 2 * kLines)) return false;
  return s.bytes() >= job.machine.fewest_filled_bytes(job.is_alone());
}

void run_fills(const Job& job) noexcept {
  const Schedule& s = job.s;
  const int64_t row = s.axes[s.u].extent * s.item;
  Loops loops;
  loops.add_others(s, [&](int axis) { return axis == s.u; });
  loops.each(s.dst, s.src, [&](char* dst, const char* src) {
    stream_repeated(job.kernels, dst, row, src, s.item);
  });
  job.kernels.fence();
}

}  // namespace dlx
