"""Attaches libdlx to this interpreter: makes the native type `Tensor` and the hot functions.

Whatever the library puts into the namespace becomes an attribute of this module; _native.pyi lists
it for type checkers.
"""

from __future__ import annotations

import atexit
import sys

from dlx import _capi, _hooks, _library, device, dtypes, errors


class NotAttachable(ImportError):
    """This interpreter cannot have a native Tensor type; dlx.raw works all the same."""


def _fallback(obj, dtype, device, copy, force):
    from dlx import _asarray  # on first need: most programs never come here

    return _asarray.fallback(obj, dtype, device, copy, force)


def _check_dtype(dtype):
    from dlx import _asarray

    return _asarray.check_dtype(dtype)


def _array_result(obj, array):
    from dlx import _asarray

    return _asarray.array_result(obj, array)


def _convert_slowly(x, to, device, copy, force, tensor):
    from dlx import _convert

    return _convert.convert(x, to, device=device, copy=copy, force=force, tensor=tensor)


def _convert_dtype(tensor, code, copy, force):
    from dlx import _asarray

    return _asarray.convert_dtype(tensor, code, copy, force)


def _stream_number(obj, device_type, device_id):
    from dlx import _streams

    return _streams.number(obj, device_type, device_id)


def _getitem(tensor, key):
    from dlx import _compute_operators

    return _compute_operators.load().getitem(tensor, key)


def _setitem(tensor, key, value):
    from dlx import _compute_operators

    _compute_operators.load().setitem(tensor, key, value)


def _numpy_slowly(tensor, force):
    from dlx import tensor as module

    return module.numpy_array(tensor, force)


def _in_subinterpreter():
    """Whether this is not the main interpreter.

    Asked before any native code runs: taking the GIL by PyGILState_Ensure, which attaching from
    any thread needs, waits for ever in a subinterpreter.
    """
    try:
        import _interpreters as interpreters  # CPython 3.13 and newer
    except ImportError:
        try:
            import _xxsubinterpreters as interpreters
        except ImportError:
            return False  # built without them
    current = interpreters.get_current()
    return int(current[0] if isinstance(current, tuple) else current) != 0


def _attach():
    """The namespace with everything native in it. Raises NotAttachable with the reason."""
    name = sys.implementation.name
    if name != "cpython":
        raise NotAttachable(
            f"dlx.Tensor needs CPython (this is {name}), for it is a native type made by CPython's "
            "C API; the C API of dlx works here too: import dlx.raw"
        )
    if _in_subinterpreter():
        raise NotAttachable(
            "dlx.Tensor cannot live in a subinterpreter: its type and the deferred releases belong "
            "to the main interpreter; the C API of dlx works here too: import dlx.raw"
        )
    namespace = {
        "errors": errors.CLASSES,
        "make_dtype": dtypes.make_dtype,
        "dtype_code": dtypes.dtype_code,
        "make_device": device.make_device,
        "device_code": device.device_code,
        "classify": _hooks.classify,
        "guard": _hooks.guard,
        "legacy_signature": _hooks.legacy_signature,
        "stream_number": _stream_number,
        "asarray_fallback": _fallback,
        "check_dtype": _check_dtype,
        "array_result": _array_result,
        "convert_dtype": _convert_dtype,
        "convert_slowly": _convert_slowly,
        "getitem": _getitem,
        "setitem": _setitem,
        "numpy_slowly": _numpy_slowly,
    }
    status = _library.attach(id(object), id(namespace))
    if status:
        raise NotAttachable(
            f"dlx cannot attach to this interpreter: {_capi.last_error()}; the C API of dlx works "
            "here too: import dlx.raw"
        )
    return namespace


_namespace = _attach()
globals().update(
    (name, _namespace[name])
    for name in (
        "Tensor",
        "from_dlpack",
        "asarray",
        "convert",
        "copyto",
        "_wrap",
        "_from_buffer",
        "_from_layout",
        "_from_arrow",
        "_from_arrow_object",
        "_from_arrow_stream",
        "_empty",
        "_handle",
        "_adopt",
        "_flags",
        "_usual",
        "_note_numpy",
        "_check_stream",
        "_current_device",
        "_device_types",
        "_ready_on_current",
        "_swap_stream",
        "_shutdown",
        "_drain",
    )
    if name in _namespace
)
atexit.register(_namespace["_shutdown"])
