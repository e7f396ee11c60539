// Shapes and strides. tests/capi/test_views_random.c compares reshape and broadcast with an oracle.
#include "src/tensor/layout.h"

#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "dlx/dlx.h"

#include "src/base/error.h"

// CMocka needs <csetjmp>, <cstdarg>, <cstddef> and <cstdint> first, and does not say that it is C.
extern "C" {
#include <cmocka.h>
}
#undef fail  // its macro would hide dlx::fail

namespace {

using Numbers = std::vector<int64_t>;

int32_t size_of(const Numbers& numbers) { return static_cast<int32_t>(numbers.size()); }

template <typename F>
std::string message_of(F f) {
  try {
    f();
  } catch (const dlx::Error& error) {
    assert_int_equal(error.status(), DLX_ERROR_INVALID_ARGUMENT);
    return error.what();
  }
  return "no error";
}

int64_t count(const Numbers& shape, const char* owner = nullptr) {
  return dlx::count_elements(size_of(shape), shape.data(), owner);
}

void elements_are_counted(void**) {
  assert_int_equal(count({}), 1);
  assert_int_equal(count({2, 3, 4}), 24);
  assert_int_equal(count({INT64_MAX}), INT64_MAX);
  assert_int_equal(count({INT64_MAX, 0}), 0);
}

// An extent of 0 hides neither a negative extent nor an overflow.
void impossible_shapes_are_refused(void**) {
  assert_string_equal(message_of([] { count({0, -1}); }).c_str(),
                      "`shape` has a negative extent (got -1 on axis 1, expected at least 0)");
  assert_string_equal(
      message_of([] { count({0, INT64_MAX, 2}, "src"); }).c_str(),
      "`shape` of `src` has more than 2^63-1 elements (got (0, 9223372036854775807, 2))");
}

void axes_count_from_either_end(void**) {
  assert_int_equal(dlx::require_axis(0, 3, "axis"), 0);
  assert_int_equal(dlx::require_axis(-1, 3, "axis"), 2);
  assert_int_equal(dlx::require_axis(-3, 3, "axis"), 0);
  for (int32_t axis : {3, -4}) {
    assert_string_not_equal(message_of([&] { dlx::require_axis(axis, 3, "axis"); }).c_str(),
                            "no error");
  }
}

Numbers compact(const Numbers& shape, int32_t order) {
  Numbers strides(shape.size());
  dlx::fill_compact_strides(size_of(shape), shape.data(), order, strides.data());
  assert_true(dlx::is_compact(size_of(shape), shape.data(), strides.data(), order));
  return strides;
}

void strides_of_compact_tensors(void**) {
  assert_true(compact({2, 3, 4}, DLX_ORDER_C) == (Numbers{12, 4, 1}));
  assert_true(compact({2, 3, 4}, DLX_ORDER_F) == (Numbers{1, 2, 6}));
  assert_true(compact({2, 1, 4}, DLX_ORDER_C) == (Numbers{4, 4, 1}));
  compact({2, 0, 4}, DLX_ORDER_C);
  compact({}, DLX_ORDER_F);
}

bool is_compact(const Numbers& shape, const Numbers& strides, int32_t order) {
  return dlx::is_compact(size_of(shape), shape.data(), strides.data(), order);
}

// Strides of axes with one element do not matter, nor do those of empty tensors.
void compact_or_not(void**) {
  assert_true(is_compact({2, 1, 4}, {4, 99, 1}, DLX_ORDER_C));
  assert_true(is_compact({2, 0, 4}, {7, 7, 7}, DLX_ORDER_C));
  assert_true(is_compact({5}, {1}, DLX_ORDER_F));
  assert_false(is_compact({2, 3}, {3, 1}, DLX_ORDER_F));
  assert_false(is_compact({2, 3}, {4, 1}, DLX_ORDER_C));
  assert_false(is_compact({5}, {-1}, DLX_ORDER_C));
}

void offsets_of_the_lowest_and_the_highest_element(void**) {
  int64_t lowest = 1, highest = 1;
  const auto range = [&](const Numbers& shape, const Numbers& strides) {
    return dlx::offset_range(size_of(shape), shape.data(), strides.data(), &lowest, &highest);
  };

  assert_true(range({2, 3}, {-10, 4}));
  assert_int_equal(lowest, -10);
  assert_int_equal(highest, 8);
  assert_false(range({3}, {INT64_MAX}));
  assert_false(range({2, 2}, {INT64_MAX, 1}));
  assert_true(range({2, 2}, {INT64_MAX, -1}));
  assert_int_equal(lowest, -1);
  assert_int_equal(highest, INT64_MAX);
}

bool reshape(const Numbers& shape, const Numbers& strides, const Numbers& target, Numbers* out) {
  out->resize(target.size());
  return dlx::reshape_strides(size_of(shape), shape.data(), strides.data(), size_of(target),
                              target.data(), out->data());
}

void reshapes_without_a_copy(void**) {
  Numbers strides;

  assert_true(reshape({2, 6}, {6, 1}, {3, 4}, &strides));
  assert_true(strides == (Numbers{4, 1}));
  assert_true(reshape({6, 2}, {-4, -2}, {12}, &strides));
  assert_true(strides == (Numbers{-2}));
  assert_true(reshape({4, 6}, {1, 4}, {2, 2, 3, 2}, &strides));
  assert_true(strides == (Numbers{2, 1, 8, 4}));
  assert_false(reshape({2, 3}, {1, 2}, {6}, &strides));
  assert_false(reshape({4, 6}, {12, 1}, {3, 8}, &strides));
}

bool broadcasts(const Numbers& shape, const Numbers& target) {
  return dlx::broadcasts_to(size_of(shape), shape.data(), size_of(target), target.data());
}

void broadcasts_by_the_rules_of_numpy(void**) {
  assert_true(broadcasts({}, {2, 3}));
  assert_true(broadcasts({3}, {2, 3}));
  assert_true(broadcasts({2, 1}, {2, 3}));
  assert_true(broadcasts({1}, {0}));
  assert_false(broadcasts({2}, {2, 3}));
  assert_false(broadcasts({1, 3}, {3}));
  assert_false(broadcasts({0}, {1}));
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(elements_are_counted),
      cmocka_unit_test(impossible_shapes_are_refused),
      cmocka_unit_test(axes_count_from_either_end),
      cmocka_unit_test(strides_of_compact_tensors),
      cmocka_unit_test(compact_or_not),
      cmocka_unit_test(offsets_of_the_lowest_and_the_highest_element),
      cmocka_unit_test(reshapes_without_a_copy),
      cmocka_unit_test(broadcasts_by_the_rules_of_numpy),
  };
  return cmocka_run_group_tests_name("layout", tests, nullptr, nullptr);
}
