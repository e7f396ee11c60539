/**
 * dlx: tensor exchange for every language, on DLPack, behind a stable C ABI.
 *
 * A `dlx_tensor` describes memory that some library owns: shape, strides, dtype, device, and how to
 * free it. dlx imports such memory (dlx_tensor_wrap, dlx_tensor_from_dlpack*), makes views of it
 * without touching the data, copies it only where the caller allows that, and exports it as DLPack.
 *
 * Conventions. They hold for every function below unless its comment says otherwise:
 *
 * - **Status.** A function that can fail returns a `dlx_status`: DLX_OK (0) or a positive
 *   DLX_ERROR_*. dlx_last_error() returns the message. Any function may also return
 *   DLX_ERROR_OUT_OF_MEMORY or DLX_ERROR_INTERNAL (a bug in dlx), and any function that works on a
 *   device DLX_ERROR_DRIVER; the lists below do not repeat these. A required pointer that is NULL,
 *   and an option with an unknown value, are DLX_ERROR_INVALID_ARGUMENT; the message names the
 *   parameter. Flags and option fields that this version does not know are DLX_ERROR_UNSUPPORTED.
 * - **Outputs** are the last parameters. A handle output is set to NULL at entry; other outputs are
 *   unchanged on failure. A failed call takes no ownership and changes nothing.
 * - **Ownership.** *borrowed*: dlx uses the argument during the call only; a borrowed return value
 *   is valid as long as the object that it belongs to. *owned*: the caller owns it now and must
 *   release it. *consumed*: dlx owns it now.
 * - **Threads.** Any thread may call any function, also on the same tensor: the description of a
 *   tensor never changes, and its reference count is atomic. The caller must synchronise reads and
 *   writes of the *data*. After fork(), the child can use everything except device drivers.
 * - **Units.** Extents and strides count elements, offsets and sizes count bytes, as in DLPack.
 * - **Structs** passed by pointer start with `struct_size`, which the caller sets to their sizeof
 *   (DLX_*_INIT does so). Every other field may be zero, which means the default. New fields are
 *   only appended.
 * - **Callbacks** passed to dlx must not throw, longjmp or unwind the stack. The callbacks that dlx
 *   hands out never do. Deleters and allocators may call dlx: dlx holds no lock while they run.
 * - **Trust.** dlx checks everything that can be checked without reading the data: versions, flags,
 *   dtypes, overflow of sizes and addresses (memory of the CPU lies below 2^47, on other processors
 *   than x86-64 below 2^48, or where the system says that memory is; that of devices below 2^63). It
 *   trusts the producer that the memory exists, has the described size and stays valid until its
 *   deleter runs. Data may be misaligned for its dtype:
 *   dlx copies it correctly, but a consumer that dereferences a pointer must check the alignment.
 * - **Environment.** DLX_NUM_THREADS, DLX_ISA, DLX_CUDA_PATH, DLX_HIP_PATH and DLX_OPENCL_PATH are
 *   read on first use; docs/python.md describes them. Setuid programs ignore the three paths.
 *
 * Sections: library (status, errors, allocators, threads), dtype, tensor, dlpack, views, copy,
 * device, stream, backend. dlx/arrow.h adds Arrow, dlx/python.h CPython; dlx/dlx.hpp is for C++.
 *
 * All functions exist since 0.1.
 */
#ifndef DLX_DLX_H_
#define DLX_DLX_H_

#include <stddef.h>
#include <stdint.h>

#include "dlx/dlpack.h"

#define DLX_VERSION_MAJOR 0
#define DLX_VERSION_MINOR 1
#define DLX_VERSION_PATCH 0

/* Users of the static library on Windows define DLX_STATIC; CMake and pkg-config do that for them. */
#ifndef DLX_API
#if defined(DLX_STATIC)
#define DLX_API
#elif defined(_WIN32)
#define DLX_API __declspec(dllimport)
#elif defined(__GNUC__)
#define DLX_API __attribute__((visibility("default")))
#else
#define DLX_API
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- library ---------------------------------------------------------------------------------- */

/** Result of a call: DLX_OK or one of DLX_ERROR_*. Values are stable; new ones may be appended. */
typedef int32_t dlx_status;

enum dlx_status_code {
  DLX_OK = 0,
  DLX_ERROR_INVALID_ARGUMENT = 1, /**< a mistake of the caller; the message names the argument */
  DLX_ERROR_OUT_OF_MEMORY = 2,    /**< an allocator returned NULL */
  DLX_ERROR_UNSUPPORTED = 3,      /**< valid, but dlx or DLPack cannot do it: dtype, flag, version;
                                     data on a device whose driver is missing */
  DLX_ERROR_UNAVAILABLE = 4,      /**< no driver or no such device on this machine */
  DLX_ERROR_DRIVER = 5,           /**< a driver call failed; the message has the driver's code */
  DLX_ERROR_READ_ONLY = 6,        /**< a write to read-only data, or its export as writable */
  DLX_ERROR_COPY_REFUSED = 7,     /**< a copy is needed, and the caller passed DLX_COPY_NEVER */
  DLX_ERROR_DEVICE_REFUSED = 8,   /**< the data is on another device; no transfer was requested */
  DLX_ERROR_INTERNAL = 255        /**< a bug in dlx */
};

/** Version of the library as "major.minor.patch"; borrowed, static. */
DLX_API const char *dlx_version(void);

/** Version of the ABI: the N of `libdlx.so.N`. It changes only when a release removes or moves
 * something. */
DLX_API int32_t dlx_abi_version(void);

/** Name of a status such as "DLX_ERROR_READ_ONLY", or "unknown status"; borrowed, static. */
DLX_API const char *dlx_status_name(dlx_status status);

/**
 * Message of this thread's last failed call: "function: what is wrong (got X, expected Y)".
 * Meaningful only right after a failure; a successful call does not change it. Never NULL;
 * borrowed, valid until the thread fails again or ends.
 */
DLX_API const char *dlx_last_error(void);

/**
 * Set the message that dlx_last_error() returns on this thread, before a function of your own
 * returns a DLX_ERROR_* status: callers then handle it like dlx's own (dlx::check in C++, the
 * exceptions of Python). Allocates nothing.
 *
 * @param message  "function: what is wrong (got X, expected Y)"; borrowed, copied, at most 1,023
 *        bytes of it. NULL is the empty message.
 */
DLX_API void dlx_set_last_error(const char *message);

/** Allocates memory for tensors. `struct_size` is sizeof(dlx_allocator). */
typedef struct dlx_allocator {
  uint32_t struct_size;
  uint32_t reserved; /**< 0 */
  /** Return `size` > 0 bytes aligned to `alignment` (a power of two), or NULL on failure. dlx gives
   * misaligned memory back, and its call fails with DLX_ERROR_INVALID_ARGUMENT. */
  void *(*allocate)(size_t size, size_t alignment, int32_t device_type, int32_t device_id,
                    void *user_data);
  /** Free memory that `allocate` returned; called once, from any thread. */
  void (*deallocate)(void *data, size_t size, int32_t device_type, int32_t device_id,
                     void *user_data);
  void *user_data;
} dlx_allocator;

#define DLX_ALLOCATOR_INIT {sizeof(dlx_allocator), 0, NULL, NULL, NULL}

/**
 * Set the process's default allocator for a device type; NULL restores the built-in one. A call
 * whose options have an allocator ignores it. Every tensor keeps the allocator that made its
 * memory, so existing memory is freed correctly. Meant for a few calls: each keeps a small record
 * for the life of the process.
 *
 * @param device_type  a kDL* device type that has a backend.
 * @param allocator  borrowed, copied.
 * @return DLX_OK; DLX_ERROR_INVALID_ARGUMENT (a function is NULL); DLX_ERROR_UNSUPPORTED (device).
 */
DLX_API dlx_status dlx_set_allocator(int32_t device_type, const dlx_allocator *allocator);

/**
 * Set how many threads one copy may use: 1 keeps it on the calling thread; 0 restores the default,
 * which is DLX_NUM_THREADS from the environment, or else the number of cores of this process.
 *
 * This is a limit: a copy of a few megabytes uses fewer threads, and no copy uses more than four
 * threads for each core of this process. Numbers above 1024 count as 1024.
 *
 * @return DLX_OK; DLX_ERROR_INVALID_ARGUMENT (`num_threads` < 0).
 */
DLX_API dlx_status dlx_set_num_threads(int32_t num_threads);

/** Number of threads that one copy may use; at least 1. */
DLX_API int32_t dlx_get_num_threads(void);

/** Runs one piece of a parallel task; `index` counts from 0. Never throws. */
typedef void (*dlx_parallel_task_fn)(void *task_data, int64_t index);

/** Runs task(task_data, i) for every i in [0, count), on any threads, and returns when all calls
 * have returned. */
typedef void (*dlx_parallel_for_fn)(int64_t count, dlx_parallel_task_fn task, void *task_data,
                                    void *user_data);

/**
 * Make dlx use the application's thread pool for its copies; NULL restores dlx's own pool, which
 * starts no thread before the first large copy. Meant for a few calls: each keeps a small record for
 * the life of the process.
 *
 * @param parallel_for  kept until replaced; called on every thread that copies, concurrently.
 * @param user_data  passed to `parallel_for`; must stay valid until `parallel_for` is replaced and
 *        the copies that run at that moment are done.
 * @return DLX_OK.
 */
DLX_API dlx_status dlx_set_parallel_for(dlx_parallel_for_fn parallel_for, void *user_data);

/* ---- dtype ------------------------------------------------------------------------------------ */

/** Buffer size that fits every name and format that dlx writes, including the final zero. */
#define DLX_NAME_SIZE 64

/** Notation of a dtype, for dlx_dtype_format and dlx_dtype_parse_format. */
enum dlx_format {
  DLX_FORMAT_BUFFER = 0, /**< PEP 3118, as in Py_buffer.format: "f", "Zd", "?" */
  DLX_FORMAT_TYPESTR = 1 /**< NumPy's array interface: "<f4", "|b1" */
};

/**
 * Parse a dtype name: "bool", "int8" … "int128", "uint8" …, "float16" … "float128", "bfloat16",
 * "complex32" … "complex128", "float8_e4m3fn" and the other FP8 kinds, "float6_e2m3fn",
 * "float4_e2m1fn", "int1" … "int7", "uint1" …, "opaque64" …, and "bcomplex32", which no DLPack
 * release has yet (see dlpack.h). A suffix "x4" means 4 lanes ("float32x4").
 *
 * @param name  borrowed.
 * @param out  the dtype.
 * @return DLX_OK; DLX_ERROR_INVALID_ARGUMENT (no such name).
 */
DLX_API dlx_status dlx_dtype_parse(const char *name, DLDataType *out);

/**
 * Write the name of a dtype, as dlx_dtype_parse reads it.
 *
 * @param dtype  borrowed.
 * @param out  `capacity` bytes; DLX_NAME_SIZE is always enough.
 * @return DLX_OK; DLX_ERROR_INVALID_ARGUMENT (`capacity` too small); DLX_ERROR_UNSUPPORTED (not a
 *         dtype of dlpack.h: an unknown code, or a number of bits that the code does not have).
 */
DLX_API dlx_status dlx_dtype_name(const DLDataType *dtype, char *out, size_t capacity);

/**
 * Parse the buffer format or typestr of one scalar. The byte order must be that of the machine,
 * because DLPack has no other.
 *
 * @param format  borrowed.
 * @param style  DLX_FORMAT_BUFFER or DLX_FORMAT_TYPESTR.
 * @param out  the dtype.
 * @return DLX_OK; DLX_ERROR_UNSUPPORTED (another byte order; a structure, a string, an object or
 *         anything else that is not a DLPack scalar); DLX_ERROR_INVALID_ARGUMENT (`style`).
 */
DLX_API dlx_status dlx_dtype_parse_format(const char *format, int32_t style, DLDataType *out);

/**
 * Write a dtype as a buffer format or a typestr.
 *
 * @param dtype  borrowed.
 * @param style  DLX_FORMAT_BUFFER or DLX_FORMAT_TYPESTR.
 * @param out  `capacity` bytes; DLX_NAME_SIZE is always enough.
 * @return DLX_OK; DLX_ERROR_UNSUPPORTED (the style has no notation: bfloat16, FP8 to FP4, sub-byte
 *         types, integers and floats of 128 bits, complex32, opaque handles, lanes other than 1);
 *         DLX_ERROR_INVALID_ARGUMENT (`style`, `capacity` too small).
 */
DLX_API dlx_status dlx_dtype_format(const DLDataType *dtype, int32_t style, char *out,
                                    size_t capacity);

/** Bits of one element including all lanes; 0 for a NULL or unknown dtype. */
DLX_API int64_t dlx_dtype_bits(const DLDataType *dtype);

/**
 * Compute the size in bytes of `count` compact elements. Sub-byte elements are packed (8 of 1 bit
 * in a byte), or take one byte for each lane with DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED in
 * `flags`.
 *
 * @return DLX_OK; DLX_ERROR_INVALID_ARGUMENT (`count` < 0, or the size overflows);
 *         DLX_ERROR_UNSUPPORTED (unknown dtype, other flags).
 */
DLX_API dlx_status dlx_dtype_nbytes(const DLDataType *dtype, int64_t count, uint64_t flags,
                                    int64_t *out);

/* ---- tensor ----------------------------------------------------------------------------------- */

/** A tensor: an immutable description, a reference count, and the owner of the memory, which all
 * views share. Never pass one to another copy of libdlx: export it as DLPack. */
typedef struct dlx_tensor dlx_tensor;

/** Largest number of axes that dlx accepts. */
#define DLX_MAX_NDIM 4096

/** Order of the elements in memory. */
enum dlx_order {
  DLX_ORDER_C = 0, /**< the last axis varies fastest (row-major) */
  DLX_ORDER_F = 1  /**< the first axis varies fastest (column-major) */
};

/** Flag of the options structs: the field `stream` is set. (0 is a stream on ROCm and an error on
 * CUDA, so 0 cannot mean "none".) */
#define DLX_HAS_STREAM (1UL << 0UL)
/** Flag of dlx_export_options: `device_type` and `device_id` are set. */
#define DLX_HAS_DEVICE (1UL << 1UL)

/** How to allocate; a NULL pointer means the defaults. */
typedef struct dlx_empty_options {
  uint32_t struct_size;
  int32_t order;      /**< DLX_ORDER_C (default) or DLX_ORDER_F */
  uint64_t flags;     /**< DLX_HAS_STREAM */
  int64_t stream;     /**< only checked: any stream may use new memory */
  uint64_t alignment; /**< of the data, a power of two up to 2^30; 0: 64 (256 from 4 KiB on) */
  const dlx_allocator *allocator; /**< borrowed, copied; NULL: the process's default */
} dlx_empty_options;

#define DLX_EMPTY_OPTIONS_INIT {sizeof(dlx_empty_options), 0, 0, 0, 0, NULL}

/**
 * Allocate a compact tensor; its data is uninitialised.
 *
 * @param ndim  0 … DLX_MAX_NDIM.
 * @param shape  `ndim` extents >= 0; borrowed; may be NULL if `ndim` is 0.
 * @param dtype  borrowed.
 * @param device_type  a device type with dlx_device_count > 0, or its pinned (kDLCUDAHost,
 *        kDLROCMHost) or managed memory (kDLCUDAManaged).
 * @param device_id  0 … dlx_device_count - 1.
 * @param options  borrowed; NULL for the defaults.
 * @param out  a new tensor, owned.
 * @return DLX_OK; DLX_ERROR_INVALID_ARGUMENT (negative extent, size overflows 2^63-1 bytes, …);
 *         DLX_ERROR_UNSUPPORTED (dtype); DLX_ERROR_UNAVAILABLE (no such device here).
 */
DLX_API dlx_status dlx_tensor_empty(int32_t ndim, const int64_t *shape, const DLDataType *dtype,
                                    int32_t device_type, int32_t device_id,
                                    const dlx_empty_options *options, dlx_tensor **out);

/** Frees wrapped memory. Called once, from any thread, when nothing uses the memory any more. */
typedef void (*dlx_deleter_fn)(void *data, void *user_data);

/**
 * Make a tensor of existing memory.
 *
 * @param description  data, device, dtype, shape, strides (NULL: compact C order), byte_offset;
 *        borrowed, copied.
 * @param flags  DLPACK_FLAG_BITMASK_READ_ONLY, DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED, or 0.
 * @param deleter  called as deleter(description->data, user_data) after the tensor, all its views
 *        and all its exports were released; NULL if nothing has to be freed. Not called on failure.
 * @param user_data  consumed on success.
 * @param out  a new tensor, owned.
 * @return DLX_OK; DLX_ERROR_INVALID_ARGUMENT (a malformed description: see dlx_dlpack_check);
 *         DLX_ERROR_UNSUPPORTED (dtype or flags).
 */
DLX_API dlx_status dlx_tensor_wrap(const DLTensor *description, uint64_t flags,
                                   dlx_deleter_fn deleter, void *user_data, dlx_tensor **out);

/** Add a reference and return `tensor`; NULL is ignored. */
DLX_API dlx_tensor *dlx_tensor_retain(dlx_tensor *tensor);

/** Drop a reference; dropping the last one frees the tensor. NULL is ignored; dlx_last_error() does
 * not change. */
DLX_API void dlx_tensor_release(dlx_tensor *tensor);

/**
 * The tensor's description; borrowed, valid as long as the tensor. `strides` is never NULL.
 * `byte_offset` is 0 if `data` is an address, but not always if `data` is a handle (OpenCL, Vulkan,
 * Metal, WebGPU). The getters below return its parts; all return NULL or 0 for a NULL `tensor`.
 */
DLX_API const DLTensor *dlx_tensor_dltensor(const dlx_tensor *tensor);

/** DLPACK_FLAG_BITMASK_READ_ONLY and …_IS_SUBBYTE_TYPE_PADDED if they apply; never …_IS_COPIED,
 * which is a property of one export, not of memory. */
DLX_API uint64_t dlx_tensor_flags(const dlx_tensor *tensor);
/** Number of axes. */
DLX_API int32_t dlx_tensor_ndim(const dlx_tensor *tensor);
/** Extents; borrowed; `ndim` numbers. */
DLX_API const int64_t *dlx_tensor_shape(const dlx_tensor *tensor);
/** Strides in elements; borrowed; `ndim` numbers. */
DLX_API const int64_t *dlx_tensor_strides(const dlx_tensor *tensor);
/** Data type; borrowed. */
DLX_API const DLDataType *dlx_tensor_dtype(const dlx_tensor *tensor);
/** Device type, a kDL* number. */
DLX_API int32_t dlx_tensor_device_type(const dlx_tensor *tensor);
/** Device id. An import keeps the id of its producer, with two exceptions: kDLCPU always has id 0,
 * and 255 on CUDA and ROCm (torch's "cuda") becomes the thread's current device (0 without a
 * driver). Pinned and managed memory that dlx allocates has id 0, as DLPack requires; see
 * dlx_device_ordinal_of_pointer. */
DLX_API int32_t dlx_tensor_device_id(const dlx_tensor *tensor);
/** Address of element [0, …, 0], or the handle if `data` is a handle. */
DLX_API void *dlx_tensor_data(const dlx_tensor *tensor);
/** Number of elements. */
DLX_API int64_t dlx_tensor_size(const dlx_tensor *tensor);
/** Size in bytes of all elements in compact form; sub-byte elements are packed unless padded. */
DLX_API int64_t dlx_tensor_nbytes(const dlx_tensor *tensor);
/** 1 if the elements are compact in `order`, else 0. Axes of extent 1 are ignored; an empty tensor
 * is compact in every order. Any `order` other than DLX_ORDER_F means DLX_ORDER_C. */
DLX_API int32_t dlx_tensor_is_contiguous(const dlx_tensor *tensor, int32_t order);

/* ---- dlpack ----------------------------------------------------------------------------------- */

/** Whether to copy. */
enum dlx_copy_mode {
  DLX_COPY_IF_NEEDED = 0, /**< copy=None: only if sharing is impossible */
  DLX_COPY_ALWAYS = 1,    /**< copy=True */
  DLX_COPY_NEVER = 2      /**< copy=False: a needed copy is DLX_ERROR_COPY_REFUSED */
};

/** How to export negative strides. DLPack allows them, but PyTorch aborts the process on import. */
enum dlx_negative_strides {
  DLX_NEGATIVE_STRIDES_DEFAULT = 0, /**< follow the process's policy */
  DLX_NEGATIVE_STRIDES_COPY = 1,    /**< export a copy, marked IS_COPIED; the initial policy */
  DLX_NEGATIVE_STRIDES_SHARE = 2,   /**< export the memory with its negative strides */
  DLX_NEGATIVE_STRIDES_ERROR = 3    /**< fail with DLX_ERROR_UNSUPPORTED */
};

/** Type of the struct behind a `void *managed`. */
enum dlx_managed_kind {
  DLX_MANAGED_LEGACY = 0,   /**< DLManagedTensor */
  DLX_MANAGED_VERSIONED = 1 /**< DLManagedTensorVersioned */
};

/**
 * Import a tensor from another library (DLPack 1.x).
 *
 * On success `managed` is consumed: dlx calls its deleter when nothing uses the memory any more. On
 * failure the caller still owns it, with one exception that the DLPack standard requires: if its
 * major version is not 1, dlx calls the deleter and reads nothing else. `*out_consumed` says which.
 *
 * Accepted: NULL strides (compact C order), a NULL deleter, any byte_offset, empty tensors
 * with or without data, READ_ONLY and IS_SUBBYTE_TYPE_PADDED, any device. Flags that DLPack 1.3
 * does not define are refused, because they may change the meaning of the bytes.
 *
 * @param managed  consumed on success.
 * @param out_consumed  set on success and on failure: 1 if `managed` was consumed, else 0; may be
 *        NULL.
 * @param out  a new tensor, owned.
 * @return DLX_OK; DLX_ERROR_INVALID_ARGUMENT (malformed: see dlx_dlpack_check);
 *         DLX_ERROR_UNSUPPORTED (major version, dtype, flags).
 */
DLX_API dlx_status dlx_tensor_from_dlpack_versioned(DLManagedTensorVersioned *managed,
                                                    int32_t *out_consumed, dlx_tensor **out);

/** As dlx_tensor_from_dlpack_versioned, for the struct of DLPack before 1.0. That struct has no
 * flags, so the caller passes them in `flags` (DLPACK_FLAG_BITMASK_*; usually 0). Nothing is
 * consumed on failure. Another library's uint1 is DLX_ERROR_UNSUPPORTED unless `flags` says that it
 * is padded, because TVM and others stored one byte for each uint1 at that time. */
DLX_API dlx_status dlx_tensor_from_dlpack(DLManagedTensor *managed, uint64_t flags,
                                          dlx_tensor **out);

/** How to export; a NULL pointer means the defaults. */
typedef struct dlx_export_options {
  uint32_t struct_size;
  int32_t copy;               /**< DLX_COPY_* */
  uint64_t flags;             /**< DLX_HAS_STREAM, DLX_HAS_DEVICE */
  uint32_t max_version_major; /**< newest DLPack version that the consumer accepts; 0.0: any */
  uint32_t max_version_minor;
  int32_t device_type;    /**< device that the consumer wants, with DLX_HAS_DEVICE */
  int32_t device_id;      /**< 255 on CUDA and ROCm (torch's "cuda"): the thread's current device */
  int64_t stream;         /**< the consumer's stream, in the array API's numbering */
  uint64_t min_alignment; /**< of the first element (in its buffer, if `data` is a handle): a power
                             of two up to 2^30; 0: any */
  int32_t negative_strides;       /**< DLX_NEGATIVE_STRIDES_* */
  int32_t reserved;               /**< 0 */
  const dlx_allocator *allocator; /**< for a copy; borrowed, copied; NULL: the process's default */
} dlx_export_options;

#define DLX_EXPORT_OPTIONS_INIT {sizeof(dlx_export_options), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL}

/**
 * Export a tensor to another library as DLPack 1.3, also if the consumer knows an older 1.x only.
 *
 * `strides` is never NULL, `byte_offset` is 0 if `data` is an address, `data` of an empty tensor is
 * NULL, `manager_ctx` is never NULL. The export shares the memory and keeps it alive, unless the
 * caller requests a copy, or `min_alignment` or the policy for negative strides needs one.
 * (DLX_COPY_NEVER shares negative strides, unless the policy is _ERROR.) A copy is compact and
 * writable, and marked IS_COPIED.
 *
 * @param tensor  borrowed; the export holds its own reference.
 * @param options  borrowed; NULL for the defaults.
 * @param out  owned: its last holder calls its deleter, from any thread.
 * @return DLX_OK; DLX_ERROR_COPY_REFUSED (a copy is needed, and the mode is DLX_COPY_NEVER);
 *         DLX_ERROR_UNSUPPORTED (max_version below 1.0, negative strides by policy, a stream whose
 *         driver is missing); DLX_ERROR_DEVICE_REFUSED (dlx cannot export to that device);
 *         DLX_ERROR_INVALID_ARGUMENT (an option; a stream on a device without streams).
 */
DLX_API dlx_status dlx_tensor_to_dlpack_versioned(dlx_tensor *tensor,
                                                  const dlx_export_options *options,
                                                  DLManagedTensorVersioned **out);

/**
 * Export as the struct of DLPack before 1.0. That struct has no flags, so read-only data is
 * DLX_ERROR_READ_ONLY; negative strides (unless the policy is _SHARE), data not aligned to
 * `min_alignment` and padded sub-byte types are DLX_ERROR_UNSUPPORTED. DLX_COPY_ALWAYS exports a
 * plain copy of all of these. `max_version` is ignored; everything else is as in
 * dlx_tensor_to_dlpack_versioned.
 */
DLX_API dlx_status dlx_tensor_to_dlpack(dlx_tensor *tensor, const dlx_export_options *options,
                                        DLManagedTensor **out);

/**
 * Set the process's policy for exports whose options say DLX_NEGATIVE_STRIDES_DEFAULT.
 *
 * @param policy  DLX_NEGATIVE_STRIDES_COPY, _SHARE or _ERROR; _DEFAULT means _COPY.
 * @return DLX_OK; DLX_ERROR_INVALID_ARGUMENT (no such policy).
 */
DLX_API dlx_status dlx_set_export_negative_strides(int32_t policy);

/** The policy that dlx_set_export_negative_strides set. */
DLX_API int32_t dlx_get_export_negative_strides(void);

/**
 * Check a managed tensor against the DLPack 1.3 standard and report each finding on a line.
 *
 * "error: …" is a violation of a MUST, or something that makes the tensor unusable. "warning: …" is
 * a violation of a SHOULD, or something valid that some library handles wrongly: a NULL deleter,
 * negative strides, a byte_offset, data not aligned to 64 bytes … The check reads the structs, the
 * shape and the strides, never the data. Nothing is consumed.
 *
 * @param managed  a DLManagedTensor or DLManagedTensorVersioned; borrowed. If the major version is
 *        not 1, only the version is read.
 * @param kind  DLX_MANAGED_LEGACY or DLX_MANAGED_VERSIONED.
 * @param report  `capacity` bytes for the text, zero-terminated, truncated if too long; NULL if
 *        `capacity` is 0.
 * @param out_errors  number of errors; may be NULL.
 * @param out_warnings  number of warnings; may be NULL.
 * @return DLX_OK, with any findings; DLX_ERROR_INVALID_ARGUMENT (`managed`, `kind`, `report`).
 */
DLX_API dlx_status dlx_dlpack_check(const void *managed, int32_t kind, char *report,
                                    size_t capacity, int32_t *out_errors, int32_t *out_warnings);

/* ---- views ------------------------------------------------------------------------------------
 * Each function makes a new tensor on the same memory in O(ndim). The view keeps the owner alive
 * and inherits READ_ONLY. `tensor` is borrowed; `out` is a new tensor, owned. Axes may be negative:
 * -1 is the last. Errors are DLX_ERROR_INVALID_ARGUMENT, unless the comment names another. A view
 * whose first packed sub-byte element starts inside a byte is DLX_ERROR_UNSUPPORTED, because a
 * DLTensor cannot express it. */

/** An omitted `start` or `stop` of dlx_tensor_slice. INT64_MIN, in a form that bindgen, SWIG and
 * similar tools can read. */
#define DLX_SLICE_OPEN (-9223372036854775807LL - 1)

/** tensor[start:stop:step] on one axis, by Python's rules: negative positions count from the end,
 * positions out of range are clamped, DLX_SLICE_OPEN means omitted. `step` must not be 0. */
DLX_API dlx_status dlx_tensor_slice(dlx_tensor *tensor, int32_t axis, int64_t start, int64_t stop,
                                    int64_t step, dlx_tensor **out);

/** tensor[index] on one axis; the view does not have that axis. A negative `index` counts from the
 * end. */
DLX_API dlx_status dlx_tensor_select(dlx_tensor *tensor, int32_t axis, int64_t index,
                                     dlx_tensor **out);

/** Reorder the axes: axis i of the view is axis axes[i] of `tensor`. `axes` has ndim numbers and
 * names each axis once; NULL reverses the axes. */
DLX_API dlx_status dlx_tensor_permute(dlx_tensor *tensor, const int32_t *axes, dlx_tensor **out);

/** Remove `count` axes of extent 1; with `axes` NULL and `count` 0, all of them. */
DLX_API dlx_status dlx_tensor_squeeze(dlx_tensor *tensor, int32_t count, const int32_t *axes,
                                      dlx_tensor **out);

/** Insert an axis of extent 1 so that it becomes axis `axis` (0 … ndim, or -1 … -ndim-1). */
DLX_API dlx_status dlx_tensor_expand_dims(dlx_tensor *tensor, int32_t axis, dlx_tensor **out);

/** Broadcast to `shape` by NumPy's rules: repeat axes of extent 1 and add axes in front, with
 * stride 0 and no copy. If an axis is repeated, the view is read-only, because its elements share
 * memory. */
DLX_API dlx_status dlx_tensor_broadcast_to(dlx_tensor *tensor, int32_t ndim, const int64_t *shape,
                                           dlx_tensor **out);

/** Reinterpret the bytes as another dtype. If the element sizes differ, the last axis must be
 * compact, and its extent is scaled. Padded sub-byte types and opaque handles are
 * DLX_ERROR_UNSUPPORTED. */
DLX_API dlx_status dlx_tensor_bitcast(dlx_tensor *tensor, const DLDataType *dtype,
                                      dlx_tensor **out);

/** The same elements as a read-only tensor. Views of it are read-only too. */
DLX_API dlx_status dlx_tensor_as_readonly(dlx_tensor *tensor, dlx_tensor **out);

/* ---- copy ------------------------------------------------------------------------------------- */

/** How to copy; a NULL pointer means the defaults. */
typedef struct dlx_copy_options {
  uint32_t struct_size;
  int32_t copy;                   /**< DLX_COPY_*; used by contiguous, reshape and to_device */
  int32_t order;                  /**< of a new tensor: DLX_ORDER_C (default) or DLX_ORDER_F */
  int32_t reserved;               /**< 0 */
  uint64_t flags;                 /**< DLX_HAS_STREAM */
  int64_t stream;                 /**< stream of the copy, in the array API's numbering */
  uint64_t alignment;             /**< of a new tensor's data, as in dlx_empty_options */
  const dlx_allocator *allocator; /**< for a new tensor; borrowed, copied; NULL: the default */
} dlx_copy_options;

#define DLX_COPY_OPTIONS_INIT {sizeof(dlx_copy_options), 0, 0, 0, 0, 0, 0, NULL}

/**
 * Return `tensor` itself (a new reference) if its elements are compact in the requested order, its
 * data has the requested alignment and the mode is not DLX_COPY_ALWAYS; else a compact, writable
 * copy.
 *
 * @return DLX_OK; DLX_ERROR_COPY_REFUSED (a copy is needed, and the mode is DLX_COPY_NEVER);
 *         DLX_ERROR_UNSUPPORTED (a device that dlx cannot copy on).
 */
DLX_API dlx_status dlx_tensor_contiguous(dlx_tensor *tensor, const dlx_copy_options *options,
                                         dlx_tensor **out);

/**
 * Return a compact, writable copy on the same device; options->copy is ignored.
 *
 * @return DLX_OK; DLX_ERROR_UNSUPPORTED (a device that dlx cannot copy on).
 */
DLX_API dlx_status dlx_tensor_clone(dlx_tensor *tensor, const dlx_copy_options *options,
                                    dlx_tensor **out);

/**
 * Return the same elements, taken in C order, with another shape. One extent may be -1: it is
 * computed from the others. The result is a view if strides can express it, else a copy if
 * options->copy allows one. The copy is compact in C order; options->order is ignored.
 *
 * @return DLX_OK; DLX_ERROR_INVALID_ARGUMENT (the number of elements differs);
 *         DLX_ERROR_COPY_REFUSED; DLX_ERROR_UNSUPPORTED (a copy on a device that dlx cannot copy
 *         on).
 */
DLX_API dlx_status dlx_tensor_reshape(dlx_tensor *tensor, int32_t ndim, const int64_t *shape,
                                      const dlx_copy_options *options, dlx_tensor **out);

/**
 * Copy every element of `src` into `dst`: same shape and dtype, any strides, any overlap (the
 * result is as if all of `src` had been read first). Both are borrowed. Nothing is written on
 * failure. Some overlaps need a temporary of the size of the data, a byte for each packed element.
 *
 * On the CPU, packed elements also convert: integers of 1 to 7 bits from and to integers of 1 to 8
 * bits, as C converts integers (the lowest bits are kept), and float4 and float6 to float32. Both
 * sides have the same number of lanes.
 *
 * A copy on a device is work on a stream (of `options`, else the current stream), which may not be
 * done on return. Until then the caller must keep both operands alive and order other work on them,
 * because a DLTensor has no owner. dlx_tensor_copy_from does both.
 *
 * @return DLX_OK; DLX_ERROR_INVALID_ARGUMENT (shape or dtype do not fit; two elements of `dst` share
 *         memory, or dlx cannot show in reasonable time that none do);
 *         DLX_ERROR_UNSUPPORTED (a device that dlx cannot copy on).
 */
DLX_API dlx_status dlx_copy(const DLTensor *dst, const DLTensor *src,
                            const dlx_copy_options *options);

/** Copy one tensor into another, as dlx_copy does; the flags of both (padded, read-only) apply, so
 * that packed elements become padded ones, and the reverse.
 * `src` is broadcast to the shape of `dst`. dlx keeps both alive until the copy is done, and runs
 * it after all pending work that either tensor waits for.
 *
 * @param dst  borrowed.
 * @param src  borrowed; on the same device or another one.
 * @param options  borrowed; NULL for the defaults.
 * @return DLX_OK; DLX_ERROR_READ_ONLY (`dst`); otherwise as dlx_copy. */
DLX_API dlx_status dlx_tensor_copy_from(dlx_tensor *dst, dlx_tensor *src,
                                        const dlx_copy_options *options);

/**
 * Describe how dlx_copy would do a copy: one line for debugging, whose form may change.
 * `out` has `capacity` bytes; the text is truncated if too long.
 *
 * @return DLX_OK; DLX_ERROR_INVALID_ARGUMENT (as for dlx_copy; `capacity` is 0);
 *         DLX_ERROR_UNSUPPORTED (memory that the CPU cannot access).
 */
DLX_API dlx_status dlx_copy_plan_describe(const DLTensor *dst, const DLTensor *src, char *out,
                                          size_t capacity);

/**
 * Return the tensor on another device: `tensor` itself (a new reference) if it is on that device
 * and the mode is not DLX_COPY_ALWAYS, else a compact copy. The call allows the transfer, unless
 * the mode is DLX_COPY_NEVER. Pinned host memory (kDLCUDAHost, kDLROCMHost) becomes kDLCPU without
 * a copy.
 *
 * @return DLX_OK; DLX_ERROR_COPY_REFUSED; DLX_ERROR_UNAVAILABLE (no such device on this machine);
 *         DLX_ERROR_UNSUPPORTED (the data is on a device whose driver is missing).
 */
DLX_API dlx_status dlx_tensor_to_device(dlx_tensor *tensor, int32_t device_type, int32_t device_id,
                                        const dlx_copy_options *options, dlx_tensor **out);

/* ---- device -----------------------------------------------------------------------------------
 * A missing driver is not an error: the device count is 0, and dlx_backend_reason() says why. */

/** Number of devices of a type on this machine; 0 for a type that dlx does not know. Also 0 if memory
 * is exhausted on the first call: dlx_backend_reason() says so, and a later call tries again. */
DLX_API int32_t dlx_device_count(int32_t device_type);

/** Why there is no device of that type, as text; "" if there is one. Borrowed, static. */
DLX_API const char *dlx_backend_reason(int32_t device_type);

/** Properties of a device, from dlx_device_info. */
typedef struct dlx_device_properties {
  uint32_t struct_size;
  int32_t device_type;
  int32_t device_id;
  int32_t reserved;
  int64_t memory_total;  /**< bytes; -1 if unknown */
  int64_t memory_free;   /**< bytes now; -1 if unknown, such as while no context exists */
  char name[128];        /**< the vendor's name of the device */
  char architecture[64]; /**< "sm_90", "gfx942:sramecc+:xnack-", OpenCL's version; "" if unknown */
  char pci_id[32];       /**< "0000:3b:00.0"; "" if unknown. MIG slices share one */
  char uuid[48];         /**< "GPU-…" as the vendor's tools print it; "" if unknown */
  char driver_version[64]; /**< "12.4"; "" if unknown */
  int32_t unified_memory;  /**< 1 if the CPU may access managed memory while the device works */
  int32_t reserved2;
  /** The families of kernels for strided copies that could not be loaded, and the compiler's or
   * driver's message, truncated: "turn, tiles: …". Another family copies then; without "elements",
   * copies go through the host. "" if none failed; a family is loaded when it is needed first. */
  char no_kernels[512];
} dlx_device_properties;

/**
 * Describe one device.
 *
 * @param out  the caller sets struct_size; dlx fills the fields that it covers.
 * @return DLX_OK; DLX_ERROR_UNAVAILABLE (no such device); DLX_ERROR_DRIVER (a query failed);
 *         DLX_ERROR_INVALID_ARGUMENT.
 */
DLX_API dlx_status dlx_device_info(int32_t device_type, int32_t device_id,
                                   dlx_device_properties *out);

/** Parse a device name: "cpu", "cuda", "cuda:1", "cuda_host", "rocm:0", "opencl", "vulkan",
 * "metal", "oneapi", "ext_dev" …, or "type:id" in numbers ("2:1"). The id is 0 if omitted. Any
 * other name is DLX_ERROR_INVALID_ARGUMENT. The device need not exist. */
DLX_API dlx_status dlx_device_parse(const char *name, int32_t *out_device_type,
                                    int32_t *out_device_id);

/** Write the name of a device, as dlx_device_parse reads it: "cpu", "cuda:0". `out` has `capacity`
 * bytes; DLX_NAME_SIZE is always enough. A `capacity` that is too small, a type below 1 or an id
 * below 0 is DLX_ERROR_INVALID_ARGUMENT. */
DLX_API dlx_status dlx_device_name(int32_t device_type, int32_t device_id, char *out,
                                   size_t capacity);

/** Find the device of the memory at `pointer`, in DLPack's numbering (pinned and managed memory
 * have id 0). Memory that no initialised driver knows is kDLCPU, 0. This call initialises no
 * driver, because a driver that nothing uses owns no memory. */
DLX_API dlx_status dlx_device_of_pointer(const void *pointer, int32_t *out_device_type,
                                         int32_t *out_device_id);

/** Find the ordinal of the device that owns the memory at `pointer`, also for pinned and managed
 * memory, whose DLPack id is always 0. The ordinal is 0 for ordinary memory. */
DLX_API dlx_status dlx_device_ordinal_of_pointer(const void *pointer, int32_t *out_ordinal);

/** Wait on the host until all work that dlx submitted to a device is done. DLX_ERROR_UNAVAILABLE:
 * there is no such device; DLX_ERROR_DRIVER: the wait failed. */
DLX_API dlx_status dlx_device_synchronize(int32_t device_type, int32_t device_id);

/* ---- stream -----------------------------------------------------------------------------------
 * A stream is an int64_t, as the array API standard defines it for `__dlpack__`. CUDA: 1 is the
 * legacy default stream, 2 the per-thread default stream, any other number a cudaStream_t/CUstream;
 * 0 is refused as ambiguous. ROCm: 0 is the default stream, any other number a hipStream_t; 1 and 2
 * are refused. -1 ("do not synchronise") is valid for imports and exports, not in this section.
 *
 * Errors of all functions in this section: DLX_ERROR_INVALID_ARGUMENT (a device without streams,
 * such as the CPU; an invalid stream number), DLX_ERROR_UNAVAILABLE (no such device on this
 * machine), DLX_ERROR_DRIVER (a driver call failed), and DLX_ERROR_UNSUPPORTED as described under
 * Captures.
 *
 * Order. The storage of a tensor records which pending work its data waits for. Every import,
 * export and copy makes the stream involved wait for that work by an event. No exchange or copy
 * waits for a whole device, and the host waits only before the CPU reads or writes the data.
 *
 * Captures (CUDA graphs). No function breaks a capture. A call that would break one, or would make
 * a graph depend on work outside it or the reverse, is DLX_ERROR_UNSUPPORTED and touches no stream.
 * Examples: to synchronise or destroy a stream that is being captured; work that must wait for the
 * default stream during a capture that blocks the default stream. */

/** Create a stream that does not wait for the legacy default stream. The caller destroys it with
 * dlx_stream_destroy. */
DLX_API dlx_status dlx_stream_create(int32_t device_type, int32_t device_id, int64_t *out_stream);

/** Destroy a stream made by dlx_stream_create; its pending work still completes. A stream of
 * another device is DLX_ERROR_INVALID_ARGUMENT. Does nothing if the driver is gone (during exit, in
 * a forked child). */
DLX_API dlx_status dlx_stream_destroy(int32_t device_type, int32_t device_id, int64_t stream);

/** Wait on the host until all work submitted to a stream so far is done. */
DLX_API dlx_status dlx_stream_synchronize(int32_t device_type, int32_t device_id, int64_t stream);

/** Make later work on `stream` start after all work submitted to `other` so far. Both streams are
 * of the same device. While `stream` is being captured, `other` must be idle. */
DLX_API dlx_status dlx_stream_wait(int32_t device_type, int32_t device_id, int64_t stream,
                                   int64_t other);

/** Make `stream` the calling thread's current stream of a device. Imports ask the producer to make
 * the data safe on it, and copies run on it. The stream must exist as long as it is current. */
DLX_API dlx_status dlx_stream_set_current(int32_t device_type, int32_t device_id, int64_t stream);

/** Undo dlx_stream_set_current for a device on this thread. Any device is accepted, also one that
 * does not exist or has no streams. */
DLX_API dlx_status dlx_stream_reset_current(int32_t device_type, int32_t device_id);

/** Get the calling thread's current stream of a device: the one set by dlx_stream_set_current; else
 * the current stream of the library whose exchange table this thread last imported from; else the
 * default stream. */
DLX_API dlx_status dlx_stream_get_current(int32_t device_type, int32_t device_id,
                                          int64_t *out_stream);

/** Make later work on `stream` wait until the tensor's data is ready. The stream belongs to the
 * tensor's device; for pinned and managed memory, to any device of that kind. */
DLX_API dlx_status dlx_tensor_wait_on_stream(dlx_tensor *tensor, int64_t stream);

/** Declare that the work submitted to `stream` so far writes the tensor's data. Later exports,
 * copies and waits of this tensor, and of every view of its memory, wait for that work. `stream` is
 * as in dlx_tensor_wait_on_stream. */
DLX_API dlx_status dlx_tensor_written_on_stream(dlx_tensor *tensor, int64_t stream);

/** Wait on the host until the tensor's data is ready. On the CPU it always is. */
DLX_API dlx_status dlx_tensor_synchronize(dlx_tensor *tensor);

/* ---- backend ---------------------------------------------------------------------------------- */

/**
 * The functions of a device type that its vendor adds to dlx: kDLExtDev, Ascend, Trainium …
 *
 * `struct_size` is sizeof(dlx_backend). Functions marked optional may be NULL. A function that
 * returns int32_t returns 0 for success; any other value is a failure, whose text is `error_text`.
 * dlx calls the functions from any thread.
 *
 * A place in memory is a pair (data, offset): the sum of both if `data` is an address; the buffer
 * and the byte in it if `data` is a handle. Work runs in the order of `stream`. On a device without
 * streams, work is done when the function returns, and `stream` is always 0.
 */
typedef struct dlx_backend {
  uint32_t struct_size; /**< sizeof(dlx_backend) */
  uint32_t reserved;    /**< 0 */
  void *user_data;      /**< the last argument of every function */
  /** How many devices there are, not a status; dlx asks each time. */
  int32_t (*device_count)(void *user_data);
  /** Fill the known fields of the struct; optional. */
  int32_t (*describe)(int32_t device_id, dlx_device_properties *out, void *user_data);
  /** Text of the calling thread's last failure; borrowed until its next failure; optional. */
  const char *(*error_text)(void *user_data);

  /** Return NULL if memory is exhausted. `size` > 0; `alignment` is a power of two. */
  void *(*allocate)(int32_t device_id, size_t size, size_t alignment, void *user_data);
  /** Free what `allocate` returned, once nothing uses it. */
  void (*deallocate)(int32_t device_id, void *data, void *user_data);

  /** Copy from host memory, which may be reused after the work of `stream`. */
  int32_t (*copy_from_host)(int32_t device_id, void *dst, uint64_t dst_offset, const void *src,
                            size_t size, int64_t stream, void *user_data);
  /** Copy to host memory, which is read after the work of `stream`. */
  int32_t (*copy_to_host)(int32_t device_id, void *dst, const void *src, uint64_t src_offset,
                          size_t size, int64_t stream, void *user_data);
  /** Copy between devices of this type, which may be the same; `stream` is the destination's. */
  int32_t (*copy_on_device)(int32_t dst_device_id, void *dst, uint64_t dst_offset,
                            int32_t src_device_id, const void *src, uint64_t src_offset,
                            size_t size, int64_t stream, void *user_data);
  /** Copy between two tensors of the same shape and dtype on one device; their strides are not
   * NULL. Optional: if NULL, dlx copies through the host. */
  int32_t (*copy_strided)(int32_t device_id, const DLTensor *dst, const DLTensor *src,
                          int64_t stream, void *user_data);
  /** Wait on the host for all work of the device. */
  int32_t (*synchronize)(int32_t device_id, void *user_data);

  /* Streams: set all of these functions or none. */
  int64_t default_stream; /**< the stream where nobody names one */
  /** Make a stream; its number must differ from the default stream's and from -1. */
  int32_t (*stream_create)(int32_t device_id, int64_t *out_stream, void *user_data);
  /** Destroy a stream of `stream_create`; its work is still done. */
  void (*stream_destroy)(int32_t device_id, int64_t stream, void *user_data);
  /** Wait on the host for the work of one stream. */
  int32_t (*stream_synchronize)(int32_t device_id, int64_t stream, void *user_data);
  /** Record an event after all work submitted to `stream` so far. */
  int32_t (*event_record)(int32_t device_id, int64_t stream, void **out_event, void *user_data);
  /** Let the later work of `stream` wait for the event. */
  int32_t (*event_wait)(int32_t device_id, int64_t stream, void *event, void *user_data);
  /** Wait on the host for the event. */
  int32_t (*event_wait_on_host)(int32_t device_id, void *event, void *user_data);
  /** Set *out_done to 1 or 0. */
  int32_t (*event_query)(int32_t device_id, void *event, int32_t *out_done, void *user_data);
  /** Free an event of `event_record`; nothing waits for it any more. */
  void (*event_release)(int32_t device_id, void *event, void *user_data);
} dlx_backend;

/**
 * Add a backend for a device type without one; it stays for the life of the process.
 *
 * @param device_type  a kDL* device type, or a number that DLPack does not use yet.
 * @param backend  borrowed, copied; its functions and user_data must stay valid until the process
 *        ends.
 * @return DLX_OK; DLX_ERROR_INVALID_ARGUMENT (a function is missing, or the device type already has
 *        a backend); DLX_ERROR_UNSUPPORTED (no room for another backend).
 */
DLX_API dlx_status dlx_register_backend(int32_t device_type, const dlx_backend *backend);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* DLX_DLX_H_ */
