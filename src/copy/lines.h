#ifndef DLX_SRC_COPY_LINES_H_
#define DLX_SRC_COPY_LINES_H_

#include <cstdint>

namespace dlx {

/// Bytes of a cache line on every processor that the kernels are for. Elsewhere it is a good width
/// all the same.
constexpr int64_t kLine = 64;

/// Bytes from the beginning of a line to p.
inline int64_t inside_line(const char* p) noexcept {
  return static_cast<int64_t>(reinterpret_cast<uintptr_t>(p) % kLine);
}

/// Bytes from p to the next beginning of a line; 0 if p is one.
inline int64_t to_next_line(const char* p) noexcept { return (kLine - inside_line(p)) % kLine; }

/// Asks for lines. Inlined, or GCC takes it for a function without effect.
__attribute__((always_inline)) inline void fetch_lines(const char* from, int64_t bytes) noexcept {
  for (int64_t i = 0; i < bytes; i += kLine) __builtin_prefetch(from + i);
}

/// Asks for the lines of dst that columns of `bytes` share with others where they begin or end, long
/// before they are written: a store that waits for its line holds up all that follow. Inlined, too.
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

#endif  // DLX_SRC_COPY_LINES_H_
