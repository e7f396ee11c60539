/* Arrow structs for tests: one node is a schema and an array of one level, and counts releases. */
#ifndef DLX_TESTS_CAPI_ARROW_UTIL_H_
#define DLX_TESTS_CAPI_ARROW_UTIL_H_

#include "dlx/arrow.h"
#include "util.h"

typedef struct arrow_node {
  struct ArrowSchema schema;
  struct ArrowArray array;
  const void *buffers[2];
  struct ArrowSchema *schema_children[1];
  struct ArrowArray *array_children[1];
  int released; /* calls of the array's release */
} arrow_node;

static inline void count_arrow_release(struct ArrowArray *self) {
  ++((arrow_node *)self->private_data)->released;
  self->release = NULL;
}

/** Schemas are always borrowed here. */
static inline void never_release_schema(struct ArrowSchema *self) {
  (void)self;
  fail_msg("%s", "a borrowed schema was released");
}

/** An array of numbers without nulls. */
static inline void make_numbers(arrow_node *node, const char *format, const void *data,
                                int64_t length) {
  memset(node, 0, sizeof *node);
  node->schema.format = format;
  node->schema.release = never_release_schema;
  node->buffers[1] = data;
  node->array.length = length;
  node->array.n_buffers = 2;
  node->array.buffers = node->buffers;
  node->array.private_data = node;
  node->array.release = count_arrow_release;
}

/** Fixed-size lists of the elements of `child`. */
static inline void make_lists(arrow_node *node, const char *format, arrow_node *child,
                              int64_t length) {
  make_numbers(node, format, NULL, length);
  node->array.n_buffers = 1;
  node->schema.n_children = node->array.n_children = 1;
  node->schema_children[0] = &child->schema;
  node->array_children[0] = &child->array;
  node->schema.children = node->schema_children;
  node->array.children = node->array_children;
}

/** Appends the length of a text and the text. */
static inline char *put_text(char *at, const char *text) {
  const int32_t length = (int32_t)strlen(text);
  memcpy(at, &length, sizeof length);
  memcpy(at + sizeof length, text, (size_t)length);
  return at + sizeof length + length;
}

/** Metadata of an extension type, after an unrelated pair. */
static inline void put_extension(char *out, const char *name, const char *serialized) {
  const int32_t pairs = 3;
  memcpy(out, &pairs, sizeof pairs);
  char *at = put_text(out + sizeof pairs, "colour");
  at = put_text(at, "blue");
  at = put_text(at, "ARROW:extension:name");
  at = put_text(at, name);
  at = put_text(at, "ARROW:extension:metadata");
  put_text(at, serialized);
}

/** Imports with default options. */
static inline dlx_tensor *import_arrow(arrow_node *node) {
  dlx_tensor *out = POISON_TENSOR;
  assert_ok(dlx_tensor_from_arrow(&node->array, &node->schema, NULL, NULL, &out));
  assert_non_null(out);
  assert_null(node->array.release);
  return out;
}

/** Checks that the import fails, returns no handle and consumes nothing. */
#define assert_not_imported(node, options, status, words)                                          \
  do {                                                                                             \
    dlx_tensor *out_ = POISON_TENSOR;                                                              \
    const struct ArrowArray before_ = (node)->array;                                               \
    int32_t copied_ = 7;                                                                           \
    assert_fails(dlx_tensor_from_arrow(&(node)->array, &(node)->schema, options, &copied_, &out_), \
                 status, words);                                                                   \
    assert_null(out_);                                                                             \
    assert_int_equal(copied_, 7);                                                                  \
    assert_memory_equal(&before_, &(node)->array, sizeof before_);                                 \
    assert_int_equal((node)->released, 0);                                                         \
  } while (0)

/* ---- exports ---------------------------------------------------------------------------------- */

typedef struct exported {
  struct ArrowArray array;
  struct ArrowSchema schema;
} exported;

static inline exported export(dlx_tensor *tensor, const dlx_arrow_options *options) {
  exported out;
  memset(&out, 0xab, sizeof out);
  assert_ok(dlx_tensor_to_arrow(tensor, options, &out.array, &out.schema));
  return out;
}

static inline void release_pair(exported *pair) {
  pair->array.release(&pair->array);
  pair->schema.release(&pair->schema);
  assert_null(pair->array.release);
  assert_null(pair->schema.release);
}

/* Checks that the export fails and leaves the outputs unchanged. */
#define assert_not_exported(tensor, options, status, words)                                       \
  do {                                                                                            \
    exported out_, before_;                                                                       \
    memset(&out_, 0xab, sizeof out_);                                                             \
    before_ = out_;                                                                               \
    assert_fails(dlx_tensor_to_arrow(tensor, options, &out_.array, &out_.schema), status, words); \
    assert_memory_equal(&out_, &before_, sizeof out_);                                            \
  } while (0)

static inline dlx_arrow_options with_layout(int32_t layout) {
  dlx_arrow_options options = DLX_ARROW_OPTIONS_INIT;
  options.layout = layout;
  return options;
}

static inline dlx_arrow_options with_copy(int32_t copy) {
  dlx_arrow_options options = DLX_ARROW_OPTIONS_INIT;
  options.copy = copy;
  return options;
}

/** What a counting allocator has done, on one thread. */
typedef struct counts {
  int allocations;
  int held; /* those not freed yet */
} counts;

static inline void *count_allocate(size_t size, size_t alignment, int32_t type, int32_t id,
                                   void *user_data) {
  counts *counted = (counts *)user_data;
  (void)type, (void)id;
  ++counted->allocations;
  ++counted->held;
  return allocate_aligned(alignment, size);
}

static inline void count_deallocate(void *memory, size_t size, int32_t type, int32_t id,
                                    void *user_data) {
  (void)size, (void)type, (void)id;
  --((counts *)user_data)->held;
  free_aligned(memory);
}

static inline dlx_allocator counting_allocator(counts *counted) {
  dlx_allocator allocator = DLX_ALLOCATOR_INIT;
  allocator.user_data = counted;
  allocator.allocate = count_allocate;
  allocator.deallocate = count_deallocate;
  return allocator;
}

#endif /* DLX_TESTS_CAPI_ARROW_UTIL_H_ */
