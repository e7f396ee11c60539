// Fuzzes Arrow's types: formats, levels of lists, children and metadata, right or wrong. What is accepted is a
// dtype with as many extents as elements, and axes that are a permutation; and dlx writes the format of its
// numbers.
#include "src/arrow/schema.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "src/arrow/metadata.h"
#include "src/base/error.h"
#include "tests/support/fuzz_source.h"

namespace {

using dlx_test::FuzzSource;

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

/// An exact copy on the heap, so that the sanitizers see a read beyond it.
std::unique_ptr<char[]> exact(const std::string& text) {
  std::unique_ptr<char[]> copy(new char[text.size()]);
  std::memcpy(copy.get(), text.data(), text.size());
  return copy;
}

std::string any_text(FuzzSource& in) {
  std::string text;
  for (int32_t left = in.below(24); left > 0; --left) text += static_cast<char>(in.byte());
  return text;
}

/// Metadata has no total size: lengths are right, negative, or beyond any metadata.
std::string any_metadata(FuzzSource& in) {
  static constexpr const char* kTexts[] = {
      "ARROW:extension:name", "ARROW:extension:metadata", "arrow.fixed_shape_tensor",
      "arrow.bool8",          "{\"shape\":[2]}",          "{\"shape\":[3,2],\"permutation\":[1,0]}",
      "{\"shape\":[]}"};
  std::string out;
  const auto put = [&](int32_t number) {
    out.append(reinterpret_cast<const char*>(&number), sizeof number);
  };
  const auto absurd = [&] { return in.one_in(2) ? -1 - in.byte() : INT32_MAX - in.byte(); };
  const int32_t pairs = in.below(4);
  if (in.one_in(32)) {
    put(absurd());
    return out;
  }
  put(pairs);
  for (int32_t k = 0; k < 2 * pairs; ++k) {
    const int32_t which = in.below(10);
    const std::string text = which < 7 ? kTexts[which] : any_text(in);
    if (in.one_in(64)) {
      put(absurd());
      return out;
    }
    put(static_cast<int32_t>(text.size()));
    out += text;
  }
  return out;
}

struct Level {
  ArrowSchema schema{};
  std::unique_ptr<char[]> format, metadata;
  std::unique_ptr<Level> child;
  ArrowSchema* children[1] = {nullptr};

  Level(FuzzSource& in, int depth) {
    static constexpr const char* kFormats[] = {"f", "l", "b", "_pli128", "u", "tss:", "+l", "+w:"};
    std::string text;
    switch (in.below(8)) {
      case 0: text = any_text(in); break;
      case 1: text = kFormats[in.below(8)]; break;
      case 2: text = "+w:" + any_text(in); break;
      case 3: text = kFormats[in.below(4)]; break;
      default: text = "+w:" + std::to_string(in.below(8));
    }
    format = exact(text + '\0');
    schema.format = in.one_in(64) ? nullptr : format.get();
    if (in.one_in(4)) metadata = exact(any_metadata(in));
    schema.metadata = metadata.get();
    if (!in.one_in(64)) schema.release = [](ArrowSchema*) { require(false, "released"); };
    if (in.one_in(64)) schema.dictionary = &schema;
    if (depth > 0 && text.compare(0, 2, "+w") == 0) {
      child = std::make_unique<Level>(in, depth - 1);
      children[0] = &child->schema;
    }
    schema.children = in.one_in(64) ? nullptr : children;
    schema.n_children = in.one_in(64) ? in.below(3) - 1 : children[0] != nullptr;
    if (schema.n_children > 1) schema.n_children = 1;
  }
};

void check(const dlx::arrow::TensorType& type) {
  require(dlx::arrow::format_of(type.dtype) != nullptr, "a dtype that has no format");
  require(type.bits == (type.dtype.code == kDLBool), "bits that are no booleans");
  int64_t elements = 1, listed = 1;
  bool known = true;
  for (const int64_t extent : type.shape) {
    require(extent >= 0, "a negative extent");
    known = !__builtin_mul_overflow(elements, extent, &elements) && known;
  }
  for (const int64_t size : type.levels) {
    known = !__builtin_mul_overflow(listed, size, &listed) && known;
  }
  require(!known || elements == listed, "another number of elements");
  std::vector<int32_t> axes = type.axes;
  std::sort(axes.begin(), axes.end());
  for (size_t i = 0; i < axes.size(); ++i) {
    require(axes[i] == static_cast<int32_t>(i), "axes that are no permutation");
  }
  require(axes.empty() || axes.size() == type.shape.size(), "another number of axes");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  FuzzSource in(data, size);
  const Level level(in, in.one_in(16) ? 70 : 4);
  try {
    check(dlx::arrow::read_schema(level.schema));
  } catch (const dlx::Error& error) {
    require(error.what()[0] != '\0', "an error without words");
  }
  return 0;
}
