/* Allocators: the process's default, the allocator of one call, and which one frees memory. */
#include "util.h"

/* An allocator that counts, and remembers the last request. */
typedef struct arena {
  int allocated;
  int freed;
  int refuse; /* return NULL */
  int skew;   /* return memory that far behind what is aligned */
  size_t size;
  size_t alignment;
  size_t freed_size;
  void *freed_data;
  int32_t device_type;
  int32_t device_id;
} arena;

static void *arena_allocate(size_t size, size_t alignment, int32_t device_type, int32_t device_id,
                            void *user_data) {
  arena *self = user_data;
  ++self->allocated;
  self->size = size;
  self->alignment = alignment;
  self->device_type = device_type;
  self->device_id = device_id;
  if (self->refuse) return NULL;
  char *data = allocate_aligned(alignment, size + 2 * alignment);
  return data + self->skew;
}

static void arena_deallocate(void *data, size_t size, int32_t device_type, int32_t device_id,
                             void *user_data) {
  arena *self = user_data;
  (void)device_type;
  (void)device_id;
  ++self->freed;
  self->freed_data = data;
  self->freed_size = size;
  free_aligned((char *)data - self->skew);
}

static dlx_allocator allocator_of(arena *self) {
  dlx_allocator out = DLX_ALLOCATOR_INIT;
  out.allocate = arena_allocate;
  out.deallocate = arena_deallocate;
  out.user_data = self;
  return out;
}

static dlx_tensor *empty_with(const dlx_empty_options *options) {
  const DLDataType dtype = dtype_of(kDLFloat, 32);
  dlx_tensor *out = NULL;
  assert_ok(dlx_tensor_empty(2, EXTENTS(3, 5), &dtype, kDLCPU, 0, options, &out));
  return out;
}

/* A failed allocation returns no handle; `words` are in the message. */
static void assert_refused(const dlx_allocator *allocator, int64_t extent, dlx_status status,
                           const char *words) {
  const DLDataType dtype = dtype_of(kDLFloat, 32);
  dlx_empty_options options = DLX_EMPTY_OPTIONS_INIT;
  options.allocator = allocator;
  dlx_tensor *out = POISON_TENSOR;
  assert_fails(dlx_tensor_empty(1, &extent, &dtype, kDLCPU, 0, &options, &out), status, words);
  assert_null(out);
}

/* The default allocator gets the requested size, alignment and device. */
static void default_allocator_is_told_size_alignment_and_device(void **state) {
  (void)state;
  arena self = {.device_id = -1};
  const dlx_allocator allocator = allocator_of(&self);
  assert_ok(dlx_set_allocator(kDLCPU, &allocator));

  dlx_tensor *tensor = empty_with(NULL);
  assert_ok(dlx_set_allocator(kDLCPU, NULL));

  assert_int_equal(self.allocated, 1);
  assert_in_range(self.size, 60, 60 + 64);
  assert_in_range(self.alignment, 64, 4096);
  assert_int_equal(self.device_type, kDLCPU);
  assert_int_equal(self.device_id, 0);
  dlx_tensor_release(tensor);
}

/* Without an alignment, memory has that of a line of the cache, and from 4 KiB on 256 bytes. */
static void alignment_follows_from_the_size(void **state) {
  (void)state;
  static const struct {
    int64_t size;
    size_t alignment;
  } rows[] = {{1, 64}, {4095, 64}, {4096, 256}, {100000, 256}};

  for (size_t i = 0; i < COUNT_OF(rows); ++i) {
    arena self = {0};
    const dlx_allocator allocator = allocator_of(&self);
    const DLDataType dtype = dtype_of(kDLUInt, 8);
    dlx_empty_options options = DLX_EMPTY_OPTIONS_INIT;
    options.allocator = &allocator;
    dlx_tensor *tensor;
    assert_ok(dlx_tensor_empty(1, &rows[i].size, &dtype, kDLCPU, 0, &options, &tensor));
    assert_int_equal(self.alignment, rows[i].alignment);
    dlx_tensor_release(tensor);
  }
}

/* An allocator is asked for at least one byte: it may have no answer to 0 but NULL. */
static void empty_tensors_have_memory(void **state) {
  (void)state;
  arena self = {0};
  const dlx_allocator allocator = allocator_of(&self);
  const DLDataType dtype = dtype_of(kDLFloat, 32);
  dlx_empty_options options = DLX_EMPTY_OPTIONS_INIT;
  options.allocator = &allocator;
  dlx_tensor *tensor;

  assert_ok(dlx_tensor_empty(2, EXTENTS(3, 0), &dtype, kDLCPU, 0, &options, &tensor));

  assert_int_equal(self.allocated, 1);
  assert_in_range(self.size, 1, 64);
  assert_non_null(dlx_tensor_data(tensor));
  dlx_tensor_release(tensor);
  assert_int_equal(self.freed, 1);
}

/* The allocator that made the memory frees it, also after the default has changed. */
static void memory_is_freed_where_it_was_made(void **state) {
  (void)state;
  arena first = {0}, second = {0};
  const dlx_allocator one = allocator_of(&first), two = allocator_of(&second);
  assert_ok(dlx_set_allocator(kDLCPU, &one));
  dlx_tensor *tensor = empty_with(NULL);
  void *data = dlx_tensor_data(tensor);

  assert_ok(dlx_set_allocator(kDLCPU, &two));
  dlx_tensor_release(tensor);
  assert_ok(dlx_set_allocator(kDLCPU, NULL));

  assert_int_equal(first.freed, 1);
  assert_ptr_equal(first.freed_data, data);
  assert_int_equal(first.freed_size, first.size);
  assert_int_equal(second.freed, 0);
}

/* NULL restores the built-in allocator. */
static void null_restores_the_built_in_allocator(void **state) {
  (void)state;
  arena self = {0};
  const dlx_allocator allocator = allocator_of(&self);
  assert_ok(dlx_set_allocator(kDLCPU, &allocator));

  assert_ok(dlx_set_allocator(kDLCPU, NULL));
  dlx_tensor_release(empty_with(NULL));

  assert_int_equal(self.allocated, 0);
}

/* That may be done again and again, and for a device type that has it. */
static void allocators_are_replaced_any_number_of_times(void **state) {
  (void)state;
  arena self = {0};
  const dlx_allocator allocator = allocator_of(&self);

  for (int k = 0; k < 3; ++k) assert_ok(dlx_set_allocator(kDLCPU, NULL));
  assert_ok(dlx_set_allocator(kDLCUDA, NULL));
  for (int k = 0; k < 100; ++k) assert_ok(dlx_set_allocator(kDLCPU, &allocator));
  dlx_tensor_release(empty_with(NULL));
  assert_int_equal(self.allocated, 1);

  assert_ok(dlx_set_allocator(kDLCPU, NULL));
  dlx_tensor_release(empty_with(NULL));
  assert_int_equal(self.allocated, 1);
}

/* NULL restores the built-in allocator of one device type, in any order of calls. */
static void restoring_one_device_leaves_the_others(void **state) {
  (void)state;
  arena cpu = {0}, cuda = {0};
  const dlx_allocator one = allocator_of(&cpu), two = allocator_of(&cuda);
  const int32_t order[][2] = {{kDLCPU, kDLCUDA}, {kDLCUDA, kDLCPU}};

  for (size_t i = 0; i < COUNT_OF(order); ++i) {
    for (int k = 0; k < 2; ++k) {
      assert_ok(dlx_set_allocator(order[i][k], order[i][k] == kDLCPU ? &one : &two));
    }
    assert_ok(dlx_set_allocator(kDLCUDA, NULL));
    dlx_tensor_release(empty_with(NULL));
    assert_int_equal(cpu.allocated, i + 1);

    assert_ok(dlx_set_allocator(kDLCUDA, &two));
    assert_ok(dlx_set_allocator(kDLCPU, NULL));
    dlx_tensor_release(empty_with(NULL));
    assert_int_equal(cpu.allocated, i + 1);
    assert_ok(dlx_set_allocator(kDLCUDA, NULL));
  }
}

/* The struct is copied: it may be destroyed after the call. */
static void allocators_are_copied(void **state) {
  (void)state;
  arena self = {0};
  dlx_allocator allocator = allocator_of(&self);
  assert_ok(dlx_set_allocator(kDLCPU, &allocator));
  memset(&allocator, 0xff, sizeof allocator);

  dlx_tensor *tensor = empty_with(NULL);
  assert_ok(dlx_set_allocator(kDLCPU, NULL));
  dlx_tensor_release(tensor);

  assert_int_equal(self.freed, 1);
}

/* A call with its own allocator does not use the process's default. */
static void allocator_of_a_call_goes_before_the_default(void **state) {
  (void)state;
  arena process = {0}, call = {0};
  const dlx_allocator one = allocator_of(&process), two = allocator_of(&call);
  dlx_empty_options options = DLX_EMPTY_OPTIONS_INIT;
  options.allocator = &two;
  assert_ok(dlx_set_allocator(kDLCPU, &one));

  dlx_tensor *tensor = empty_with(&options);
  assert_ok(dlx_set_allocator(kDLCPU, NULL));
  dlx_tensor_release(tensor);

  assert_int_equal(process.allocated, 0);
  assert_int_equal(call.allocated, 1);
  assert_int_equal(call.freed, 1);
}

/* A view keeps the memory of its root, which is freed once, by its own allocator. */
static void allocator_frees_once_after_the_last_view(void **state) {
  (void)state;
  arena self = {0};
  const dlx_allocator allocator = allocator_of(&self);
  dlx_empty_options options = DLX_EMPTY_OPTIONS_INIT;
  options.allocator = &allocator;
  dlx_tensor *tensor = empty_with(&options), *view = NULL;
  assert_ok(dlx_tensor_select(tensor, 0, 1, &view));

  dlx_tensor_release(tensor);
  assert_int_equal(self.freed, 0);
  dlx_tensor_release(view);

  assert_int_equal(self.freed, 1);
}

/* Copies take the allocator of their options. */
static void copies_use_the_allocator_of_their_options(void **state) {
  (void)state;
  int32_t data[4] = {1, 2, 3, 4};
  arena self = {0};
  const dlx_allocator allocator = allocator_of(&self);
  dlx_copy_options options = DLX_COPY_OPTIONS_INIT;
  options.allocator = &allocator;
  options.copy = DLX_COPY_ALWAYS;
  dlx_tensor *tensor = wrap_int32(data, 2, EXTENTS(2, 2)), *copies[4] = {NULL};

  assert_ok(dlx_tensor_clone(tensor, &options, &copies[0]));
  assert_ok(dlx_tensor_contiguous(tensor, &options, &copies[1]));
  assert_ok(dlx_tensor_reshape(tensor, 1, EXTENTS(4), &options, &copies[2]));
  assert_ok(dlx_tensor_to_device(tensor, kDLCPU, 0, &options, &copies[3]));

  assert_int_equal(self.allocated, 4);
  for (int i = 0; i < 4; ++i) {
    assert_int32s(copies[i], 4, data);
    dlx_tensor_release(copies[i]);
  }
  assert_int_equal(self.freed, 4);
  dlx_tensor_release(tensor);
}

/* A copy for an export does so too. */
static void exported_copies_use_the_allocator_of_their_options(void **state) {
  (void)state;
  int32_t data[4] = {1, 2, 3, 4};
  arena self = {0};
  const dlx_allocator allocator = allocator_of(&self);
  dlx_export_options options = DLX_EXPORT_OPTIONS_INIT;
  options.allocator = &allocator;
  options.copy = DLX_COPY_ALWAYS;
  dlx_tensor *tensor = wrap_int32(data, 1, EXTENTS(4));
  DLManagedTensorVersioned *managed = NULL;

  assert_ok(dlx_tensor_to_dlpack_versioned(tensor, &options, &managed));
  dlx_tensor_release(tensor);

  assert_int_equal(self.allocated, 1);
  assert_int_equal(self.freed, 0);
  managed->deleter(managed);
  assert_int_equal(self.freed, 1);
}

/* If the allocator returns NULL, the call is DLX_ERROR_OUT_OF_MEMORY and frees nothing. */
static void allocator_without_room_is_out_of_memory(void **state) {
  (void)state;
  arena self = {.refuse = 1};
  const dlx_allocator allocator = allocator_of(&self);

  assert_refused(&allocator, 1000, DLX_ERROR_OUT_OF_MEMORY, "4000");

  assert_int_equal(self.allocated, 1);
  assert_int_equal(self.freed, 0);
}

/* A copy without memory does not change its source. */
static void copy_without_room_leaves_the_source_alone(void **state) {
  (void)state;
  int32_t data[2] = {1, 2};
  int released = 0;
  arena self = {.refuse = 1};
  const dlx_allocator allocator = allocator_of(&self);
  dlx_copy_options options = DLX_COPY_OPTIONS_INIT;
  options.allocator = &allocator;
  dlx_tensor *tensor = wrap_counted(data, 1, EXTENTS(2), &released), *out = POISON_TENSOR;

  assert_int_equal(dlx_tensor_clone(tensor, &options, &out), DLX_ERROR_OUT_OF_MEMORY);

  assert_null(out);
  assert_int_equal(released, 0);
  dlx_tensor_release(tensor);
  assert_int_equal(released, 1);
}

/* An export without memory leaks nothing, and the tensor stays usable. */
static void export_without_room_gives_no_handle(void **state) {
  (void)state;
  int32_t data[2] = {1, 2};
  int released = 0;
  arena self = {.refuse = 1};
  const dlx_allocator allocator = allocator_of(&self);
  dlx_export_options options = DLX_EXPORT_OPTIONS_INIT;
  options.allocator = &allocator;
  options.copy = DLX_COPY_ALWAYS;
  dlx_tensor *tensor = wrap_counted(data, 1, EXTENTS(2), &released);
  DLManagedTensorVersioned *managed = POISON;
  DLManagedTensor *old = POISON;

  assert_int_equal(dlx_tensor_to_dlpack_versioned(tensor, &options, &managed),
                   DLX_ERROR_OUT_OF_MEMORY);
  assert_int_equal(dlx_tensor_to_dlpack(tensor, &options, &old), DLX_ERROR_OUT_OF_MEMORY);

  assert_null(managed);
  assert_null(old);
  dlx_tensor_release(tensor);
  assert_int_equal(released, 1);
}

/* An allocator needs both functions; the message names the missing one. */
static void allocator_needs_both_functions(void **state) {
  (void)state;
  arena self = {0};
  dlx_allocator cannot_allocate = allocator_of(&self), cannot_free = allocator_of(&self);
  cannot_allocate.allocate = NULL;
  cannot_free.deallocate = NULL;

  assert_fails(dlx_set_allocator(kDLCPU, &cannot_allocate), DLX_ERROR_INVALID_ARGUMENT,
               "allocate` is NULL");
  assert_fails(dlx_set_allocator(kDLCPU, &cannot_free), DLX_ERROR_INVALID_ARGUMENT,
               "deallocate` is NULL");

  dlx_tensor_release(empty_with(NULL));
  assert_int_equal(self.allocated, 0);
}

/* An allocator whose struct_size was never set is refused, in a call's options too. */
static void allocator_needs_its_struct_size(void **state) {
  (void)state;
  arena self = {0};
  dlx_allocator allocator = allocator_of(&self);
  allocator.struct_size = 0;

  assert_fails(dlx_set_allocator(kDLCPU, &allocator), DLX_ERROR_INVALID_ARGUMENT, "struct_size");
  assert_refused(&allocator, 1, DLX_ERROR_INVALID_ARGUMENT, "struct_size");
}

/* A device type without backend has no default allocator. */
static void default_allocator_of_another_device_is_unsupported(void **state) {
  (void)state;
  arena self = {0};
  const dlx_allocator allocator = allocator_of(&self);

  assert_fails(dlx_set_allocator(kDLWebGPU, &allocator), DLX_ERROR_UNSUPPORTED, "webgpu");
  assert_fails(dlx_set_allocator(0, &allocator), DLX_ERROR_UNSUPPORTED, "`device_type`");
  assert_fails(dlx_set_allocator(-1, &allocator), DLX_ERROR_UNSUPPORTED, "`device_type`");
}

/* Memory without the requested alignment is given back, because callers rely on the alignment. */
static void allocator_must_align(void **state) {
  (void)state;
  arena self = {.skew = 16};
  const dlx_allocator allocator = allocator_of(&self);
  dlx_empty_options options = DLX_EMPTY_OPTIONS_INIT;
  options.allocator = &allocator;

  assert_refused(&allocator, 5, DLX_ERROR_INVALID_ARGUMENT, "aligned");
  assert_int_equal(self.allocated, 1);
  assert_int_equal(self.freed, 1);

  options.alignment = 16;
  dlx_tensor_release(empty_with(&options));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(default_allocator_is_told_size_alignment_and_device),
      cmocka_unit_test(alignment_follows_from_the_size),
      cmocka_unit_test(empty_tensors_have_memory),
      cmocka_unit_test(memory_is_freed_where_it_was_made),
      cmocka_unit_test(null_restores_the_built_in_allocator),
      cmocka_unit_test(allocators_are_replaced_any_number_of_times),
      cmocka_unit_test(restoring_one_device_leaves_the_others),
      cmocka_unit_test(allocators_are_copied),
      cmocka_unit_test(allocator_of_a_call_goes_before_the_default),
      cmocka_unit_test(allocator_frees_once_after_the_last_view),
      cmocka_unit_test(copies_use_the_allocator_of_their_options),
      cmocka_unit_test(exported_copies_use_the_allocator_of_their_options),
      cmocka_unit_test(allocator_without_room_is_out_of_memory),
      cmocka_unit_test(copy_without_room_leaves_the_source_alone),
      cmocka_unit_test(export_without_room_gives_no_handle),
      cmocka_unit_test(allocator_needs_both_functions),
      cmocka_unit_test(allocator_must_align),
      cmocka_unit_test(allocator_needs_its_struct_size),
      cmocka_unit_test(default_allocator_of_another_device_is_unsupported),
  };
  return cmocka_run_group_tests_name("allocator", tests, NULL, NULL);
}
