"""Attaches libdlx to this interpreter: makes the native type `Tensor` and the hot functions.

Whatever the library puts into the namespace becomes an attribute of this module; _native.pyi lists
it for type checkers.
"""

from __future__ import annotations

import atexit
import sys

import dlx  # whose module operators comes after this one
from dlx import device, dtypes, errors
from dlx._lib import capi, library
from dlx._take import hooks


class NotAttachable(ImportError):
    """This interpreter cannot have a native Tensor type; dlx.raw works all the same."""


def _late(load, name):
    """A function of a module that its first call imports: most programs need few of them. An import
    statement would cost each further call half a microsecond."""
    function = None

    def call(*args):
        nonlocal function
        if function is None:
            function = getattr(load(), name)
        return function(*args)

    return call


# Import statements: PyInstaller and its like see no other.
def _load_asarray():
    from dlx._take import asarray

    return asarray


def _load_convert():
    from dlx._give import convert

    return convert


def _load_streams():
    from dlx import _streams

    return _streams


def _load_tensor():
    from dlx._tensor import methods

    return methods


def _getitem(tensor, key):
    return dlx._tensor.operators.load().getitem(tensor, key)


def _setitem(tensor, key, value):
    dlx._tensor.operators.load().setitem(tensor, key, value)


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
        "dtype_code": dtypes.requested_code,
        "make_device": device.make_device,
        "device_code": device.device_code,
        "classify": hooks.classify,
        "guard": hooks.guard,
        "legacy_signature": hooks.legacy_signature,
        "stream_number": _late(_load_streams, "number"),
        "asarray_fallback": _late(_load_asarray, "fallback"),
        "check_dtype": _late(_load_asarray, "check_dtype"),
        "array_result": _late(_load_asarray, "array_result"),
        "convert_dtype": _late(_load_asarray, "convert_dtype"),
        "convert_slowly": _late(_load_convert, "convert"),
        "getitem": _getitem,
        "setitem": _setitem,
        "numpy_slowly": _late(_load_tensor, "numpy_array"),
        "scalar_slowly": _late(_load_tensor, "scalar"),
        "bytes_slowly": _late(_load_tensor, "bytes_in_place"),
    }
    status = library.attach(id(object), id(namespace))
    if status:
        raise NotAttachable(
            f"dlx cannot attach to this interpreter: {capi.last_error()}; the C API of dlx works "
            "here too: import dlx.raw"
        )
    return namespace


_NAMES = (
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
    "_operate",
    "_check_stream",
    "_current_device",
    "_device_types",
    "_ready_on_current",
    "_swap_stream",
    "_shutdown",
    "_drain",
)
_namespace = _attach()
for _name in _NAMES:
    if _name not in _namespace:
        raise ImportError(
            f"dlx: the library is older than this package, for it has no {_name}: {library.path}"
        )
    globals()[_name] = _namespace[_name]
atexit.register(_namespace["_shutdown"])
