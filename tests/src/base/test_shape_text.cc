// Shapes in messages.
#include "src/base/shape_text.h"

#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

// CMocka needs <csetjmp>, <cstdarg>, <cstddef> and <cstdint> first, and does not say that it is C.
extern "C" {
#include <cmocka.h>
}

namespace {

std::string text_of(const std::vector<int64_t>& shape) {
  return dlx::shape_text(static_cast<int32_t>(shape.size()), shape.data()).text;
}

// As Python writes a tuple.
void short_shapes_are_complete(void**) {
  assert_string_equal(text_of({}).c_str(), "()");
  assert_string_equal(text_of({5}).c_str(), "(5,)");
  assert_string_equal(text_of({2, 0, -3}).c_str(), "(2, 0, -3)");
  assert_string_equal(text_of({INT64_MIN, INT64_MAX}).c_str(),
                      "(-9223372036854775808, 9223372036854775807)");
}

// For each number of axes and each length of a number, the text fits its buffer.
void long_shapes_are_cut(void**) {
  for (int64_t extent : {int64_t{1}, int64_t{123456}, INT64_MIN}) {
    std::string complete;
    for (size_t axes = 2; axes < 200; ++axes) {
      const std::string text = text_of(std::vector<int64_t>(axes, extent));
      complete = axes == 2 ? "(" + std::to_string(extent) + ", " + std::to_string(extent)
                           : complete + ", " + std::to_string(extent);

      assert_true(text.size() < sizeof(dlx::ShapeText::text));
      if (text != complete + ")") {
        assert_true(text.size() > 90);
        assert_string_equal(text.substr(text.size() - 4).c_str(), "…)");
        assert_int_equal(complete.compare(0, text.size() - 4, text, 0, text.size() - 4), 0);
      }
    }
    assert_true(complete.size() > sizeof(dlx::ShapeText::text));
  }
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(short_shapes_are_complete),
      cmocka_unit_test(long_shapes_are_cut),
  };
  return cmocka_run_group_tests_name("shape_text", tests, nullptr, nullptr);
}
