/* Simulated devices for dlx_register_backend: their memory is at addresses that the CPU cannot access,
 * and their streams do nothing until something waits for them. */
#ifndef DLX_TESTS_CAPI_LATE_DEVICE_H_
#define DLX_TESTS_CAPI_LATE_DEVICE_H_

#include "util.h"

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
  void *memory = allocate_aligned(alignment < 16 ? 16 : alignment, size);
  return memory == NULL ? NULL : (char *)memory + SHIFT;
}
static void deallocate(int32_t id, void *data, void *user_data) {
  (void)id;
  --((device *)user_data)->live_memory;
  free_aligned(real(data));
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
  /* Elements are aligned to their size, as C requires. */
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
    assert_true(devices[i].live_events <=
                6); /* three staging buffers of each of two sizes are kept */
    assert_int_equal(devices[i].streams, 0);
  }
  return 0;
}

#endif /* DLX_TESTS_CAPI_LATE_DEVICE_H_ */
