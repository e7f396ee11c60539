/* Section "arrow": types that a tensor cannot have, and malformed structs. Nothing is consumed. */
#include <pthread.h>

#include "arrow_util.h"

/* The message has the format of an unsupported type, and the reason. */
static void other_types_are_refused_by_their_format(void **state) {
  (void)state;
  static const struct {
    const char *format, *words;
  } rows[] = {{"n", "null type"},        {"u", "strings"},       {"U", "strings"},
              {"vu", "strings"},         {"z", "binary"},        {"Z", "binary"},
              {"vz", "binary"},          {"w:16", "binary"},     {"d:19,10", "decimals"},
              {"tdD", "dates"},          {"tdm", "dates"},       {"tts", "times"},
              {"tsn:UTC", "timestamps"}, {"tDu", "durations"},   {"tiM", "intervals"},
              {"+s", "struct"},          {"+l", "lists"},        {"+L", "lists"},
              {"+vl", "lists"},          {"+m", "map"},          {"+ud:0,1", "union"},
              {"+us:0", "union"},        {"+r", "run-end"},      {"ff", "does not know"},
              {"", "does not know"},     {"?", "does not know"}, {"zzz", "does not know"},
              {"ux", "does not know"},   {"nn", "does not know"}};
  const int64_t data[2] = {0};

  for (size_t i = 0; i < COUNT_OF(rows); ++i) {
    arrow_node node;
    char named[64];
    make_numbers(&node, rows[i].format, data, 1);
    snprintf(named, sizeof named, "format \"%s\"", rows[i].format);
    assert_not_imported(&node, NULL, DLX_ERROR_UNSUPPORTED, rows[i].words);
    assert_says(dlx_last_error(), named);
  }
}

/* The message for a temporal type says how to get its integers. */
static void refusals_name_the_way_out(void **state) {
  (void)state;
  const int64_t data[1] = {0};
  arrow_node node;
  make_numbers(&node, "tdD", data, 1);
  assert_not_imported(&node, NULL, DLX_ERROR_UNSUPPORTED, ".cast(\"int32\")");
  make_numbers(&node, "l", data, 1);
  node.buffers[0] = (const uint8_t[]){0};
  node.array.null_count = 1;
  assert_not_imported(&node, NULL, DLX_ERROR_UNSUPPORTED, "1 null,");
  assert_says(dlx_last_error(), "`.fill_null(value)` or `.drop_null()`");
  arrow_node lists;
  make_lists(&lists, "+w:1", &node, 1);
  assert_not_imported(&lists, NULL, DLX_ERROR_UNSUPPORTED, "1 null inside its lists,");
  assert_says(dlx_last_error(), "`pyarrow.FixedSizeListArray.from_arrays(");
}

static void dictionaries_are_refused(void **state) {
  (void)state;
  const int64_t data[1] = {0};
  arrow_node node, values;
  make_numbers(&values, "u", NULL, 0);
  make_numbers(&node, "i", data, 1);
  node.schema.dictionary = &values.schema;
  node.array.dictionary = &values.array;
  assert_not_imported(&node, NULL, DLX_ERROR_UNSUPPORTED, "dictionary");
  node.schema.dictionary = NULL;
  assert_not_imported(&node, NULL, DLX_ERROR_INVALID_ARGUMENT, "dictionary");
}

static void booleans_are_not_shared(void **state) {
  (void)state;
  const uint8_t bits[1] = {1};
  dlx_copy_options options = DLX_COPY_OPTIONS_INIT;
  options.copy = DLX_COPY_NEVER;
  arrow_node node;
  make_numbers(&node, "b", bits, 1);
  assert_not_imported(&node, &options, DLX_ERROR_COPY_REFUSED, "booleans are bits");
}

static void options_are_checked(void **state) {
  (void)state;
  dlx_copy_options options = DLX_COPY_OPTIONS_INIT;
  options.copy = 3;
  arrow_node node;
  make_numbers(&node, "i", NULL, 0);
  assert_not_imported(&node, &options, DLX_ERROR_INVALID_ARGUMENT, "`options->copy`");
}

/* A list of three int32 lists of two; a test then breaks one field. */
typedef struct nested {
  arrow_node outer, leaf;
  int32_t data[6];
} nested;

static void make_nested(nested *out) {
  memset(out->data, 0, sizeof out->data);
  make_numbers(&out->leaf, "i", out->data, 6);
  make_lists(&out->outer, "+w:2", &out->leaf, 3);
}

#define assert_breaks(change, words)                                        \
  do {                                                                      \
    nested n;                                                               \
    make_nested(&n);                                                        \
    change;                                                                 \
    assert_not_imported(&n.outer, NULL, DLX_ERROR_INVALID_ARGUMENT, words); \
  } while (0)

static void malformed_schemas_are_refused(void **state) {
  (void)state;
  assert_breaks(n.outer.schema.release = NULL, "`schema` has been released or moved");
  assert_breaks(n.leaf.schema.release = NULL, "one of its children");
  assert_breaks(n.outer.schema.format = NULL, "no format");
  assert_breaks(n.leaf.schema.format = NULL, "no format");
  assert_breaks(n.outer.schema.format = "+w:", "malformed format");
  assert_breaks(n.outer.schema.format = "+w:-1", "malformed format");
  assert_breaks(n.outer.schema.format = "+w:2x", "malformed format");
  assert_breaks(n.outer.schema.format = "+w:9223372036854775808", "malformed format");
  assert_breaks(n.outer.schema.n_children = 0, "and 0 children");
  assert_breaks(n.outer.schema.n_children = 2, "and 2 children");
  assert_breaks(n.outer.schema.children = NULL, "and 0 children");
  assert_breaks(n.outer.schema_children[0] = NULL, "(expected 1)");
  assert_breaks(n.leaf.schema.n_children = 1, "and 1 children");
  assert_breaks(n.outer.schema.metadata = "\xff\xff\xff\xff", "negative length");
  assert_breaks(n.outer.schema.metadata = "\1\0\0\0\xf0\xff\xff\xff", "negative length");
}

/* A length that no metadata has is refused before it is followed. */
static void absurd_lengths_of_metadata_are_refused(void **state) {
  (void)state;
  assert_breaks(n.outer.schema.metadata = "\xff\xff\xff\x7f", "absurd length (got 2147483647");
  assert_breaks(n.outer.schema.metadata = "\1\0\0\0\xff\xff\xff\x7f", "absurd length");
  assert_breaks(n.outer.schema.metadata = "\1\0\0\0\1\0\0\0a\0\0\0\1", "absurd length");
  assert_breaks(n.outer.schema.metadata = "\0\0\x40\0", "absurd length (got 4194304");

  /* The limit is of the whole: no text is too long, but both together are. */
  const int32_t pairs = 1, half = 9 << 20;
  char *large = calloc(2, (size_t)half + 8);
  memcpy(large, &pairs, sizeof pairs);
  memcpy(large + 4, &half, sizeof half);
  memcpy(large + 8 + half, &half, sizeof half);
  assert_breaks(n.outer.schema.metadata = large, "absurd length (got 9437184");
  free(large);

  /* The lengths count too: 12 bytes of them leave this many for the texts. */
  const int32_t beyond = (16 << 20) - 12 + 1;
  char lengths[12] = {1, 0, 0, 0, 0, 0, 0, 0};
  memcpy(lengths + 8, &beyond, sizeof beyond);
  assert_breaks(n.outer.schema.metadata = lengths, "absurd length (got 16777205");
}

/* A producer that changes its array from another thread: what was checked is what counts. */
typedef struct changing {
  nested n;
  int stop;
} changing;

static void *change(void *argument) {
  changing *self = argument;
  while (!__atomic_load_n(&self->stop, __ATOMIC_RELAXED)) {
    __atomic_store_n(&self->n.outer.array.length, 1000, __ATOMIC_RELAXED);
    __atomic_store_n(&self->n.outer.array.length, 3, __ATOMIC_RELAXED);
  }
  return NULL;
}

static void a_length_that_changes_during_the_import(void **state) {
  (void)state;
#ifdef UNDER_SANITIZER
  skip(); /* the race is the point */
#endif
  static changing self;
  uint8_t valid[125];
  memset(valid, 0xff, sizeof valid);
  make_nested(&self.n);
  self.n.outer.buffers[0] = valid; /* is counted between the reads */
  self.n.outer.array.null_count = -1;
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, change, &self), 0);
  int accepted = 0, wrong = 0;
  for (int i = 0; i < 200000; ++i) {
    dlx_tensor *out = NULL;
    struct ArrowArray *array = &self.n.outer.array;
    array->release = count_arrow_release;
    if (dlx_tensor_from_arrow(array, &self.n.outer.schema, NULL, NULL, &out) != DLX_OK) continue;
    ++accepted;
    wrong += dlx_tensor_shape(out)[0] != 3 || dlx_tensor_size(out) != 6;
    dlx_tensor_release(out);
  }
  __atomic_store_n(&self.stop, 1, __ATOMIC_RELAXED);
  pthread_join(thread, NULL);

  assert_int_equal(wrong, 0);
  assert_int_not_equal(accepted, 0);
}

static void malformed_arrays_are_refused(void **state) {
  (void)state;
  assert_breaks(n.outer.array.release = NULL, "released or moved");
  assert_breaks(n.leaf.array.release = NULL, "released or moved");
  assert_breaks(n.outer.array.length = -1, "an impossible length, offset or null_count");
  assert_breaks(n.outer.array.offset = -1, "an impossible length, offset or null_count");
  assert_breaks(n.leaf.array.null_count = -2, "an impossible length, offset or null_count");
  assert_breaks(n.outer.array.offset = INT64_MAX, "an impossible length, offset or null_count");
  assert_breaks(n.outer.array.n_buffers = 2, "does not match the type");
  assert_breaks(n.leaf.array.n_buffers = 3, "does not match the type");
  assert_breaks(n.outer.array.n_children = 0, "does not match the type");
  assert_breaks(n.leaf.array.n_children = 1, "does not match the type");
  assert_breaks(n.outer.array.buffers = NULL, "no buffers");
  assert_breaks(n.leaf.array.buffers = NULL, "no buffers");
  assert_breaks(n.outer.array.children = NULL, "no child");
  assert_breaks(n.outer.array_children[0] = NULL, "no child");
  assert_breaks(n.leaf.buffers[1] = NULL, "no data");
  assert_breaks(n.leaf.array.null_count = 1, "no validity bitmap");
  assert_breaks((n.leaf.schema.format = "b", n.leaf.buffers[1] = NULL), "no data");
}

/* Lengths beyond those of the child, and products that overflow. */
static void ranges_are_checked(void **state) {
  (void)state;
  assert_breaks(n.outer.array.length = 4, "child of 6 elements (expected at least 8");
  assert_breaks(n.outer.array.offset = 1, "child of 6 elements (expected at least 8");
  assert_breaks(n.leaf.array.length = 5, "child of 5 elements (expected at least 6");
  assert_breaks(n.outer.schema.format = "+w:3", "expected at least 9");
  assert_breaks(n.outer.schema.format = "+w:9223372036854775807", "more than 2^63-1 elements");
  assert_breaks(n.outer.array.length = INT64_MAX, "more than 2^63-1 elements");
  assert_breaks((n.outer.array.length = 1, n.outer.array.offset = INT64_MAX - 1), "2^63-1");
  const int64_t quarter = INT64_C(1) << 61; /* twice it fits, twice the sum of two does not */
  assert_breaks((n.outer.array.length = quarter, n.outer.array.offset = quarter),
                "more than 2^63-1 elements");
  assert_breaks((n.leaf.array.length = INT64_MAX, n.outer.array.length = INT64_MAX / 2),
                "2^47 bytes");
  assert_breaks((n.leaf.array.length = 6, n.leaf.array.offset = INT64_MAX - 6), "2^47 bytes");
}

/* Lengths that no memory holds are refused before a bitmap of 8 bytes is counted. */
static void impossible_lengths_are_refused(void **state) {
  (void)state;
  static const int64_t huge = INT64_C(1) << 50; /* a bitmap of 2^47 bytes, which is the limit */
  const uint8_t valid[8] = {255, 255, 255, 255, 255, 255, 255, 255};
  static const struct {
    const char *format;
    int64_t length, offset;
  } rows[] = {{"l", INT64_C(1) << 60, 0},
              {"l", INT64_MAX, 0},
              {"l", 8, INT64_C(1) << 61},
              {"c", huge, 0},
              {"b", huge, 1},
              {"b", 8, INT64_C(1) << 62},
              {"_pli128", 1, huge / 128},
              {"l", huge / 64, 1}};

  for (size_t i = 0; i < COUNT_OF(rows); ++i) {
    arrow_node node, lists;
    for (int64_t unknown = -1; unknown <= 1; ++unknown) {
      make_numbers(&node, rows[i].format, valid, rows[i].length);
      node.array.offset = rows[i].offset;
      node.array.null_count = unknown;
      node.buffers[0] = valid;
      assert_not_imported(&node, NULL, DLX_ERROR_INVALID_ARGUMENT, "impossible length or offset");
      make_lists(&lists, "+w:1", &node, rows[i].length); /* the outer bitmap waits for the leaf */
      lists.buffers[0] = valid;
      lists.array.null_count = unknown;
      assert_not_imported(&lists, NULL, DLX_ERROR_INVALID_ARGUMENT, "impossible length or offset");
      struct ArrowDeviceArray device = {
          .array = node.array, .device_id = -1, .device_type = ARROW_DEVICE_CPU};
      dlx_tensor *out;
      assert_fails(dlx_tensor_from_arrow_device(&device, &node.schema, NULL, NULL, &out),
                   DLX_ERROR_INVALID_ARGUMENT, "impossible length or offset");
    }
  }
  arrow_node node, none; /* lists of no elements have no data, but a bitmap */
  make_numbers(&node, "l", NULL, 0);
  make_lists(&none, "+w:0", &node, huge + 1);
  dlx_tensor_release(import_arrow(&none));
  make_lists(&none, "+w:0", &node, huge + 1);
  none.buffers[0] = valid;
  none.array.null_count = -1;
  assert_not_imported(&none, NULL, DLX_ERROR_INVALID_ARGUMENT, "its validity bitmap");
}

/* A schema that contains itself is refused at the limit. */
static void a_schema_that_contains_itself_is_refused(void **state) {
  (void)state;
  nested n;
  make_nested(&n);
  n.outer.schema.format = "+w:1";
  n.outer.schema_children[0] = &n.outer.schema;
  assert_not_imported(&n.outer, NULL, DLX_ERROR_INVALID_ARGUMENT, "more than 4096 nested lists");
}

/* Other extension types are refused, because their meaning would be lost. */
static void extension_types_are_refused(void **state) {
  (void)state;
  char metadata[300];
  nested n;
  make_nested(&n);
  put_extension(metadata, "arrow.uuid", "");
  n.outer.schema.metadata = metadata;
  assert_not_imported(&n.outer, NULL, DLX_ERROR_UNSUPPORTED, "\"arrow.uuid\"");
  n.outer.schema.metadata = NULL;
  n.leaf.schema.metadata = metadata;
  put_extension(metadata, "arrow.bool8", "");
  assert_not_imported(&n.outer, NULL, DLX_ERROR_UNSUPPORTED, ".storage");

  put_extension(metadata, "arrow.fixed_shape_tensor", "{\"shape\":[]}");
  arrow_node node;
  make_numbers(&node, "i", n.data, 6);
  node.schema.metadata = metadata;
  assert_not_imported(&node, NULL, DLX_ERROR_INVALID_ARGUMENT, "of the format \"i\"");

  /* Tensors inside lists: the lists would have a meaning of their own. */
  arrow_node lists;
  make_nested(&n);
  put_extension(metadata, "arrow.fixed_shape_tensor", "{\"shape\":[2]}");
  n.outer.schema.metadata = metadata;
  make_lists(&lists, "+w:3", &n.outer, 1);
  assert_not_imported(&lists, NULL, DLX_ERROR_UNSUPPORTED, "\"arrow.fixed_shape_tensor\"");
}

/* The metadata of fixed-shape tensors is parsed strictly. */
static void malformed_tensor_metadata_is_refused(void **state) {
  (void)state;
  static const struct {
    const char *json, *words;
  } rows[] = {{"", "no '{'"},
              {"[2]", "no '{'"},
              {"{", "no string"},
              {"{}", "no member \"shape\""},
              {"{\"permutation\":[]}", "no member \"shape\""},
              {"{\"shape\"}", "no ':'"},
              {"{\"shape\":2}", "no '['"},
              {"{\"shape\":[2}", "no ']'"},
              {"{\"shape\":[2,]}", "no non-negative integer"},
              {"{\"shape\":[-2]}", "no non-negative integer"},
              {"{\"shape\":[02]}", "no non-negative integer"},
              {"{\"shape\":[2.0]}", "no ']'"},
              {"{\"shape\":[\"2\"]}", "no non-negative integer"},
              {"{\"shape\":null}", "no '['"},
              {"{\"shape\":[9223372036854775808]}", "beyond 2^63-1"},
              {"{\"shape\":[4294967296,4294967296]}", "has -1 elements"},
              {"{\"shape\":[2]", "no '}'"},
              {"{\"shape\":[2]} x", "more text"},
              {"{\"shape\":[2],}", "no string"},
              {"{\"shape\":[2],\"shape\":[2]}", "a member twice"},
              {"{\"shape\":[3]}", "has 3 elements (expected the 2"},
              {"{\"shape\":[2],\"permutation\":[]}", "another length"},
              {"{\"shape\":[2],\"permutation\":[1]}", "a missing axis"},
              {"{\"shape\":[1,2],\"permutation\":[1,1]}", "a permutation that names an axis twice"},
              {"{\"shape\":[2],\"permutation\":[4294967296]}", "too many axes"},
              {"{\"shape\":[2],\"dim_names\":[]}", "another length"},
              {"{\"shape\":[2],\"dim_names\":[\"x]}", "without an end"},
              {"{\"shape\":[2],\"dim_names\":[\"x\\\"]}", "without an end"},
              {"{\"shape\":[2],\"dim_names\":[\"\n\"]}", "control character"},
              {"{\"shape\":[2],\"dim_names\":[\"\x1f\"]}", "control character"},
              {"{\"shape\":[2],\"dim_names\":[x]}", "no string"},
              {"{\"dim_names\":null,\"dim_names\":null,\"shape\":[2]}", "a member twice"},
              {"{\"permutation\":null,\"permutation\":null,\"shape\":[2]}", "a member twice"}};
  char metadata[300];

  for (size_t i = 0; i < COUNT_OF(rows); ++i) {
    nested n;
    make_nested(&n);
    put_extension(metadata, "arrow.fixed_shape_tensor", rows[i].json);
    n.outer.schema.metadata = metadata;
    assert_not_imported(&n.outer, NULL, DLX_ERROR_INVALID_ARGUMENT, rows[i].words);
  }
  nested n;
  make_nested(&n);
  put_extension(metadata, "arrow.fixed_shape_tensor", "{\"shape\":[2],\"uniform\":[1]}");
  n.outer.schema.metadata = metadata;
  assert_not_imported(&n.outer, NULL, DLX_ERROR_UNSUPPORTED, "\"uniform\"");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(other_types_are_refused_by_their_format),
      cmocka_unit_test(refusals_name_the_way_out),
      cmocka_unit_test(dictionaries_are_refused),
      cmocka_unit_test(booleans_are_not_shared),
      cmocka_unit_test(options_are_checked),
      cmocka_unit_test(malformed_schemas_are_refused),
      cmocka_unit_test(absurd_lengths_of_metadata_are_refused),
      cmocka_unit_test(a_length_that_changes_during_the_import),
      cmocka_unit_test(malformed_arrays_are_refused),
      cmocka_unit_test(ranges_are_checked),
      cmocka_unit_test(impossible_lengths_are_refused),
      cmocka_unit_test(a_schema_that_contains_itself_is_refused),
      cmocka_unit_test(extension_types_are_refused),
      cmocka_unit_test(malformed_tensor_metadata_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
