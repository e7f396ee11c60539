#include "src/copy/schedule/machine.h"

#include <algorithm>

#include "src/system/system.h"

namespace dlx {
namespace {

/// Sets of eight lines in the second-level cache: those of 512 KiB if its size is not known, and at
/// most those of 2 MiB, the largest cache that anything here was measured with.
int64_t cache_sets() noexcept {
  constexpr int64_t kFewest = 1024;
  return std::clamp(sys::second_level_cache() / Machine::kSetBytes, kFewest, 4 * kFewest);
}

}  // namespace

Machine::Machine(const Kernels& set, int64_t sets) noexcept : kernels(&set), cache_sets(sets) {
  if (!line_registers()) {
    tile_bytes = 32 << 10;
    tile_dst_bytes[0] = 512;
    staged_dst_bytes[0] = 512;
    staged_src_bytes[0] = 128;
    staged_dst_bytes[1] = 384;
    staged_src_bytes[1] = 256;
  }
  if (has_1_mib_cache()) {
    run_bytes = 64;
    long_run_bytes = line_registers() || has_over_1_mib_cache() ? 512 : 384;
  }
}

int64_t Machine::most_strip_rows() const noexcept {
  return std::clamp<int64_t>(cache_sets, 1024, 2048);
}

int64_t Machine::shortest_column(int64_t item, bool only_strips) const noexcept {
  if (only_strips) return long_row_bytes / 2;
  if (line_registers()) {
    if (item == 1) return long_row_bytes / 2;
    return item == 8 || item == 12 ? long_row_bytes : 2 * long_row_bytes;
  }
  return item == 8 || item == 16 ? 2 * long_row_bytes : long_row_bytes;
}

Machine::Gathers Machine::gathers() const noexcept {
  if (has_over_1_mib_cache()) return Gathers::kColliding;
  if (line_registers()) return Gathers::kNever;
  return has_1_mib_cache() ? Gathers::kFolded : Gathers::kOften;
}

Machine& machine() noexcept {
  static Machine values(kernels(), cache_sets());
  return values;
}

int64_t rows_cached(int64_t step) noexcept {
  constexpr int64_t kAlike = kFirstLevelSets * kLine;   // rows this far apart share all sets
  const int64_t apart = std::max(step & -step, kLine);  // bytes between the sets that rows use
  return kFirstLevelWays / 2 * std::max<int64_t>(kAlike / apart, 1);
}

}  // namespace dlx
