/**
 * The native Python objects of dlx, for its Python package. libdlx.so looks up CPython's functions
 * in the running interpreter, so neither libdlx.so nor its caller needs Python.h or links
 * libpython, and one binary works with every CPython from 3.9 on.
 *
 * Python objects are `void *` here, as in ctypes, cffi and other FFIs. In a free-threaded build,
 * "holds the GIL" means that the thread has an attached thread state.
 */
#ifndef DLX_PYTHON_H_
#define DLX_PYTHON_H_

#include "dlx/call.h"
#include "dlx/dlx.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Create dlx's native objects in the running CPython and put them into a dict: the type `Tensor`,
 * the functions `from_dlpack`, `asarray`, `convert`, `copyto` and a few private ones.
 *
 * The caller puts the hooks that native code calls (errors, make_dtype, classify …) into the same
 * dict before the call. bindings/python/dlx is the only user of this function.
 *
 * A second call in the same interpreter returns the same objects and uses the new hooks. After
 * Py_Finalize and Py_Initialize, a call creates new objects.
 *
 * @param object_type  `builtins.object` of the interpreter (a PyObject *); borrowed. dlx looks up
 *        CPython's functions in the shared library that contains this object.
 * @param namespace_dict  a dict (a PyObject *); borrowed.
 *
 * @return DLX_OK; DLX_ERROR_UNAVAILABLE (no usable CPython: a subinterpreter, a reference-tracing
 *         build, another implementation, a missing function); DLX_ERROR_INVALID_ARGUMENT (a missing
 *         hook).
 *
 * Thread safety: takes the GIL if the caller does not hold it.
 */
DLX_API dlx_status dlx_python_attach(void *object_type, void *namespace_dict);

/**
 * Get the tensor of a `dlx.Tensor` object.
 *
 * @param object  a PyObject *; borrowed. The caller holds the GIL.
 * @param out  borrowed from `object`; call dlx_tensor_retain to keep it longer.
 * @return DLX_OK; DLX_ERROR_INVALID_ARGUMENT (not a dlx.Tensor); DLX_ERROR_UNAVAILABLE
 *         (dlx_python_attach was not called).
 */
DLX_API dlx_status dlx_python_unwrap(void *object, dlx_tensor **out);

/**
 * Make a `dlx.Tensor` object for a tensor.
 *
 * @param tensor  borrowed; the object holds its own reference. The caller holds the GIL.
 * @param out  a new reference to a PyObject, owned.
 * @return DLX_OK; DLX_ERROR_UNAVAILABLE (dlx_python_attach was not called).
 */
DLX_API dlx_status dlx_python_wrap(dlx_tensor *tensor, void **out);

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
  int32_t natural;      /**< 0: the function is a dlx_function; 1: it takes its arguments one by one */
  int64_t gil_kept_below; /**< elements of all arrays, below which the GIL is kept during the call; 0:
                               dlx decides; INT64_MAX: always kept; -1: never */
  void *context;                  /**< for a dlx_function */
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

#endif /* DLX_PYTHON_H_ */
