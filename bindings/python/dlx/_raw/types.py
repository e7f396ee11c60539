"""The values of `dlx.raw`: handles, arrays, and the conversion of arguments to integers for C."""

from __future__ import annotations

import atexit
import sys
import threading
import time
from operator import index

from dlx import errors
from dlx._lib.library import backend

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, NoReturn, SupportsIndex

    from typing_extensions import Self

    Converter = Callable[[Any, str], int]

lib = backend.functions


def check(status: int) -> None:
    """Raise the exception of a status that is not DLX_OK."""
    if status:
        raise errors.from_status(status, string(lib.dlx_last_error()))


# ---- numbers, text, arrays ----------------------------------------------------------------------


def _ranged(ctype: str, low: int, high: int) -> Callable[[Any, str], int]:
    def convert(value: Any, name: str) -> int:
        try:
            number = index(value)
        except TypeError:
            got = type(value).__name__
            raise TypeError(f"`{name}` must be an integer (got {got})") from None
        if not low <= number <= high:
            raise OverflowError(f"`{name}` does not fit {ctype} (got {errors.int_text(number)})")
        return number

    return convert


uint8: Converter = _ranged("uint8_t", 0, 2**8 - 1)
uint16: Converter = _ranged("uint16_t", 0, 2**16 - 1)
int32: Converter = _ranged("int32_t", -(2**31), 2**31 - 1)
uint32: Converter = _ranged("uint32_t", 0, 2**32 - 1)
int64: Converter = _ranged("int64_t", -(2**63), 2**63 - 1)
uint64: Converter = _ranged("uint64_t", 0, 2**64 - 1)
size: Converter = _ranged("size_t", 0, 2 * sys.maxsize + 1)
pointer_to = _ranged("a pointer", 0, 2 * sys.maxsize + 1)


def address(value: Any, name: str) -> int:
    """A `void *` or a callback: None, an integer, or an object with an `address`."""
    if value is None:
        return 0
    return pointer_to(getattr(value, "address", value), name)


def text(value: str | None, name: str) -> bytes | None:
    """A `const char *`."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise TypeError(f"`{name}` must be a str or None (got {type(value).__name__})")
    if "\0" in value:
        raise ValueError(f"`{name}` must not contain a zero character (got {value!r})")
    return value.encode()


def string(value: bytes | None) -> str:
    """A `const char *` that C returned."""
    return (value or b"").decode("utf-8", "replace")


class Array:
    """An array in C memory, and its address; 0 if the array was omitted."""

    __slots__ = ("address", "count", "native")

    def __init__(self, ctype: str, values: Any) -> None:
        self.native: Any = backend.array(ctype, values)
        self.count: int = len(self.native)
        # `python -bb` forbids comparing bytes with a number.
        given = not isinstance(values, int) or values != 0
        self.address: int = backend.address(self.native) if given else 0

    def text(self) -> str:
        """Characters up to the first zero."""
        return backend.text(self.native).decode() if self.address else ""


def numbers(ctype: str, values: Sequence[int] | None, count: int | None, name: str) -> Array:
    """A `const int64_t *` or `const int32_t *` for `count` numbers."""
    if values is None:
        return Array(ctype, 0)
    convert = int64 if ctype == "int64_t" else int32
    converted = [convert(value, f"{name}[{i}]") for i, value in enumerate(values)]
    if count is not None and len(converted) != count:
        raise ValueError(f"`{name}` must have {count} numbers (got {len(converted)})")
    # An empty array has an address too: NULL may have a meaning of its own.
    return Array(ctype, converted or [0])


def borrowed_numbers(pointer: int | None, count: int) -> tuple[int, ...]:
    """Read a `const int64_t *`."""
    return tuple(backend.array_at("int64_t", pointer, count)) if pointer else ()


# ---- freeing ------------------------------------------------------------------------------------

# A thread that frees may have to wait for the GIL, for a Python deleter. CPython (before 3.14) ends
# threads that wait for the GIL while the interpreter is finalised, which aborts the process if the
# thread is in C++ code. So the exit waits for threads that are freeing, and no thread frees after it.
_freeing: list[int] = []
_closed: list[bool] = []
_MAX_WAIT = 5.0  # seconds


def freeing(call: Callable[[int], object], pointer: int) -> None:
    """Call a C function that frees. At the end of the program, other threads leak instead."""
    _freeing.append(pointer)
    try:
        if not _closed or threading.current_thread() is threading.main_thread():
            call(pointer)
    finally:
        _freeing.pop()


def _close() -> None:
    _closed.append(True)
    end = time.monotonic() + _MAX_WAIT
    while _freeing and time.monotonic() < end:
        time.sleep(0.001)


atexit.register(_close)


# ---- handles ------------------------------------------------------------------------------------


def one_owner(value: object, protocol: object = None) -> NoReturn:
    """The `__reduce_ex__` of objects that own an address: `copy` and `pickle` would free it twice."""
    name = type(value).__name__
    raise TypeError(
        f"a dlx.raw.{name} cannot be copied or pickled: it is the only owner of an address"
    )


class Handle:
    """An owned `dlx_tensor *`: one reference, to be released once.

    `release()`, the end of a `with` block or the garbage collector releases it, whichever comes first.
    Passing a handle to a function lends it; only `release`, `dlx_tensor_release`, `detach` and
    `to_tensor` end it, and every later use raises ValueError.

    ctypes passes a handle to C as its `dlx_tensor *`.

    Attributes:
        address: the `dlx_tensor *` as an integer.
    """

    __slots__ = ("__weakref__", "_owned")

    def __init__(self, address: int) -> None:
        """Take over one reference to the tensor at `address`."""
        # A list, because its pop() is atomic: two threads cannot release the same reference.
        self._owned = [pointer_to(address, "address")]

    @property
    def address(self) -> int:
        try:
            return self._owned[0]
        except IndexError:
            raise ValueError("this handle was released") from None

    @property
    def _as_parameter_(self) -> object:
        import ctypes

        return ctypes.c_void_p(self.address)

    def detach(self) -> int:
        """Return the address, and with it the reference. The handle cannot be used after this."""
        try:
            return self._owned.pop()
        except IndexError:
            raise ValueError("this handle was released") from None

    def release(self) -> None:
        """Release the reference. A second call does nothing."""
        try:
            owned = self._owned.pop()
        except IndexError:  # another thread was faster
            return
        freeing(lib.dlx_tensor_release, owned)

    def __reduce_ex__(self, protocol: SupportsIndex, /) -> NoReturn:
        one_owner(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.release()

    def __del__(self, _finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        # Leak at exit, when modules that a Python deleter needs may be gone. If __init__ failed there
        # is no reference.
        if getattr(self, "_owned", None) and not _finalizing():
            self.release()

    def __repr__(self) -> str:
        return f"<dlx_tensor at {self._owned[0]:#x}>" if self._owned else "<dlx_tensor, released>"


def tensor_address(value: Handle | int | None, name: str) -> int:
    """A `dlx_tensor *` that C checks for NULL."""
    if value is None or isinstance(value, (Handle, int)):
        return address(value, name)
    got = type(value).__name__
    raise TypeError(f"`{name}` must be a dlx.raw.Handle, an address or None (got {got})")


def required_tensor(value: Handle | int, name: str) -> int:
    """A `dlx_tensor *` that C does not check for NULL."""
    pointer = tensor_address(value, name)
    if not pointer:
        raise errors.InvalidArgumentError(f"`{name}` is NULL")
    return pointer


def axes_of(value: Handle | int | None, name: str) -> int | None:
    """The number of axes of a tensor; None for NULL, which C reports."""
    pointer = tensor_address(value, name)
    return int(lib.dlx_tensor_ndim(pointer)) if pointer else None


def take_handle(out: Array) -> Handle:
    """The handle that C wrote through `out`."""
    return Handle(out.native[0])
