#ifndef DLX_SRC_COPY_SCHEDULE_MACHINE_H_
#define DLX_SRC_COPY_SCHEDULE_MACHINE_H_

#include <cstdint>

#include "src/copy/kernels/kernels.h"

namespace dlx {

/// The processor and its caches: all sizes and decisions that depend on them. `[note N]` names the
/// note in docs/copy-notes.md that justifies one.
///
/// Tests change the fields, to run every way on small tensors and for other machines. Arrays are
/// indexed by item size: [k] is for 2^k bytes.
class Machine {
 public:
  /// A machine with these kernels, and `sets` sets of eight lines in the second-level cache.
  Machine(const Kernels& set, int64_t sets) noexcept;

  const Kernels* kernels;
  int64_t cache_sets;  ///< of the second-level cache, each of eight lines
  static constexpr int64_t kSetBytes = 8 * 64;

  /// dst is streamed from this size on, if src is as large. [note 53]
  int64_t stream_bytes = 8 << 20;
  int64_t parallel_bytes = 1 << 20;  ///< threads share a copy from this size on
  int64_t tile_bytes = 4096;  ///< of a tile that leaves the first-level cache at once [note 11]

  /// Lengths of the runs of dst and of src that a tile of a transposition aims at, and the same if
  /// rows are copied together first (staged).
  int64_t tile_dst_bytes[5] = {256, 1024, 1024, 2048, 2048};  // [note 11]
  int64_t tile_src_bytes[5] = {256, 384, 256, 512, 512};
  int64_t staged_dst_bytes[5] = {256, 512, 512, 512, 1024};  // [note 50]
  int64_t staged_src_bytes[5] = {64, 128, 128, 128, 128};

  int64_t relay_bytes = 128 << 10;  ///< relay: smallest copy [note 66]
  int64_t relay_tile = 96 << 10;    ///< relay: bytes of a box [note 66]
  int64_t box_bytes = 160 << 10;    ///< boxes: bytes of a box [note 64]
  int64_t long_row_bytes = 512;     ///< a row of dst from this length on is long [note 16]
  /// Runs of src from this length on are streamed by themselves: runs without a pattern
  /// (run_bytes), all runs (long_run_bytes).
  int64_t run_bytes = 1024;       // [note 45]
  int64_t long_run_bytes = 1024;  // [note 45]

  /// Bytes of the second-level cache.
  int64_t cache_bytes() const noexcept { return cache_sets * kSetBytes; }

  // Ways.

  /// Whether boxes are tried before tiles and several other ways; otherwise they take only what no
  /// other way takes. [note 64]
  bool boxes_first() const noexcept { return !line_registers() && !has_1_mib_cache(); }
  /// Whether repeated runs go past the caches. Line registers write lines without reading them.
  /// [note 47]
  bool streams_repeated_runs() const noexcept { return !line_registers(); }
  /// Smallest dst whose rows of one item are streamed. [note 47]
  int64_t fewest_filled_bytes(bool alone) const noexcept {
    return line_registers() ? stream_bytes * (alone ? 8 : 1) : 0;
  }
  /// Whether splits are written through the caches, in the order of dst. [note 48]
  bool splits_in_order(bool alone) const noexcept { return alone && !line_registers(); }
  /// Most streams of src that are gathered in the order of dst. [note 19]
  int64_t gathered_streams() const noexcept { return has_1_mib_cache() ? 16 : 64; }
  /// Largest item, in bytes, that large copies relay through a buffer. [note 19]
  int64_t largest_relayed_item() const noexcept {
    if (!has_1_mib_cache()) return INT64_MAX;
    return has_over_1_mib_cache() ? 2 : 1;
  }
  /// Whether rows of whole lines are read as fast in the order of dst as regrouped. [note 12]
  bool reads_whole_lines_in_order() const noexcept { return has_1_mib_cache(); }
  /// Whether items that only strips arrange are streamed from a smaller size on. [note 62]
  bool streams_odd_items_sooner() const noexcept { return !has_1_mib_cache(); }

  // Strips and gathered blocks.

  /// Rows of a strip: a line of each and of the next strip's take half of the cache at most.
  /// [note 51]
  int64_t most_strip_rows() const noexcept;
  /// Most ways of a cache set that the lines of a strip may occupy. [note 51]
  int strip_cache_ways() const noexcept { return line_registers() ? 4 : 8; }
  /// Whether columns are streamed from registers in whole lines, wherever they begin. [note 46]
  bool stores_lines() const noexcept { return line_registers(); }
  /// Whether the processor prefetches rows that are read side by side. [note 12]
  bool follows_rows() const noexcept { return kernels->widest == 32 && !has_1_mib_cache(); }
  /// Whether rows that collide in the cache are read line by line, each line whole. [note 49]
  bool reads_lines_whole() const noexcept { return line_registers(); }
  /// How many rows are read line by line at once. [note 12]
  int64_t rows_line_by_line(int64_t item) const noexcept {
    // not covered: only AVX-512 has registers of a line
    return line_registers() ? kLine / item : Strip::kTogether;
  }
  /// Shortest column, in bytes, that is worth strips.
  int64_t shortest_column(int64_t item, bool only_strips) const noexcept;
  /// Which transpositions copy rows together in blocks first.
  enum class Gathers { kNever, kColliding, kFolded, kOften };
  Gathers gathers() const noexcept;  // [note 49] [note 52] [note 54] [note 77]
  /// Fewest rows that a block has room for; whether a block takes the whole buffer. [note 77]
  int64_t fewest_block_rows() const noexcept { return has_over_1_mib_cache() ? 256 : 128; }
  bool has_large_blocks() const noexcept { return has_over_1_mib_cache(); }  // [note 77]

  // Tiles.

  /// Whether tiles of single bytes take one line of each row: the processor would fetch a third
  /// line after two. [note 11] [note 77]
  bool fetches_single_lines() const noexcept { return !has_over_1_mib_cache(); }
  /// Whether the processor prefetches rows inside a tile by itself. [note 13]
  bool follows_rows_in_tiles() const noexcept { return line_registers(); }

  // Through the caches.

  /// Whether rows of src with gaps between them are prefetched. [note 79]
  bool asks_for_rows() const noexcept { return !has_over_1_mib_cache(); }
  /// Whether lines of dst that are stored to with gaps are prefetched. [note 78]
  bool asks_for_stores() const noexcept { return has_over_1_mib_cache(); }
  /// Whether the C library copies long rows faster than any loop. [note 79]
  bool leaves_long_rows_to_libc() const noexcept { return has_over_1_mib_cache(); }
  /// Whether stores across the end of a line are so slow that columns are written one after the
  /// other. [note 76]
  bool writes_columns_apart() const noexcept { return has_over_1_mib_cache(); }

 private:
  bool line_registers() const noexcept { return kernels->widest == 64; }
  bool has_1_mib_cache() const noexcept { return cache_sets >= 2048; }
  /// Intel processors after 2019; measured on one Xeon of 2024.
  bool has_over_1_mib_cache() const noexcept { return cache_sets > 2048; }
};

/// The machine that this process runs on; tests replace it.
Machine& machine() noexcept;

/// How many rows, `step` bytes apart, can keep one line each in half of the first-level cache.
int64_t rows_cached(int64_t step) noexcept;

}  // namespace dlx

#endif  // DLX_SRC_COPY_SCHEDULE_MACHINE_H_
