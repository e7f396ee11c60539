#ifndef DLX_SRC_BASE_SHAPE_TEXT_H_
#define DLX_SRC_BASE_SHAPE_TEXT_H_

#include <cstdint>

namespace dlx {

/// Shape for messages, such as "(2, 3)"; cut with "…" where it is too long.
struct ShapeText {
  char text[120];
};
ShapeText shape_text(int32_t ndim, const int64_t* shape) noexcept;

}  // namespace dlx

#endif  // DLX_SRC_BASE_SHAPE_TEXT_H_
