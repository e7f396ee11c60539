"""The native type `Tensor` and the native functions of libdlx.so, once `attach` has made them.

`attach` puts them into this module. _native.pyi declares them for type checkers.
"""

from __future__ import annotations

import atexit
import sys

from dlx._lib import capi, library
from dlx._lib.constants import ERROR_OUT_OF_MEMORY


class NotAttachable(ImportError):
    """This interpreter cannot have a native Tensor type; dlx.raw works all the same."""


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
    "_map",
    "_handle",
    "_adopt",
    "_flags",
    "_unmarked",
    "_usual",
    "_function",
    "_argument",
    "_contract",
    "_new_like",
    "_note_numpy",
    "_without_torch_modes",
    "_operate",
    "_check_stream",
    "_current_device",
    "_device_types",
    "_swap_stream",
    "_shutdown",
    "_drain",
)
_namespace = {}  # what the library was handed and what it added; for tests


def attach(hooks):
    """Attach the library to this interpreter. Called once, by dlx/__init__.py.

    Args:
        hooks: the Python functions that the native code calls, see _hooks.py.

    Raises:
        NotAttachable: the reason. Every name of this module then raises ImportError with it.
        ImportError: the library is older than the package.
        MemoryError: a later call may succeed.
    """
    try:
        _require_main_cpython()
        _namespace.update(hooks)
        if status := library.attach(id(object), id(_namespace)):
            if status == ERROR_OUT_OF_MEMORY:  # the next import may succeed
                capi.check(status, "import dlx")
            raise NotAttachable(
                f"dlx cannot attach to this interpreter: {capi.last_error()}; the C API of dlx works "
                "here too: import dlx.raw"
            )
    except NotAttachable as error:
        _explain_missing_names(str(error))
        raise
    for name in _NAMES:
        if name not in _namespace:
            raise ImportError(
                f"dlx: the library is older than this package, because it lacks {name}: {library.path}"
            )
        globals()[name] = _namespace[name]
    atexit.register(_namespace["_shutdown"])


def _require_main_cpython():
    name = sys.implementation.name
    if name != "cpython":
        raise NotAttachable(
            f"dlx.Tensor needs CPython (this is {name}), because it is a native type made by CPython's "
            "C API; the C API of dlx works here too: import dlx.raw"
        )
    if _in_subinterpreter():
        raise NotAttachable(
            "dlx.Tensor cannot live in a subinterpreter: its type and the deferred releases belong "
            "to the main interpreter; the C API of dlx works here too: import dlx.raw"
        )


def _in_subinterpreter():
    """Whether this is not the main interpreter.

    Asked before any native code runs: attaching from any thread needs PyGILState_Ensure, which waits
    for ever in a subinterpreter. The interpreter's own module takes longer to load than ctypes takes
    to ask.
    """
    ctypes = sys.modules.get("ctypes")
    if ctypes is not None:
        current = ctypes.PYFUNCTYPE(ctypes.c_void_p)(("PyInterpreterState_Get", ctypes.pythonapi))
        number = ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)
        return number(("PyInterpreterState_GetID", ctypes.pythonapi))(current()) != 0
    try:
        import _interpreters as interpreters  # CPython 3.13 and newer
    except ImportError:
        try:
            import _xxsubinterpreters as interpreters
        except ImportError:
            return False  # built without them
    current = interpreters.get_current()
    return int(current[0] if isinstance(current, tuple) else current) != 0


def _explain_missing_names(reason):
    def __getattr__(name):
        if name not in _NAMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        raise ImportError(reason, name=__name__)

    globals()["__getattr__"] = __getattr__
