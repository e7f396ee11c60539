/* Section "arrow": import and export of arrays on devices. No data is read: no device is needed. */
#include "arrow_util.h"
#include "late_device.h"

static struct ArrowDeviceArray on_device(arrow_node *node, int32_t type, int64_t id) {
  struct ArrowDeviceArray out;
  memset(&out, 0, sizeof out);
  out.array = node->array;
  out.device_type = type;
  out.device_id = id;
  return out;
}

/* The CPU has id -1 in Arrow and 0 in DLPack; other devices keep their numbers. Nothing is read. */
static void devices_keep_their_numbers(void **state) {
  (void)state;
  static const struct {
    int32_t type;
    int64_t id;
    int32_t expected;
  } rows[] = {{ARROW_DEVICE_CPU, -1, 0},      {ARROW_DEVICE_CPU, 0, 0},
              {ARROW_DEVICE_CUDA, 3, 3},      {ARROW_DEVICE_CUDA_HOST, -1, 0},
              {ARROW_DEVICE_CUDA_HOST, 2, 2}, {ARROW_DEVICE_ROCM, 1, 1},
              {ARROW_DEVICE_ONEAPI, 7, 7}};

  for (size_t i = 0; i < COUNT_OF(rows); ++i) {
    arrow_node node;
    make_numbers(&node, "f", POISON, 4);
    struct ArrowDeviceArray array = on_device(&node, rows[i].type, rows[i].id);
    dlx_tensor *tensor;

    assert_ok(dlx_tensor_from_arrow_device(&array, &node.schema, NULL, NULL, &tensor));

    assert_null(array.array.release);
    assert_int_equal(dlx_tensor_device_type(tensor), rows[i].type);
    assert_int_equal(dlx_tensor_device_id(tensor), rows[i].expected);
    assert_ptr_equal(dlx_tensor_data(tensor), POISON);
    dlx_tensor_release(tensor);
    assert_int_equal(node.released, 1);
  }
}

/* Events, invalid ids, and bitmaps and booleans that the CPU cannot access are refused; nothing is
 * consumed. */
static void what_a_device_cannot_have_is_refused(void **state) {
  (void)state;
  arrow_node node;
  make_numbers(&node, "f", POISON, 4);
  struct ArrowDeviceArray array = on_device(&node, ARROW_DEVICE_CUDA, 0);
  dlx_tensor *tensor = POISON_TENSOR;
#define assert_refused(status, words)                                                             \
  do {                                                                                            \
    assert_fails(dlx_tensor_from_arrow_device(&array, &node.schema, NULL, NULL, &tensor), status, \
                 words);                                                                          \
    assert_null(tensor);                                                                          \
    assert_non_null(array.array.release);                                                         \
  } while (0)

  array.sync_event = POISON;
  assert_refused(DLX_ERROR_UNSUPPORTED, "sync_event");
  array.device_type = ARROW_DEVICE_CPU;
  assert_refused(DLX_ERROR_INVALID_ARGUMENT, "sync_event");
  array.sync_event = NULL;
  array.device_type = ARROW_DEVICE_CUDA;
  array.device_id = -1;
  assert_refused(DLX_ERROR_INVALID_ARGUMENT, "an invalid device");
  array.device_id = INT64_C(1) << 32;
  assert_refused(DLX_ERROR_INVALID_ARGUMENT, "an invalid device");
  array.device_id = 0;
  array.device_type = 0;
  assert_refused(DLX_ERROR_INVALID_ARGUMENT, "an invalid device");
  array.device_type = ARROW_DEVICE_CUDA;
  node.buffers[0] = POISON;
  array.array.null_count = -1;
  assert_refused(DLX_ERROR_UNSUPPORTED, "the CPU cannot access its validity bitmap");
  array.array.null_count = 0;
  node.schema.format = "b";
  assert_refused(DLX_ERROR_UNSUPPORTED, "`array` is on");
  assert_int_equal(node.released, 0);
}

/* Without elements nothing is read: neither bitmaps, nor an offset into a handle's buffer. */
static void empty_arrays_of_devices_need_no_bitmap(void **state) {
  (void)state;
  arrow_node leaf, lists;
  make_numbers(&leaf, "f", POISON, 4);
  leaf.buffers[0] = POISON;
  leaf.array.null_count = -1;
  make_lists(&lists, "+w:2", &leaf, 0);
  lists.array.offset = 4;
  struct ArrowDeviceArray array = on_device(&lists, ARROW_DEVICE_OPENCL, 0);
  dlx_tensor *tensor;

  assert_ok(dlx_tensor_from_arrow_device(&array, &lists.schema, NULL, NULL, &tensor));
  assert_shape(tensor, 2, EXTENTS(0, 2));
  dlx_tensor_release(tensor);

  make_numbers(&leaf, "f", POISON, 0);
  leaf.array.offset = 4;
  array = on_device(&leaf, ARROW_DEVICE_OPENCL, 0);
  assert_ok(dlx_tensor_from_arrow_device(&array, &leaf.schema, NULL, NULL, &tensor));
  assert_int_equal(dlx_tensor_dltensor(tensor)->byte_offset, 0);
  dlx_tensor_release(tensor);
}

static dlx_tensor *wrap_on(int32_t device_type, int32_t device_id, uint64_t byte_offset) {
  static const int64_t shape[] = {2, 2};
  DLTensor description = describe(POISON, dtype_of(kDLFloat, 32), 2, shape, NULL);
  description.device.device_type = (DLDeviceType)device_type;
  description.device.device_id = device_id;
  description.byte_offset = byte_offset;
  dlx_tensor *out;
  assert_ok(dlx_tensor_wrap(&description, 0, NULL, NULL, &out));
  return out;
}

/* Other devices are exported only as device arrays, with their own ids; the data is not read. */
static void devices_go_out_as_device_arrays(void **state) {
  (void)state;
  struct ArrowDeviceArray out;
  struct ArrowSchema schema;
  dlx_tensor *tensor = wrap_on(kDLCUDA, 1, 0);
  assert_not_exported(tensor, NULL, DLX_ERROR_DEVICE_REFUSED, "ArrowDeviceArray");

  memset(&out, 0xab, sizeof out);
  assert_ok(dlx_tensor_to_arrow_device(tensor, NULL, &out, &schema));

  assert_int_equal(out.device_type, ARROW_DEVICE_CUDA);
  assert_int_equal(out.device_id, 1);
  assert_null(out.sync_event);
  for (int i = 0; i < 3; ++i) assert_int_equal(out.reserved[i], 0);
  assert_ptr_equal(out.array.children[0]->buffers[1], POISON);
  out.array.release(&out.array);
  schema.release(&schema);
  dlx_tensor_release(tensor);

  float data[4];
  tensor = wrap(data, dtype_of(kDLFloat, 32), 1, EXTENTS(4), NULL, 0);
  assert_ok(dlx_tensor_to_arrow_device(tensor, NULL, &out, NULL));
  assert_int_equal(out.device_type, ARROW_DEVICE_CPU);
  assert_int_equal(out.device_id, -1);
  out.array.release(&out.array);
  dlx_tensor_release(tensor);

  tensor = wrap_on(kDLCUDAHost, 2, 0);
  assert_ok(dlx_tensor_to_arrow_device(tensor, NULL, &out, NULL));
  assert_int_equal(out.device_type, ARROW_DEVICE_CUDA_HOST);
  assert_int_equal(out.device_id, 2);
  out.array.release(&out.array);
  dlx_tensor_release(tensor);
}

/* If data is a handle, byte_offset becomes the array's offset, in whole elements. */
static void offsets_of_handles_are_kept(void **state) {
  (void)state;
  struct ArrowDeviceArray out;
  dlx_tensor *tensor = wrap_on(kDLOpenCL, 0, 8);
  assert_ok(dlx_tensor_to_arrow_device(tensor, NULL, &out, NULL));
  assert_int_equal(out.array.children[0]->offset, 2);
  assert_ptr_equal(out.array.children[0]->buffers[1], POISON);
  out.array.release(&out.array);
  dlx_tensor_release(tensor);

  tensor = wrap_on(kDLOpenCL, 0, 6);
  out.array.release = NULL;
  assert_fails(dlx_tensor_to_arrow_device(tensor, NULL, &out, NULL), DLX_ERROR_UNSUPPORTED,
               "byte 6");
  assert_null(out.array.release);
  dlx_tensor_release(tensor);
}

/* The backend's events mean nothing to others: an export to Arrow waits on the host, and has none. */
static void exports_to_arrow_wait_for_the_device(void **state) {
  (void)state;
  device *d = &devices[LATE - PLAIN];
  int32_t values[12] = {0};
  dlx_tensor *here = wrap_int32(values, 1, EXTENTS(12)), *there, *copy;
  assert_ok(register_all(NULL));
  assert_ok(dlx_tensor_to_device(here, LATE, 0, NULL, &there));
  assert_ok(dlx_tensor_clone(there, NULL, &copy));
  assert_true(d->queues[0].done < d->queues[0].count);
  const int64_t events = d->live_events;
  struct ArrowDeviceArray array;

  assert_ok(dlx_tensor_to_arrow_device(copy, NULL, &array, NULL));

  assert_null(array.sync_event);
  assert_int_equal(d->queues[0].done, d->queues[0].count);
  array.array.release(&array.array);
  assert_int_equal(d->live_events, events);
  dlx_tensor *all[] = {here, there, copy};
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i) dlx_tensor_release(all[i]);
}

static void arguments_that_are_null_are_named(void **state) {
  (void)state;
  arrow_node node;
  int32_t data[1];
  make_numbers(&node, "i", NULL, 0);
  struct ArrowDeviceArray device = on_device(&node, ARROW_DEVICE_CPU, -1);
  struct ArrowSchema schema;
  dlx_tensor *tensor = wrap_int32(data, 1, EXTENTS(1)), *out;

  assert_null_named(dlx_tensor_from_arrow_device, (NULL, &node.schema, NULL, NULL, &out), "array");
  assert_null_named(dlx_tensor_from_arrow_device, (&device, NULL, NULL, NULL, &out), "schema");
  assert_null_named(dlx_tensor_from_arrow_device, (&device, &node.schema, NULL, NULL, NULL), "out");
  assert_null_named(dlx_tensor_to_arrow_device, (NULL, NULL, &device, &schema), "tensor");
  assert_null_named(dlx_tensor_to_arrow_device, (tensor, NULL, NULL, &schema), "out");
  dlx_tensor_release(tensor);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(devices_keep_their_numbers),
      cmocka_unit_test(what_a_device_cannot_have_is_refused),
      cmocka_unit_test(empty_arrays_of_devices_need_no_bitmap),
      cmocka_unit_test(devices_go_out_as_device_arrays),
      cmocka_unit_test(offsets_of_handles_are_kept),
      cmocka_unit_test_teardown(exports_to_arrow_wait_for_the_device, nothing_is_left),
      cmocka_unit_test(arguments_that_are_null_are_named),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
