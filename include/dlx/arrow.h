/**
 * Arrow: tensors to and from the Arrow C Data Interface and the Arrow C Device Data Interface.
 *
 * An Arrow array of numbers is a tensor with one axis. A nested fixed-size list (`+w:N`) or the
 * canonical extension `arrow.fixed_shape_tensor` is a tensor with several axes. Everything that a
 * tensor cannot hold (nulls, strings, structs, dictionaries, dates …) is refused, and the message
 * names it. Arrow stores validity and booleans as bits and has no strides; its device types are
 * DLPack's numbers.
 *
 * The structs below are Arrow's, with Arrow's own include guards, so they can be combined with an
 * Arrow header in any order.
 *
 * The conventions of dlx.h apply.
 */
#ifndef DLX_ARROW_H_
#define DLX_ARROW_H_

#include <stdint.h>

#include "dlx/dlx.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

/* Bits of ArrowSchema.flags. */
#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

/** Type of an Arrow array. Its last holder calls `release`, which sets `release` to NULL. */
struct ArrowSchema {
  const char *format;             /**< the type: "i", "f", "+w:3" …; UTF-8 */
  const char *name;               /**< name of the field; may be NULL */
  const char *metadata;           /**< key-value pairs in Arrow's binary form; may be NULL */
  int64_t flags;                  /**< ARROW_FLAG_* */
  int64_t n_children;             /**< number of children of a nested type */
  struct ArrowSchema **children;  /**< `n_children` of them, owned by this struct */
  struct ArrowSchema *dictionary; /**< type of the values of a dictionary-encoded array, or NULL */
  void (*release)(struct ArrowSchema *self); /**< NULL: this struct was released or moved */
  void *private_data;                        /**< the producer's */
};

/** Data of an Arrow array. Its last holder calls `release`, which sets `release` to NULL. */
struct ArrowArray {
  int64_t length;     /**< elements */
  int64_t null_count; /**< nulls among them; -1: not counted yet */
  int64_t offset;     /**< elements to skip in every buffer */
  int64_t n_buffers;
  int64_t n_children;
  const void **buffers;                     /**< the first is the validity bitmap, or NULL */
  struct ArrowArray **children;             /**< `n_children` of them, owned by this struct */
  struct ArrowArray *dictionary;            /**< values of a dictionary-encoded array, or NULL */
  void (*release)(struct ArrowArray *self); /**< NULL: this struct was released or moved */
  void *private_data;                       /**< the producer's */
};

#endif /* ARROW_C_DATA_INTERFACE */

#ifndef ARROW_C_DEVICE_DATA_INTERFACE
#define ARROW_C_DEVICE_DATA_INTERFACE

/** Type of a device: DLPack's numbers. */
typedef int32_t ArrowDeviceType;

#define ARROW_DEVICE_CPU 1
#define ARROW_DEVICE_CUDA 2
#define ARROW_DEVICE_CUDA_HOST 3
#define ARROW_DEVICE_OPENCL 4
#define ARROW_DEVICE_VULKAN 7
#define ARROW_DEVICE_METAL 8
#define ARROW_DEVICE_VPI 9
#define ARROW_DEVICE_ROCM 10
#define ARROW_DEVICE_ROCM_HOST 11
#define ARROW_DEVICE_EXT_DEV 12
#define ARROW_DEVICE_CUDA_MANAGED 13
#define ARROW_DEVICE_ONEAPI 14
#define ARROW_DEVICE_WEBGPU 15
#define ARROW_DEVICE_HEXAGON 16

/** An Arrow array and the device of its buffers. */
struct ArrowDeviceArray {
  struct ArrowArray array;     /**< its buffers, and those of its children, are on the device */
  int64_t device_id;           /**< -1 if the device type has no ids (the CPU) */
  ArrowDeviceType device_type; /**< ARROW_DEVICE_* */
  void *sync_event;            /**< pointer to the producer's event to wait for; NULL: none */
  int64_t reserved[3];         /**< 0 */
};

#endif /* ARROW_C_DEVICE_DATA_INTERFACE */

/* ---- arrow ------------------------------------------------------------------------------------ */

/** Arrow type of a tensor with several axes. */
enum dlx_arrow_layout {
  DLX_ARROW_LISTS = 0,  /**< nested fixed-size lists: `+w:N` for each axis after the first */
  DLX_ARROW_TENSORS = 1 /**< the canonical extension type `arrow.fixed_shape_tensor` */
};

/** How to export to Arrow; a NULL pointer means the defaults. */
typedef struct dlx_arrow_options {
  uint32_t struct_size;
  int32_t copy;                   /**< DLX_COPY_* */
  int32_t layout;                 /**< DLX_ARROW_LISTS (default) or DLX_ARROW_TENSORS */
  int32_t reserved;               /**< 0 */
  const dlx_allocator *allocator; /**< for a copy; borrowed, copied; NULL: the process's default */
} dlx_arrow_options;

#define DLX_ARROW_OPTIONS_INIT {sizeof(dlx_arrow_options), 0, 0, 0, NULL}

/**
 * Import an Arrow array in CPU memory.
 *
 * Accepted: integers of 8 to 64 bits, float16/32/64, boolean, fixed-size lists of these to any
 * depth (each list size becomes an axis), and `arrow.fixed_shape_tensor` (its permutation is
 * applied; its dim_names are dropped). Offsets are applied at every level. A child may be longer
 * than its parent needs.
 *
 * The tensor shares the memory and is read-only, because Arrow data is immutable. Booleans are bits
 * in Arrow and bytes in DLPack, so dlx unpacks them into a writable copy.
 *
 * @param array  consumed on success: moved, its `release` is NULL afterwards. Unchanged on failure;
 *        the caller still owns it. If the result is a copy, dlx has released the array, or a later
 *        call of dlx releases it once the device has made the copy.
 * @param schema  borrowed.
 * @param options  copy mode (DLX_COPY_NEVER refuses booleans), and order, alignment and allocator
 *        of a copy; borrowed; NULL for the defaults.
 * @param out_copied  set to 1 if `out` is a copy whose memory nothing else uses, else to 0;
 *        unchanged on failure; may be NULL.
 * @param out  a new tensor, owned.
 * @return DLX_OK; DLX_ERROR_UNSUPPORTED (nulls; another type: strings, structs, dictionaries,
 *         dates and times, decimals, other extensions …; the message names the format and a call
 *         that works); DLX_ERROR_INVALID_ARGUMENT (malformed or released; `array` and `schema`
 *         contradict each other); DLX_ERROR_COPY_REFUSED.
 */
DLX_API dlx_status dlx_tensor_from_arrow(struct ArrowArray *array, const struct ArrowSchema *schema,
                                         const dlx_copy_options *options, int32_t *out_copied,
                                         dlx_tensor **out);

/**
 * As dlx_tensor_from_arrow, for an array on any device. Arrow's device id -1 becomes DLPack's 0.
 *
 * A NULL `sync_event` means that the data is ready. Otherwise it points to an event of the device's
 * driver (a `cudaEvent_t *` on CUDA), and the data is ready after that event: this thread's current
 * stream of the device waits for it, and later users of the tensor wait for that stream. The host
 * waits only for pinned memory. The event may be destroyed after the call returns. An event is
 * DLX_ERROR_UNSUPPORTED on a device that dlx cannot make wait, and DLX_ERROR_INVALID_ARGUMENT on
 * the CPU. If the CPU cannot access the memory, `null_count` must be 0 or the bitmap NULL.
 *
 * @param array  consumed on success: `array->array.release` is NULL afterwards.
 */
DLX_API dlx_status dlx_tensor_from_arrow_device(struct ArrowDeviceArray *array,
                                                const struct ArrowSchema *schema,
                                                const dlx_copy_options *options,
                                                int32_t *out_copied, dlx_tensor **out);

/**
 * Export a tensor as an Arrow array in CPU memory.
 *
 * A tensor with one axis becomes an array of numbers. With several axes it becomes nested
 * fixed-size lists, or the extension type with DLX_ARROW_TENSORS; the first axis is the length of
 * the array. There are no nulls. The export shares the memory and keeps it alive, unless the caller
 * requests a copy, or one is needed: for booleans (packed into bits) and for every layout that is
 * not compact in C order, because Arrow has no strides. With DLX_ARROW_TENSORS and DLX_COPY_NEVER
 * the axes after the first may be in any order in memory; the type then has a `permutation`.
 * PyArrow 26 misreads it, so the other copy modes never use one. Consumers treat Arrow data as
 * immutable: do not write to it while they hold it.
 *
 * @param tensor  borrowed; the export holds its own reference. The flags are ignored, because an
 *        Arrow array is always read-only.
 * @param options  borrowed; NULL for the defaults.
 * @param out  filled, owned: its last holder calls its `release`, from any thread. Its children may
 *        be moved out and outlive it. Its previous content is ignored.
 * @param out_schema  filled, owned, as by dlx_tensor_to_arrow_schema; may be NULL.
 * @return DLX_OK; DLX_ERROR_UNSUPPORTED (no axis; complex, bfloat16, FP8 and other dtypes that
 *         Arrow lacks; a list of more than 2^31-1 elements); DLX_ERROR_COPY_REFUSED;
 *         DLX_ERROR_DEVICE_REFUSED (the CPU cannot access the memory); DLX_ERROR_INVALID_ARGUMENT
 *         (an option).
 */
DLX_API dlx_status dlx_tensor_to_arrow(dlx_tensor *tensor, const dlx_arrow_options *options,
                                       struct ArrowArray *out, struct ArrowSchema *out_schema);

/**
 * As dlx_tensor_to_arrow, for a tensor on any device.
 *
 * `sync_event` points to an event of the device's driver; the data is ready after it. The event
 * belongs to the array, and `release` destroys it. It is NULL if the consumer need not wait: on the
 * CPU, on a device without streams or without a driver, and for an empty tensor. If a copy is
 * needed on a device that dlx cannot copy on, the call is DLX_ERROR_UNSUPPORTED.
 */
DLX_API dlx_status dlx_tensor_to_arrow_device(dlx_tensor *tensor, const dlx_arrow_options *options,
                                              struct ArrowDeviceArray *out,
                                              struct ArrowSchema *out_schema);

/**
 * Export the Arrow type of a tensor, as dlx_tensor_to_arrow uses it. The data is not read.
 *
 * The field has no name. Its flags say nullable, as in most libraries, but dlx exports no nulls.
 *
 * @param tensor  borrowed.
 * @param options  only `layout`, and `copy` for the permutation, are used; borrowed; NULL for the
 *        defaults.
 * @param out  filled, owned: its last holder calls its `release`, from any thread.
 * @return DLX_OK; DLX_ERROR_UNSUPPORTED as in dlx_tensor_to_arrow.
 */
DLX_API dlx_status dlx_tensor_to_arrow_schema(dlx_tensor *tensor, const dlx_arrow_options *options,
                                              struct ArrowSchema *out);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* DLX_ARROW_H_ */
