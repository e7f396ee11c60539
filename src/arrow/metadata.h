// The metadata of Arrow schemas: key-value pairs, and the JSON of arrow.fixed_shape_tensor.
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

/// Finds the value of `key` in a schema's metadata, which may be NULL; the value is borrowed from
/// it. False if the key is missing. Throws Error(INVALID_ARGUMENT) for negative lengths.
bool find_metadata(const char* metadata, std::string_view key, std::string_view* value);

/// The metadata of an extension type, in Arrow's binary form.
std::string extension_metadata(std::string_view name, std::string_view serialized);

/// Parameters of arrow.fixed_shape_tensor.
struct FixedShape {
  std::vector<int64_t> shape;  ///< in memory order, the last axis fastest
  /// Axis i of an element is axis permutation[i] in memory; empty: the same order.
  std::vector<int32_t> permutation;
};

/// Parses the extension's JSON strictly: one object with the members shape, permutation and
/// dim_names, each at most once. dim_names are checked and dropped. Throws Error(INVALID_ARGUMENT),
/// or UNSUPPORTED for an unknown member.
[[gnu::cold]] FixedShape parse_fixed_shape(std::string_view json);

/// Writes the JSON that parse_fixed_shape() reads.
[[gnu::cold]] std::string format_fixed_shape(const FixedShape& shape);

}  // namespace dlx::arrow

#endif  // DLX_SRC_ARROW_METADATA_H_
