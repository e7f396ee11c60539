#include "src/copy/ways/repeat.h"

#include <algorithm>
#include <cstring>

#include "src/copy/kernels/lines.h"

namespace dlx {
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
  constexpr int64_t kLines = 16;  // at once [note 80]
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
  constexpr int64_t kLong = 512;             // [note 80]
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
