#ifndef DLX_SRC_ARROW_LAYOUT_H_
#define DLX_SRC_ARROW_LAYOUT_H_

#include <cstdint>
#include <vector>

#include "src/tensor/tensor.h"

namespace dlx::arrow {

/// How a tensor becomes an Arrow array.
struct Layout {
  const char* format;           ///< of the numbers, "b" for booleans
  std::vector<int64_t> levels;  ///< sizes of the fixed-size lists, outermost first
  bool is_tensor = false;       ///< the only list is an arrow.fixed_shape_tensor
  std::vector<int64_t> shape;   ///< of the extension type: extents as they lie in memory
  /// Of the extension type: axis i of the element is physical axis permutation[i]; empty: in order.
  std::vector<int32_t> permutation;
};

/// Throws Error(UNSUPPORTED) for a dtype or a shape that Arrow has not. A permutation is used only
/// where a copy is forbidden (`copy` is DLX_COPY_NEVER): see docs/decisions.md.
Layout layout_of(Tensor* tensor, int32_t layout, int32_t copy);

/// The tensor with its axes in the order of `layout.shape`.
TensorRef physical_view(Tensor* tensor, const Layout& layout);

}  // namespace dlx::arrow

#endif  // DLX_SRC_ARROW_LAYOUT_H_
