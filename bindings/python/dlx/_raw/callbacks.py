"""Python functions that C can call: `dlx.raw.callback`."""

from __future__ import annotations

import atexit
import sys
import threading

from dlx._lib.library import backend
from dlx._raw.generated import CALLBACKS, kDLCPU
from dlx._raw.managed import forget
from dlx._raw.types import Array, address, int32, one_owner, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn, SupportsIndex


class Callback:
    """A C function that calls a Python function. Made by `callback`.

    Attributes:
        kind: the C type.
        address: the function pointer as an integer.
    """

    __slots__ = ("_native", "address", "kind")

    def __init__(self, kind: str, native: Any) -> None:
        self.kind: str = kind
        self._native: Any = native
        self.address: int = backend.address(native)

    def __reduce_ex__(self, protocol: SupportsIndex, /) -> NoReturn:
        one_owner(self)

    def __repr__(self) -> str:
        return f"<{self.kind} at {self.address:#x}>"


def callback(kind: str, function: Callable[..., Any]) -> Callback:
    """Make a C function of a Python function.

    It is never freed, because the last call of C is unknown: make one when the program starts, not one
    per tensor, and tell the calls apart by `user_data` (an integer of your own, such as a key of a
    dict).

    Any thread may call it; it takes the GIL. An exception, or a result of a wrong type, goes to
    `sys.unraisablehook`, and C gets 0; if a function of a dlx_backend returns a status, C gets -1, a
    failure.

    At the end of the program `atexit` replaces a parallel_for, and an allocator of CPU memory, that are
    still installed by dlx's own. Handles that other threads release later leak, and so does memory
    that Python functions would free during finalisation. If a thread that Python did not start calls
    a callback during finalisation, or any thread after it, CPython (before 3.14) ends the thread,
    which can abort the process. If that can happen, free with
    `dlx.from_pointer(..., on_release=...)`, which never waits for Python, or give C the address of a
    C function in place of a callback.

    Args:
        kind: the C type, one of `CALLBACKS`. The type of a field is called "struct.field".
        function: called with integers, in C's order (a pointer is its address); returns an integer
            if the C function does. Special kinds:

            - "dlx_parallel_for_fn" is called as function(count, run, user_data), and run(i) does
              piece i, on any thread. Pieces that it omits, or does not reach because of an exception,
              are done on the calling thread afterwards, so that every copy is complete.
            - The memory of a struct made by Python stays valid while its deleter runs.
            - "dlx_backend.error_text" returns a str or None.
    """
    if kind not in CALLBACKS:
        raise ValueError(f"`kind` must be one of {', '.join(CALLBACKS)} (got {kind!r})")
    if not callable(function):
        raise TypeError(f"`function` must be callable (got {type(function).__name__})")
    if kind == "dlx_parallel_for_fn":
        native = backend.callback(kind, _parallel_for(function))
    elif kind.startswith("DLManagedTensor"):
        native = backend.callback(kind, _guard(_deleter(function), None))
    else:
        failure = -1 if kind in _STATUS else 0
        native = backend.callback(kind, _guard(function, _RESULTS[CALLBACKS[kind]], failure))
    if kind in _RESTORE:
        atexit.register(_RESTORE[kind])
    _keep_for_good(native)
    return Callback(kind, native)


class _Texts(threading.local):
    """The last text that each thread returned. C borrows it until the thread returns the next."""

    kept: Array | None = None

    def __call__(self, value: str | None, name: str) -> int:
        raw = text(value, name)
        self.kept = None if raw is None else Array("char", raw + b"\0")
        return 0 if self.kept is None else self.kept.address


_RESULTS: dict[str, Callable[[Any, str], int] | None] = {
    "void": None,
    "void *": address,
    "int": int32,
    "int32_t": int32,
    "const char *": _Texts(),
}

# Callbacks that return a status.
_STATUS = {
    kind
    for kind, result in CALLBACKS.items()
    if kind.startswith("dlx_backend.") and result == "int32_t"
} - {"dlx_backend.device_count"}

# Installed functions must not call Python after its end.
_RESTORE: dict[str, Callable[[], object]] = {
    "dlx_parallel_for_fn": lambda: backend.functions.dlx_set_parallel_for(0, 0),
    "dlx_allocator.allocate": lambda: backend.functions.dlx_set_allocator(kDLCPU, 0),
}


def _guard(
    function: Callable[..., Any],
    convert: Callable[[Any, str], int] | None,
    failure: int = 0,
    _finalizing: Callable[[], bool] = sys.is_finalizing,
) -> Callable[..., Any]:
    """Report exceptions, and do nothing once modules are being cleared."""
    nothing = None if convert is None else failure

    def guarded(*args: int) -> int | None:
        # No global name before this check: during finalisation they are gone.
        if _finalizing():
            return nothing
        try:
            result = function(*args)
            return None if convert is None else convert(result, "result")
        except BaseException as error:
            _report(error, function)
            return nothing

    return guarded


def _deleter(function: Callable[[int], Any]) -> Callable[[int], None]:
    """A deleter of a DLPack struct: the struct's memory is dropped after it has run."""

    def deleter(pointer: int) -> None:
        try:
            function(pointer)
        finally:
            forget(pointer)

    return deleter


class _Pieces:
    """The pieces of one parallel task; each is done once."""

    def __init__(self, count: int, run: Callable[[int], None]) -> None:
        self._left = set(range(count))
        self._running = 0
        self._changed = threading.Condition()
        self._run = run

    def __call__(self, index: int) -> None:
        """Do piece `index`. Raises ValueError if it is done already or does not exist."""
        with self._changed:
            if index not in self._left:
                raise ValueError(f"`index` {index} is not an unfinished piece of this task")
            self._left.remove(index)
            self._running += 1
        try:
            self._run(index)
        finally:
            with self._changed:
                self._running -= 1
                self._changed.notify_all()

    def finish(self) -> None:
        """Do the remaining pieces, and wait for pieces on other threads."""
        with self._changed:
            left, self._left = self._left, set()
        for piece in left:
            self._run(piece)
        with self._changed:
            self._changed.wait_for(lambda: not self._running)


def _parallel_for(function: Callable[..., Any]) -> Callable[[int, int, int, int], None]:
    guarded = _guard(function, None)

    def parallel_for(count: int, task: int, task_data: int, user_data: int) -> None:
        run = backend.function_at("dlx_parallel_task_fn", task)
        pieces = _Pieces(count, lambda index: run(task_data, index))
        guarded(count, pieces, user_data)
        pieces.finish()

    return parallel_for


def _report(error: BaseException, function: object) -> None:
    """Pass an exception that cannot be raised to `sys.unraisablehook`."""
    where = "Exception ignored in a callback of dlx"
    if sys.unraisablehook is not sys.__unraisablehook__:
        from types import SimpleNamespace

        sys.unraisablehook(
            SimpleNamespace(
                exc_type=type(error),
                exc_value=error,
                exc_traceback=error.__traceback__,
                err_msg=where,
                object=function,
            )
        )
    elif sys.stderr is not None:
        # Python's own hook needs a struct that only the interpreter can make.
        import traceback

        sys.stderr.write(f"{where}: {function!r}\n")
        traceback.print_exception(type(error), error, error.__traceback__, file=sys.stderr)


_immortal: list[Any] = []


def _keep_for_good(native: Any) -> None:
    """Keep an object beyond the end of the interpreter, which clears lists."""
    _immortal.append(native)
    if sys.implementation.name == "cpython":
        import ctypes

        # A separate PyDLL: the prototypes of ctypes.pythonapi are shared with other code.
        increment = ctypes.PyDLL(None)["Py_IncRef"]
        increment.restype, increment.argtypes = None, (ctypes.py_object,)
        increment(native)
