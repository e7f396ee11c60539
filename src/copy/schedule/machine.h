#ifndef DLX_SRC_COPY_SCHEDULE_MACHINE_H_
#define DLX_SRC_COPY_SCHEDULE_MACHINE_H_

#include <cstdint>

#include "src/copy/kernels/kernels.h"

namespace dlx {

/// The processor and its caches: every question about them is asked here, and every size that depends
/// on them is a field. Numbers in brackets are those of docs/copy-notes.md.
///
/// Tests change the fields, to see every way on small tensors and on other machines. Arrays are by item
/// size: [k] is for 2^k bytes.
class Machine {
 public:
  /// With these kernels, and `sets` sets of eight lines in the second-level cache.
  Machine(const Kernels& set, int64_t sets) noexcept;

  const Kernels* kernels;
  int64_t cache_sets;  ///< of the second-level cache, each of eight lines
  static constexpr int64_t kSetBytes = 8 * 64;

  int64_t stream_bytes = 8 << 20;    ///< from here on, dst goes past the caches, if src is as large
  int64_t parallel_bytes = 1 << 20;  ///< from here on, threads share the work
  int64_t tile_bytes = 4096;  ///< of a tile that is written at once, out of the first-level cache

  /// Lengths that a tile of a transposition aims at, of a run of dst and of one of src, and the
  /// same where rows are copied together first.
  int64_t tile_dst_bytes[5] = {256, 1024, 1024, 2048, 2048};
  int64_t tile_src_bytes[5] = {256, 384, 256, 512, 512};
  int64_t staged_dst_bytes[5] = {256, 512, 512, 512, 1024};
  int64_t staged_src_bytes[5] = {64, 128, 128, 128, 128};

  int64_t relay_bytes = 128 << 10;  ///< copies from here on may go by way of a buffer,
  int64_t relay_tile = 96 << 10;    ///< so many bytes at a time
  int64_t box_bytes = 160 << 10;    ///< of a box, put together and arranged in a cache
  int64_t long_row_bytes = 512;     ///< rows of dst from here on go line by line, without tiles
  int64_t run_bytes = 1024;         ///< runs of src from here on go one by one, if no pattern,
  int64_t long_run_bytes = 1024;    ///< and from here on even then

  /// What the second-level cache holds.
  int64_t cache_bytes() const noexcept { return cache_sets * kSetBytes; }

  // Ways.

  /// Whether boxes are better than tiles, and than many other ways; elsewhere they do what nothing else
  /// does.
  bool boxes_first() const noexcept { return !line_registers() && !has_1_mib_cache(); }
  /// Whether repeated runs go past the caches. Line registers write lines without reading them.
  bool streams_repeated_runs() const noexcept { return !line_registers(); }
  /// Bytes of dst from which on rows of one item are filled past the caches.
  int64_t fewest_filled_bytes(bool alone) const noexcept {
    return line_registers() ? stream_bytes * (alone ? 8 : 1) : 0;
  }
  /// Whether splits go through the caches, in the order of dst.
  bool splits_in_order(bool alone) const noexcept { return alone && !line_registers(); }
  /// Streams of src that are gathered in the order of dst.
  int64_t gathered_streams() const noexcept { return has_1_mib_cache() ? 16 : 64; }
  /// Bytes of the largest items that go by way of a buffer in large copies.
  int64_t largest_relayed_item() const noexcept {
    if (!has_1_mib_cache()) return INT64_MAX;
    return has_over_1_mib_cache() ? 2 : 1;
  }
  /// Whether rows of whole lines are read as fast in the order of dst.
  bool reads_whole_lines_in_order() const noexcept { return has_1_mib_cache(); }
  /// Whether plain stores are better for rows of items that are apart in src.
  bool stores_rows_apart() const noexcept { return has_1_mib_cache(); }
  /// Whether items that only strips arrange go past the caches sooner.
  bool streams_odd_items_sooner() const noexcept { return !has_1_mib_cache(); }

  // Strips and gathered blocks.

  /// Rows of a strip: a line of each and of the next strip's take half of the cache at most.
  int64_t most_strip_rows() const noexcept;
  /// Ways of a cache set that the lines of a strip may take.
  int strip_cache_ways() const noexcept { return line_registers() ? 4 : 8; }
  /// Whether columns leave in whole lines from registers wherever they begin.
  bool stores_lines() const noexcept { return line_registers(); }
  /// Whether the processor follows rows that are read side by side.
  bool follows_rows() const noexcept { return kernels->widest == 32 && !has_1_mib_cache(); }
  /// Whether colliding rows are read one line after the other, each line whole.
  bool reads_lines_whole() const noexcept { return line_registers(); }
  /// Rows that are read line by line at once.
  int64_t rows_line_by_line(int64_t item) const noexcept {
    return line_registers() ? kLine / item : Strip::kTogether;
  }
  /// Bytes of the shortest columns that strips are worth it for, of such items.
  int64_t shortest_column(int64_t item, bool only_strips) const noexcept;
  /// Where rows are copied together in blocks before they are transposed.
  enum class Gathers { kNever, kColliding, kFolded, kOften };
  Gathers gathers() const noexcept;
  /// Of a block: rows that it has room for at least, and whether it takes all of a buffer.
  int64_t fewest_block_rows() const noexcept { return has_over_1_mib_cache() ? 256 : 128; }
  bool has_large_blocks() const noexcept { return has_over_1_mib_cache(); }

  // Tiles.

  /// Whether tiles of single bytes take one line of each row: two would have a third one fetched.
  bool fetches_single_lines() const noexcept { return !has_over_1_mib_cache(); }
  /// Whether rows inside a tile are fetched by the processor itself.
  bool follows_rows_in_tiles() const noexcept { return line_registers(); }

  // Through the caches.

  /// Whether rows of src with gaps behind them are asked for.
  bool asks_for_rows() const noexcept { return !has_over_1_mib_cache(); }
  /// Whether lines of dst that are stored to with gaps are asked for.
  bool asks_for_stores() const noexcept { return has_over_1_mib_cache(); }
  /// Whether the C library copies long rows faster than any loop.
  bool leaves_long_rows_to_libc() const noexcept { return has_over_1_mib_cache(); }
  /// Whether stores over the end of a line cost so much that columns are written one by one.
  bool writes_columns_apart() const noexcept { return has_over_1_mib_cache(); }

 private:
  bool line_registers() const noexcept { return kernels->widest == 64; }
  bool has_1_mib_cache() const noexcept { return cache_sets >= 2048; }
  /// As Intel's have that came after 2019: measured on one of these.
  bool has_over_1_mib_cache() const noexcept { return cache_sets > 2048; }
};

/// This one; tests put others in its place.
Machine& machine() noexcept;

/// How many rows that are `step` bytes apart leave a line each in half of a first-level cache.
int64_t rows_cached(int64_t step) noexcept;

}  // namespace dlx

#endif  // DLX_SRC_COPY_SCHEDULE_MACHINE_H_
