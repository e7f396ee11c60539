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

}  // namespace dlx

#endif  // DLX_SRC_COPY_LINES_H_
