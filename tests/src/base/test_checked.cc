// Overflow-checked arithmetic; the C interface shows it only as errors.
#include "src/base/checked.h"

#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>

// CMocka needs <csetjmp>, <cstdarg>, <cstddef> and <cstdint> first, and does not say that it is C.
extern "C" {
#include <cmocka.h>
}

namespace {

constexpr int64_t kMin = INT64_MIN, kMax = INT64_MAX;

// A sum that fits is exact, up to both ends.
void add_is_exact_where_it_fits(void**) {
  int64_t out = 0;

  assert_true(dlx::checked_add(2, 3, &out) && out == 5);
  assert_true(dlx::checked_add(kMax - 1, 1, &out) && out == kMax);
  assert_true(dlx::checked_add(kMin + 1, -1, &out) && out == kMin);
  assert_true(dlx::checked_add(kMax, kMin, &out) && out == -1);
}

// One more does not fit, at either end.
void add_refuses_overflow(void**) {
  int64_t out = 0;

  assert_false(dlx::checked_add(kMax, 1, &out));
  assert_false(dlx::checked_add(kMin, -1, &out));
  assert_false(dlx::checked_add(kMax, kMax, &out));
  assert_false(dlx::checked_add(kMin, kMin, &out));
}

// A product that fits is exact, up to both ends.
void mul_is_exact_where_it_fits(void**) {
  int64_t out = 0;

  assert_true(dlx::checked_mul(-3, 4, &out) && out == -12);
  assert_true(dlx::checked_mul(kMin, 1, &out) && out == kMin);
  assert_true(dlx::checked_mul(kMin, 0, &out) && out == 0);
  assert_true(dlx::checked_mul(INT64_C(1) << 62, -2, &out) && out == kMin);
  assert_true(dlx::checked_mul(INT64_C(3037000499), INT64_C(3037000499), &out));
}

// Beyond that it overflows, also for the negative of the smallest number.
void mul_refuses_overflow(void**) {
  int64_t out = 0;

  assert_false(dlx::checked_mul(kMin, -1, &out));
  assert_false(dlx::checked_mul(-1, kMin, &out));
  assert_false(dlx::checked_mul(INT64_C(1) << 62, 2, &out));
  assert_false(dlx::checked_mul(INT64_C(3037000500), INT64_C(3037000500), &out));
  assert_false(dlx::checked_mul(kMax, kMax, &out));
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(add_is_exact_where_it_fits),
      cmocka_unit_test(add_refuses_overflow),
      cmocka_unit_test(mul_is_exact_where_it_fits),
      cmocka_unit_test(mul_refuses_overflow),
  };
  return cmocka_run_group_tests_name("checked", tests, nullptr, nullptr);
}
