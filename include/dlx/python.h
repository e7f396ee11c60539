/**
 * Where a Python package meets libdlx.so: dlx makes its native Python objects itself, with
 * CPython's own functions looked up in the running interpreter. Neither libdlx.so nor its caller
 * needs Python.h or a link to libpython, and one binary serves every CPython from 3.9 on.
 *
 * Objects are `void *` here, as ctypes, cffi or any FFI has them. To hold the GIL means, in a
 * free-threaded build, to have an attached thread state.
 */
#ifndef DLX_PYTHON_H_
#define DLX_PYTHON_H_

#include "dlx/dlx.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Make dlx's native objects in the running CPython and put them into a dict: the type `Tensor`, the
 * functions `from_dlpack`, `asarray`, `convert`, `copyto` and a few private ones. The same dict
 * brings the hooks that native code calls (errors, make_dtype, classify …);
 * bindings/python/dlx/_native.py is their only user.
 *
 * Attaching again in the same interpreter hands out the same objects and takes the new hooks; after
 * Py_Finalize and Py_Initialize it starts afresh.
 *
 * @param object_type  `builtins.object` of the interpreter (a PyObject *); borrowed. CPython's
 *        functions are looked up in the library that this object lies in.
 * @param namespace_dict  a dict (a PyObject *); borrowed.
 *
 * @return DLX_OK; DLX_ERROR_UNAVAILABLE (no usable CPython there: a subinterpreter, a
 *         reference-tracing build, another implementation, a function that is missing);
 *         DLX_ERROR_INVALID_ARGUMENT (a hook is missing).
 *
 * Thread safety: takes the GIL if the caller does not hold it.
 */
DLX_API dlx_status dlx_python_attach(void *object_type, void *namespace_dict);

/**
 * The tensor behind a `dlx.Tensor`.
 *
 * @param object  a PyObject *; borrowed. The caller holds the GIL.
 * @param out  borrowed from `object`; retain it to keep it longer.
 * @return DLX_OK; DLX_ERROR_INVALID_ARGUMENT (not a dlx.Tensor); DLX_ERROR_UNAVAILABLE (nothing is
 *         attached).
 */
DLX_API dlx_status dlx_python_unwrap(void *object, dlx_tensor **out);

/**
 * A new `dlx.Tensor` for a tensor.
 *
 * @param tensor  borrowed; the object takes a reference of its own. The caller holds the GIL.
 * @param out  a new PyObject * reference, owned.
 * @return DLX_OK; DLX_ERROR_UNAVAILABLE (nothing is attached).
 */
DLX_API dlx_status dlx_python_wrap(dlx_tensor *tensor, void **out);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* DLX_PYTHON_H_ */
