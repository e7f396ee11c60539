#include "src/copy/ways/repeat.h"

#include <algorithm>
#include <cstring>

#include "src/copy/kernels/lines.h"
#include "src/copy/schedule/schedule.h"

namespace dlx {

namespace {

/// Whether each row of dst repeats one item, and is so long that writing it is as fast as copying
/// it from a cache. [note 72]
bool has_filled_rows(const CopyPlan& plan) noexcept {
  if (plan.ndim() == 0 || log2_of_item(plan.item()) < 0) return false;
  const CopyAxis& row = plan.axis(plan.ndim() - 1);
  return row.src == 0 && row.dst == plan.item() && row.extent * row.dst >= kLine;
}

}  // namespace

Repetition repetition_of(const CopyPlan& plan, bool streamed) noexcept {
  constexpr int64_t kShort = 32;       // bytes [note 72]
  constexpr int64_t kStreamed = 4096;  // at once [note 43]
  constexpr int64_t kItems = 192;      // cost as much as arranging a short run
  constexpr int64_t kOften = 4;        // [note 43]
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
    // A few repetitions are streamed together with the items after them.
    const bool few = axis.extent <= 2 * kOften || bytes * axis.extent < kStreamed;
    const bool alone = !has_kernels && !long_item && !(streamed && few && axis.dst == bytes);
    if (axis.src == 0 && worth_it && (bytes > item || alone)) found = {k, bytes};
    if (axis.dst != bytes) break;
    bytes *= axis.extent;
  }
  return found;
}

namespace {

/// Fills `bytes` of dst by repeating its first `filled` bytes.
void fill_up(char* dst, int64_t filled, int64_t bytes) noexcept {
  while (filled < bytes) {
    const int64_t n = std::min(filled, bytes - filled);
    std::memcpy(dst + filled, dst, static_cast<size_t>(n));
    filled += n;
  }
}

}  // namespace

void stream_repeated(const Kernels& kernels, char* dst, int64_t bytes, const char* run,
                     int64_t run_bytes) noexcept {
  constexpr int64_t kLines = 16;  // at once [note 81]
  alignas(64) char pattern[kLongestRepeated + kLines * kLine];
  const char* const behind = dst + bytes;
  if (inside_line(behind) != 0) __builtin_prefetch(behind, 1);  // shared with what follows
  std::memcpy(pattern, run, static_cast<size_t>(run_bytes));
  fill_up(pattern, run_bytes, run_bytes + kLines * kLine);
  const int64_t head = std::min(to_next_line(dst), bytes);
  std::memcpy(dst, pattern, static_cast<size_t>(head));
  int64_t at = head % run_bytes;
  char* const end = dst + bytes;
  for (dst += head; end - dst >= kLine;) {
    const int64_t lines = std::min((end - dst) / kLine, kLines);
    kernels.stream(dst, pattern + at, lines);
    dst += lines * kLine;
    at = (at + lines * kLine) % run_bytes;
  }
  std::memcpy(dst, pattern + at, static_cast<size_t>(end - dst));
}

void repeat(const Kernels& kernels, char* dst, int64_t run, const CopyAxis& axis,
            bool streamed) noexcept {
  constexpr int64_t kWorthStreaming = 4096;  // bytes [note 43]
  constexpr int64_t kLong = 512;             // [note 81]
  const int64_t all = axis.extent * axis.dst;
  if (axis.dst != run) return kernels.rows(dst + axis.dst, axis.dst, dst, 0, run, axis.extent - 1);
  if (streamed && run <= kLongestRepeated && all >= kWorthStreaming) {
    return stream_repeated(kernels, dst + run, all - run, dst, run);
  }
  int64_t together = run;
  while (together < kLong && 2 * together <= all) together *= 2;
  fill_up(dst, run, together);
  const int64_t many = all / together;
  kernels.rows(dst + together, together, dst, 0, together, many - 1);
  std::memcpy(dst + many * together, dst, static_cast<size_t>(all - many * together));
}

}  // namespace dlx
