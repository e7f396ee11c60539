#include "src/base/shape_text.h"

#include <cstdio>
#include <cstring>

namespace dlx {

ShapeText shape_text(int32_t ndim, const int64_t* shape) noexcept {
  ShapeText out;
  size_t used = 0;
  out.text[used++] = '(';
  for (int32_t axis = 0; axis < ndim; ++axis) {
    char number[32];
    const int length = std::snprintf(number, sizeof number, axis == 0 ? "%lld" : ", %lld",
                                     static_cast<long long>(shape[axis]));
    if (used + static_cast<size_t>(length) + 8 > sizeof out.text) {
      std::memcpy(out.text + used, "…", 3);
      used += 3;
      break;
    }
    std::memcpy(out.text + used, number, static_cast<size_t>(length));
    used += static_cast<size_t>(length);
  }
  std::memcpy(out.text + used, ndim == 1 ? ",)" : ")", ndim == 1 ? 3 : 2);
  return out;
}

}  // namespace dlx
