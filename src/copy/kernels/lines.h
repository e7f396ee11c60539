#ifndef DLX_SRC_COPY_KERNELS_LINES_H_
#define DLX_SRC_COPY_KERNELS_LINES_H_

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "src/copy/plan/plan.h"

namespace dlx {

/// Bytes of a cache line on every processor that the kernels are written for.
constexpr int64_t kLine = 64;

/// The first-level cache of most processors. Lines that share a set evict each other.
constexpr int64_t kFirstLevelSets = 64;
constexpr int64_t kFirstLevelWays = 8;
constexpr int64_t kFirstLevelLines = kFirstLevelSets * kFirstLevelWays;

/// Bytes from the beginning of a line to p.
inline int64_t inside_line(const char* p) noexcept {
  return static_cast<int64_t>(reinterpret_cast<uintptr_t>(p) % kLine);
}

/// Bytes from p to the next beginning of a line; 0 if p is one.
inline int64_t to_next_line(const char* p) noexcept { return (kLine - inside_line(p)) % kLine; }

/// Items from p to the next beginning of half a line; 0 if p is one, or no item begins there.
inline int64_t items_to_half_line(const char* p, int64_t item) noexcept {
  return inside_line(p) % item == 0 ? to_next_line(p) % (kLine / 2) / item : 0;
}

/// Whether the bytes at `last` and `last + beyond` lie on different pages. No processor has smaller
/// pages.
inline bool leaves_page(const char* last, int64_t beyond) noexcept {
  constexpr int64_t kPage = 4096;
  return static_cast<int64_t>(reinterpret_cast<uintptr_t>(last) % kPage) + beyond >= kPage;
}

/// Prefetches lines. Inlined, because GCC drops calls of functions that only prefetch. [note 39]
__attribute__((always_inline)) inline void fetch_lines(const char* from, int64_t bytes) noexcept {
  for (int64_t i = 0; i < bytes; i += kLine) __builtin_prefetch(from + i, 0, 2);
}

/// Whether rows of `bytes`, `step` apart, have larger gaps between them than the processor
/// prefetches across.
inline bool are_apart(int64_t bytes, int64_t step) noexcept {
  constexpr int64_t kGap = 512;  // [note 86]
  return std::llabs(step) > bytes + kGap;
}

/// Prefetches rows of src that are read from end to end, one at a time. The processor recognises a
/// row only when it is half read if rows are apart, so the first page of a later row is prefetched.
/// [note 24]
class RowsAhead {
 public:
  RowsAhead(int64_t bytes, const CopyAxis& rows) noexcept {
    constexpr int64_t kPage = 4096;
    constexpr int64_t kMost = 32;         // rows
    constexpr int64_t kAlike = 64 << 10;  // rows this far apart share cache sets [note 24]
    constexpr int64_t kWays = 4;          // of the eight ways of a set [note 86]
    const int64_t apart = std::max<int64_t>(rows.src & -rows.src, 1);
    const int64_t cached = kWays * std::max<int64_t>(kAlike / apart, 1);
    const int64_t ahead = std::clamp<int64_t>(2 * kPage / bytes, 1, std::min(kMost, cached));
    if (!are_apart(bytes, rows.src) || ahead >= rows.extent) return;
    bytes_ = std::min(bytes, kPage);
    offset_ = ahead * rows.src;
  }

  /// Prefetches the row some rows after `row`, given by its lowest byte.
  __attribute__((always_inline)) inline void ask(const char* row) const noexcept {
    fetch_lines(row + offset_, bytes_);
  }

 private:
  int64_t bytes_ = 0;
  int64_t offset_ = 0;
};

/// Prefetches the lines of dst that columns of `bytes` share with others at their ends, long before
/// they are written: a store that waits for its line delays all later stores. Inlined, too.
/// [note 39]
__attribute__((always_inline)) inline void fetch_edges(const char* dst, const int64_t* column,
                                                       int64_t n, int64_t bytes, bool begins,
                                                       bool ends) noexcept {
  for (int64_t i = 0; i < n && begins; ++i) {
    const char* const first = dst + column[i];
    if (inside_line(first) != 0) __builtin_prefetch(first, 1);
  }
  for (int64_t i = 0; i < n && ends; ++i) {
    const char* const end = dst + column[i] + bytes;
    if (inside_line(end) != 0) __builtin_prefetch(end, 1);
  }
}

}  // namespace dlx

#endif  // DLX_SRC_COPY_KERNELS_LINES_H_
