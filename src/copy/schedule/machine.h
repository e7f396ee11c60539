#ifndef DLX_SRC_COPY_SCHEDULE_MACHINE_H_
#define DLX_SRC_COPY_SCHEDULE_MACHINE_H_

#include <cstdint>

#include "src/copy/kernels/kernels.h"

namespace dlx {

/// The processor, its caches, and the sizes at which the engine changes its ways on it. Tests lower
/// the sizes, to see every way on small tensors. Arrays are by item size: [k] is for 2^k bytes.
struct Machine {
  /// With those kernels, and so many sets of eight lines in the second-level cache.
  Machine(const Kernels& set, int64_t sets) noexcept;

  const Kernels* kernels;
  int64_t cache_sets;  ///< of the second-level cache, each of eight lines

  int64_t stream_bytes = 8 << 20;    ///< from here on, dst goes past the caches, if src is as large
  int64_t parallel_bytes = 1 << 20;  ///< from here on, threads share the work
  int64_t tile_bytes = 4096;  ///< of a tile that is written at once, out of the first-level cache

  /// Lengths that a tile of a transposition aims at, of a run of dst and of one of src, and the
  /// same where rows are copied together first.
  int64_t tile_dst_bytes[5] = {256, 1024, 1024, 2048, 2048};
  int64_t tile_src_bytes[5] = {256, 384, 256, 512, 512};
  int64_t staged_dst_bytes[5] = {256, 512, 512, 512, 1024};
  int64_t staged_src_bytes[5] = {64, 128, 128, 128, 128};

  static constexpr int64_t kSetBytes = 8 * 64;
  int64_t relay_bytes = 128 << 10;  ///< copies from here on may go by way of a buffer,
  int64_t relay_tile = 96 << 10;    ///< so many bytes at a time
  int64_t box_bytes = 160 << 10;    ///< of a box, put together and arranged in a cache
  int64_t long_row_bytes = 512;     ///< rows of dst from here on go line by line, without tiles
  int64_t run_bytes = 1024;         ///< runs of src from here on go one by one, if no pattern,
  int64_t long_run_bytes = 1024;    ///< and from here on even then

  /// What the second-level cache holds.
  int64_t cache_bytes() const noexcept { return cache_sets * kSetBytes; }
  /// Whether the second-level cache has 1 MiB, or more.
  bool has_1_mib_cache() const noexcept { return cache_sets >= 2048; }
  /// Whether it has more than that, as Intel's have that came after 2019. What follows from it was
  /// measured on one of these.
  bool has_over_1_mib_cache() const noexcept { return cache_sets > 2048; }
};

/// This one; tests put others in its place.
Machine& machine() noexcept;

}  // namespace dlx

#endif  // DLX_SRC_COPY_SCHEDULE_MACHINE_H_
