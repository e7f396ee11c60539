/* dlx.h, section backend: device types that a vendor adds. */
#include <pthread.h>

#include "arrow_util.h"
#include "dlx/call.h"
#include "late_device.h"

static dlx_tensor *numbers(int32_t *values, int64_t rows, int64_t columns) {
  const int64_t shape[] = {rows, columns};
  DLTensor description = describe(values, dtype_of(kDLInt, 32), 2, shape, NULL);
  dlx_tensor *tensor;
  for (int32_t i = 0; i < rows * columns; ++i) values[i] = i;
  assert_ok(dlx_tensor_wrap(&description, 0, NULL, NULL, &tensor));
  return tensor;
}

static dlx_tensor *moved(dlx_tensor *tensor, int32_t type) {
  dlx_tensor *out;
  assert_ok(dlx_tensor_to_device(tensor, type, 0, NULL, &out));
  return out;
}

/* Transposed and reversed data keeps its values through a device, with kernels and without. */
static void strided_data_goes_there_and_back(void **state) {
  (void)state;
  for (int32_t type = PLAIN; type <= LATE; ++type) {
    int32_t values[12];
    dlx_tensor *here = numbers(values, 3, 4), *reversed, *turned;
    assert_ok(dlx_tensor_slice(here, 1, 3, DLX_SLICE_OPEN, -2, &reversed));
    assert_ok(dlx_tensor_permute(reversed, (const int32_t[]){1, 0}, &turned));
    dlx_tensor *there = moved(here, type);
    dlx_tensor *there_reversed, *there_turned, *compact;
    assert_ok(dlx_tensor_slice(there, 1, 3, DLX_SLICE_OPEN, -2, &there_reversed));
    assert_ok(dlx_tensor_permute(there_reversed, (const int32_t[]){1, 0}, &there_turned));
    assert_ok(dlx_tensor_contiguous(there_turned, NULL, &compact));
    assert_true((uintptr_t)dlx_tensor_data(compact) >= SHIFT);

    dlx_tensor *packed_there = moved(compact, kDLCPU), *packed_on_the_way = moved(turned, type);
    dlx_tensor *back = moved(packed_on_the_way, kDLCPU),
               *strided_back = moved(there_turned, kDLCPU);

    const int32_t expected[] = {3, 7, 11, 1, 5, 9};
    assert_memory_equal(dlx_tensor_data(packed_there), expected, sizeof expected);
    assert_memory_equal(dlx_tensor_data(back), expected, sizeof expected);
    assert_memory_equal(dlx_tensor_data(strided_back), expected, sizeof expected);
    assert_true((devices[type - PLAIN].strided_copies > 0) == (type != PLAIN));
    dlx_tensor *all[] = {
        here,         reversed,          turned, there,       there_reversed, there_turned, compact,
        packed_there, packed_on_the_way, back,   strided_back};
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i) dlx_tensor_release(all[i]);
  }
}

/* Rows that start at any byte are passed as elements whose alignment fits. */
static void odd_places_have_small_elements(void **state) {
  (void)state;
  for (int64_t first = 0; first < 8; ++first) {
    uint8_t bytes[4 * 16];
    for (int i = 0; i < 4 * 16; ++i) bytes[i] = (uint8_t)i;
    const int64_t shape[] = {4, 16};
    const DLTensor description = describe(bytes, dtype_of(kDLUInt, 8), 2, shape, NULL);
    dlx_tensor *here, *part, *compact;
    assert_ok(dlx_tensor_wrap(&description, 0, NULL, NULL, &here));
    dlx_tensor *there = moved(here, LATE);
    assert_ok(dlx_tensor_slice(there, 1, first, first + 8, 1, &part));
    assert_ok(dlx_tensor_contiguous(part, NULL, &compact));
    dlx_tensor *back = moved(compact, kDLCPU);
    for (int i = 0; i < 4 * 8; ++i) {
      assert_int_equal(((const uint8_t *)dlx_tensor_data(back))[i], 16 * (i / 8) + first + i % 8);
    }
    dlx_tensor *all[] = {here, there, part, compact, back};
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i) dlx_tensor_release(all[i]);
  }
}

/* Random views of bytes and of vectors of bytes, copied on the device as on the CPU: elements, steps and
 * addresses have the size that divides all of them. */
static void strided_copies_on_the_device_are_exact(void **state) {
  (void)state;
  uint32_t random = 1;
  for (int round = 0; round < 400; ++round) {
    uint8_t values[2][3 * 120];
    int64_t first[2], step[2];
    random = random * 1664525u + 1013904223u;
    const uint32_t choice = random >> 8;
    const DLDataType dtype = {kDLUInt, 8, (uint16_t)(1 << choice % 4)};
    dlx_tensor *here[2], *there[2], *part[2], *part_here[2];
    int64_t columns[2];
    for (int side = 0; side < 2; ++side) {
      columns[side] = 64 / dtype.lanes + (choice >> (18 + 3 * side) & 7);
      const int64_t shape[] = {3, columns[side]};
      for (int i = 0; i < 3 * 120; ++i) values[side][i] = (uint8_t)(i + 100 * side + round);
      first[side] = choice >> (4 + 3 * side) & 3;
      step[side] = 1 + (choice >> (12 + 3 * side) & 7) % (columns[side] / 8);
      const DLTensor description = describe(values[side], dtype, 2, shape, NULL);
      assert_ok(dlx_tensor_wrap(&description, 0, NULL, NULL, &here[side]));
      there[side] = moved(here[side], KERNELS);
      const int64_t end = first[side] + 4 * step[side];
      assert_ok(dlx_tensor_slice(there[side], 1, first[side], end, step[side], &part[side]));
      assert_ok(dlx_tensor_slice(here[side], 1, first[side], end, step[side], &part_here[side]));
      assert_int_equal(dlx_tensor_shape(part[side])[1], 4);
    }
    assert_ok(dlx_tensor_copy_from(part[0], part[1], NULL));
    assert_ok(dlx_tensor_copy_from(part_here[0], part_here[1], NULL));
    dlx_tensor *back = moved(there[0], kDLCPU);
    assert_memory_equal(dlx_tensor_data(back), values[0], (size_t)(3 * columns[0] * dtype.lanes));
    dlx_tensor *all[] = {here[0], here[1],      there[0],     there[1], part[0],
                         part[1], part_here[0], part_here[1], back};
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i) dlx_tensor_release(all[i]);
  }
}

/* Other streams and the host wait by events for work on a stream before they use its results. The
 * backend's functions may call dlx, because no lock is held. */
static void late_streams_are_waited_for(void **state) {
  (void)state;
  device *d = &devices[LATE - PLAIN];
  int32_t values[12];
  dlx_tensor *here = numbers(values, 3, 4), *there = moved(here, LATE), *copy;
  int64_t stream, current;
  assert_ok(dlx_stream_create(LATE, 0, &stream));
  assert_ok(dlx_stream_set_current(LATE, 0, stream));
  assert_ok(dlx_stream_get_current(LATE, 0, &current));
  assert_int_equal(current, stream);

  d->uses_dlx = 1;
  assert_ok(dlx_tensor_clone(there, NULL, &copy));
  d->uses_dlx = 0;
  assert_true(d->queues[1].done < d->queues[1].count);
  assert_ok(dlx_stream_reset_current(LATE, 0));
  assert_ok(dlx_tensor_wait_on_stream(copy, DEFAULT_STREAM));
  assert_ok(dlx_stream_synchronize(LATE, 0, DEFAULT_STREAM));
  assert_int_equal(d->queues[1].done, d->queues[1].count);
  dlx_tensor *another;
  assert_ok(dlx_tensor_clone(there, NULL, &another));
  assert_true(d->queues[0].done < d->queues[0].count);
  assert_ok(dlx_device_synchronize(LATE, 0));
  assert_int_equal(d->queues[0].done, d->queues[0].count);
  dlx_tensor_release(another);

  dlx_tensor *back = moved(copy, kDLCPU);
  assert_memory_equal(dlx_tensor_data(back), values, sizeof values);
  assert_fails(dlx_stream_destroy(LATE, 0, DEFAULT_STREAM), DLX_ERROR_INVALID_ARGUMENT, "default");
  assert_ok(dlx_stream_destroy(LATE, 0, stream));
  /* -1 means "do not synchronise" in imports and exports; it is not a stream for work. */
  const dlx_copy_options nowhere = {
      .struct_size = sizeof nowhere, .flags = DLX_HAS_STREAM, .stream = -1};
  assert_fails(dlx_stream_synchronize(LATE, 0, -1), DLX_ERROR_INVALID_ARGUMENT,
               "is not a stream (got -1");
  assert_fails(dlx_stream_set_current(LATE, 0, -1), DLX_ERROR_INVALID_ARGUMENT,
               "is not a stream (got -1");
  assert_fails(dlx_tensor_copy_from(there, here, &nowhere), DLX_ERROR_INVALID_ARGUMENT,
               "is not a stream (got -1");
  assert_fails(dlx_stream_create(PLAIN, 0, &stream), DLX_ERROR_INVALID_ARGUMENT, "no streams");
  dlx_tensor *all[] = {here, there, copy, back};
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i) dlx_tensor_release(all[i]);
}

/* A compiled function that copies x to y on the stream that it gets; `context` is that stream. */
static dlx_status copy_on_stream(void *context, const dlx_argument *arguments) {
  const DLTensor *x = arguments[0].array, *y = arguments[1].array;
  assert_int_equal(arguments[2].integer, *(const int64_t *)context);
  assert_int_equal(y->device.device_type, LATE);
  return copy_on_device(0, y->data, 0, 0, x->data, 0, (size_t)x->shape[0] * 4, arguments[2].integer,
                        &devices[LATE - PLAIN]);
}

/* A call works on the current stream of its arrays: behind what makes them, before what reads them. */
static void calls_are_ordered_on_the_current_stream(void **state) {
  (void)state;
  int32_t values[6];
  int64_t first, second;
  dlx_contract *contract;
  dlx_tensor *out, *here = numbers(values, 1, 6), *row;
  assert_ok(dlx_tensor_select(here, 0, 0, &row));
  assert_ok(dlx_contract_create("f(x: int32[n] anywhere, y: int32[n] anywhere result, s: stream)",
                                &contract));
  assert_ok(dlx_stream_create(LATE, 0, &first));
  assert_ok(dlx_stream_create(LATE, 0, &second));
  assert_ok(dlx_stream_set_current(LATE, 0, first));
  dlx_tensor *there = moved(row, LATE);
  assert_ok(dlx_stream_set_current(LATE, 0, second));
  dlx_tensor *tensors[] = {there, NULL, NULL};
  const dlx_argument none[3] = {{0}};

  assert_ok(dlx_contract_call(contract, copy_on_stream, &second, tensors, none, &out));

  assert_ok(dlx_stream_reset_current(LATE, 0));
  dlx_tensor *back = moved(out, kDLCPU);
  assert_memory_equal(dlx_tensor_data(back), values, sizeof values);
  assert_ok(dlx_stream_destroy(LATE, 0, first));
  assert_ok(dlx_stream_destroy(LATE, 0, second));
  dlx_contract_release(contract);
  dlx_tensor *all[] = {here, row, there, out, back};
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i) dlx_tensor_release(all[i]);
}

/* Elements of less than a byte are converted in host memory only: on either side of a copy, a device
 * refuses another dtype. */
static void devices_convert_no_values(void **state) {
  (void)state;
  uint8_t packed[2] = {0x21, 0x43}, bytes[4];
  const DLTensor nibbles = describe(packed, dtype_of(kDLUInt, 4), 1, EXTENTS(4), EXTENTS(1));
  const DLTensor whole = describe(bytes, dtype_of(kDLUInt, 8), 1, EXTENTS(4), EXTENTS(1));
  dlx_tensor *small, *large;
  assert_ok(dlx_tensor_wrap(&nibbles, 0, NULL, NULL, &small));
  assert_ok(dlx_tensor_wrap(&whole, 0, NULL, NULL, &large));
  assert_ok(dlx_tensor_copy_from(large, small, NULL));
  assert_memory_equal(bytes, ((const uint8_t[]){1, 2, 3, 4}), 4);
  dlx_tensor *small_there = moved(small, PLAIN), *large_there = moved(large, PLAIN);
  assert_fails(dlx_tensor_copy_from(large_there, small, NULL), DLX_ERROR_INVALID_ARGUMENT,
               "expected uint8): convert it first");
  assert_fails(dlx_tensor_copy_from(large, small_there, NULL), DLX_ERROR_INVALID_ARGUMENT,
               "expected uint8): convert it first");
  assert_fails(dlx_tensor_copy_from(large_there, small_there, NULL), DLX_ERROR_INVALID_ARGUMENT,
               "expected uint8): convert it first");
  dlx_tensor *all[] = {small, large, small_there, large_there};
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i) dlx_tensor_release(all[i]);
}

/* An Arrow array stays alive until the device that copies it has read it. */
static void arrays_stay_until_they_are_copied(void **state) {
  (void)state;
  device *d = &devices[LATE - PLAIN];
  int32_t values[12];
  dlx_tensor *here = numbers(values, 3, 4), *there = moved(here, LATE), *copy;
  dlx_copy_options always = DLX_COPY_OPTIONS_INIT;
  always.copy = DLX_COPY_ALWAYS;
  arrow_node node;
  make_numbers(&node, "i", dlx_tensor_data(there), 12);
  struct ArrowDeviceArray array = {.array = node.array, .device_type = LATE};

  assert_ok(dlx_tensor_from_arrow_device(&array, &node.schema, &always, NULL, &copy));
  assert_null(array.array.release);
  assert_true(d->queues[0].done < d->queues[0].count);
  assert_int_equal(node.released, 0);
  assert_ok(dlx_device_synchronize(LATE, 0));
  assert_int_equal(d->queues[0].done, d->queues[0].count);
  assert_int_equal(node.released, 1);

  dlx_tensor *back = moved(copy, kDLCPU);
  assert_memory_equal(dlx_tensor_data(back), values, sizeof values);
  dlx_tensor *all[] = {here, there, copy, back};
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i) dlx_tensor_release(all[i]);
}

static int ended_threads;

static void end_the_thread(void *memory, void *user_data) {
  (void)memory;
  (void)user_data;
  ++ended_threads;
  pthread_exit(NULL);
}

static void *synchronize_late(void *unused) {
  (void)dlx_device_synchronize(LATE, 0);
  return unused;
}

/* A thread that waits for a device releases the objects that the device used. A deleter may end
 * that thread, as during Python's shutdown; the next thread releases the rest. */
static void deleters_may_end_the_thread_that_waits(void **state) {
  (void)state;
#ifdef UNDER_SANITIZER
  print_message("skipped: the thread leaves memory behind\n");
  skip();
#endif
  int32_t values[12];
  dlx_tensor *here = numbers(values, 3, 4), *there = moved(here, LATE), *foreign, *copy;
  DLTensor description = *dlx_tensor_dltensor(there);
  ended_threads = 0;
  for (int i = 0; i < 2; ++i) {
    assert_ok(dlx_tensor_wrap(&description, 0, end_the_thread, NULL, &foreign));
    assert_ok(dlx_tensor_clone(foreign, NULL, &copy));
    dlx_tensor_release(foreign);
    dlx_tensor_release(copy);
  }
  for (int i = 0; i < 2; ++i) {
    pthread_t thread;
    assert_int_equal(ended_threads, i);
    assert_int_equal(pthread_create(&thread, NULL, synchronize_late, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
  }
  assert_int_equal(ended_threads, 2);
  dlx_tensor_release(there);
  dlx_tensor_release(here);
}

/* Its properties, exhausted memory, and the messages of its failures. */
static void facts_and_failures_are_the_backends_own(void **state) {
  (void)state;
  dlx_device_properties info = {.struct_size = sizeof info};
  assert_int_equal(dlx_device_count(PLAIN), 1);
  assert_string_equal(dlx_backend_reason(PLAIN), "");
  assert_ok(dlx_device_info(PLAIN, 0, &info));
  assert_string_equal(info.name, "Shifted");
  assert_int_equal(info.memory_total, 4096);
  assert_int_equal(info.memory_free, -1);

  const int64_t many = 1 << 20;
  const DLDataType dtype = dtype_of(kDLInt, 32);
  dlx_tensor *tensor;
  assert_fails(dlx_tensor_empty(1, &many, &dtype, PLAIN, 0, NULL, &tensor), DLX_ERROR_OUT_OF_MEMORY,
               "no room");
  int32_t values[4];
  dlx_tensor *here = numbers(values, 2, 2);
  devices[0].fails = 31;
  assert_fails(dlx_tensor_to_device(here, PLAIN, 0, NULL, &tensor), DLX_ERROR_DRIVER,
               "copy_from_host of the backend registered for 201:0 failed: 31: the fan is loose");
  devices[0].fails = 0;
  dlx_tensor_release(here);
}

static int32_t two_devices(void *user_data) {
  (void)user_data;
  return 2;
}

/* With several devices, the message names the one that failed. */
static void failures_name_their_device(void **state) {
  (void)state;
  static device broken = {.fails = 32};
  dlx_backend table = table_of(&broken, 0, 0);
  table.device_count = two_devices;
  assert_ok(dlx_register_backend(208, &table));
  int32_t values[4];
  dlx_tensor *here = numbers(values, 2, 2), *tensor;
  assert_fails(dlx_tensor_to_device(here, 208, 1, NULL, &tensor), DLX_ERROR_DRIVER,
               "registered for 208:1 failed: 32");
  dlx_tensor_release(here);
}

/* A strided copy that fails says so, and where; a backend need not have words for it. */
static void failed_strided_copies_are_told(void **state) {
  (void)state;
  static device broken;
  dlx_backend table = table_of(&broken, 1, 0);
  table.device_count = two_devices;
  table.error_text = NULL;
  assert_ok(dlx_register_backend(209, &table));
  int32_t values[6];
  dlx_tensor *here = numbers(values, 2, 3), *there, *turned, *compact;
  assert_ok(dlx_tensor_to_device(here, 209, 1, NULL, &there));
  assert_ok(dlx_tensor_permute(there, NULL, &turned));
  assert_ok(dlx_tensor_contiguous(turned, NULL, &compact));
  dlx_tensor_release(compact);
  broken.fails = 33;
  assert_fails(dlx_tensor_contiguous(turned, NULL, &compact), DLX_ERROR_DRIVER,
               "copy_strided of the backend registered for 209:1 failed: 33");
  assert_null(strstr(dlx_last_error(), "33:"));
  dlx_tensor_release(turned);
  dlx_tensor_release(there);
  dlx_tensor_release(here);
  assert_int_equal(broken.live_memory, 0);
}

static void *newest;
static size_t newest_alignment;

static void *allocate_and_note(int32_t id, size_t size, size_t alignment, void *user_data) {
  newest_alignment = alignment;
  return newest = allocate(id, size, alignment, user_data);
}

static int32_t cannot_wait(int32_t id, int64_t stream, void *user_data) {
  (void)id, (void)stream, (void)user_data;
  return 34;
}

/* A temporary is given up where its stream cannot be waited for: the device may still use it. */
static void temporaries_outlive_a_failed_wait(void **state) {
  (void)state;
  static device lost;
  dlx_backend table = table_of(&lost, 1, 1);
  table.allocate = allocate_and_note;
  table.stream_synchronize = cannot_wait;
  assert_ok(dlx_register_backend(210, &table));
  int32_t values[12];
  dlx_tensor *here = numbers(values, 3, 4), *there = moved(here, 210), *front, *behind;
  assert_ok(dlx_tensor_slice(there, 0, 0, 2, 1, &front));
  assert_ok(dlx_tensor_slice(there, 0, 1, 3, 1, &behind));
  const int64_t before = lost.live_memory;

  assert_ok(dlx_tensor_copy_from(behind, front, NULL));

  assert_int_equal(lost.live_memory, before + 1);
  assert_int_equal(newest_alignment, 256);
  assert_ok(dlx_device_synchronize(210, 0));
  deallocate(0, newest, &lost);
  dlx_tensor *all[] = {here, there, front, behind};
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i) dlx_tensor_release(all[i]);
  assert_int_equal(lost.live_memory, 0);
}

/* A table without a required function, or for a type that has a backend, is refused. */
static int32_t fewer_than_none(void *user_data) {
  (void)user_data;
  return -1;
}

/* A negative device count means no devices. */
static void fewer_devices_than_none_are_none(void **state) {
  (void)state;
  static device unused;
  dlx_backend table = table_of(&unused, 0, 0);
  table.device_count = fewer_than_none;
  assert_ok(dlx_register_backend(207, &table));
  assert_int_equal(dlx_device_count(207), 0);
  assert_says(dlx_backend_reason(207), "reports no devices");
  assert_fails(dlx_device_synchronize(207, 0), DLX_ERROR_UNAVAILABLE, "reports no devices");
}

/* Where the functions lie that every backend has, and those that it has all or none of. */
static const size_t kRequired[] = {
    offsetof(dlx_backend, device_count), offsetof(dlx_backend, allocate),
    offsetof(dlx_backend, deallocate),   offsetof(dlx_backend, copy_from_host),
    offsetof(dlx_backend, copy_to_host), offsetof(dlx_backend, copy_on_device),
    offsetof(dlx_backend, synchronize)};
static const size_t kOfStreams[] = {
    offsetof(dlx_backend, stream_create),      offsetof(dlx_backend, stream_destroy),
    offsetof(dlx_backend, stream_synchronize), offsetof(dlx_backend, event_record),
    offsetof(dlx_backend, event_wait),         offsetof(dlx_backend, event_wait_on_host),
    offsetof(dlx_backend, event_query),        offsetof(dlx_backend, event_release)};

static void bad_tables_are_refused(void **state) {
  (void)state;
  static device unused;
  dlx_backend table = table_of(&unused, 1, 1);
  assert_fails(dlx_register_backend(204, NULL), DLX_ERROR_INVALID_ARGUMENT, "`backend` is NULL");
  assert_fails(dlx_register_backend(kDLCPU, &table), DLX_ERROR_INVALID_ARGUMENT, "already");
  assert_fails(dlx_register_backend(kDLCUDA, &table), DLX_ERROR_INVALID_ARGUMENT, "already");
  assert_fails(dlx_register_backend(PLAIN, &table), DLX_ERROR_INVALID_ARGUMENT, "already");
  assert_fails(dlx_register_backend(0, &table), DLX_ERROR_INVALID_ARGUMENT, "`device_type`");
  for (size_t i = 0; i < sizeof kRequired / sizeof *kRequired; ++i) {
    table = table_of(&unused, 1, 1);
    memset((char *)&table + kRequired[i], 0, sizeof(void (*)(void)));
    assert_fails(dlx_register_backend(204, &table), DLX_ERROR_INVALID_ARGUMENT, "lacks a function");
  }
  const dlx_backend full = table_of(&unused, 1, 1);
  for (size_t i = 0; i < sizeof kOfStreams / sizeof *kOfStreams; ++i) {
    const size_t at = kOfStreams[i];
    table = full;
    memset((char *)&table + at, 0, sizeof(void (*)(void)));
    assert_fails(dlx_register_backend(204, &table), DLX_ERROR_INVALID_ARGUMENT, "all or none");
    table = table_of(&unused, 1, 0);
    memcpy((char *)&table + at, (const char *)&full + at, sizeof(void (*)(void)));
    assert_fails(dlx_register_backend(204, &table), DLX_ERROR_INVALID_ARGUMENT, "all or none");
  }
  table = full;
  table.reserved = 1;
  assert_fails(dlx_register_backend(204, &table), DLX_ERROR_UNSUPPORTED, "`backend->reserved`");
  table.reserved = 0;
  table.struct_size = 3;
  assert_fails(dlx_register_backend(204, &table), DLX_ERROR_INVALID_ARGUMENT, "struct_size");
  assert_int_equal(dlx_device_count(204), 0);
}

/* A table of an older version without streams, and one of a newer version with more fields. */
static void older_and_newer_tables_are_taken(void **state) {
  (void)state;
  static device older_device = {.late = 1}, newer_device;
  dlx_backend older = table_of(&older_device, 0, 1);
  older.struct_size = offsetof(dlx_backend, default_stream);
  struct {
    dlx_backend known;
    uint64_t appended;
  } newer = {table_of(&newer_device, 0, 0), 1};
  newer.known.struct_size = sizeof newer;
  int64_t stream;

  assert_ok(dlx_register_backend(205, &older));
  assert_int_equal(dlx_device_count(205), dlx_device_count(PLAIN));
  assert_fails(dlx_stream_create(205, 0, &stream), DLX_ERROR_INVALID_ARGUMENT, "no streams");
  assert_fails(dlx_register_backend(206, &newer.known), DLX_ERROR_UNSUPPORTED, "does not have");
  newer.appended = 0;
  assert_ok(dlx_register_backend(206, &newer.known));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_teardown(strided_data_goes_there_and_back, nothing_is_left),
      cmocka_unit_test_teardown(odd_places_have_small_elements, nothing_is_left),
      cmocka_unit_test_teardown(strided_copies_on_the_device_are_exact, nothing_is_left),
      cmocka_unit_test_teardown(late_streams_are_waited_for, nothing_is_left),
      cmocka_unit_test_teardown(calls_are_ordered_on_the_current_stream, nothing_is_left),
      cmocka_unit_test_teardown(devices_convert_no_values, nothing_is_left),
      cmocka_unit_test_teardown(arrays_stay_until_they_are_copied, nothing_is_left),
      cmocka_unit_test_teardown(deleters_may_end_the_thread_that_waits, nothing_is_left),
      cmocka_unit_test_teardown(facts_and_failures_are_the_backends_own, nothing_is_left),
      cmocka_unit_test(failures_name_their_device),
      cmocka_unit_test(failed_strided_copies_are_told),
      cmocka_unit_test(temporaries_outlive_a_failed_wait),
      cmocka_unit_test(bad_tables_are_refused),
      cmocka_unit_test(fewer_devices_than_none_are_none),
      cmocka_unit_test(older_and_newer_tables_are_taken),
  };
  return cmocka_run_group_tests(tests, register_all, NULL);
}
