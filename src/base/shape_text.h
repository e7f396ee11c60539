#ifndef DLX_SRC_BASE_SHAPE_TEXT_H_
#define DLX_SRC_BASE_SHAPE_TEXT_H_

#include <cstdint>

namespace dlx {

/// A shape as text for messages: "(2, 3)"; truncated with "…" if too long.
struct ShapeText {
  char text[120];
};
ShapeText shape_text(int32_t ndim, const int64_t* shape) noexcept;

}  // namespace dlx

#endif  // DLX_SRC_BASE_SHAPE_TEXT_H_
