#ifndef DLX_SRC_ARROW_METADATA_H_
#define DLX_SRC_ARROW_METADATA_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dlx::arrow {

constexpr std::string_view kExtensionName = "ARROW:extension:name";
constexpr std::string_view kExtensionMetadata = "ARROW:extension:metadata";
constexpr std::string_view kFixedShapeTensor = "arrow.fixed_shape_tensor";

/// The value of `key` in a schema's metadata (NULL: none), borrowed from it; false if it has none.
/// Throws Error(INVALID_ARGUMENT) for lengths that cannot be.
bool find_metadata(const char* metadata, std::string_view key, std::string_view* value);

/// The metadata of an extension type, in Arrow's binary form.
std::string extension_metadata(std::string_view name, std::string_view serialized);

/// Parameters of arrow.fixed_shape_tensor.
struct FixedShape {
  std::vector<int64_t> shape;  ///< physical, the last axis fastest
  std::vector<int32_t>
      permutation;  ///< axis i is physical axis permutation[i]; empty: all in order
};

/// Reads the extension's JSON, strictly: one object, members shape, permutation and dim_names, each
/// at most once. Names are checked and forgotten.
/// Throws Error(INVALID_ARGUMENT), or UNSUPPORTED for a member that the specification lacks.
[[gnu::cold]] FixedShape parse_fixed_shape(std::string_view json);

/// The JSON that parse_fixed_shape() reads.
[[gnu::cold]] std::string format_fixed_shape(const FixedShape& shape);

}  // namespace dlx::arrow

#endif  // DLX_SRC_ARROW_METADATA_H_
