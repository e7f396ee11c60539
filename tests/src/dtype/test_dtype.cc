// Sizes of elements, and dtypes in messages. tests/capi/test_dtype*.c has names and formats.
#include "src/dtype/dtype.h"

#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>

// CMocka needs <csetjmp>, <cstdarg>, <cstddef> and <cstdint> first, and does not say that it is C.
extern "C" {
#include <cmocka.h>
}

namespace {

using dlx::make_dtype;

void bits_of_an_element(void**) {
  assert_int_equal(dlx::item_bits(make_dtype(kDLFloat, 32), false), 32);
  assert_int_equal(dlx::item_bits(make_dtype(kDLFloat, 32, 4), false), 128);
  assert_int_equal(dlx::item_bits(make_dtype(kDLInt, 4, 3), false), 12);
  assert_int_equal(dlx::item_bits(make_dtype(kDLInt, 4, 3), true), 24);
  assert_int_equal(dlx::item_bits(make_dtype(kDLInt, 8), true), 8);
}

void packed_elements_share_bytes(void**) {
  assert_true(dlx::is_packed_subbyte(make_dtype(kDLInt, 4), false));
  assert_true(dlx::is_packed_subbyte(make_dtype(kDLInt, 4, 3), false));
  assert_false(dlx::is_packed_subbyte(make_dtype(kDLInt, 4, 2), false));
  assert_false(dlx::is_packed_subbyte(make_dtype(kDLInt, 4), true));
  assert_false(dlx::is_packed_subbyte(make_dtype(kDLUInt, 8), false));
}

// A last byte that is used in part counts.
void compact_bytes_round_up(void**) {
  for (int bits = 1; bits <= 8; ++bits) {
    for (int64_t count = 0; count < 50; ++count) {
      int64_t bytes = -1;

      assert_true(dlx::compact_bytes(make_dtype(kDLUInt, bits), false, count, &bytes));

      assert_int_equal(bytes, (count * bits + 7) / 8);
    }
  }
}

void compact_bytes_find_overflow(void**) {
  int64_t bytes;

  assert_true(dlx::compact_bytes(make_dtype(kDLInt, 8), false, INT64_MAX, &bytes));
  assert_int_equal(bytes, INT64_MAX);
  assert_true(dlx::compact_bytes(make_dtype(kDLInt, 4), false, INT64_MAX, &bytes));
  assert_int_equal(bytes, INT64_MAX / 2 + 1);
  assert_false(dlx::compact_bytes(make_dtype(kDLInt, 16), false, INT64_MAX / 2 + 1, &bytes));
  assert_false(dlx::compact_bytes(make_dtype(kDLInt, 4, 3), false, INT64_MAX, &bytes));
}

// Dtypes of later versions of DLPack are written in numbers.
void any_dtype_has_a_text(void**) {
  assert_string_equal(dlx::dtype_text(make_dtype(kDLFloat, 32)).text, "float32");
  assert_string_equal(dlx::dtype_text(make_dtype(kDLInt, 4, 65535)).text, "int4x65535");
  assert_string_equal(dlx::dtype_text(make_dtype(kDLFloat, 32, 0)).text,
                      "(code 2, bits 32, lanes 0)");
  assert_string_equal(dlx::dtype_text(make_dtype(255, 255, 65535)).text,
                      "(code 255, bits 255, lanes 65535)");
}

// What a buffer's consumer cannot express has no format.
void buffer_formats(void**) {
  assert_string_equal(dlx::buffer_format(make_dtype(kDLFloat, 64)), "d");
  assert_string_equal(dlx::buffer_format(make_dtype(kDLComplex, 64)), "Zf");
  assert_null(dlx::buffer_format(make_dtype(kDLFloat, 64, 2)));
  assert_null(dlx::buffer_format(make_dtype(kDLBfloat, 16)));
  assert_null(dlx::buffer_format(make_dtype(kDLInt, 4)));
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(bits_of_an_element),     cmocka_unit_test(packed_elements_share_bytes),
      cmocka_unit_test(compact_bytes_round_up), cmocka_unit_test(compact_bytes_find_overflow),
      cmocka_unit_test(any_dtype_has_a_text),   cmocka_unit_test(buffer_formats),
  };
  return cmocka_run_group_tests_name("dtype", tests, nullptr, nullptr);
}
