/**
 * dlx: tensor exchange for every language, on DLPack, behind a stable C ABI.
 *
 * A `dlx_tensor` describes memory that some library owns: shape, strides, dtype, device, and who
 * frees it. dlx takes such memory over (dlx_tensor_wrap, dlx_tensor_from_dlpack*), makes views of
 * it without touching the data, copies it only where that was allowed, and hands it on as DLPack.
 *
 * Conventions, valid for every function below unless it says otherwise:
 *
 * - **Status.** A call that can fail returns a `dlx_status`: DLX_OK (0) or a positive
 *   DLX_ERROR_*. The words are in dlx_last_error(). Every function may also return
 *   DLX_ERROR_OUT_OF_MEMORY and DLX_ERROR_INTERNAL (a bug in dlx), and one that works on a device
 *   DLX_ERROR_DRIVER; the lists do not repeat them. A NULL where a pointer is required is
 *   DLX_ERROR_INVALID_ARGUMENT and names the parameter, and so is an option of no such value; flags
 *   and fields of options that this version does not know are DLX_ERROR_UNSUPPORTED.
 * - **Outputs** come last. A handle output is set to NULL at entry; other outputs are untouched on
 *   failure. A failed call has taken no ownership and changed nothing.
 * - **Ownership words.** *borrowed*: used during the call only, or, for a returned pointer, valid
 *   as long as the object that it came from. *owned*: now the caller's, to be released. *consumed*:
 *   now dlx's.
 * - **Threads.** Every function may be called from any thread, on the same tensor too: a tensor's
 *   description never changes and its count is atomic. Reading and writing the *data* at the same
 *   time is the caller's matter. A child of fork() may go on with all but device drivers.
 * - **Units.** Extents and strides count elements, offsets and sizes count bytes, as in DLPack.
 * - **Structs** passed by pointer start with `struct_size`, their sizeof, which a DLX_*_INIT macro
 *   sets where there is one; the rest may be zero, which means the default. Fields are only ever
 *   appended.
 * - **Callbacks** given to dlx must not throw, longjmp or unwind the stack. dlx's own never do.
 *   Deleters and allocators may call dlx: no lock of it is held around them.
 * - **Trust.** What a caller or a producer says is checked as far as that needs no look at the
 *   data: versions, flags, dtypes, overflows of sizes and addresses. That the memory is there, as
 *   large as was said, and stays until its deleter runs, is believed. It need not be aligned for
 *   its dtype: dlx copies it all the same, and whoever reads it by a pointer has to look.
 * - **Environment.** DLX_NUM_THREADS, DLX_ISA, DLX_CUDA_PATH, DLX_HIP_PATH and DLX_OPENCL_PATH are
 *   read when first needed; docs/python.md says what they set.
 *
 * Sections: library (status, errors, allocators, threads), dtype, tensor, dlpack, views, copy,
 * device, stream, backend. dlx/arrow.h adds Arrow, dlx/python.h CPython, dlx/dlx.hpp is for C++.
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

#ifndef DLX_API
#if defined(_WIN32)
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

enum {
  DLX_OK = 0,
  DLX_ERROR_INVALID_ARGUMENT = 1, /**< the caller's mistake; the message names the argument */
  DLX_ERROR_OUT_OF_MEMORY = 2,    /**< no room: an allocator returned NULL */
  DLX_ERROR_UNSUPPORTED = 3,      /**< well-formed, but beyond dlx or DLPack: dtype, flag, version;
                                     data on a device whose driver is missing */
  DLX_ERROR_UNAVAILABLE = 4,      /**< no driver or no such device on this machine */
  DLX_ERROR_DRIVER = 5,           /**< a device driver's call failed; the message has its code */
  DLX_ERROR_READ_ONLY = 6,        /**< writing, or exporting as writable, what is read-only */
  DLX_ERROR_COPY_REFUSED = 7,     /**< a copy is needed, and the caller said DLX_COPY_NEVER */
  DLX_ERROR_DEVICE_REFUSED = 8,   /**< the data lives elsewhere, and no transfer was asked for */
  DLX_ERROR_INTERNAL = 255        /**< a bug in dlx */
};

/** Version of the library as "major.minor.patch"; borrowed, static. */
DLX_API const char *dlx_version(void);

/** Version of the ABI: the N of `libdlx.so.N`. Changes only when something was removed or moved. */
DLX_API int32_t dlx_abi_version(void);

/** Name of a status such as "DLX_ERROR_READ_ONLY", or "unknown status"; borrowed, static. */
DLX_API const char *dlx_status_name(dlx_status status);

/**
 * What went wrong in the last failed call of this thread: "function: what is wrong (got X, expected
 * Y)". Meaningful right after a failure only; a successful call leaves it alone. Never NULL;
 * borrowed, valid until the thread's next failure or its end.
 */
DLX_API const char *dlx_last_error(void);

/** Memory for tensors. `struct_size` is sizeof(dlx_allocator). */
typedef struct dlx_allocator {
  uint32_t struct_size;
  uint32_t reserved; /**< 0 */
  /** Return `size` > 0 bytes aligned to `alignment` (a power of two), or NULL if there is no room.
   * Memory that is not aligned goes back, and the call is DLX_ERROR_INVALID_ARGUMENT. */
  void *(*allocate)(size_t size, size_t alignment, int32_t device_type, int32_t device_id,
                    void *user_data);
  /** Free what `allocate` returned; called once, from any thread. */
  void (*deallocate)(void *data, size_t size, int32_t device_type, int32_t device_id,
                     void *user_data);
  void *user_data;
} dlx_allocator;

#define DLX_ALLOCATOR_INIT {sizeof(dlx_allocator), 0, NULL, NULL, NULL}

/**
 * Set the process's default allocator for a device type; NULL restores the built-in one. Calls that
 * are given an allocator of their own do not use it. Every tensor remembers the allocator that it
 * came from, so that memory which exists already is freed where it was made. Meant to be called a
 * few times: each call keeps a small record.
 *
 * @param device_type  a kDL* device type that has a backend.
 * @param allocator  borrowed, copied.
 * @return DLX_OK; DLX_ERROR_INVALID_ARGUMENT (a function is NULL); DLX_ERROR_UNSUPPORTED (device).
 */
DLX_API dlx_status dlx_set_allocator(int32_t device_type, const dlx_allocator *allocator);

/**
 * Set how many threads one copy may use: 1 keeps it on the calling thread; 0 restores the default,
 * DLX_NUM_THREADS from the environment or else the cores that this process may run on.
 *
 * It is a limit: a copy of a few megabytes starts fewer, and none starts more than four for each
 * core that this process may run on. More than 1024 count as 1024.
 *
 * @return DLX_OK; DLX_ERROR_INVALID_ARGUMENT (`num_threads` < 0).
 */
DLX_API dlx_status dlx_set_num_threads(int32_t num_threads);

/** Number of threads that one copy may use; at least 1. */
DLX_API int32_t dlx_get_num_threads(void);

/** One piece of a parallel task; `index` counts from 0. Never throws. */
typedef void (*dlx_parallel_task_fn)(void *task_data, int64_t index);

/** Run task(task_data, i) for every i in [0, count), on any threads, and return when all are
 * done. */
typedef void (*dlx_parallel_for_fn)(int64_t count, dlx_parallel_task_fn task, void *task_data,
                                    void *user_data);

/**
 * Make dlx use the host's own thread pool for its copies; NULL restores dlx's pool (which starts no
 * thread before the first large copy). Meant to be called once: each call keeps a small record.
 *
 * @param parallel_for  kept until replaced; called on any thread that copies, by several at once.
 * @param user_data  handed to `parallel_for`; must live as long, and longer if it is replaced while
 *        copies run: until they are done.
 * @return DLX_OK.
 */
DLX_API dlx_status dlx_set_parallel_for(dlx_parallel_for_fn parallel_for, void *user_data);

/* ---- dtype ------------------------------------------------------------------------------------ */

/** Bytes that hold any name or format that dlx writes, the final zero included. */
#define DLX_NAME_SIZE 64

/** Spelling of a dtype for dlx_dtype_format and dlx_dtype_parse_format. */
enum {
  DLX_FORMAT_BUFFER = 0, /**< PEP 3118, as in Py_buffer.format: "f", "Zd", "?" */
  DLX_FORMAT_TYPESTR = 1 /**< NumPy's array interface: "<f4", "|b1" */
};

/**
 * Read a dtype's name: "bool", "int8" … "int128", "uint8" …, "float16" … "float128", "bfloat16",
 * "complex32" … "complex128", "float8_e4m3fn" and the other FP8 kinds, "float6_e2m3fn",
 * "float4_e2m1fn", "int1" … "int7", "uint1" …, "opaque64" …, and "bcomplex32", which no release of
 * DLPack has yet (dlpack.h); "x4" at the end gives 4 lanes ("float32x4").
 *
 * @param name  borrowed.
 * @param out  the dtype.
 * @return DLX_OK; DLX_ERROR_INVALID_ARGUMENT (no such name).
 */
DLX_API dlx_status dlx_dtype_parse(const char *name, DLDataType *out);

/**
 * Write the name that dlx_dtype_parse reads.
 *
 * @param dtype  borrowed.
 * @param out  `capacity` bytes; DLX_NAME_SIZE always suffice.
 * @return DLX_OK; DLX_ERROR_INVALID_ARGUMENT (`capacity` too small); DLX_ERROR_UNSUPPORTED (not a
 *         dtype of dlpack.h: an unknown code, or bits that the code does not have).
 */
DLX_API dlx_status dlx_dtype_name(const DLDataType *dtype, char *out, size_t capacity);

/**
 * Read a buffer format or a typestr of one scalar. The byte order must be the machine's own (DLPack
 * has no other).
 *
 * @param format  borrowed.
 * @param style  DLX_FORMAT_BUFFER or DLX_FORMAT_TYPESTR.
 * @param out  the dtype.
 * @return DLX_OK; DLX_ERROR_UNSUPPORTED (a foreign byte order; a structure, a string, an object, or
 *         anything else that is no scalar of DLPack); DLX_ERROR_INVALID_ARGUMENT (`style`).
 */
DLX_API dlx_status dlx_dtype_parse_format(const char *format, int32_t style, DLDataType *out);

/**
 * Write a dtype as a buffer format or a typestr.
 *
 * @param dtype  borrowed.
 * @param style  DLX_FORMAT_BUFFER or DLX_FORMAT_TYPESTR.
 * @param out  `capacity` bytes; DLX_NAME_SIZE always suffice.
 * @return DLX_OK; DLX_ERROR_UNSUPPORTED (no such spelling: bfloat16, the FP8 to FP4 kinds, sub-byte
 *         types, integers and floats of 128 bits, complex32, opaque handles, lanes other than 1);
 *         DLX_ERROR_INVALID_ARGUMENT (`style`, `capacity` too small).
 */
DLX_API dlx_status dlx_dtype_format(const DLDataType *dtype, int32_t style, char *out,
                                    size_t capacity);

/** Bits of one element, all lanes together; 0 for a NULL or unknown dtype. */
DLX_API int64_t dlx_dtype_bits(const DLDataType *dtype);

/**
 * Bytes of `count` compact elements: sub-byte elements packed (8 of 1 bit in a byte), or one byte
 * a lane with DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED in `flags`.
 *
 * @return DLX_OK; DLX_ERROR_INVALID_ARGUMENT (`count` < 0, or the size overflows);
 *         DLX_ERROR_UNSUPPORTED (unknown dtype, other flags).
 */
DLX_API dlx_status dlx_dtype_nbytes(const DLDataType *dtype, int64_t count, uint64_t flags,
                                    int64_t *out);

/* ---- tensor ----------------------------------------------------------------------------------- */

/** A tensor: a description that never changes, a count of references, and the owner of the memory,
 * which all views of it share. Never goes from one copy of libdlx to another: DLPack does. */
typedef struct dlx_tensor dlx_tensor;

/** Largest number of axes that dlx accepts. */
#define DLX_MAX_NDIM 4096

/** Order of elements in memory. */
enum {
  DLX_ORDER_C = 0, /**< the last axis varies fastest (row-major) */
  DLX_ORDER_F = 1  /**< the first axis varies fastest (column-major) */
};

/** Flag of the options structs: the field `stream` counts. (0 is a stream on ROCm and an error on
 * CUDA, so a zero in the field cannot mean "none".) */
#define DLX_HAS_STREAM (1UL << 0UL)
/** Flag of dlx_export_options: `device_type` and `device_id` count. */
#define DLX_HAS_DEVICE (1UL << 1UL)

/** How to allocate; NULL in its place means the defaults. */
typedef struct dlx_empty_options {
  uint32_t struct_size;
  int32_t order;      /**< DLX_ORDER_C (default) or DLX_ORDER_F */
  uint64_t flags;     /**< DLX_HAS_STREAM */
  int64_t stream;     /**< checked, and else without effect: new memory is for any stream */
  uint64_t alignment; /**< of the data, a power of two up to 2^30; 0: 64 (256 from 4 KiB on) */
  const dlx_allocator *allocator; /**< borrowed, copied; NULL: the process's default */
} dlx_empty_options;

#define DLX_EMPTY_OPTIONS_INIT {sizeof(dlx_empty_options), 0, 0, 0, 0, NULL}

/**
 * Allocate an uninitialised, compact tensor.
 *
 * @param ndim  0 … DLX_MAX_NDIM.
 * @param shape  `ndim` extents >= 0; borrowed; may be NULL if `ndim` is 0.
 * @param dtype  borrowed.
 * @param device_type  where: a device of dlx_device_count, pinned memory (kDLCUDAHost,
 *        kDLROCMHost) or managed memory (kDLCUDAManaged) of a device that is there.
 * @param device_id  which of these.
 * @param options  borrowed; NULL for the defaults.
 * @param out  a new tensor, owned.
 * @return DLX_OK; DLX_ERROR_INVALID_ARGUMENT (negative extent, size overflows 2^63-1 bytes, …);
 *         DLX_ERROR_UNSUPPORTED (dtype); DLX_ERROR_UNAVAILABLE (no such device here).
 */
DLX_API dlx_status dlx_tensor_empty(int32_t ndim, const int64_t *shape, const DLDataType *dtype,
                                    int32_t device_type, int32_t device_id,
                                    const dlx_empty_options *options, dlx_tensor **out);

/** Frees wrapped memory. Called once, from any thread, when the last user of the memory is gone. */
typedef void (*dlx_deleter_fn)(void *data, void *user_data);

/**
 * Make a tensor of memory that the caller already has.
 *
 * @param description  data, device, dtype, shape, strides (NULL: compact C order), byte_offset;
 *        borrowed, copied.
 * @param flags  DLPACK_FLAG_BITMASK_READ_ONLY, DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED, or 0.
 * @param deleter  called as deleter(description->data, user_data) when the tensor, all its views
 *        and all its exports are gone; NULL if nothing has to be freed. Not called on failure.
 * @param user_data  consumed on success.
 * @param out  a new tensor, owned.
 * @return DLX_OK; DLX_ERROR_INVALID_ARGUMENT (a malformed description: see dlx_dlpack_check);
 *         DLX_ERROR_UNSUPPORTED (dtype or flags).
 */
DLX_API dlx_status dlx_tensor_wrap(const DLTensor *description, uint64_t flags,
                                   dlx_deleter_fn deleter, void *user_data, dlx_tensor **out);

/** Add a reference and return `tensor`; NULL is ignored. */
DLX_API dlx_tensor *dlx_tensor_retain(dlx_tensor *tensor);

/** Give a reference back; the last one frees. NULL is ignored; dlx_last_error() is left alone. */
DLX_API void dlx_tensor_release(dlx_tensor *tensor);

/**
 * The description: strides are always filled, byte_offset is 0 wherever `data` is an address (it
 * remains where it is a handle: OpenCL, Vulkan, Metal, WebGPU). Borrowed from the tensor; valid as
 * long as it. The getters below give its parts; all of them tell NULL or 0 of a NULL `tensor`.
 */
DLX_API const DLTensor *dlx_tensor_dltensor(const dlx_tensor *tensor);

/** DLPACK_FLAG_BITMASK_READ_ONLY and …_IS_SUBBYTE_TYPE_PADDED where they hold; never …_IS_COPIED,
 * which belongs to one export and is not a property of memory. */
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
/** Device id; an import keeps its producer's numbering, except that kDLCPU always has 0, and that
 * 255 on CUDA and ROCm (torch's "cuda") is the thread's current device, 0 without a driver. Pinned and
 * managed memory that dlx allocates has 0, as DLPack demands: see dlx_device_ordinal_of_pointer. */
DLX_API int32_t dlx_tensor_device_id(const dlx_tensor *tensor);
/** Address of element [0, …, 0]; where `data` is a handle, the handle. */
DLX_API void *dlx_tensor_data(const dlx_tensor *tensor);
/** Number of elements. */
DLX_API int64_t dlx_tensor_size(const dlx_tensor *tensor);
/** Bytes of the elements if they were compact, sub-byte ones packed unless padded. */
DLX_API int64_t dlx_tensor_nbytes(const dlx_tensor *tensor);
/** 1 if the elements are compact in `order`, else 0. Axes of extent 1 do not count, empty tensors
 * are compact in any; an `order` that is not DLX_ORDER_F counts as DLX_ORDER_C. */
DLX_API int32_t dlx_tensor_is_contiguous(const dlx_tensor *tensor, int32_t order);

/* ---- dlpack ----------------------------------------------------------------------------------- */

/** Whether a copy is made. */
enum {
  DLX_COPY_IF_NEEDED = 0, /**< copy=None: only where it cannot be avoided */
  DLX_COPY_ALWAYS = 1,    /**< copy=True */
  DLX_COPY_NEVER = 2      /**< copy=False: DLX_ERROR_COPY_REFUSED instead */
};

/** What an export does with negative strides, on which PyTorch aborts the process. */
enum {
  DLX_NEGATIVE_STRIDES_DEFAULT = 0, /**< the process's policy */
  DLX_NEGATIVE_STRIDES_COPY = 1,    /**< export a copy, marked IS_COPIED; the policy at start */
  DLX_NEGATIVE_STRIDES_SHARE = 2,   /**< export them as they are, which DLPack allows */
  DLX_NEGATIVE_STRIDES_ERROR = 3    /**< DLX_ERROR_UNSUPPORTED */
};

/** Which struct a `void *managed` is. */
enum {
  DLX_MANAGED_LEGACY = 0,   /**< DLManagedTensor */
  DLX_MANAGED_VERSIONED = 1 /**< DLManagedTensorVersioned */
};

/**
 * Take over a tensor from another library (DLPack 1.x).
 *
 * On success `managed` is consumed: its deleter runs when the last user of the memory is gone. On
 * failure it remains the caller's, with one exception that the standard demands: if its major
 * version is not 1, its deleter has been called and nothing else in it was read; `*out_consumed`
 * tells.
 *
 * Accepted: NULL strides (compact C order), a NULL deleter, any byte_offset, empty tensors
 * with or without data, READ_ONLY and IS_SUBBYTE_TYPE_PADDED, any device. Flags that DLPack 1.3
 * does not define are refused: they may change what the bytes mean.
 *
 * @param managed  consumed on success.
 * @param out_consumed  set to 1 if `managed` is gone, else to 0, failed or not; may be NULL.
 * @param out  a new tensor, owned.
 * @return DLX_OK; DLX_ERROR_INVALID_ARGUMENT (malformed: see dlx_dlpack_check);
 *         DLX_ERROR_UNSUPPORTED (major version, dtype, flags).
 */
DLX_API dlx_status dlx_tensor_from_dlpack_versioned(DLManagedTensorVersioned *managed,
                                                    int32_t *out_consumed, dlx_tensor **out);

/** The same for the struct of DLPack before 1.0, which cannot say that data is read-only or
 * padded: `flags` says it (DLPACK_FLAG_BITMASK_*; usually 0). On failure nothing is consumed.
 * Another library's uint1 is DLX_ERROR_UNSUPPORTED unless `flags` says that it is padded: it was a
 * byte each to TVM and others of that time. */
DLX_API dlx_status dlx_tensor_from_dlpack(DLManagedTensor *managed, uint64_t flags,
                                          dlx_tensor **out);

/** How to export; NULL in its place means the defaults. */
typedef struct dlx_export_options {
  uint32_t struct_size;
  int32_t copy;               /**< DLX_COPY_* */
  uint64_t flags;             /**< DLX_HAS_STREAM, DLX_HAS_DEVICE */
  uint32_t max_version_major; /**< newest DLPack that the consumer takes; 0.0: any */
  uint32_t max_version_minor;
  int32_t device_type;    /**< where the consumer wants the data, with DLX_HAS_DEVICE */
  int32_t device_id;      /**< 255 on CUDA and ROCm (torch's "cuda"): the thread's current device */
  int64_t stream;         /**< the consumer's stream, by the array API's numbers */
  uint64_t min_alignment; /**< of the first element (in its buffer, where `data` is a handle), a
                             power of two up to 2^30; 0: any */
  int32_t negative_strides;       /**< DLX_NEGATIVE_STRIDES_* */
  int32_t reserved;               /**< 0 */
  const dlx_allocator *allocator; /**< for a copy; borrowed, copied; NULL: the process's default */
} dlx_export_options;

#define DLX_EXPORT_OPTIONS_INIT {sizeof(dlx_export_options), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL}

/**
 * Export a tensor for another library (DLPack 1.3, whatever the newest 1.x that it takes).
 *
 * Strides are always filled, byte_offset is folded into `data` wherever that is an address, an
 * empty tensor has NULL data, manager_ctx is never NULL. The export shares the memory and keeps it
 * alive, unless a copy was asked for or is needed: for `min_alignment`, or negative strides by
 * their policy (DLX_COPY_NEVER shares those, unless it is _ERROR). A copy is compact, writable, and
 * marked IS_COPIED.
 *
 * @param tensor  borrowed; the export holds a reference of its own.
 * @param options  borrowed; NULL for the defaults.
 * @param out  owned: whoever ends up with it calls its deleter, from any thread.
 * @return DLX_OK; DLX_ERROR_COPY_REFUSED (a copy is needed, and the mode is DLX_COPY_NEVER);
 *         DLX_ERROR_UNSUPPORTED (max_version below 1.0, negative strides by policy, a stream whose
 *         driver is missing);
 *         DLX_ERROR_DEVICE_REFUSED (that device is out of reach from here);
 *         DLX_ERROR_INVALID_ARGUMENT (an option; a stream on a device that has none).
 */
DLX_API dlx_status dlx_tensor_to_dlpack_versioned(dlx_tensor *tensor,
                                                  const dlx_export_options *options,
                                                  DLManagedTensorVersioned **out);

/**
 * Export as the struct of DLPack before 1.0, which has no flags: read-only data is
 * DLX_ERROR_READ_ONLY, and what would have to be a marked copy (negative strides, unless their
 * policy is _SHARE; data that is not aligned to `min_alignment`) or a marked layout (padded sub-byte
 * types) is DLX_ERROR_UNSUPPORTED; DLX_COPY_ALWAYS exports a plain copy of any of them. Otherwise as
 * dlx_tensor_to_dlpack_versioned; max_version is not looked at.
 */
DLX_API dlx_status dlx_tensor_to_dlpack(dlx_tensor *tensor, const dlx_export_options *options,
                                        DLManagedTensor **out);

/**
 * Set the process's policy for negative strides in exports that leave it open.
 *
 * @param policy  DLX_NEGATIVE_STRIDES_COPY, _SHARE or _ERROR; _DEFAULT means _COPY.
 * @return DLX_OK; DLX_ERROR_INVALID_ARGUMENT (no such policy).
 */
DLX_API dlx_status dlx_set_export_negative_strides(int32_t policy);

/** The policy that dlx_set_export_negative_strides set. */
DLX_API int32_t dlx_get_export_negative_strides(void);

/**
 * Check a managed tensor against the DLPack 1.3 standard and say in words what is wrong with it,
 * one finding a line: "error: …" for what breaks a MUST or makes the tensor unusable, "warning: …"
 * for a SHOULD, and for what is legal but goes wrong with some library (a NULL deleter, negative
 * strides, a byte_offset …), data that is not aligned to 256 bytes included. Reads the structs, the
 * shape and the strides, never the data. Nothing is consumed.
 *
 * @param managed  a DLManagedTensor or DLManagedTensorVersioned; borrowed. Of a version other than
 *        1.x only the version is read.
 * @param kind  DLX_MANAGED_LEGACY or DLX_MANAGED_VERSIONED.
 * @param report  `capacity` bytes for the words, cut to fit, zero-terminated; NULL if `capacity` is
 *        0.
 * @param out_errors  how many errors; may be NULL.
 * @param out_warnings  how many warnings; may be NULL.
 * @return DLX_OK, whatever was found; DLX_ERROR_INVALID_ARGUMENT (`managed`, `kind`, `report`).
 */
DLX_API dlx_status dlx_dlpack_check(const void *managed, int32_t kind, char *report,
                                    size_t capacity, int32_t *out_errors, int32_t *out_warnings);

/* ---- views ------------------------------------------------------------------------------------
 * Each makes a new tensor on the same memory in O(ndim), keeps the owner alive and inherits
 * READ_ONLY. `tensor` is borrowed; `out` is a new tensor, owned. Axes may be negative: -1 is the
 * last. Errors are DLX_ERROR_INVALID_ARGUMENT unless said otherwise; a view whose first packed
 * sub-byte element would lie inside a byte is DLX_ERROR_UNSUPPORTED, for no DLTensor can say it. */

/** In place of a `start` or `stop` of dlx_tensor_slice: left out. INT64_MIN, in a form that
 * bindgen, SWIG and their like can read too. */
#define DLX_SLICE_OPEN (-9223372036854775807LL - 1)

/** tensor[start:stop:step] on one axis, by Python's rules: negative positions count from the end,
 * those beyond it are clamped, DLX_SLICE_OPEN leaves one out; `step` is any number but 0. */
DLX_API dlx_status dlx_tensor_slice(dlx_tensor *tensor, int32_t axis, int64_t start, int64_t stop,
                                    int64_t step, dlx_tensor **out);

/** tensor[index] on one axis, which disappears; `index` may count from the end. */
DLX_API dlx_status dlx_tensor_select(dlx_tensor *tensor, int32_t axis, int64_t index,
                                     dlx_tensor **out);

/** Reorder the axes: axis i of the view is axis axes[i] of `tensor`. `axes` has ndim numbers, each
 * axis once; NULL reverses them. */
DLX_API dlx_status dlx_tensor_permute(dlx_tensor *tensor, const int32_t *axes, dlx_tensor **out);

/** Drop `count` axes of extent 1; `axes` NULL with `count` 0 drops every one that there is. */
DLX_API dlx_status dlx_tensor_squeeze(dlx_tensor *tensor, int32_t count, const int32_t *axes,
                                      dlx_tensor **out);

/** Insert an axis of extent 1 so that it becomes axis `axis` (0 … ndim, or -1 … -ndim-1). */
DLX_API dlx_status dlx_tensor_expand_dims(dlx_tensor *tensor, int32_t axis, dlx_tensor **out);

/** Repeat axes of extent 1, and put new ones in front, by NumPy's rules: stride 0, no copy. The
 * view is read-only where an axis is repeated, for its elements share memory. */
DLX_API dlx_status dlx_tensor_broadcast_to(dlx_tensor *tensor, int32_t ndim, const int64_t *shape,
                                           dlx_tensor **out);

/** The same bytes as another dtype. Where the element sizes differ, the last axis must be compact,
 * and its extent is scaled. Padded sub-byte types and opaque handles: DLX_ERROR_UNSUPPORTED. */
DLX_API dlx_status dlx_tensor_bitcast(dlx_tensor *tensor, const DLDataType *dtype,
                                      dlx_tensor **out);

/** The same view, read-only: it and everything made of it. */
DLX_API dlx_status dlx_tensor_as_readonly(dlx_tensor *tensor, dlx_tensor **out);

/* ---- copy ------------------------------------------------------------------------------------- */

/** How to copy; NULL in its place means the defaults. */
typedef struct dlx_copy_options {
  uint32_t struct_size;
  int32_t copy;                   /**< DLX_COPY_*; looked at by contiguous, reshape, to_device */
  int32_t order;                  /**< of a new tensor: DLX_ORDER_C (default) or DLX_ORDER_F */
  int32_t reserved;               /**< 0 */
  uint64_t flags;                 /**< DLX_HAS_STREAM */
  int64_t stream;                 /**< stream that the copy runs on, by the array API's numbers */
  uint64_t alignment;             /**< of a new tensor's data, as in dlx_empty_options */
  const dlx_allocator *allocator; /**< for a new tensor; borrowed, copied; NULL: the default */
} dlx_copy_options;

#define DLX_COPY_OPTIONS_INIT {sizeof(dlx_copy_options), 0, 0, 0, 0, 0, 0, NULL}

/**
 * `tensor` itself (a new reference) if its elements are compact in the order asked for, its data
 * has the alignment asked for, and the mode is not DLX_COPY_ALWAYS; else a compact, writable copy.
 *
 * @return DLX_OK; DLX_ERROR_COPY_REFUSED (needed, and the mode is DLX_COPY_NEVER);
 *         DLX_ERROR_UNSUPPORTED (a device that dlx cannot copy on).
 */
DLX_API dlx_status dlx_tensor_contiguous(dlx_tensor *tensor, const dlx_copy_options *options,
                                         dlx_tensor **out);

/**
 * A compact, writable copy on the same device, whatever options->copy says.
 *
 * @return DLX_OK; DLX_ERROR_UNSUPPORTED (a device that dlx cannot copy on).
 */
DLX_API dlx_status dlx_tensor_clone(dlx_tensor *tensor, const dlx_copy_options *options,
                                    dlx_tensor **out);

/**
 * The same elements in C order under another shape (one extent may be -1: what remains): a view
 * where strides can express it, else a copy, as options->copy allows. The copy is compact in C
 * order, whatever options->order says.
 *
 * @return DLX_OK; DLX_ERROR_INVALID_ARGUMENT (the number of elements differs);
 *         DLX_ERROR_COPY_REFUSED; DLX_ERROR_UNSUPPORTED (a copy on a device that dlx cannot copy
 *         on).
 */
DLX_API dlx_status dlx_tensor_reshape(dlx_tensor *tensor, int32_t ndim, const int64_t *shape,
                                      const dlx_copy_options *options, dlx_tensor **out);

/**
 * Copy every element of `src` into `dst`: same shape and dtype, any strides, any overlap (the
 * result is as if `src` had been read first). Both are borrowed. Nothing is written on failure.
 * Operands that overlap in a way that no order of copying untangles need memory for a temporary. A
 * `dst` whose strides cannot be shown in reasonable time to reach every element once is refused.
 *
 * On a device this is work on a stream (`options`, else the current one), and may still be to be
 * done: bare descriptions have no owner, so that the life of both sides until then, and the order
 * with other work on them, are the caller's matter. dlx_tensor_copy_from sees to both.
 *
 * @return DLX_OK; DLX_ERROR_INVALID_ARGUMENT (shape or dtype differ, `dst` repeats an element);
 *         DLX_ERROR_UNSUPPORTED (a device that dlx cannot copy on).
 */
DLX_API dlx_status dlx_copy(const DLTensor *dst, const DLTensor *src,
                            const dlx_copy_options *options);

/** dlx_copy between two tensors, which also know what is padded and what is read-only. `src` is
 * broadcast to the shape of `dst`. Both live until the copy is done, and it is put in order behind
 * what both wait for.
 *
 * @param dst  borrowed.
 * @param src  borrowed; on the same device or another one.
 * @param options  borrowed; NULL for the defaults.
 * @return DLX_OK; DLX_ERROR_READ_ONLY (`dst`); otherwise as dlx_copy. */
DLX_API dlx_status dlx_tensor_copy_from(dlx_tensor *dst, dlx_tensor *src,
                                        const dlx_copy_options *options);

/**
 * Describe in words how dlx_copy would go about it: a line for debugging, of no fixed form.
 * `out` has `capacity` bytes; the text is cut to fit.
 *
 * @return DLX_OK; DLX_ERROR_INVALID_ARGUMENT (as for dlx_copy; `capacity` is 0);
 *         DLX_ERROR_UNSUPPORTED (memory that the CPU cannot reach).
 */
DLX_API dlx_status dlx_copy_plan_describe(const DLTensor *dst, const DLTensor *src, char *out,
                                          size_t capacity);

/**
 * The tensor on another device: itself (a new reference) if it is there already and the mode is not
 * DLX_COPY_ALWAYS, else a compact copy. This call is the consent to a transfer. Pinned host memory
 * (kDLCUDAHost, kDLROCMHost) becomes kDLCPU without a copy.
 *
 * @return DLX_OK; DLX_ERROR_COPY_REFUSED; DLX_ERROR_UNAVAILABLE (no such device here);
 *         DLX_ERROR_UNSUPPORTED (the data is on a device whose driver is missing).
 */
DLX_API dlx_status dlx_tensor_to_device(dlx_tensor *tensor, int32_t device_type, int32_t device_id,
                                        const dlx_copy_options *options, dlx_tensor **out);

/* ---- device -----------------------------------------------------------------------------------
 * A driver that is missing is a fact, not an error: there are then 0 devices, and a reason. */

/** Number of devices of a type on this machine; 0 for a type that dlx does not know. */
DLX_API int32_t dlx_device_count(int32_t device_type);

/** Why there is no device of that type, in words; "" if there is one. Borrowed, static. */
DLX_API const char *dlx_backend_reason(int32_t device_type);

/** What dlx_device_info tells. */
typedef struct dlx_device_properties {
  uint32_t struct_size;
  int32_t device_type;
  int32_t device_id;
  int32_t reserved;
  int64_t memory_total;  /**< bytes; -1 if unknown */
  int64_t memory_free;   /**< bytes now; -1 if unknown, as where nobody uses the device */
  char name[128];        /**< the maker's name for it */
  char architecture[64]; /**< "sm_90", "gfx942:sramecc+:xnack-", OpenCL's version; "" if unknown */
  char pci_id[32];       /**< "0000:3b:00.0"; "" if unknown. MIG slices share one */
  char uuid[48];         /**< "GPU-…" as the maker's tools print it; "" if unknown */
  char driver_version[64]; /**< "12.4"; "" if unknown */
  int32_t unified_memory; /**< 1 if the CPU may use managed memory while the device works, else 0 */
  int32_t reserved2;
  /** Why strided copies go through the host, in the compiler's or driver's words, cut to fit. ""
   * where kernels do them, and before the first one, which loads them. */
  char no_kernels[512];
} dlx_device_properties;

/**
 * Describe one device.
 *
 * @param out  the caller sets struct_size; as many fields are filled as it covers.
 * @return DLX_OK; DLX_ERROR_UNAVAILABLE (no such device); DLX_ERROR_DRIVER (its driver does not tell);
 *         DLX_ERROR_INVALID_ARGUMENT.
 */
DLX_API dlx_status dlx_device_info(int32_t device_type, int32_t device_id,
                                   dlx_device_properties *out);

/** Read a device's name: "cpu", "cuda", "cuda:1", "cuda_host", "rocm:0", "opencl", "vulkan",
 * "metal", "oneapi", "ext_dev" …, or "type:id" in numbers ("2:1"). Without an id it is 0. Another
 * name is DLX_ERROR_INVALID_ARGUMENT; whether the device is there does not matter. */
DLX_API dlx_status dlx_device_parse(const char *name, int32_t *out_device_type,
                                    int32_t *out_device_id);

/** Write the name that dlx_device_parse reads: "cpu", "cuda:0". `out` has `capacity` bytes;
 * DLX_NAME_SIZE always suffice. Fewer than needed, a type below 1 or an id below 0 is
 * DLX_ERROR_INVALID_ARGUMENT. */
DLX_API dlx_status dlx_device_name(int32_t device_type, int32_t device_id, char *out,
                                   size_t capacity);

/** On which device the memory at `pointer` lives, by DLPack's numbers (pinned and managed memory
 * have id 0). No driver is initialised to find out: one that nobody uses yet owns no memory, so the
 * answer is then kDLCPU, 0. */
DLX_API dlx_status dlx_device_of_pointer(const void *pointer, int32_t *out_device_type,
                                         int32_t *out_device_id);

/** The ordinal of the device that memory really belongs to, also where dlx_device_of_pointer says 0
 * because DLPack has no other number: pinned and managed memory. 0 for ordinary memory. */
DLX_API dlx_status dlx_device_ordinal_of_pointer(const void *pointer, int32_t *out_ordinal);

/** Wait until all work that dlx was given for a device is done. DLX_ERROR_UNAVAILABLE where there is
 * no such device, DLX_ERROR_DRIVER where the wait fails. */
DLX_API dlx_status dlx_device_synchronize(int32_t device_type, int32_t device_id);

/* ---- stream -----------------------------------------------------------------------------------
 * A stream is an int64_t with the array API's meaning. CUDA: 1 the legacy default stream, 2 the
 * per-thread default stream, otherwise a cudaStream_t/CUstream; 0 is refused as ambiguous. ROCm: 0 the
 * default stream, otherwise a hipStream_t; 1 and 2 are refused. -1 ("do not synchronise") is allowed
 * where data is handed over, not here.
 *
 * Errors of all functions of this section: DLX_ERROR_INVALID_ARGUMENT (a device that has no streams,
 * such as the CPU; a number that is no stream there), DLX_ERROR_UNAVAILABLE (no such device here),
 * DLX_ERROR_DRIVER (a call of its driver failed), and DLX_ERROR_UNSUPPORTED as said under Captures.
 *
 * Order. What a tensor's storage is waiting for is remembered with the storage: whoever imports,
 * exports or copies it gets its streams ordered behind it by events; no exchange or copy waits
 * device-wide, and the host waits only where it will read.
 *
 * Captures (CUDA graphs). Nothing here breaks one. What would, or would lead into a graph or out
 * of it, is DLX_ERROR_UNSUPPORTED before any stream is touched: waiting for or destroying a stream
 * that is being captured, and work that has to wait for the default stream while a stream is
 * captured that blocks it. */

/** Make a stream that does not wait for the legacy default stream; to be destroyed by the
 * caller. */
DLX_API dlx_status dlx_stream_create(int32_t device_type, int32_t device_id, int64_t *out_stream);

/** Destroy a stream made by dlx_stream_create; the work that it has is still done. A stream of another
 * device is DLX_ERROR_INVALID_ARGUMENT; where the driver is gone (exit, a forked child) nothing is
 * done. */
DLX_API dlx_status dlx_stream_destroy(int32_t device_type, int32_t device_id, int64_t stream);

/** Wait on the host for the work that a stream has now. */
DLX_API dlx_status dlx_stream_synchronize(int32_t device_type, int32_t device_id, int64_t stream);

/** Work given to `stream` from now on starts after the work that `other` has now; both of one
 * device. While `stream` is being captured, `other` has to be idle. */
DLX_API dlx_status dlx_stream_wait(int32_t device_type, int32_t device_id, int64_t stream,
                                   int64_t other);

/** Make `stream` the calling thread's current stream of a device: imports ask their producers for
 * data that is safe there, and copies run there. The stream must live until another one is
 * current. */
DLX_API dlx_status dlx_stream_set_current(int32_t device_type, int32_t device_id, int64_t stream);

/** Forget what dlx_stream_set_current said on this thread for that device, if anything. Any
 * device is accepted, also one that is not there or has no streams. */
DLX_API dlx_status dlx_stream_reset_current(int32_t device_type, int32_t device_id);

/** The calling thread's current stream of a device: what dlx_stream_set_current said; else that of
 * the library whose exchange table was last imported from on this thread; else the default
 * stream. */
DLX_API dlx_status dlx_stream_get_current(int32_t device_type, int32_t device_id,
                                          int64_t *out_stream);

/** Work given to `stream` from now on finds the tensor's data ready. The stream is one of the
 * tensor's device; of any device of that kind for pinned and managed memory. */
DLX_API dlx_status dlx_tensor_wait_on_stream(dlx_tensor *tensor, int64_t stream);

/** Tell dlx that the work which `stream` has now writes the tensor's data: whoever is handed the
 * tensor, or any view of the same memory, from now on waits for it. `stream` as above. */
DLX_API dlx_status dlx_tensor_written_on_stream(dlx_tensor *tensor, int64_t stream);

/** Wait on the host until the tensor's data is ready. A tensor on the CPU always is. */
DLX_API dlx_status dlx_tensor_synchronize(dlx_tensor *tensor);

/* ---- backend ---------------------------------------------------------------------------------- */

/**
 * A device type that its maker adds to dlx: kDLExtDev, Ascend, Trainium … `struct_size` is
 * sizeof(dlx_backend). Functions marked optional may be NULL. Those that return int32_t return 0,
 * or another value, which `error_text` then explains. They are called from any thread.
 *
 * Memory is (data, offset): the two are added where `data` is an address, and kept apart where it
 * is a handle. Work is done in the order of `stream`, or at once by a device that has no streams,
 * whose `stream` is always 0.
 */
typedef struct dlx_backend {
  uint32_t struct_size;
  uint32_t reserved; /**< 0 */
  void *user_data;
  int32_t (*device_count)(void *user_data);
  /** Fill what is known in the struct; optional. */
  int32_t (*describe)(int32_t device_id, dlx_device_properties *out, void *user_data);
  /** Text of the calling thread's last failure: borrowed until its next one; optional. */
  const char *(*error_text)(void *user_data);

  /** NULL if there is no room; `size` > 0, `alignment` a power of two. */
  void *(*allocate)(int32_t device_id, size_t size, size_t alignment, void *user_data);
  void (*deallocate)(int32_t device_id, void *data, void *user_data);

  int32_t (*copy_from_host)(int32_t device_id, void *dst, uint64_t dst_offset, const void *src,
                            size_t size, int64_t stream, void *user_data);
  int32_t (*copy_to_host)(int32_t device_id, void *dst, const void *src, uint64_t src_offset,
                          size_t size, int64_t stream, void *user_data);
  /** From one device of this type to the same or another one; `stream` is of the destination's. */
  int32_t (*copy_on_device)(int32_t dst_device_id, void *dst, uint64_t dst_offset,
                            int32_t src_device_id, const void *src, uint64_t src_offset,
                            size_t size, int64_t stream, void *user_data);
  /** A strided copy between two descriptions of the same shape and dtype, strides filled, on one
   * device; optional: without it dlx goes through the host. */
  int32_t (*copy_strided)(int32_t device_id, const DLTensor *dst, const DLTensor *src,
                          int64_t stream, void *user_data);
  /** Wait on the host for all work of the device. */
  int32_t (*synchronize)(int32_t device_id, void *user_data);

  /* Streams: all of them or none. */
  int64_t default_stream;
  int32_t (*stream_create)(int32_t device_id, int64_t *out_stream, void *user_data);
  void (*stream_destroy)(int32_t device_id, int64_t stream, void *user_data);
  int32_t (*stream_synchronize)(int32_t device_id, int64_t stream, void *user_data);
  /** An event behind the work that `stream` has now. */
  int32_t (*event_record)(int32_t device_id, int64_t stream, void **out_event, void *user_data);
  int32_t (*event_wait)(int32_t device_id, int64_t stream, void *event, void *user_data);
  int32_t (*event_wait_on_host)(int32_t device_id, void *event, void *user_data);
  /** *out_done: 1 or 0. */
  int32_t (*event_query)(int32_t device_id, void *event, int32_t *out_done, void *user_data);
  void (*event_release)(int32_t device_id, void *event, void *user_data);
} dlx_backend;

/**
 * Add a backend for a device type that dlx has none for; it stays for the life of the process.
 *
 * @param device_type  a kDL* device type, or a number that DLPack does not use yet.
 * @param backend  borrowed, copied; what its functions and user_data need must live on.
 * @return DLX_OK; DLX_ERROR_INVALID_ARGUMENT (a function is missing, or there is a backend
 *        already).
 */
DLX_API dlx_status dlx_register_backend(int32_t device_type, const dlx_backend *backend);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* DLX_DLX_H_ */
