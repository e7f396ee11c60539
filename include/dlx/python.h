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

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* DLX_PYTHON_H_ */
