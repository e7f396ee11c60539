#include "src/copy/schedule/machine.h"

#include <algorithm>

#ifdef __linux__
#include <unistd.h>
#endif

namespace dlx {
namespace {

/// Sets of eight lines in the second-level cache: those of 512 KiB where that is not known, and no
/// more than those of 2 MiB, the largest that anything here was measured with.
int64_t cache_sets() noexcept {
  constexpr int64_t kFewest = 1024;
  int64_t bytes = 0;
#ifdef _SC_LEVEL2_CACHE_SIZE
  bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
#endif
  return std::clamp(bytes / Machine::kSetBytes, kFewest, 4 * kFewest);
}

}  // namespace

Machine::Machine(const Kernels& set, int64_t sets) noexcept : kernels(&set), cache_sets(sets) {
  if (!set.line_registers()) {
    tile_bytes = 32 << 10;
    tile_dst_bytes[0] = 512;
    staged_dst_bytes[0] = 512;
    staged_src_bytes[0] = 128;
    staged_dst_bytes[1] = 384;
    staged_src_bytes[1] = 256;
  }
  if (has_1_mib_cache()) {
    run_bytes = 64;
    long_run_bytes = set.line_registers() || has_over_1_mib_cache() ? 512 : 384;
  }
}

Machine& machine() noexcept {
  static Machine values(kernels(), cache_sets());
  return values;
}

}  // namespace dlx
