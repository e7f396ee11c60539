#ifndef DLX_SRC_ARROW_SCHEMA_H_
#define DLX_SRC_ARROW_SCHEMA_H_

#include <cstdint>
#include <vector>

#include "dlx/arrow.h"

namespace dlx::arrow {

/// An Arrow type as a tensor type.
struct TensorType {
  DLDataType dtype{};           ///< of the elements in memory; kDLBool for bits
  bool bits = false;            ///< booleans, eight in a byte
  std::vector<int64_t> levels;  ///< sizes of the nested fixed-size lists, outermost first
  std::vector<int64_t> shape;   ///< extents of one element of the array, in memory order
  std::vector<int32_t> axes;  ///< axis i of an element is axes[i] of `shape`; empty: the same order
};

/// Converts an Arrow type. Throws Error(UNSUPPORTED) with the format for a type that a tensor
/// cannot have, and Error(INVALID_ARGUMENT) for a malformed schema.
TensorType read_schema(const ArrowSchema& schema);

/// Arrow's format of a dtype; NULL if there is none; "b" for kDLBool.
const char* format_of(DLDataType dtype) noexcept;

}  // namespace dlx::arrow

#endif  // DLX_SRC_ARROW_SCHEMA_H_
