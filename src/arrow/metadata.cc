#include "src/arrow/metadata.h"

#include <cstring>

#include "dlx/dlx.h"
#include "src/base/checked.h"
#include "src/base/error.h"

namespace dlx::arrow {
namespace {

/// The most bytes of one column's metadata. Metadata has no total size, so its lengths must be
/// trusted, and a wrong one leads outside. A column's metadata is names and the parameters of its
/// type, rarely more than some KiB; whole tables, whose metadata dlx does not read, may have more.
constexpr int32_t kMostMetadata = 16 << 20;

/// Reads metadata in its order; refuses a length that leads beyond kMostMetadata.
class MetadataReader {
 public:
  explicit MetadataReader(const char* at) noexcept : at_(at) {}

  /// The number of pairs; each takes two lengths.
  int32_t pairs() { return length(8); }

  std::string_view text() {
    const int32_t size = length(1);
    const std::string_view text(at_, static_cast<size_t>(size));
    at_ += size;
    left_ -= size;
    return text;
  }

 private:
  /// Reads the length of a sequence of items that take at least `item` bytes each.
  int32_t length(int32_t item) {
    int32_t length;
    std::memcpy(&length, at_, sizeof length);
    at_ += sizeof length;
    if (length < 0) {
      fail(DLX_ERROR_INVALID_ARGUMENT, "`schema` has metadata with a negative length (got %d)",
           length);
    }
    left_ -= static_cast<int32_t>(sizeof length);
    if (length > left_ / item) {
      fail(DLX_ERROR_INVALID_ARGUMENT,
           "`schema` has metadata with an absurd length (got %d, expected at most %d bytes of "
           "metadata)",
           length, kMostMetadata);
    }
    return length;
  }

  const char* at_;
  int32_t left_ = kMostMetadata;
};

void append_text(std::string* out, std::string_view text) {
  const auto length = static_cast<int32_t>(text.size());
  out->append(reinterpret_cast<const char*>(&length), sizeof length);
  out->append(text);
}

/// A parser for the subset of JSON that the extension's metadata uses.
class Parser {
 public:
  explicit Parser(std::string_view json) : json_(json) {}

  FixedShape parse() {
    FixedShape out;
    expect('{');
    if (!accept('}')) {
      do member(&out);
      while (accept(','));
      expect('}');
    }
    skip_space();
    if (at_ != json_.size()) fail_here("more text after the object");
    if (!seen_shape_) fail_here("no member \"shape\"");
    check(out);
    return out;
  }

 private:
  void member(FixedShape* out) {
    skip_space();
    const std::string_view name = string();
    expect(':');
    if (name == "shape") {
      once(&seen_shape_);
      numbers([&](int64_t number) { out->shape.push_back(number); });
    } else if (name == "permutation") {
      once(&seen_permutation_);
      if (null()) return;
      permuted_ = true;
      numbers([&](int64_t number) {
        if (number > DLX_MAX_NDIM) fail_here("a permutation with too many axes");
        out->permutation.push_back(static_cast<int32_t>(number));
      });
    } else if (name == "dim_names") {
      once(&seen_names_);
      if (null()) return;
      named_ = true;
      list([&] {
        string();
        ++names_;
      });
    } else {
      fail(DLX_ERROR_UNSUPPORTED,
           "`schema` has an arrow.fixed_shape_tensor with a member that dlx "
           "does not know (got \"%.*s\", expected shape, permutation, dim_names)",
           static_cast<int>(name.size() < 40 ? name.size() : 40), name.data());
    }
  }

  void check(const FixedShape& out) {
    if (out.shape.size() > DLX_MAX_NDIM) fail_here("too many axes");
    if (named_ && names_ != out.shape.size()) fail_here("dim_names with another length than shape");
    if (permuted_ && out.permutation.size() != out.shape.size()) {
      fail_here("a permutation with another length than shape");
    }
    std::vector<bool> seen(out.shape.size());
    for (const int32_t axis : out.permutation) {
      if (static_cast<size_t>(axis) >= seen.size() || seen[static_cast<size_t>(axis)]) {
        fail_here("a permutation that names an axis twice, or a missing axis");
      }
      seen[static_cast<size_t>(axis)] = true;
    }
  }

  /// Reads [item, …]; `item` reads one of them.
  template <typename Item>
  void list(Item&& item) {
    expect('[');
    if (accept(']')) return;
    do {
      skip_space();
      item();
    } while (accept(','));
    expect(']');
  }

  template <typename Use>
  void numbers(Use&& use) {
    list([&] { use(number()); });
  }

  /// A number without sign, fraction, exponent or leading zero.
  int64_t number() {
    const size_t start = at_;
    int64_t value = 0;
    for (; at_ < json_.size() && json_[at_] >= '0' && json_[at_] <= '9'; ++at_) {
      if (!checked_mul(value, 10, &value) || !checked_add(value, json_[at_] - '0', &value)) {
        fail_here("a number beyond 2^63-1");
      }
    }
    if (at_ == start || (at_ - start > 1 && json_[start] == '0')) {
      fail_here("no non-negative integer where one is expected");
    }
    return value;
  }

  /// Reads a string; escapes stay as they are.
  std::string_view string() {
    if (at_ >= json_.size() || json_[at_] != '"') fail_here("no string where one is expected");
    const size_t start = ++at_;
    for (; at_ < json_.size() && json_[at_] != '"'; ++at_) {
      if (static_cast<unsigned char>(json_[at_]) < 0x20) fail_here("a control character");
      if (json_[at_] == '\\') ++at_;
    }
    if (at_ >= json_.size()) fail_here("a string without an end");
    return json_.substr(start, at_++ - start);
  }

  /// Some writers write null for a missing member.
  bool null() {
    skip_space();
    if (json_.substr(at_, 4) != "null") return false;
    at_ += 4;
    return true;
  }

  void once(bool* seen) {
    if (*seen) fail_here("a member twice");
    *seen = true;
  }

  void skip_space() noexcept {
    while (at_ < json_.size() &&
           (json_[at_] == ' ' || json_[at_] == '\t' || json_[at_] == '\n' || json_[at_] == '\r')) {
      ++at_;
    }
  }

  bool accept(char c) noexcept {
    skip_space();
    if (at_ >= json_.size() || json_[at_] != c) return false;
    ++at_;
    return true;
  }

  void expect(char c) {
    if (accept(c)) return;
    const char what[] = {'n', 'o', ' ', '\'', c, '\'', '\0'};
    fail_here(what);
  }

  [[noreturn]] void fail_here(const char* what) const {
    fail(DLX_ERROR_INVALID_ARGUMENT,
         "`schema` has an arrow.fixed_shape_tensor whose metadata has %s (character %zu of %.*s)",
         what, at_, static_cast<int>(json_.size() < 200 ? json_.size() : 200), json_.data());
  }

  std::string_view json_;
  size_t at_ = 0;
  size_t names_ = 0;
  bool seen_shape_ = false, seen_permutation_ = false, seen_names_ = false;
  bool permuted_ = false, named_ = false;
};

template <typename Numbers>
void append_numbers(std::string* out, const char* name, const Numbers& numbers) {
  out->append("\"").append(name).append("\":[");
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (i > 0) out->append(",");
    out->append(std::to_string(numbers[i]));
  }
  out->append("]");
}

}  // namespace

bool find_metadata(const char* metadata, std::string_view key, std::string_view* value) {
  if (metadata == nullptr) return false;
  MetadataReader reader(metadata);
  const int32_t pairs = reader.pairs();
  for (int32_t i = 0; i < pairs; ++i) {
    const std::string_view name = reader.text(), text = reader.text();
    if (name != key) continue;
    *value = text;
    return true;
  }
  return false;
}

std::string extension_metadata(std::string_view name, std::string_view serialized) {
  std::string out;
  const int32_t pairs = 2;
  out.append(reinterpret_cast<const char*>(&pairs), sizeof pairs);
  append_text(&out, kExtensionName);
  append_text(&out, name);
  append_text(&out, kExtensionMetadata);
  append_text(&out, serialized);
  return out;
}

FixedShape parse_fixed_shape(std::string_view json) { return Parser(json).parse(); }

std::string format_fixed_shape(const FixedShape& shape) {
  std::string out = "{";
  append_numbers(&out, "shape", shape.shape);
  if (!shape.permutation.empty()) {
    out.append(",");
    append_numbers(&out, "permutation", shape.permutation);
  }
  return out.append("}");
}

}  // namespace dlx::arrow
