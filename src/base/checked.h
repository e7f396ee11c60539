#ifndef DLX_SRC_BASE_CHECKED_H_
#define DLX_SRC_BASE_CHECKED_H_

#include <cstdint>

namespace dlx {

/// Overflow-checked 64-bit arithmetic: true and the result in `out`, or false on overflow. Extents,
/// strides and byte counts come from producers that dlx does not trust, so all arithmetic on them
/// uses these functions.
inline bool checked_add(int64_t a, int64_t b, int64_t* out) noexcept {
  return !__builtin_add_overflow(a, b, out);
}

inline bool checked_mul(int64_t a, int64_t b, int64_t* out) noexcept {
  return !__builtin_mul_overflow(a, b, out);
}

}  // namespace dlx

#endif  // DLX_SRC_BASE_CHECKED_H_
