#ifndef DLX_SRC_COPY_WAYS_TRAITS_H_
#define DLX_SRC_COPY_WAYS_TRAITS_H_

#include "src/copy/ways/way.h"

namespace dlx {

// What several ways ask about a schedule.

/// Whether few streams of src are joined, or split into few of dst, and each line is used at once:
/// the processor prefetches them by itself.
bool is_followed(const Schedule& schedule) noexcept;

/// Whether planes are consecutive matrices that the first-level cache holds: in the order of dst,
/// src is read from end to end.
bool are_small_matrices(const Schedule& schedule) noexcept;

/// Whether neighbours in dst are so far apart in src that boxes are better than the order of dst,
/// and better than tiles that end inside lines. Not for few streams, and not for consecutive small
/// matrices.
bool gains_by_boxes(const Schedule& schedule) noexcept;

/// Whether planes are a few short rows of items that only the kernel for rows takes: its calls
/// would take longer than the items.
bool has_few_rows(const Schedule& schedule) noexcept;
constexpr int64_t kLongestMoved =
    32;  ///< bytes of an item; longer ones are rows of their own [note 74]

/// Whether a large job is best done in the order of dst, without prefetching.
bool goes_in_order(const Job& job) noexcept;

/// Whether few rows share the lines of a large src, so that src is best read once, into as many
/// streams of dst.
bool reads_into_streams(const Schedule& schedule) noexcept;

}  // namespace dlx

#endif  // DLX_SRC_COPY_WAYS_TRAITS_H_
