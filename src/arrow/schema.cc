#include "src/arrow/schema.h"

#include <cstring>

#include "src/arrow/metadata.h"
#include "src/base/checked.h"
#include "src/base/error.h"
#include "src/dtype/dtype.h"

namespace dlx::arrow {
namespace {

struct Number {
  const char* format;
  uint8_t code;
  uint8_t bits;
};
constexpr Number kNumbers[] = {
    {"c", kDLInt, 8},
    {"C", kDLUInt, 8},
    {"s", kDLInt, 16},
    {"S", kDLUInt, 16},
    {"i", kDLInt, 32},
    {"I", kDLUInt, 32},
    {"l", kDLInt, 64},
    {"L", kDLUInt, 64},
    {"e", kDLFloat, 16},
    {"f", kDLFloat, 32},
    {"g", kDLFloat, 64},
    {"b", kDLBool, 8},
    // Arrow has no integers of 128 bits; these are Polars' own names.
    {"_pli128", kDLInt, 128},
    {"_plu128", kDLUInt, 128},
};

/// Types that a tensor cannot have, by their formats.
struct Refusal {
  const char* format;
  bool has_parameters;  ///< the format continues: a unit, a time zone, a width
  const char* what;
  const char* advice;
};
constexpr const char* kCastTime32 =
    "whose integers have a meaning that a tensor would lose: cast it to integers first (in "
    "PyArrow: "
    "`.cast(\"int32\")`, in Polars: `.to_physical()`)";
constexpr const char* kCastTime64 =
    "whose integers have a meaning that a tensor would lose: cast it to integers first (in "
    "PyArrow: "
    "`.cast(\"int64\")`, in Polars: `.to_physical()`)";
constexpr const char* kText = "whose elements differ in size: export its buffers one by one";
constexpr const char* kLists =
    "whose lists may differ in length: cast it to fixed-size lists first (in PyArrow: "
    "`.cast(pa.list_(type, size))`, in Polars: `.list.to_array(size)`), or export its values and "
    "offsets one by one";
constexpr const char* kListViews =
    "whose lists may differ in length: cast it to lists first (in PyArrow: "
    "`.cast(pa.list_(x.type.value_type))`), or export its values, offsets and sizes one by one";
constexpr Refusal kRefusals[] = {
    {"n", false, "the null type", "which has no data"},
    {"u", false, "strings", kText},
    {"U", false, "strings", kText},
    {"vu", false, "strings", kText},
    {"z", false, "binary data", kText},
    {"Z", false, "binary data", kText},
    {"vz", false, "binary data", kText},
    {"w:", true, "fixed-size binary data", "whose bytes have no type: export its buffer"},
    {"d:", true, "decimals",
     "which a tensor cannot have: cast it to floats first (in PyArrow: `.cast(\"float64\")`, "
     "in Polars: `.cast(pl.Float64)`)"},
    {"tdD", true, "dates", kCastTime32},
    {"td", true, "dates", kCastTime64},
    {"tts", true, "times", kCastTime32},
    {"ttm", true, "times", kCastTime32},
    {"tt", true, "times", kCastTime64},
    {"ts", true, "timestamps", kCastTime64},
    {"tD", true, "durations", kCastTime64},
    {"ti", true, "intervals", "which a tensor cannot have: export their parts one by one"},
    {"+s", false, "a struct or a table",
     "whose columns may have several types: export them one by one"},
    {"+m", false, "a map", "whose keys and items may have several types: export them one by one"},
    {"+l", false, "lists", kLists},
    {"+L", false, "lists", kLists},
    {"+vl", false, "lists", kListViews},
    {"+vL", false, "lists", kListViews},
    {"+u", true, "a union", "whose children may have several types: export them one by one"},
    {"+r", false, "run-end-encoded data",
     "which must be decoded first (in PyArrow: `pyarrow.compute.run_end_decode(x)`)"},
};

bool is_refused_by(const Refusal& refusal, const char* format) noexcept {
  const size_t length = std::strlen(refusal.format);
  return std::strncmp(format, refusal.format, length) == 0 &&
         (refusal.has_parameters || format[length] == '\0');
}

/// The calls for a whole array do not reach the elements of its lists.
constexpr const char* kInsideLists =
    "which a tensor cannot have, inside lists: take the values out first (in PyArrow: "
    "`pyarrow.array(x).flatten(recursive=True)`, in Polars: `.explode()`)";

[[noreturn]] void refuse_format(const char* format, bool inside_lists) {
  for (const Refusal& refusal : kRefusals) {
    if (!is_refused_by(refusal, format)) continue;
    fail(DLX_ERROR_UNSUPPORTED, "`schema` has the format \"%.40s\" (%s), %s", format, refusal.what,
         inside_lists ? kInsideLists : refusal.advice);
  }
  fail(
      DLX_ERROR_UNSUPPORTED,
      "`schema` has the format \"%.40s\", which dlx does not know (expected an integer, a float, a "
      "boolean or fixed-size lists of these)",
      format);
}

/// True for the format of a fixed-size list, "+w:N".
bool read_list_size(const char* format, int64_t* size) {
  if (std::strncmp(format, "+w:", 3) != 0) return false;
  *size = 0;
  const char* digit = format + 3;
  do {
    if (*digit < '0' || *digit > '9' || !checked_mul(*size, 10, size) ||
        !checked_add(*size, *digit - '0', size)) {
      fail(DLX_ERROR_INVALID_ARGUMENT,
           "`schema` has the malformed format \"%.40s\" (expected \"+w:\" and a number)", format);
    }
  } while (*++digit != '\0');
  return true;
}

void check_level(const ArrowSchema& schema, size_t depth) {
  if (schema.release == nullptr) {
    fail(DLX_ERROR_INVALID_ARGUMENT, "`schema` has been released or moved%s",
         depth == 0 ? "" : " (one of its children)");
  }
  if (schema.format == nullptr)
    fail(DLX_ERROR_INVALID_ARGUMENT, "`schema` has no format (got NULL)");
  if (schema.dictionary != nullptr) {
    fail(DLX_ERROR_UNSUPPORTED, "`schema` has the format \"%.40s\" with a dictionary, %s",
         schema.format,
         depth > 0
             ? kInsideLists
             : "which a tensor cannot have: decode it first (in PyArrow: "
               "`.cast(x.type.value_type)`), or take its codes (in Polars: `.to_physical()`)");
  }
  if (depth > DLX_MAX_NDIM) {
    fail(DLX_ERROR_INVALID_ARGUMENT, "`schema` has more than %d nested lists", DLX_MAX_NDIM);
  }
}

const ArrowSchema& only_child(const ArrowSchema& schema) {
  const ArrowSchema* child = nullptr;
  if (schema.n_children == 1 && schema.children != nullptr) child = schema.children[0];
  if (child == nullptr) {
    fail(DLX_ERROR_INVALID_ARGUMENT,
         "`schema` has the format \"%.40s\" and %lld children (expected 1)", schema.format,
         static_cast<long long>(schema.children == nullptr ? 0 : schema.n_children));
  }
  return *child;
}

/// Reads the extents of an extension type, whose list has `size` elements.
void read_fixed_shape(const ArrowSchema& schema, int64_t size, TensorType* out) {
  std::string_view serialized;
  find_metadata(schema.metadata, kExtensionMetadata, &serialized);
  FixedShape fixed = parse_fixed_shape(serialized);
  int64_t product = 1;
  for (const int64_t extent : fixed.shape) {
    if (!checked_mul(product, extent, &product)) product = -1;
  }
  if (product != size) {
    fail(
        DLX_ERROR_INVALID_ARGUMENT,
        "`schema` has an arrow.fixed_shape_tensor whose shape has %lld elements (expected the %lld "
        "of its list)",
        static_cast<long long>(product), static_cast<long long>(size));
  }
  out->shape = static_cast<std::vector<int64_t>&&>(fixed.shape);
  out->axes = static_cast<std::vector<int32_t>&&>(fixed.permutation);
}

/// True if this level has an extension type, which has set the shape.
bool read_extension(const ArrowSchema& schema, bool is_list, int64_t size, TensorType* out) {
  std::string_view name;
  if (!find_metadata(schema.metadata, kExtensionName, &name)) return false;
  if (name != kFixedShapeTensor || !out->levels.empty()) {
    fail(
        DLX_ERROR_UNSUPPORTED,
        "`schema` has the extension type \"%.*s\" (format \"%.40s\"), whose meaning a tensor would "
        "lose: export its storage (in PyArrow: `.storage`)",
        static_cast<int>(name.size() < 60 ? name.size() : 60), name.data(), schema.format);
  }
  if (!is_list) {
    fail(DLX_ERROR_INVALID_ARGUMENT,
         "`schema` has an arrow.fixed_shape_tensor of the format \"%.40s\" (expected \"+w:N\")",
         schema.format);
  }
  read_fixed_shape(schema, size, out);
  return true;
}

void read_number(const ArrowSchema& schema, TensorType* out) {
  for (const Number& number : kNumbers) {
    if (std::strcmp(schema.format, number.format) != 0) continue;
    if (schema.n_children != 0) {
      fail(DLX_ERROR_INVALID_ARGUMENT,
           "`schema` has the format \"%s\" and %lld children (expected 0)", schema.format,
           static_cast<long long>(schema.n_children));
    }
    out->dtype = make_dtype(number.code, number.bits);
    out->bits = number.code == kDLBool;
    return;
  }
  refuse_format(schema.format, !out->levels.empty());
}

}  // namespace

TensorType read_schema(const ArrowSchema& schema) {
  TensorType out;
  ArrowSchema level = schema;  // a copy: the producer may change its own
  int64_t size = 0;
  check_level(level, 0);
  for (;;) {
    const bool is_list = read_list_size(level.format, &size);
    const bool shaped = read_extension(level, is_list, size, &out);
    if (!is_list) break;
    if (!shaped) out.shape.push_back(size);
    out.levels.push_back(size);
    level = ArrowSchema(only_child(level));
    check_level(level, out.levels.size());
  }
  read_number(level, &out);
  // Lists inside the extension type add axes after its own, in order.
  if (!out.axes.empty()) {
    for (size_t i = out.axes.size(); i < out.shape.size(); ++i) {
      out.axes.push_back(static_cast<int32_t>(i));
    }
  }
  return out;
}

const char* format_of(DLDataType dtype) noexcept {
  if (dtype.lanes != 1) return nullptr;
  for (const Number& number : kNumbers) {
    if (number.code == dtype.code && number.bits == dtype.bits) return number.format;
  }
  return nullptr;
}

}  // namespace dlx::arrow
