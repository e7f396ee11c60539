/* Section "dtype" of dlx.h: buffer formats (PEP 3118) and typestrs (NumPy's array interface). */
#include "util.h"

typedef struct spelled {
  int code, bits;
  const char *buffer, *typestr; /* with native byte order of a little-endian machine */
} spelled;

static const spelled spellings[] = {
    {kDLBool, 8, "?", "|b1"},      {kDLInt, 8, "b", "|i1"},         {kDLUInt, 8, "B", "|u1"},
    {kDLInt, 16, "h", "<i2"},      {kDLUInt, 16, "H", "<u2"},       {kDLInt, 32, "i", "<i4"},
    {kDLUInt, 32, "I", "<u4"},     {kDLInt, 64, NULL, "<i8"},       {kDLUInt, 64, NULL, "<u8"},
    {kDLFloat, 16, "e", "<f2"},    {kDLFloat, 32, "f", "<f4"},      {kDLFloat, 64, "d", "<f8"},
    {kDLComplex, 64, "Zf", "<c8"}, {kDLComplex, 128, "Zd", "<c16"},
};

static int little_endian(void) {
  const uint16_t one = 1;
  return *(const uint8_t *)&one;
}

/* The typestr of this machine: '<' becomes '>' on a big-endian one. */
static const char *native(const char *typestr, char *storage) {
  snprintf(storage, 8, "%s", typestr);
  if (storage[0] == '<' && !little_endian()) storage[0] = '>';
  return storage;
}

static void assert_format(const char *format, int32_t style, int code, int bits) {
  DLDataType dtype = {99, 99, 99};
  const dlx_status status = dlx_dtype_parse_format(format, style, &dtype);
  if (status != DLX_OK) fail_msg("\"%s\": %s", format, dlx_last_error());
  assert_int_equal(dtype.code, code);
  assert_int_equal(dtype.bits, bits);
  assert_int_equal(dtype.lanes, 1);
}

/* Each dtype with a typestr is written as it. */
static void format_writes_typestrs(void **state) {
  (void)state;

  for (size_t i = 0; i < COUNT_OF(spellings); ++i) {
    const DLDataType dtype = dtype_of(spellings[i].code, spellings[i].bits);
    char text[DLX_NAME_SIZE], expected[8];
    assert_ok(dlx_dtype_format(&dtype, DLX_FORMAT_TYPESTR, text, sizeof text));
    assert_string_equal(text, native(spellings[i].typestr, expected));
  }
}

/* Each typestr is read back. */
static void parse_format_reads_typestrs(void **state) {
  (void)state;

  for (size_t i = 0; i < COUNT_OF(spellings); ++i) {
    char text[8];
    assert_format(native(spellings[i].typestr, text), DLX_FORMAT_TYPESTR, spellings[i].code,
                  spellings[i].bits);
  }
  assert_format("=f4", DLX_FORMAT_TYPESTR, kDLFloat, 32);
}

/* Complex formats that dlx reads and does not write: half, and those of ctypes from CPython 3.14 on. */
static void parse_format_reads_other_complex_formats(void **state) {
  (void)state;

  assert_format("Ze", DLX_FORMAT_BUFFER, kDLComplex, 32);
  assert_format("F", DLX_FORMAT_BUFFER, kDLComplex, 64);
  assert_format("D", DLX_FORMAT_BUFFER, kDLComplex, 128);
}

/* Each dtype with a letter is written with it; 64-bit integers have two letters, and both are
 * valid. */
static void format_writes_buffer_formats(void **state) {
  (void)state;

  for (size_t i = 0; i < COUNT_OF(spellings); ++i) {
    const DLDataType dtype = dtype_of(spellings[i].code, spellings[i].bits);
    char text[DLX_NAME_SIZE];
    assert_ok(dlx_dtype_format(&dtype, DLX_FORMAT_BUFFER, text, sizeof text));
    if (spellings[i].buffer != NULL) assert_string_equal(text, spellings[i].buffer);
    assert_format(text, DLX_FORMAT_BUFFER, spellings[i].code, spellings[i].bits);
  }
}

/* Python's struct: each letter with each prefix, in native sizes or in standard ones (0: it has none). */
static void parse_format_reads_letters_as_pythons_struct_does(void **state) {
  (void)state;
  const int long_bits = 8 * (int)sizeof(long), size_bits = 8 * (int)sizeof(size_t);
  const struct {
    const char *letter;
    int code, native_bits, standard_bits;
  } letters[] = {
      {"?", kDLBool, 8, 8},         {"b", kDLInt, 8, 8},          {"B", kDLUInt, 8, 8},
      {"h", kDLInt, 16, 16},        {"H", kDLUInt, 16, 16},       {"i", kDLInt, 32, 32},
      {"I", kDLUInt, 32, 32},       {"l", kDLInt, long_bits, 32}, {"L", kDLUInt, long_bits, 32},
      {"q", kDLInt, 64, 64},        {"Q", kDLUInt, 64, 64},       {"n", kDLInt, size_bits, 0},
      {"N", kDLUInt, size_bits, 0}, {"e", kDLFloat, 16, 16},      {"f", kDLFloat, 32, 32},
      {"d", kDLFloat, 64, 64},      {"Zf", kDLComplex, 64, 64},   {"Zd", kDLComplex, 128, 128},
  };
  static const char *const prefixes[] = {"", "@", "^", "=", "<", ">", "!"};

  for (size_t i = 0; i < COUNT_OF(letters); ++i) {
    for (size_t k = 0; k < COUNT_OF(prefixes); ++k) {
      const char order = prefixes[k][0];
      const int native = order == '\0' || order == '@' || order == '^';
      const int foreign = little_endian() ? order == '>' || order == '!' : order == '<';
      const int bits = native ? letters[i].native_bits : letters[i].standard_bits;
      char format[8];
      snprintf(format, sizeof format, "%s%s", prefixes[k], letters[i].letter);
      if (bits != 0 && (!foreign || bits == 8)) {
        assert_format(format, DLX_FORMAT_BUFFER, letters[i].code, bits);
        continue;
      }
      DLDataType dtype;
      if (dlx_dtype_parse_format(format, DLX_FORMAT_BUFFER, &dtype) != DLX_ERROR_UNSUPPORTED) {
        fail_msg("the buffer format \"%s\" is read", format);
      }
    }
  }
}

/* NumPy's numbers of 1 to 17 bytes: a typestr has the dtypes of IEEE 754 and whole machine words. */
static void parse_format_reads_typestrs_of_the_sizes_that_dtypes_have(void **state) {
  (void)state;
  static const struct {
    char kind;
    int code;
    const char *sizes; /* each a character, from '0' on */
  } kinds[] = {{'b', kDLBool, "1"},
               {'i', kDLInt, "1248"},
               {'u', kDLUInt, "1248"},
               {'f', kDLFloat, "248"},
               {'c', kDLComplex, "8@"}}; /* '@' is 16 */

  for (size_t i = 0; i < COUNT_OF(kinds); ++i) {
    for (int bytes = 0; bytes <= 17; ++bytes) {
      char typestr[16];
      snprintf(typestr, sizeof typestr, "=%c%d", kinds[i].kind, bytes);
      if (strchr(kinds[i].sizes, '0' + bytes) != NULL) {
        assert_format(typestr, DLX_FORMAT_TYPESTR, kinds[i].code, 8 * bytes);
        continue;
      }
      DLDataType dtype;
      if (dlx_dtype_parse_format(typestr, DLX_FORMAT_TYPESTR, &dtype) != DLX_ERROR_UNSUPPORTED) {
        fail_msg("the typestr \"%s\" is read", typestr);
      }
    }
  }
}

/* Another byte order is unsupported, and the message says that DLPack has none. */
static void parse_format_refuses_a_foreign_byte_order(void **state) {
  (void)state;
  DLDataType dtype = {77, 78, 79};

  assert_fails(dlx_dtype_parse_format(little_endian() ? ">f" : "<f", DLX_FORMAT_BUFFER, &dtype),
               DLX_ERROR_UNSUPPORTED, "byte order");
  assert_fails(dlx_dtype_parse_format(little_endian() ? ">i4" : "<i4", DLX_FORMAT_TYPESTR, &dtype),
               DLX_ERROR_UNSUPPORTED, "byte order");

  assert_int_equal(dtype.code, 77);
}

/* One byte has no byte order, so any prefix is accepted. */
static void parse_format_takes_any_byte_order_of_one_byte(void **state) {
  (void)state;

  assert_format(">B", DLX_FORMAT_BUFFER, kDLUInt, 8);
  assert_format("<?", DLX_FORMAT_BUFFER, kDLBool, 8);
  assert_format(">u1", DLX_FORMAT_TYPESTR, kDLUInt, 8);
  assert_format("<b1", DLX_FORMAT_TYPESTR, kDLBool, 8);
}

/* Structures, strings, objects, dates and invalid formats are unsupported. */
static void parse_format_refuses_what_is_no_scalar(void **state) {
  (void)state;
  static const char *const buffers[] = {"",  "ii", "T{i:x:}", "3i", "(2)i", "s", "5s",
                                        "c", "O",  "P",       "w",  "x",    "Z", "Zi",
                                        "@", "f ", " f",      "&i", "ZfZ"};
  static const char *const typestrs[] = {
      "",        "<",   "f4",  "<f",   "<f04", "<f3", "<i3",           "|O8", "|S5", "<U4",
      "<M8[ns]", "<m8", "|V8", "<f4 ", "<f-4", "<t4", "<f99999999999", "|b2", "<c4x"};
  DLDataType dtype = {77, 78, 79};

  for (size_t i = 0; i < COUNT_OF(buffers); ++i) {
    if (dlx_dtype_parse_format(buffers[i], DLX_FORMAT_BUFFER, &dtype) != DLX_ERROR_UNSUPPORTED) {
      fail_msg("the buffer format \"%s\" is taken for a scalar", buffers[i]);
    }
  }
  for (size_t i = 0; i < COUNT_OF(typestrs); ++i) {
    if (dlx_dtype_parse_format(typestrs[i], DLX_FORMAT_TYPESTR, &dtype) != DLX_ERROR_UNSUPPORTED) {
      fail_msg("the typestr \"%s\" is taken for a scalar", typestrs[i]);
    }
  }

  assert_int_equal(dtype.code, 77);
}

/* Dtypes without a notation are unsupported, in both styles. */
static void format_refuses_dtypes_without_a_spelling(void **state) {
  (void)state;
  static const DLDataType strangers[] = {
      {kDLBfloat, 16, 1},       {kDLFloat8_e4m3fn, 8, 1},
      {kDLFloat6_e2m3fn, 6, 1}, {kDLFloat4_e2m1fn, 4, 1},
      {kDLInt, 4, 1},           {kDLUInt, 1, 1},
      {kDLFloat, 32, 4},        {99, 8, 1},
  };

  for (size_t i = 0; i < COUNT_OF(strangers); ++i) {
    char text[DLX_NAME_SIZE] = "untouched";
    assert_fails(dlx_dtype_format(&strangers[i], DLX_FORMAT_BUFFER, text, sizeof text),
                 DLX_ERROR_UNSUPPORTED, "`dtype`");
    assert_fails(dlx_dtype_format(&strangers[i], DLX_FORMAT_TYPESTR, text, sizeof text),
                 DLX_ERROR_UNSUPPORTED, "`dtype`");
    assert_string_equal(text, "untouched");
  }
}

/* Any style other than the two is refused. */
static void format_refuses_an_unknown_style(void **state) {
  (void)state;
  DLDataType dtype = dtype_of(kDLInt, 32);
  char text[DLX_NAME_SIZE];

  assert_fails(dlx_dtype_format(&dtype, 2, text, sizeof text), DLX_ERROR_INVALID_ARGUMENT,
               "`style`");
  assert_fails(dlx_dtype_format(&dtype, -1, text, sizeof text), DLX_ERROR_INVALID_ARGUMENT,
               "`style`");
  assert_fails(dlx_dtype_parse_format("f", 2, &dtype), DLX_ERROR_INVALID_ARGUMENT, "`style`");
}

/* A format needs its length plus one byte; less is refused, and nothing is written. */
static void format_needs_room_for_the_final_zero(void **state) {
  (void)state;
  const DLDataType dtype = dtype_of(kDLComplex, 128);
  char text[16] = "untouched";

  assert_fails(dlx_dtype_format(&dtype, DLX_FORMAT_BUFFER, text, 2), DLX_ERROR_INVALID_ARGUMENT,
               "`capacity`");
  assert_fails(dlx_dtype_format(&dtype, DLX_FORMAT_TYPESTR, text, 4), DLX_ERROR_INVALID_ARGUMENT,
               "`capacity`");
  assert_string_equal(text, "untouched");

  assert_ok(dlx_dtype_format(&dtype, DLX_FORMAT_BUFFER, text, 3));
  assert_string_equal(text, "Zd");
}

/* A NULL is named with its function. */
static void null_parameters_are_named(void **state) {
  (void)state;
  DLDataType dtype = dtype_of(kDLInt, 32);
  char text[DLX_NAME_SIZE];

  assert_null_named(dlx_dtype_parse_format, (NULL, DLX_FORMAT_BUFFER, &dtype), "format");
  assert_null_named(dlx_dtype_parse_format, ("f", DLX_FORMAT_BUFFER, NULL), "out");
  assert_null_named(dlx_dtype_format, (NULL, DLX_FORMAT_BUFFER, text, sizeof text), "dtype");
  assert_null_named(dlx_dtype_format, (&dtype, DLX_FORMAT_BUFFER, NULL, sizeof text), "out");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(format_writes_typestrs),
      cmocka_unit_test(parse_format_reads_typestrs),
      cmocka_unit_test(parse_format_reads_other_complex_formats),
      cmocka_unit_test(format_writes_buffer_formats),
      cmocka_unit_test(parse_format_reads_letters_as_pythons_struct_does),
      cmocka_unit_test(parse_format_reads_typestrs_of_the_sizes_that_dtypes_have),
      cmocka_unit_test(parse_format_refuses_a_foreign_byte_order),
      cmocka_unit_test(parse_format_takes_any_byte_order_of_one_byte),
      cmocka_unit_test(parse_format_refuses_what_is_no_scalar),
      cmocka_unit_test(format_refuses_dtypes_without_a_spelling),
      cmocka_unit_test(format_refuses_an_unknown_style),
      cmocka_unit_test(format_needs_room_for_the_final_zero),
      cmocka_unit_test(null_parameters_are_named),
  };
  return cmocka_run_group_tests_name("dtype_format", tests, NULL, NULL);
}
