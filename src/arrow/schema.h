#ifndef DLX_SRC_ARROW_SCHEMA_H_
#define DLX_SRC_ARROW_SCHEMA_H_

#include <cstdint>
#include <vector>

#include "dlx/arrow.h"

namespace dlx::arrow {

/// What an Arrow type means as a tensor.
struct TensorType {
  DLDataType dtype{};           ///< of the elements as they lie in memory; kDLBool for bits
  bool bits = false;            ///< booleans, eight in a byte
  std::vector<int64_t> levels;  ///< sizes of the nested fixed-size lists, outermost first
  std::vector<int64_t> shape;   ///< extents of one element of the array, as they lie in memory
  std::vector<int32_t> axes;  ///< axis i of the element is axes[i] of `shape`; empty: all in order
};

/// Reads the type. Throws Error(UNSUPPORTED) naming the format for types that no tensor has, and
/// Error(INVALID_ARGUMENT) for malformed schemas.
TensorType read_schema(const ArrowSchema& schema);

/// The format of a plain number's type, or NULL if Arrow has none for it; "b" for kDLBool.
const char* format_of(DLDataType dtype) noexcept;

}  // namespace dlx::arrow

#endif  // DLX_SRC_ARROW_SCHEMA_H_
