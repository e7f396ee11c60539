// Fuzzes the parser of arrow.fixed_shape_tensor's metadata: accepted input is a shape with a
// complete permutation, and is parsed back unchanged from the text that dlx writes.
#include "src/arrow/metadata.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "src/base/error.h"

using dlx::arrow::FixedShape;

namespace {

bool is_permutation(const FixedShape& fixed) {
  if (fixed.permutation.empty()) return true;
  std::vector<int32_t> sorted = fixed.permutation;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (sorted[i] != static_cast<int32_t>(i)) return false;
  }
  return sorted.size() == fixed.shape.size();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // An exact heap copy, so that the sanitizers detect a read beyond it.
  const std::vector<char> text(data, data + size);
  FixedShape fixed;
  try {
    fixed = dlx::arrow::parse_fixed_shape({text.data(), text.size()});
  } catch (const dlx::Error&) {
    return 0;
  }
  const FixedShape again = dlx::arrow::parse_fixed_shape(dlx::arrow::format_fixed_shape(fixed));
  if (!is_permutation(fixed) || again.shape != fixed.shape ||
      again.permutation != fixed.permutation) {
    std::fprintf(stderr, "%.*s\n", static_cast<int>(size), text.data());
    std::abort();
  }
  return 0;
}
