/**
 * Contracts: what a compiled function demands of its arguments. One text says it for callers in
 * Python (`dlx.function`, dlx/python.h), in torch's dispatcher (dlx/torch_operator.h) and in XLA
 * (dlx/xla_ffi.h), and dlx checks it before every call:
 *     "scale(x: float32[n, m] writable, weights: float32|float64[m] = None, factor: float = 1.0)"
 *
 * - **Arrays** are `dtypes[extents] words`. `dtypes` is one or more names of dlx_dtype_parse with
 *   `|` between them, `any`, or `dtype(x)`, the dtype of the earlier array x. An extent is a number,
 *   `_` for any, or a name, which is equal wherever it occurs; an integer parameter may have that
 *   name too. `[...]` takes any number of axes, `[..., n]` any number before the named ones.
 *   The words:
 *     `writable`   the function writes the array; read-only and overlapping elements are refused
 *     `C`, `F`     compact in row-major (the default) or column-major order
 *     `strided`    any strides; the function must use them
 *     `unaligned`  also addresses that are no multiple of the element's size
 *     `copy`       an array of another dtype (if it is not written) or layout is copied into a
 *                  temporary, which is copied back if the function writes it and succeeds
 *     `grad`       also tensors that require grad, whose gradient the function does not see
 *     `result`     dlx allocates the array; dtype and extents follow from the arguments
 *     `cuda`, `rocm` … on that device instead of the CPU; `anywhere`: all such arrays on one device
 * - **Scalars**: `int` (int64_t), `float` (double), `bool`, `str` (const char *, UTF-8), or a dtype:
 *   `int32`, `uint8`, `float32` …; `stream` gets the stream on which the function must work.
 * - **Defaults** follow `=`: a number, a text, True, False; None for an array, which is then NULL.
 * - **What the function returns** follows `->`: `status` (the default: a dlx_status, see
 *   dlx_set_last_error), `void`, `int` (int64_t), `float` (double), `tensor` (a dlx_tensor *, owned
 *   by the caller; NULL is a failure).
 *
 * An array that the function gets has strides, a byte_offset of 0 (on the CPU and on CUDA), shape
 * and strides that dlx keeps, and memory unless it is empty. It is valid until the function returns.
 */
#ifndef DLX_CALL_H_
#define DLX_CALL_H_

#include "dlx/dlx.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A contract; immutable, so any thread may use it. */
typedef struct dlx_contract dlx_contract;

/** An argument as a function gets it. The member follows from the parameter's type. */
typedef union dlx_argument {
  DLTensor *array; /**< NULL: an optional array that the caller left out */
  int64_t integer; /**< int, bool, stream, and integers of other widths */
  double real;
  const char *text;
} dlx_argument;

/**
 * A function that takes its arguments as one array, in the order of the contract.
 *
 * @param context  what the caller of dlx passed beside the function.
 * @param arguments  as many as the contract has parameters; valid during the call.
 * @return DLX_OK, or another dlx_status after dlx_set_last_error().
 */
typedef dlx_status (*dlx_function)(void *context, const dlx_argument *arguments);

/** What a parameter is. */
enum dlx_parameter_kind {
  DLX_PARAMETER_ARRAY = 0,
  DLX_PARAMETER_INT = 1,
  DLX_PARAMETER_FLOAT = 2,
  DLX_PARAMETER_BOOL = 3,
  DLX_PARAMETER_TEXT = 4,
  DLX_PARAMETER_STREAM = 5
};

/** Properties of a parameter. */
enum dlx_parameter_flags {
  DLX_PARAMETER_WRITABLE = 1,
  DLX_PARAMETER_RESULT = 2,
  DLX_PARAMETER_OPTIONAL = 4,
  DLX_PARAMETER_GRAD = 8
};

/** A parameter of a contract, for code that calls functions by contracts. */
typedef struct dlx_parameter {
  uint32_t struct_size;       /**< sizeof(dlx_parameter) */
  int32_t kind;               /**< DLX_PARAMETER_ARRAY … */
  uint64_t flags;             /**< DLX_PARAMETER_WRITABLE … */
  const char *name;           /**< borrowed from the contract */
  int32_t ndim;               /**< of an array; -1: any */
  DLDataType dtype;           /**< of an array, its first one, bits 0: any; of a number */
  dlx_argument default_value; /**< of an optional one; a text is borrowed from the contract */
} dlx_parameter;

/* clang-format off */
#define DLX_PARAMETER_INIT {sizeof(dlx_parameter), 0, 0, NULL, 0, {0, 0, 0}, {NULL}}
/* clang-format on */

/**
 * Read a contract.
 *
 * @param text  as above; borrowed, copied.
 * @param out  owned; release it with dlx_contract_release.
 * @return DLX_OK; DLX_ERROR_INVALID_ARGUMENT (the message shows the place), DLX_ERROR_UNSUPPORTED
 *         (a dtype).
 */
DLX_API dlx_status dlx_contract_create(const char *text, dlx_contract **out);

/** Release a contract; NULL is fine. */
DLX_API void dlx_contract_release(dlx_contract *contract);

/** Name of the contract's function, "function" if the text has none; borrowed. NULL for NULL. */
DLX_API const char *dlx_contract_name(const dlx_contract *contract);

/** Number of parameters, 0 for NULL. */
DLX_API int32_t dlx_contract_count(const dlx_contract *contract);

/**
 * Describe a parameter.
 *
 * @param index  0 to dlx_contract_count() - 1.
 * @param out  filled; the caller has set its `struct_size`.
 * @return DLX_OK; DLX_ERROR_INVALID_ARGUMENT.
 */
DLX_API dlx_status dlx_contract_parameter(const dlx_contract *contract, int32_t index,
                                          dlx_parameter *out);

/**
 * Check arguments against a contract, as every caller of a function does. Arrays must have strides;
 * results that are NULL are not looked at.
 *
 * @param arguments  as many as the contract has parameters; borrowed.
 * @param flags  NULL, or the DLPack flags of each argument: DLPACK_FLAG_BITMASK_READ_ONLY …
 * @return DLX_OK; DLX_ERROR_INVALID_ARGUMENT, DLX_ERROR_READ_ONLY, DLX_ERROR_COPY_REFUSED (layout,
 *         alignment), DLX_ERROR_DEVICE_REFUSED: the message names the parameter, what came and what
 *         is expected.
 */
DLX_API dlx_status dlx_contract_check(const dlx_contract *contract, const dlx_argument *arguments,
                                      const uint64_t *flags);

/**
 * Find dtype and shape of a result from the other arguments.
 *
 * @param index  of a parameter with DLX_PARAMETER_RESULT.
 * @param arguments  as for dlx_contract_check; borrowed.
 * @param out_dtype  the dtype.
 * @param out_shape  room for the parameter's `ndim` extents.
 * @return DLX_OK; DLX_ERROR_INVALID_ARGUMENT (not a result, or the arguments do not fit).
 */
DLX_API dlx_status dlx_contract_result(const dlx_contract *contract, int32_t index,
                                       const dlx_argument *arguments, DLDataType *out_dtype,
                                       int64_t *out_shape);

/**
 * Call a function with tensors, as `dlx.function` does with the arrays of Python: check the arguments,
 * allocate the results, order work on a device, call. Nothing is copied, also not with `copy`.
 *
 * @param contract  borrowed; one that returns a status.
 * @param function  a function that fits the contract.
 * @param context  passed on to the function; borrowed.
 * @param tensors  one for each parameter; borrowed. NULL for one that is no array, for a result, and
 *        for an optional array that is left out. NULL if the contract has no arrays.
 * @param values  one for each parameter, read where it is a number or a text; borrowed. Defaults are
 *        the caller's: see dlx_contract_parameter. NULL if the contract has neither.
 * @param out  the results, in order; owned. As many as the contract has; NULL after a failure.
 * @return what the function returned, DLX_ERROR_INTERNAL if that is no status of dlx; the statuses of
 *         dlx_contract_check and dlx_tensor_empty; DLX_ERROR_UNSUPPORTED (the contract returns something
 *         else). Messages start with the function's name.
 *
 * A parameter of type `stream` gets the current stream of the arrays' device, 0 on the CPU.
 */
DLX_API dlx_status dlx_contract_call(const dlx_contract *contract, dlx_function function,
                                     void *context, dlx_tensor *const *tensors,
                                     const dlx_argument *values, dlx_tensor **out);

/* ---- Python. The caller holds the GIL; see dlx/python.h. ---------------------------------------- */

/** An argument of a function: the memory of a Python object as a DLTensor. The caller allocates it,
 * dlx fills it. Not to be copied or moved: `array` may point into `room`. */
typedef struct dlx_borrowed {
  DLTensor array;   /**< has strides; data and shape are valid until it is given back */
  uint64_t flags;   /**< DLPack's flags of the array */
  void *owner;      /**< dlx's own */
  void *original;   /**< dlx's own */
  int64_t room[16]; /**< dlx's own */
} dlx_borrowed;

/**
 * Borrow the arrays of a call: check the objects against a contract and fill a DLTensor for each,
 * without making a Tensor of an object of NumPy, torch or dlx.
 *
 * @param contract  borrowed; its parameters are the arguments in order. It must have arrays only, no
 *        results and no stream.
 * @param objects  dlx_contract_count() objects (PyObject *), NULL or None for an optional one that
 *        is left out; borrowed. The caller keeps them alive, and the GIL, until the call returns.
 * @param out  as many dlx_borrowed; filled if the call succeeds, unchanged or empty if it fails.
 * @return DLX_OK; the statuses of dlx_contract_check and of asarray; DLX_ERROR_INTERNAL if the
 *         object's own code raised. A Python exception is set after every failure.
 *
 * Every successful call needs dlx_python_give_back with the same `out`, also before the objects are
 * released. The function must not resize the objects meanwhile, nor let others do so.
 */
DLX_API dlx_status dlx_python_borrow(const dlx_contract *contract, void *const *objects,
                                     dlx_borrowed *out);

/**
 * Give back what dlx_python_borrow filled; the caller holds the GIL.
 *
 * @param count  number of arrays in `borrowed`.
 * @param succeeded  not 0: temporaries of arrays that the function wrote are copied back.
 * @return DLX_OK; DLX_ERROR_DRIVER, DLX_ERROR_OUT_OF_MEMORY (the copy back), with a Python exception
 *         set. Everything is given back in any case.
 */
DLX_API dlx_status dlx_python_give_back(dlx_borrowed *borrowed, int32_t count, int32_t succeeded);

/** How dlx_python_function calls. A zeroed struct is the default. */
typedef struct dlx_function_options {
  uint32_t struct_size; /**< sizeof(dlx_function_options) */
  int32_t natural; /**< 0: the function is a dlx_function; 1: it takes its arguments one by one */
  int64_t
      gil_kept_below; /**< elements of all arrays, below which the GIL is kept during the call; 0:
                               dlx decides; INT64_MAX: always kept; -1: never */
  void *context;      /**< for a dlx_function */
  void (*release)(void *context); /**< called once, when the callable is gone, or NULL */
  const char *doc;                /**< borrowed, copied; NULL: none */
} dlx_function_options;

#define DLX_FUNCTION_OPTIONS_INIT {sizeof(dlx_function_options), 0, 0, NULL, NULL, NULL}

/**
 * Make a Python callable of a C function. A call takes any arrays, checks them against the contract
 * and gives the function DLTensors; results are arrays of the library of the first array argument.
 *
 * @param function  the function: a dlx_function, or with `natural` one whose parameters are the
 *        contract's in order: `DLTensor *` for an array, int64_t for int, double for float, bool,
 *        `const char *` for str, int64_t for a stream, else the type of that name; its result is
 *        the contract's. Natural functions exist on x86-64 and 64-bit ARM; at most 8 numbers may be
 *        floating point.
 * @param contract  borrowed; the callable holds its own reference.
 * @param options  borrowed; NULL is the default.
 * @param out  a new reference to a PyObject, owned. The caller holds the GIL.
 * @return DLX_OK; DLX_ERROR_INVALID_ARGUMENT; DLX_ERROR_UNSUPPORTED (`natural` on this machine);
 *         DLX_ERROR_UNAVAILABLE (dlx_python_attach was not called). A Python exception is set after
 *         every other failure; `release` was not called.
 */
DLX_API dlx_status dlx_python_function(void (*function)(void), dlx_contract *contract,
                                       const dlx_function_options *options, void **out);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* DLX_CALL_H_ */
