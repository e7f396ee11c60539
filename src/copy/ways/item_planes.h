#ifndef DLX_SRC_COPY_WAYS_ITEM_PLANES_H_
#define DLX_SRC_COPY_WAYS_ITEM_PLANES_H_

#include <cstdint>

#include "src/copy/kernels/kernels.h"
#include "src/copy/schedule/schedule.h"
#include "src/copy/ways/plane.h"

namespace dlx {

/// Copies planes of one shape item by item, or run by run, in long loops: along the longer axis
/// where the other is short, some at a time, so that the lines of both sides stay at hand.
class ItemPlanes {
 public:
  static constexpr int64_t kFew = 8;  ///< items along u that there is a kernel for

  /// `shape`: any of these planes. `asks`: rows of src with gaps behind them are asked for ahead.
  ItemPlanes(const Schedule& schedule, const Plane& shape, bool asks) noexcept;
  ItemPlanes(const Schedule& schedule, const Plane& shape) noexcept
      : ItemPlanes(schedule, shape, asks_for_rows(schedule)) {}

  /// Whether such planes, of items of so many bytes, are transposed in registers: those of few
  /// columns, and of columns with gaps between them.
  static bool arranges(const Kernels& kernels, int64_t item, const Plane& shape) noexcept;

  /// Whether rows are few and share lines of src, and all that lies between their ends is more than
  /// caches hold: better read once, into a few streams of dst, than as often as there are rows.
  static bool reads_into_streams(const Schedule& schedule, const Plane& plane) noexcept;

  /// How, in words.
  const char* in_words() const noexcept;

  /// One of them, from its first item on.
  void copy(char* to, const char* from) const noexcept;

  /// Whether memory should be asked for the next plane beside this one,
  bool asks() const noexcept { return written_.together || read_.together; }

  /// and does so, for its first rows.
  void ask_for(const char* next_to, const char* to, const char* next_from,
               const char* from) const noexcept;

 private:
  enum class Loop {
    kFill,       ///< rows of one and the same item
    kEvery,      ///< columns with gaps between them, in registers
    kBackwards,  ///< rows that run backwards, in registers
    kFewAtOnce,  ///< few items along u at once, in a kernel for rows of so many
    kRows,       ///< row by row along u
  };

  /// Rows on one side. Short ones that do not go on where the one before ended are no stream that
  /// the processor sees: they are asked for.
  struct Rows {
    /// Asks for a row, or for the one `ahead` rows after it.
    __attribute__((always_inline)) inline void ask(const char* row) const noexcept;
    __attribute__((always_inline)) inline void ask_later(const char* row) const noexcept;

    int64_t along = 0;      ///< bytes from item to item
    int64_t across = 0;     ///< from row to row
    int64_t bytes = 0;      ///< of a row
    int64_t ahead = 0;      ///< rows
    bool apart = false;     ///< from row to row there are gaps
    bool together = false;  ///< a line holds more of their items than are waited for at once
  };

  /// Whether it pays: out of the caches, what is asked for is only in the way, and processors with
  /// a larger cache read many rows side by side.
  static bool asks_for_rows(const Schedule& schedule) noexcept;

  /// `bytes_ahead`: how far ahead rows are asked for, but a few at least.
  Rows rows_of(int64_t along, int64_t across, int64_t bytes_ahead) const noexcept;

  /// Chooses the axis that the longer loop goes along, and how many items go at once.
  void choose_loops() noexcept;
  bool choose_for_runs() noexcept;

  /// u becomes v.
  void turn() noexcept;

  /// All rows, or some at a time where later ones are asked for: kBackwards and kFewAtOnce.
  void copy_groups(char* to, const char* from) const noexcept;
  void copy_loops(char* to, const char* from) const noexcept;

  /// Copies n rows of bytes, which lie along u.
  void copy_rows(char* dst, const char* src, int64_t n) const noexcept;

  /// Asks for a later line of each of n streams of src.
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

/// Whether planes are several, and of items that registers transpose although they move by items.
bool is_arranged(const Schedule& schedule) noexcept;

}  // namespace dlx

#endif  // DLX_SRC_COPY_WAYS_ITEM_PLANES_H_
