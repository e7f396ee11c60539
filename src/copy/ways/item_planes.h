#ifndef DLX_SRC_COPY_WAYS_ITEM_PLANES_H_
#define DLX_SRC_COPY_WAYS_ITEM_PLANES_H_

#include <cstdint>

#include "src/copy/kernels/kernels.h"
#include "src/copy/schedule/schedule.h"
#include "src/copy/ways/planes.h"

namespace dlx {

/// Copies planes of one shape item by item, or run by run. Loops go along the longer axis if the
/// other one is short, and in parts, so that the lines of both sides stay in the cache.
class ItemPlanes {
 public:
  static constexpr int64_t kFew = 8;  ///< items along u that there is a kernel for

  /// `shape`: any of the planes. `asks`: prefetch rows of src with gaps between them.
  ItemPlanes(const Schedule& schedule, const Plane& shape, bool asks) noexcept;
  ItemPlanes(const Schedule& schedule, const Plane& shape) noexcept
      : ItemPlanes(schedule, shape, asks_for_rows(schedule)) {}

  /// Whether planes of such items are transposed in registers: those with few columns, or with gaps
  /// between columns.
  static bool arranges(const Kernels& kernels, int64_t item, const Plane& shape) noexcept;

  /// Whether rows are few and share the lines of a src that the caches do not hold: src is then
  /// read once, into a few streams of dst, and not once for each row.
  static bool reads_into_streams(const Schedule& schedule, const Plane& plane) noexcept;

  /// Names the loop, for descriptions.
  const char* in_words() const noexcept;

  /// Copies the plane that begins at `to` and `from`.
  void copy(char* to, const char* from) const noexcept;

  /// Whether ask_for() should be called for the next plane.
  bool asks() const noexcept { return written_.together || read_.together; }

  /// Prefetches the first rows of the next plane.
  void ask_for(const char* next_to, const char* to, const char* next_from,
               const char* from) const noexcept;

 private:
  enum class Loop {
    kFill,       ///< rows that repeat one item
    kEvery,      ///< columns with gaps between them, in registers
    kBackwards,  ///< rows that run backwards, in registers
    kFewAtOnce,  ///< few items along u, in a kernel for that number
    kRows,       ///< row by row along u
  };

  /// Rows on one side. The processor does not prefetch short rows with gaps between them, so they
  /// are prefetched here.
  struct Rows {
    /// Prefetches a row, or the row `ahead` rows later.
    __attribute__((always_inline)) inline void ask(const char* row) const noexcept;
    __attribute__((always_inline)) inline void ask_later(const char* row) const noexcept;

    int64_t along = 0;      ///< bytes from item to item
    int64_t across = 0;     ///< from row to row
    int64_t bytes = 0;      ///< of a row
    int64_t ahead = 0;      ///< rows
    bool apart = false;     ///< there are gaps between rows
    bool together = false;  ///< a line holds several of their items
  };

  /// Whether prefetching pays: not for data in the caches, and not on processors that read many
  /// rows side by side.
  static bool asks_for_rows(const Schedule& schedule) noexcept;

  /// `bytes_ahead`: how far ahead rows are prefetched; a few rows at least.
  Rows rows_of(int64_t along, int64_t across, int64_t bytes_ahead) const noexcept;

  /// Chooses the axis that the longer loop goes along, and how many items go at once.
  void choose_loops() noexcept;
  bool choose_for_runs() noexcept;

  /// Swaps u and v.
  void turn() noexcept;

  /// For kBackwards and kFewAtOnce: all rows, or groups of rows if later rows are prefetched.
  void copy_groups(char* to, const char* from) const noexcept;
  void copy_loops(char* to, const char* from) const noexcept;

  /// Copies n runs along u.
  void copy_rows(char* dst, const char* src, int64_t n) const noexcept;

  /// Prefetches a later line of each of n streams of src.
  __attribute__((always_inline)) inline void ask_streams(const char* src, int64_t n) const noexcept;

  const Schedule& s_;
  const Kernels& kernels_;
  int64_t item_;
  int log_item_;
  Plane shape_;      ///< the longer loop along u
  int64_t at_once_;  ///< items along u
  Loop loop_ = Loop::kRows;
  int64_t every_ = 0;       ///< how many items of src a column is apart
  int64_t lowest_dst_ = 0;  ///< bytes from the first column to the one that is lowest in src
  int64_t lowest_src_ = 0;
  int64_t rows_of_a_line_ = 0;  ///< of src, where its streams are asked for; else 0
  Rows written_;
  Rows read_;
};

/// Whether planes would move item by item, but are transposed in registers.
bool is_arranged(const Schedule& schedule) noexcept;

}  // namespace dlx

#endif  // DLX_SRC_COPY_WAYS_ITEM_PLANES_H_
