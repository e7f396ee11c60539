/* Section "dtype" of dlx.h: names and sizes. The formats are in test_dtype_format.c. */
#include "util.h"

typedef struct named {
  const char *name;
  int code, bits, lanes;
} named;

/* One of every kind; the FP8 to FP4 kinds all. */
static const named names[] = {
    {"bool", kDLBool, 8, 1},
    {"int1", kDLInt, 1, 1},
    {"int2", kDLInt, 2, 1},
    {"int4", kDLInt, 4, 1},
    {"int8", kDLInt, 8, 1},
    {"int16", kDLInt, 16, 1},
    {"int32", kDLInt, 32, 1},
    {"int64", kDLInt, 64, 1},
    {"uint1", kDLUInt, 1, 1},
    {"uint2", kDLUInt, 2, 1},
    {"uint4", kDLUInt, 4, 1},
    {"uint8", kDLUInt, 8, 1},
    {"uint16", kDLUInt, 16, 1},
    {"uint32", kDLUInt, 32, 1},
    {"uint64", kDLUInt, 64, 1},
    {"float16", kDLFloat, 16, 1},
    {"float32", kDLFloat, 32, 1},
    {"float64", kDLFloat, 64, 1},
    {"bfloat16", kDLBfloat, 16, 1},
    {"complex32", kDLComplex, 32, 1},
    {"complex64", kDLComplex, 64, 1},
    {"complex128", kDLComplex, 128, 1},
    {"float8_e3m4", kDLFloat8_e3m4, 8, 1},
    {"float8_e4m3", kDLFloat8_e4m3, 8, 1},
    {"float8_e4m3b11fnuz", kDLFloat8_e4m3b11fnuz, 8, 1},
    {"float8_e4m3fn", kDLFloat8_e4m3fn, 8, 1},
    {"float8_e4m3fnuz", kDLFloat8_e4m3fnuz, 8, 1},
    {"float8_e5m2", kDLFloat8_e5m2, 8, 1},
    {"float8_e5m2fnuz", kDLFloat8_e5m2fnuz, 8, 1},
    {"float8_e8m0fnu", kDLFloat8_e8m0fnu, 8, 1},
    {"float6_e2m3fn", kDLFloat6_e2m3fn, 6, 1},
    {"float6_e3m2fn", kDLFloat6_e3m2fn, 6, 1},
    {"float4_e2m1fn", kDLFloat4_e2m1fn, 4, 1},
    {"bcomplex32", DLX_DTYPE_BCOMPLEX, 32, 1},
    {"opaque64", kDLOpaqueHandle, 64, 1},
    {"float32x4", kDLFloat, 32, 4},
    {"uint8x65535", kDLUInt, 8, 65535},
    {"float4_e2m1fnx2", kDLFloat4_e2m1fn, 4, 2},
    {"boolx8", kDLBool, 8, 8},
};

/* Each name means its dtype. */
static void parse_reads_every_name(void **state) {
  (void)state;

  for (size_t i = 0; i < COUNT_OF(names); ++i) {
    DLDataType dtype;
    assert_ok(dlx_dtype_parse(names[i].name, &dtype));
    assert_int_equal(dtype.code, names[i].code);
    assert_int_equal(dtype.bits, names[i].bits);
    assert_int_equal(dtype.lanes, names[i].lanes);
  }
}

/* Each dtype has its name. */
static void name_writes_every_dtype(void **state) {
  (void)state;

  for (size_t i = 0; i < COUNT_OF(names); ++i) {
    const DLDataType dtype = {(uint8_t)names[i].code, (uint8_t)names[i].bits,
                              (uint16_t)names[i].lanes};
    char name[DLX_NAME_SIZE];
    assert_ok(dlx_dtype_name(&dtype, name, sizeof name));
    assert_string_equal(name, names[i].name);
  }
}

/* Of all 65536 pairs of code and bits, each that has a name is read back from it, and each has a
 * size if and only if it has a name. */
static void every_name_is_read_back(void **state) {
  (void)state;
  int known = 0;

  for (int pair = 0; pair < 0x10000; ++pair) {
    const DLDataType dtype = {(uint8_t)(pair >> 8), (uint8_t)pair, 3};
    char name[DLX_NAME_SIZE];
    DLDataType back;
    const dlx_status status = dlx_dtype_name(&dtype, name, sizeof name);
    assert_true(status == DLX_OK || status == DLX_ERROR_UNSUPPORTED);
    assert_int_equal(dlx_dtype_bits(&dtype), status == DLX_OK ? 3 * (pair & 255) : 0);
    if (status != DLX_OK) continue;
    ++known;
    assert_ok(dlx_dtype_parse(name, &back));
    assert_memory_equal(&back, &dtype, sizeof back);
  }

  assert_in_range(known, COUNT_OF(names) - 4, 200);
}

/* An invalid name is refused, and the output is unchanged. */
static void parse_refuses_what_is_no_name(void **state) {
  (void)state;
  static const char *const strangers[] = {
      "",
      " ",
      "int",
      "int0",
      "int33",
      "int032",
      "int-8",
      "int32 ",
      " int32",
      "Int32",
      "int32x",
      "int32x0",
      "int32x-1",
      "int32x04",
      "int32x65536",
      "int32x99999999999999999999",
      "float",
      "float8",
      "float33",
      "bool8",
      "bool1",
      "bfloat8",
      "bfloat32",
      "complex16",
      "complex",
      "uint",
      "uint256",
      "int32x4x4",
      "float8_e4m3f",
      "float4_e2m1fnx",
      "float6_e2m3",
      "bcomplex64",
      "opaque",
      "handle",
      "void",
      "str",
      "<f4",
      "f4",
      "double",
  };

  for (size_t i = 0; i < COUNT_OF(strangers); ++i) {
    DLDataType dtype = {77, 78, 79};
    if (dlx_dtype_parse(strangers[i], &dtype) != DLX_ERROR_INVALID_ARGUMENT) {
      fail_msg("\"%s\" is taken for a dtype", strangers[i]);
    }
    assert_says(dlx_last_error(), "`name`");
    assert_int_equal(dtype.code, 77);
    assert_int_equal(dtype.bits, 78);
    assert_int_equal(dtype.lanes, 79);
  }
}

/* A name needs its length plus one byte; a smaller capacity is refused, and nothing is written. */
static void name_needs_room_for_the_final_zero(void **state) {
  (void)state;
  const DLDataType dtype = dtype_of(kDLFloat, 32);
  char name[16] = "untouched";

  assert_fails(dlx_dtype_name(&dtype, name, strlen("float32")), DLX_ERROR_INVALID_ARGUMENT,
               "`capacity`");
  assert_string_equal(name, "untouched");
  assert_fails(dlx_dtype_name(&dtype, name, 0), DLX_ERROR_INVALID_ARGUMENT, "`capacity`");
  assert_string_equal(name, "untouched");

  assert_ok(dlx_dtype_name(&dtype, name, strlen("float32") + 1));
  assert_string_equal(name, "float32");
}

/* Unknown codes, bits that a code does not have, and no lanes: not dtypes of DLPack 1.3. */
static void name_refuses_what_is_no_dtype(void **state) {
  (void)state;
  static const DLDataType strangers[] = {
      {19, 8, 1},
      {255, 8, 1},
      {kDLInt, 0, 1},
      {kDLInt, 9, 1},
      {kDLFloat, 8, 1},
      {kDLFloat, 33, 1},
      {kDLBool, 1, 1},
      {kDLBfloat, 32, 1},
      {kDLFloat, 32, 0},
      {kDLComplex, 8, 1},
      {kDLFloat8_e4m3fn, 7, 1},
      {kDLFloat6_e2m3fn, 8, 1},
      {kDLFloat4_e2m1fn, 8, 1},
  };

  for (size_t i = 0; i < COUNT_OF(strangers); ++i) {
    char name[DLX_NAME_SIZE] = "untouched";
    assert_fails(dlx_dtype_name(&strangers[i], name, sizeof name), DLX_ERROR_UNSUPPORTED,
                 "`dtype`");
    assert_string_equal(name, "untouched");
  }
}

/* Bits include all lanes; a NULL or unknown dtype has 0. */
static void bits_count_all_lanes(void **state) {
  (void)state;
  const DLDataType vector = {kDLFloat, 32, 4}, packed = {kDLUInt, 1, 65535}, unknown = {99, 8, 1};

  assert_int_equal(dlx_dtype_bits(&vector), 128);
  assert_int_equal(dlx_dtype_bits(&packed), 65535);
  assert_int_equal(dlx_dtype_bits(&unknown), 0);
  assert_int_equal(dlx_dtype_bits(NULL), 0);
}

static int64_t nbytes(int code, int bits, int lanes, int64_t count, uint64_t flags) {
  const DLDataType dtype = {(uint8_t)code, (uint8_t)bits, (uint16_t)lanes};
  int64_t out = -1;
  assert_ok(dlx_dtype_nbytes(&dtype, count, flags, &out));
  return out;
}

/* Whole bytes: count times lanes times bytes. */
static void nbytes_of_whole_bytes(void **state) {
  (void)state;

  assert_int_equal(nbytes(kDLFloat, 32, 1, 10, 0), 40);
  assert_int_equal(nbytes(kDLFloat, 32, 4, 10, 0), 160);
  assert_int_equal(nbytes(kDLComplex, 128, 1, 3, 0), 48);
  assert_int_equal(nbytes(kDLBool, 8, 1, 0, 0), 0);
}

/* Sub-byte elements are packed; the last byte counts even if it is not full. */
static void nbytes_of_packed_elements_rounds_up(void **state) {
  (void)state;

  assert_int_equal(nbytes(kDLUInt, 1, 1, 8, 0), 1);
  assert_int_equal(nbytes(kDLUInt, 1, 1, 9, 0), 2);
  assert_int_equal(nbytes(kDLInt, 4, 1, 3, 0), 2);
  assert_int_equal(nbytes(kDLFloat6_e2m3fn, 6, 1, 4, 0), 3);
  assert_int_equal(nbytes(kDLFloat6_e2m3fn, 6, 1, 5, 0), 4);
  assert_int_equal(nbytes(kDLFloat4_e2m1fn, 4, 3, 3, 0), 5);
  assert_int_equal(nbytes(kDLUInt, 1, 1, 0, 0), 0);
}

/* Padded elements take one byte for each lane; whole-byte dtypes do not change. */
static void nbytes_of_padded_elements_are_one_byte_a_lane(void **state) {
  (void)state;
  const uint64_t padded = DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;

  assert_int_equal(nbytes(kDLUInt, 1, 1, 9, padded), 9);
  assert_int_equal(nbytes(kDLFloat4_e2m1fn, 4, 3, 3, padded), 9);
  assert_int_equal(nbytes(kDLFloat, 32, 1, 3, padded), 12);
}

/* The largest size is correct, also if its number of bits overflows. */
static void nbytes_are_exact_up_to_the_largest(void **state) {
  (void)state;

  assert_true(nbytes(kDLUInt, 8, 1, INT64_MAX, 0) == INT64_MAX);
  assert_true(nbytes(kDLUInt, 1, 1, INT64_MAX, 0) == (INT64_C(1) << 60));
  assert_true(nbytes(kDLInt, 4, 1, INT64_MAX, 0) == (INT64_C(1) << 62));
}

/* One more overflows, and is refused. */
static void nbytes_refuse_overflow(void **state) {
  (void)state;
  const DLDataType wide = dtype_of(kDLFloat, 16), vector = {kDLUInt, 4, 3};
  int64_t out = 17;

  assert_fails(dlx_dtype_nbytes(&wide, INT64_MAX / 2 + 1, 0, &out), DLX_ERROR_INVALID_ARGUMENT,
               "`count`");
  assert_fails(dlx_dtype_nbytes(&vector, INT64_MAX - 1, 0, &out), DLX_ERROR_INVALID_ARGUMENT,
               "`count`");

  assert_int_equal(out, 17);
}

/* A negative count is refused. */
static void nbytes_refuse_a_negative_count(void **state) {
  (void)state;
  const DLDataType dtype = dtype_of(kDLUInt, 1);
  int64_t out = 17;

  assert_fails(dlx_dtype_nbytes(&dtype, -1, 0, &out), DLX_ERROR_INVALID_ARGUMENT, "-1");
  assert_fails(dlx_dtype_nbytes(&dtype, INT64_MIN, 0, &out), DLX_ERROR_INVALID_ARGUMENT, "`count`");

  assert_int_equal(out, 17);
}

/* An unknown dtype has no size. */
static void nbytes_of_an_unknown_dtype_are_unsupported(void **state) {
  (void)state;
  const DLDataType dtype = {99, 8, 1};
  int64_t out = 17;

  assert_fails(dlx_dtype_nbytes(&dtype, 1, 0, &out), DLX_ERROR_UNSUPPORTED, "`dtype`");

  assert_int_equal(out, 17);
}

/* A NULL is named with its function. */
static void null_parameters_are_named(void **state) {
  (void)state;
  DLDataType dtype = dtype_of(kDLInt, 32);
  char text[DLX_NAME_SIZE];
  int64_t bytes;

  assert_null_named(dlx_dtype_parse, (NULL, &dtype), "name");
  assert_null_named(dlx_dtype_parse, ("int32", NULL), "out");
  assert_null_named(dlx_dtype_name, (NULL, text, sizeof text), "dtype");
  assert_null_named(dlx_dtype_name, (&dtype, NULL, sizeof text), "out");
  assert_null_named(dlx_dtype_nbytes, (NULL, 1, 0, &bytes), "dtype");
  assert_null_named(dlx_dtype_nbytes, (&dtype, 1, 0, NULL), "out");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(parse_reads_every_name),
      cmocka_unit_test(name_writes_every_dtype),
      cmocka_unit_test(every_name_is_read_back),
      cmocka_unit_test(parse_refuses_what_is_no_name),
      cmocka_unit_test(name_needs_room_for_the_final_zero),
      cmocka_unit_test(name_refuses_what_is_no_dtype),
      cmocka_unit_test(bits_count_all_lanes),
      cmocka_unit_test(nbytes_of_whole_bytes),
      cmocka_unit_test(nbytes_of_packed_elements_rounds_up),
      cmocka_unit_test(nbytes_of_padded_elements_are_one_byte_a_lane),
      cmocka_unit_test(nbytes_are_exact_up_to_the_largest),
      cmocka_unit_test(nbytes_refuse_overflow),
      cmocka_unit_test(nbytes_refuse_a_negative_count),
      cmocka_unit_test(nbytes_of_an_unknown_dtype_are_unsupported),
      cmocka_unit_test(null_parameters_are_named),
  };
  return cmocka_run_group_tests_name("dtype", tests, NULL, NULL);
}
