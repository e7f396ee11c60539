/* dlx.h, section backend: device types that a vendor adds. The device of this test has memory at
 * addresses that the CPU cannot use, and streams that do nothing before somebody waits for them. */
#define _POSIX_C_SOURCE 200809L /* posix_memalign */
#include <pthread.h>

#include "arrow_util.h"

#define SHIFT ((uintptr_t)1 << 46)
#define MAX_JOBS 1024
#define MAX_STREAMS 8
#define DEFAULT_STREAM 1

enum { PLAIN = 201, KERNELS = 202, LATE = 203 };

typedef struct job {
  char *dst;
  const char *src;
  size_t size;
  int32_t wait_stream; /* -1: a copy; else the stream to be waited for … */
  int wait_position;   /* … until it has done so many */
} job;

typedef struct queue {
  job jobs[MAX_JOBS];
  int count, done;
} queue;

typedef struct event {
  int32_t stream;
  int position;
} event;

typedef struct device {
  int64_t live_memory, live_events, strided_copies;
  int streams; /* made by stream_create, numbered DEFAULT_STREAM + 1 … */
  int late, fails;
  int uses_dlx; /* when it is asked for an event */
  queue queues[MAX_STREAMS];
} device;

static char *real(const void *place) { return (char *)((uintptr_t)place - SHIFT); }

static void run_until(device *d, int32_t stream, int position) {
  queue *q = &d->queues[stream];
  while (q->done < position) {
    const job next = q->jobs[q->done++];
    if (next.wait_stream < 0) {
      memcpy(next.dst, next.src, next.size);
    } else {
      run_until(d, next.wait_stream, next.wait_position);
    }
  }
}

static int32_t add(device *d, int64_t stream, job next) {
  queue *q = &d->queues[d->late ? stream - DEFAULT_STREAM : 0];
  if (!d->late) {
    assert_int_equal(stream, 0);
    if (next.size > 0) memcpy(next.dst, next.src, next.size);
    return d->fails;
  }
  assert_true(q->count < MAX_JOBS);
  q->jobs[q->count++] = next;
  return d->fails;
}

static int32_t device_count(void *user_data) {
  (void)user_data;
  return 1;
}
static const char *error_text(void *user_data) {
  (void)user_data;
  return "the fan is loose";
}
static int32_t describe_device(int32_t id, dlx_device_properties *out, void *user_data) {
  (void)id;
  (void)user_data;
  strcpy(out->name, "Shifted");
  out->memory_total = 4096;
  return 0;
}
static void *allocate(int32_t id, size_t size, size_t alignment, void *user_data) {
  (void)id;
  if (size > 1 << 20) return NULL;
  ++((device *)user_data)->live_memory;
  void *memory = NULL;
  if (posix_memalign(&memory, alignment < 16 ? 16 : alignment, size) != 0) return NULL;
  return (char *)memory + SHIFT;
}
static void deallocate(int32_t id, void *data, void *user_data) {
  (void)id;
  --((device *)user_data)->live_memory;
  free(real(data));
}
static int32_t copy_from_host(int32_t id, void *dst, uint64_t offset, const void *src, size_t size,
                              int64_t stream, void *user_data) {
  (void)id;
  return add(user_data, stream, (job){real(dst) + offset, src, size, -1, 0});
}
static int32_t copy_to_host(int32_t id, void *dst, const void *src, uint64_t offset, size_t size,
                            int64_t stream, void *user_data) {
  (void)id;
  return add(user_data, stream, (job){dst, real(src) + offset, size, -1, 0});
}
static int32_t copy_on_device(int32_t dst_id, void *dst, uint64_t dst_offset, int32_t src_id,
                              const void *src, uint64_t src_offset, size_t size, int64_t stream,
                              void *user_data) {
  (void)dst_id;
  (void)src_id;
  return add(user_data, stream, (job){real(dst) + dst_offset, real(src) + src_offset, size, -1, 0});
}
static void copy_items(device *d, int64_t stream, const DLTensor *dst, const DLTensor *src,
                       int axis, char *to, const char *from) {
  const int64_t size = dst->dtype.bits / 8;
  if (axis == dst->ndim) {
    add(d, stream, (job){to, from, (size_t)size, -1, 0});
    return;
  }
  assert_int_equal(dst->shape[axis], src->shape[axis]);
  for (int64_t i = 0; i < dst->shape[axis]; ++i) {
    copy_items(d, stream, dst, src, axis + 1, to + i * dst->strides[axis] * size,
               from + i * src->strides[axis] * size);
  }
}
static int32_t copy_strided(int32_t id, const DLTensor *dst, const DLTensor *src, int64_t stream,
                            void *user_data) {
  device *d = user_data;
  assert_int_equal(dst->device.device_id, id);
  assert_int_not_equal(dst->device.device_type, 0);
  assert_int_equal(dst->device.device_type, src->device.device_type);
  ++d->strided_copies;
  /* Elements lie where elements of their size may lie, as everywhere in C. */
  const uintptr_t places =
      ((uintptr_t)dst->data + dst->byte_offset) | ((uintptr_t)src->data + src->byte_offset);
  assert_int_equal(places % (dst->dtype.bits / 8), 0);
  copy_items(d, stream, dst, src, 0, real(dst->data) + dst->byte_offset,
             real(src->data) + src->byte_offset);
  return d->fails;
}
static int32_t synchronize(int32_t id, void *user_data) {
  device *d = user_data;
  (void)id;
  for (int32_t s = 0; s < MAX_STREAMS; ++s) run_until(d, s, d->queues[s].count);
  return 0;
}
static int32_t stream_create(int32_t id, int64_t *out, void *user_data) {
  (void)id;
  *out = DEFAULT_STREAM + ++((device *)user_data)->streams;
  return 0;
}
static void stream_destroy(int32_t id, int64_t stream, void *user_data) {
  assert_int_equal(id, 0);
  assert_true(stream > DEFAULT_STREAM);
  --((device *)user_data)->streams;
}
static int32_t stream_synchronize(int32_t id, int64_t stream, void *user_data) {
  device *d = user_data;
  (void)id;
  run_until(d, (int32_t)(stream - DEFAULT_STREAM), d->queues[stream - DEFAULT_STREAM].count);
  return 0;
}
static int32_t event_record(int32_t id, int64_t stream, void **out, void *user_data) {
  device *d = user_data;
  event *made = malloc(sizeof *made);
  (void)id;
  made->stream = (int32_t)(stream - DEFAULT_STREAM);
  made->position = d->queues[made->stream].count;
  ++d->live_events;
  *out = made;
  return 0;
}
static int32_t event_wait(int32_t id, int64_t stream, void *waited, void *user_data) {
  const event *e = waited;
  (void)id;
  return add(user_data, stream, (job){NULL, NULL, 0, e->stream, e->position});
}
static int32_t event_wait_on_host(int32_t id, void *waited, void *user_data) {
  const event *e = waited;
  (void)id;
  run_until(user_data, e->stream, e->position);
  return 0;
}
static int32_t event_query(int32_t id, void *waited, int32_t *out_done, void *user_data) {
  const event *e = waited;
  const device *d = user_data;
  (void)id;
  if (d->uses_dlx) assert_ok(dlx_device_synchronize(PLAIN, 0));
  *out_done = d->queues[e->stream].done >= e->position;
  return 0;
}
static void event_release(int32_t id, void *released, void *user_data) {
  (void)id;
  --((device *)user_data)->live_events;
  free(released);
}

static device devices[3]; /* of PLAIN, KERNELS and LATE */

static dlx_backend table_of(device *d, int with_kernels, int late) {
  dlx_backend table = {.struct_size = sizeof table, .user_data = d};
  table.device_count = device_count;
  table.describe = describe_device;
  table.error_text = error_text;
  table.allocate = allocate;
  table.deallocate = deallocate;
  table.copy_from_host = copy_from_host;
  table.copy_to_host = copy_to_host;
  table.copy_on_device = copy_on_device;
  if (with_kernels) table.copy_strided = copy_strided;
  table.synchronize = synchronize;
  d->late = late;
  if (!late) return table;
  table.default_stream = DEFAULT_STREAM;
  table.stream_create = stream_create;
  table.stream_destroy = stream_destroy;
  table.stream_synchronize = stream_synchronize;
  table.event_record = event_record;
  table.event_wait = event_wait;
  table.event_wait_on_host = event_wait_on_host;
  table.event_query = event_query;
  table.event_release = event_release;
  return table;
}

static int register_all(void **state) {
  (void)state;
  for (int i = 0; i < 3; ++i) {
    const dlx_backend table = table_of(&devices[i], i > 0, i == 2);
    assert_ok(dlx_register_backend(PLAIN + i, &table));
  }
  return 0;
}

static int nothing_is_left(void **state) {
  (void)state;
  for (int i = 0; i < 3; ++i) {
    assert_ok(dlx_device_synchronize(PLAIN + i, 0));
    assert_int_equal(devices[i].live_memory, 0);
    assert_true(devices[i].live_events <= 3); /* one for each staging buffer that is kept */
    assert_int_equal(devices[i].streams, 0);
  }
  return 0;
}

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

/* Turned and reversed data is the same after every way through a device, with kernels and without. */
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

/* Rows of bytes that begin anywhere are handed over as elements that may begin there. */
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

/* Work on one stream is waited for by events before another one, or the host, uses what it makes. The
 * backend may use dlx when it is called: no lock is held then. */
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
  /* -1 asks for no order where data is handed over; there is no such stream to work on. */
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

/* An Arrow array that is copied by a device stays until the device has read it. */
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

/* What waited for a device is given back by whoever waits for it; that may end the thread, as where
 * Python shuts down, and what is still held is left to the next one. */
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

/* What it says of itself, what it has no room for, and what it says when it fails. */
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

/* Of several devices it is told which one failed. */
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

/* A table that lacks a function, or is for a type that has a backend, is refused. */
static int32_t fewer_than_none(void *user_data) {
  (void)user_data;
  return -1;
}

/* A driver that counts with an error in its hands has no devices. */
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

static void bad_tables_are_refused(void **state) {
  (void)state;
  static device unused;
  dlx_backend table = table_of(&unused, 1, 1);
  assert_fails(dlx_register_backend(204, NULL), DLX_ERROR_INVALID_ARGUMENT, "`backend` is NULL");
  assert_fails(dlx_register_backend(kDLCPU, &table), DLX_ERROR_INVALID_ARGUMENT, "already");
  assert_fails(dlx_register_backend(kDLCUDA, &table), DLX_ERROR_INVALID_ARGUMENT, "already");
  assert_fails(dlx_register_backend(PLAIN, &table), DLX_ERROR_INVALID_ARGUMENT, "already");
  assert_fails(dlx_register_backend(0, &table), DLX_ERROR_INVALID_ARGUMENT, "`device_type`");
  table.event_query = NULL;
  assert_fails(dlx_register_backend(204, &table), DLX_ERROR_INVALID_ARGUMENT, "all or none");
  table = table_of(&unused, 1, 1);
  table.copy_to_host = NULL;
  assert_fails(dlx_register_backend(204, &table), DLX_ERROR_INVALID_ARGUMENT, "copy_to_host");
  table = table_of(&unused, 1, 1);
  table.reserved = 1;
  assert_fails(dlx_register_backend(204, &table), DLX_ERROR_UNSUPPORTED, "`backend->reserved`");
  table.reserved = 0;
  table.struct_size = 3;
  assert_fails(dlx_register_backend(204, &table), DLX_ERROR_INVALID_ARGUMENT, "struct_size");
  assert_int_equal(dlx_device_count(204), 0);
}

/* A table from before the streams were appended, and one from after something else was. */
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
      cmocka_unit_test_teardown(late_streams_are_waited_for, nothing_is_left),
      cmocka_unit_test_teardown(arrays_stay_until_they_are_copied, nothing_is_left),
      cmocka_unit_test_teardown(deleters_may_end_the_thread_that_waits, nothing_is_left),
      cmocka_unit_test_teardown(facts_and_failures_are_the_backends_own, nothing_is_left),
      cmocka_unit_test(failures_name_their_device),
      cmocka_unit_test(bad_tables_are_refused),
      cmocka_unit_test(fewer_devices_than_none_are_none),
      cmocka_unit_test(older_and_newer_tables_are_taken),
  };
  return cmocka_run_group_tests(tests, register_all, NULL);
}
