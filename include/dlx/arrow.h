/**
 * Arrow: tensors to and from the Arrow C Data Interface and the Arrow C Device Data Interface.
 *
 * Arrow describes columns, dlx tensors: a one-dimensional array of numbers is a tensor of one axis,
 * a nested fixed-size list (`+w:N`) or the canonical extension `arrow.fixed_shape_tensor` one of
 * several. What has no place in a tensor (nulls, strings, structs, dictionaries, dates …) is
 * refused by name. Arrow counts validity and booleans in bits and knows no strides; device types
 * are DLPack's numbers.
 *
 * The structs below are Arrow's, under Arrow's own guards: a header of Arrow that is included as
 * well, before or after, declares the same.
 *
 * The conventions of dlx.h hold here too.
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

/** Type of an Arrow array. Whoever holds it last calls `release`, which sets itself to NULL. */
struct ArrowSchema {
  const char *format;   /**< the type: "i", "f", "+w:3" …; UTF-8 */
  const char *name;     /**< of the field; may be NULL */
  const char *metadata; /**< pairs of keys and values in Arrow's binary form; may be NULL */
  int64_t flags;        /**< ARROW_FLAG_* */
  int64_t n_children;   /**< of a nested type */
  struct ArrowSchema **children;  /**< `n_children` of them, owned by this struct */
  struct ArrowSchema *dictionary; /**< type of the values of a dictionary-encoded array, or NULL */
  void (*release)(struct ArrowSchema *self); /**< NULL: this struct was released or moved */
  void *private_data;                        /**< the producer's */
};

/** Data of an Arrow array. Whoever holds it last calls `release`, which sets itself to NULL. */
struct ArrowArray {
  int64_t length;     /**< elements */
  int64_t null_count; /**< nulls among them; -1: not counted yet */
  int64_t offset;     /**< elements to skip in every buffer */
  int64_t n_buffers;
  int64_t n_children;
  const void **buffers;                     /**< first the validity bitmap, or NULL in its place */
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

/** An Arrow array, and the device that its buffers are on. */
struct ArrowDeviceArray {
  struct ArrowArray array;     /**< its buffers, and those of its children, are on the device */
  int64_t device_id;           /**< -1 where the type has no ids: the CPU */
  ArrowDeviceType device_type; /**< ARROW_DEVICE_* */
  void *sync_event;            /**< pointer to the event to wait for, the producer's; NULL: none */
  int64_t reserved[3];         /**< 0 */
};

#endif /* ARROW_C_DEVICE_DATA_INTERFACE */

/* ---- arrow ------------------------------------------------------------------------------------ */

/** Form of a tensor of several axes in Arrow. */
enum {
  DLX_ARROW_LISTS = 0,  /**< nested fixed-size lists: `+w:N` for each axis but the first */
  DLX_ARROW_TENSORS = 1 /**< the canonical extension type `arrow.fixed_shape_tensor` */
};

/** How to export to Arrow; NULL in its place means the defaults. */
typedef struct dlx_arrow_options {
  uint32_t struct_size;
  int32_t copy;                   /**< DLX_COPY_* */
  int32_t layout;                 /**< DLX_ARROW_LISTS (default) or DLX_ARROW_TENSORS */
  int32_t reserved;               /**< 0 */
  const dlx_allocator *allocator; /**< for a copy; borrowed, copied; NULL: the process's default */
} dlx_arrow_options;

#define DLX_ARROW_OPTIONS_INIT {sizeof(dlx_arrow_options), 0, 0, 0, NULL}

/**
 * Take over an Arrow array of CPU memory.
 *
 * Accepted: integers of 8 to 64 bits, float16/32/64, boolean, fixed-size lists of these to any
 * depth (each list size becomes an axis), and `arrow.fixed_shape_tensor` (its permutation is
 * applied, its dim_names have no place in a tensor and are dropped). Offsets are honoured at every
 * level, and children that lie beyond what is used do not matter.
 *
 * The tensor shares the memory and is read-only, for Arrow's data is immutable. Booleans are bits
 * in Arrow and bytes in DLPack: they are unpacked into a writable copy.
 *
 * @param array  consumed on success: it is moved, and its `release` is NULL afterwards. On failure
 *        it is unchanged and remains the caller's. Where the result is a copy it has been released,
 *        or will be by a later call of dlx, once the device has made the copy.
 * @param schema  borrowed.
 * @param options  copy mode (DLX_COPY_NEVER refuses booleans), and order, alignment, allocator of a
 *        copy; borrowed; NULL for the defaults.
 * @param out_copied  set to 1 if `out` is a copy and nobody else has its memory, else to 0;
 *        unchanged on failure; may be NULL.
 * @param out  a new tensor, owned.
 * @return DLX_OK; DLX_ERROR_UNSUPPORTED (nulls; another type: strings, structs, dictionaries,
 *         dates and times, decimals, other extensions …; the message names the format and the way
 *         out); DLX_ERROR_INVALID_ARGUMENT (malformed, released, or array and schema contradict
 *         each other); DLX_ERROR_COPY_REFUSED.
 */
DLX_API dlx_status dlx_tensor_from_arrow(struct ArrowArray *array, const struct ArrowSchema *schema,
                                         const dlx_copy_options *options, int32_t *out_copied,
                                         dlx_tensor **out);

/**
 * The same for an array on any device. Arrow's device -1 of the CPU is DLPack's 0.
 *
 * A NULL `sync_event` says that the data is ready. Another one points to an event of the device's
 * driver (a `cudaEvent_t *` on CUDA), behind which the data is ready: this thread's current stream
 * of the device waits for it, and whoever uses the tensor waits for that stream; nothing waits on
 * the host, but for pinned memory. The event is not needed any more on return. Of a device that dlx
 * cannot make wait it is DLX_ERROR_UNSUPPORTED, and on the CPU DLX_ERROR_INVALID_ARGUMENT. Whether
 * an array has nulls must be known without reading a bitmap that the CPU cannot reach.
 *
 * @param array  consumed on success: the `release` of the array within is NULL afterwards.
 */
DLX_API dlx_status dlx_tensor_from_arrow_device(struct ArrowDeviceArray *array,
                                                const struct ArrowSchema *schema,
                                                const dlx_copy_options *options,
                                                int32_t *out_copied, dlx_tensor **out);

/**
 * Export a tensor as an Arrow array of CPU memory.
 *
 * One axis gives an array of numbers; several give nested fixed-size lists, or with
 * DLX_ARROW_TENSORS the extension type, where the first axis is the array's length. There are no
 * nulls. The export shares the memory and keeps it alive, unless a copy was asked for or is needed:
 * for booleans (packed into bits), and for strides that Arrow cannot say, which is any but compact
 * ones in C order. With DLX_ARROW_TENSORS and DLX_COPY_NEVER the axes after the first may lie in
 * any order, which the type then says as its `permutation`; PyArrow 26 misreads that, so it is not
 * used where a copy may be made. Consumers take Arrow's data for immutable: do not write it while
 * they have it.
 *
 * @param tensor  borrowed; the export holds a reference of its own. Its flags are not looked at:
 *        an Arrow array is read-only by nature.
 * @param options  borrowed; NULL for the defaults.
 * @param out  filled, owned: whoever ends up with it calls its `release`, from any thread. Its
 *        children may be moved out and live on their own. What it held before is not looked at.
 * @param out_schema  filled, owned, as dlx_tensor_to_arrow_schema fills it; NULL if not wanted.
 * @return DLX_OK; DLX_ERROR_UNSUPPORTED (no axis; complex, bfloat16, FP8 and other dtypes that
 *         Arrow lacks; a list of more than 2^31-1 elements); DLX_ERROR_COPY_REFUSED;
 *         DLX_ERROR_DEVICE_REFUSED (not memory of the CPU); DLX_ERROR_INVALID_ARGUMENT (an option).
 */
DLX_API dlx_status dlx_tensor_to_arrow(dlx_tensor *tensor, const dlx_arrow_options *options,
                                       struct ArrowArray *out, struct ArrowSchema *out_schema);

/**
 * The same for a tensor on any device. `sync_event` points to an event of the device's driver,
 * behind which the data is ready; it belongs to the array and goes with its `release`. NULL, which
 * tells the consumer not to wait, on the CPU, on devices without streams or whose driver is not
 * there, and for no elements. Where dlx cannot copy on the device, a tensor that needs one is
 * DLX_ERROR_UNSUPPORTED.
 */
DLX_API dlx_status dlx_tensor_to_arrow_device(dlx_tensor *tensor, const dlx_arrow_options *options,
                                              struct ArrowDeviceArray *out,
                                              struct ArrowSchema *out_schema);

/**
 * The type that dlx_tensor_to_arrow gives a tensor. The data is not looked at.
 *
 * The field has no name, may be null by its flags (as the types of most libraries may) and never
 * is.
 *
 * @param tensor  borrowed.
 * @param options  `layout`, and `copy` for the permutation, matter; borrowed; NULL for the
 *        defaults.
 * @param out  filled, owned: whoever ends up with it calls its `release`, from any thread.
 * @return DLX_OK; DLX_ERROR_UNSUPPORTED as in dlx_tensor_to_arrow.
 */
DLX_API dlx_status dlx_tensor_to_arrow_schema(dlx_tensor *tensor, const dlx_arrow_options *options,
                                              struct ArrowSchema *out);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* DLX_ARROW_H_ */
