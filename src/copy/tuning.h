#ifndef DLX_SRC_COPY_TUNING_H_
#define DLX_SRC_COPY_TUNING_H_

#include <cstdint>

namespace dlx {

/// Sizes at which the engine changes its ways, for this machine. Tests lower them, to see every way on
/// small tensors.
struct Tuning {
  int64_t stream_bytes;       ///< from here on, dst is written past the caches, if src is as large
  int64_t parallel_bytes;     ///< from here on, threads share the work
  int64_t tile_bytes;         ///< of a tile that is written at once, out of the first-level cache
  int64_t tile_dst_bytes[5];  ///< length of a run of dst that a tile of a transposition aims at,
  int64_t tile_src_bytes[5];  ///< and of a run of src; by item size: [k] is for 2^k bytes
  int64_t staged_dst_bytes[5];  ///< the same where rows are copied together first
  int64_t staged_src_bytes[5];
  int64_t cache_sets;      ///< of the second-level cache, each of eight lines
  int64_t relay_bytes;     ///< copies from here on may go by way of a buffer,
  int64_t relay_tile;      ///< so many bytes at a time
  int64_t box_bytes;       ///< of a box whose rows are put together and arranged in a cache
  int64_t long_row_bytes;  ///< rows of dst from here on are written line by line, without tiles
  int64_t run_bytes;  ///< runs of src from here on are streamed one by one, if they are no pattern,
  int64_t long_run_bytes;  ///< and from here on even then

  /// Whether the second-level cache has 1 MiB, or more.
  bool has_large_cache() const noexcept { return cache_sets >= 2048; }
  /// Whether it has more than that, as Intel's have that came after 2019. What follows from it was
  /// measured on one of these.
  bool has_larger_cache() const noexcept { return cache_sets > 2048; }
};

Tuning& tuning() noexcept;

}  // namespace dlx

#endif  // DLX_SRC_COPY_TUNING_H_
