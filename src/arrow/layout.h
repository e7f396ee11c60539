#ifndef DLX_SRC_ARROW_LAYOUT_H_
#define DLX_SRC_ARROW_LAYOUT_H_

#include <cstdint>
#include <vector>

#include "src/tensor/tensor.h"

namespace dlx::arrow {

/// The form of a tensor as an Arrow array.
struct Layout {
  const char* format;           ///< format of the numbers; "b" for booleans
  std::vector<int64_t> levels;  ///< sizes of the fixed-size lists, outermost first
  bool is_tensor = false;       ///< the only list is an arrow.fixed_shape_tensor
  std::vector<int64_t> shape;   ///< extension type: extents in memory order
  /// Extension type: axis i of an element is axis permutation[i] in memory; empty: the same order.
  std::vector<int32_t> permutation;
};

/// Throws Error(UNSUPPORTED) for a dtype or a shape that Arrow does not have. A permutation is used
/// only if `copy` is DLX_COPY_NEVER: see docs/decisions.md.
Layout layout_of(Tensor* tensor, int32_t layout, int32_t copy);

/// The tensor with its axes in the order of `layout.shape`.
TensorRef physical_view(Tensor* tensor, const Layout& layout);

}  // namespace dlx::arrow

#endif  // DLX_SRC_ARROW_LAYOUT_H_
