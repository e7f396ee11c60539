"""Python functions that C may call: `dlx.raw.callback`."""

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
    from typing import Any


class Callback:
    """A C function that calls a Python function. Made by `callback`.

    Attributes:
        kind: the C type.
        address: the function pointer as an integer.
    """

    __slots__ = ("_native", "address", "kind")

    def __init__(self, kind: str, native: Any) -> None:
        self.kind = kind
        self._native = native
        self.address = backend.address(native)

    __reduce_ex__ = one_owner

    def __repr__(self) -> str:
        return f"<{self.kind} at {self.address:#x}>"


def callback(kind: str, function: Callable[..., Any]) -> Callback:
    """Make a C function of a Python function.

    It is never freed, for nobody can know when C calls it last: make one when the program starts,
    not one per tensor, and tell the calls apart by `user_data` (an integer of your own, such as a
    key of a dict).

    Any thread may call it; it takes the GIL. An exception, or a result of a wrong type, goes to
    `sys.unraisablehook`, and C sees a return value of 0; from a function of a dlx_backend that returns
    a status it sees -1, which is a failure.

    At the end of the program: a parallel_for, and an allocator of CPU memory, that are still
    installed are replaced by dlx's own, by `atexit`; handles that other threads release from then
    on leak, and so does what Python functions would have freed once the interpreter is being
    finalised. One thing is beyond any Python function: when a thread that Python did not start
    calls it while the interpreter is finalised, or anybody does after that, CPython (before 3.14)
    ends the thread on the spot, and that can abort the process. Where it can happen, let
    `dlx.from_pointer(..., on_release=...)` do the freeing, which never waits for Python, or give C
    the address of a C function in place of a callback.

    Args:
        kind: the C type, one of `CALLBACKS`. A field's type is called "struct.field".
        function: called with integers, in C's order (a pointer is its address), and returns one if
            the C function does. Two kinds are more helpful than that:

            - "dlx_parallel_for_fn" is called as function(count, run, user_data), and run(i) does
              piece i, on any thread. Pieces that it leaves out, or that an exception keeps it from,
              are done on the calling thread afterwards, so that no copy is ever incomplete.
            - A deleter of a struct that Python made may rely on the struct's memory while it runs.
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
    """The text that each thread returned last, which C borrows until the thread's next one."""

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

# Those whose result says whether they have failed.
_STATUS = {
    kind
    for kind, result in CALLBACKS.items()
    if kind.startswith("dlx_backend.") and result == "int32_t"
} - {"dlx_backend.device_count"}

# What stays installed must not call Python after it has ended.
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
    """Let no exception out, and run nothing once modules are being cleared."""
    nothing = None if convert is None else failure

    def guarded(*args: int) -> int | None:
        # No global name may be needed before this line: they are gone when it says yes.
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
    """A deleter of a DLPack struct: its memory may go when it has run."""

    def deleter(pointer: int) -> None:
        try:
            function(pointer)
        finally:
            forget(pointer)

    return deleter


class _Pieces:
    """The pieces of one parallel task, each of which is to be done once."""

    def __init__(self, count: int, run: Callable[[int], None]) -> None:
        self._left = set(range(count))
        self._running = 0
        self._changed = threading.Condition()
        self._run = run

    def __call__(self, index: int) -> None:
        """Do piece `index`. A ValueError if it is done already, or is none."""
        with self._changed:
            if index not in self._left:
                raise ValueError(f"`index` {index} is no piece of this task that is left")
            self._left.remove(index)
            self._running += 1
        try:
            self._run(index)
        finally:
            with self._changed:
                self._running -= 1
                self._changed.notify_all()

    def finish(self) -> None:
        """Do what is left, and wait for what still runs elsewhere."""
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
    """Give an exception that nobody can catch to `sys.unraisablehook`."""
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
        # Python's own hook takes nothing but the struct that only the interpreter can make.
        import traceback

        sys.stderr.write(f"{where}: {function!r}\n")
        traceback.print_exception(type(error), error, error.__traceback__, file=sys.stderr)


_immortal: list[Any] = []


def _keep_for_good(native: Any) -> None:
    """Keep an object beyond the end of the interpreter, where a list would be cleared."""
    _immortal.append(native)
    if sys.implementation.name == "cpython":
        import ctypes

        # Our own PyDLL: the prototypes of ctypes.pythonapi, which everybody shares, stay as they are.
        increment = ctypes.PyDLL(None)["Py_IncRef"]
        increment.restype, increment.argtypes = None, (ctypes.py_object,)
        increment(native)
