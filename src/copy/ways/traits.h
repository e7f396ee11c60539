#ifndef DLX_SRC_COPY_WAYS_TRAITS_H_
#define DLX_SRC_COPY_WAYS_TRAITS_H_

#include "src/copy/ways/way.h"

namespace dlx {

// What several ways ask about a schedule.

/// Whether few streams of src are joined, or split to few of dst, and all of a line is used at once:
/// the processor follows by itself.
bool is_followed(const Schedule& schedule) noexcept;

/// Whether planes are matrices that lie one behind another and that a first-level cache holds: in the
/// order of dst, src is read from end to end.
bool are_small_matrices(const Schedule& schedule) noexcept;

/// Whether neighbours in dst are so far apart in src that boxes are better than the order of dst, and
/// than tiles that end inside lines: neither a few streams nor small matrices, one behind another.
bool gains_by_boxes(const Schedule& schedule) noexcept;

/// Whether planes are a few short rows of items that only a kernel for rows takes: calls of it would
/// take longer than items.
bool has_few_rows(const Schedule& schedule) noexcept;
constexpr int64_t kLongestMoved = 32;  ///< bytes of an item; longer ones are rows of their own

/// Whether the processor reads and writes a large job best without help, in the order of dst.
bool goes_in_order(const Job& job) noexcept;

/// Whether rows share the lines of a large src, and are few: src is read once, into streams of dst.
bool reads_into_streams(const Schedule& schedule) noexcept;

}  // namespace dlx

#endif  // DLX_SRC_COPY_WAYS_TRAITS_H_
