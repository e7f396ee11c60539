#include "src/copy/schedule/machine.h"

#include <algorithm>

#ifdef __linux__
#include <unistd.h>
#endif

#include "src/copy/kernels/kernels.h"

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
  return std::clamp(bytes / Tuning::kSetBytes, kFewest, 4 * kFewest);
}

Tuning for_this_machine() noexcept {
  Tuning values;
  values.cache_sets = cache_sets();
  if (!kernels().line_registers()) {
    values.tile_bytes = 32 << 10;
    values.tile_dst_bytes[0] = 512;
    values.staged_dst_bytes[0] = 512;
    values.staged_src_bytes[0] = 128;
    values.staged_dst_bytes[1] = 384;
    values.staged_src_bytes[1] = 256;
  }
  if (values.has_1_mib_cache()) {
    values.run_bytes = 64;
    values.long_run_bytes = kernels().line_registers() || values.has_over_1_mib_cache() ? 512 : 384;
  }
  return values;
}

}  // namespace

Tuning& tuning() noexcept {
  static Tuning values = for_this_machine();
  return values;
}

}  // namespace dlx
