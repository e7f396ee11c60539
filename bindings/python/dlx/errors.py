"""What dlx raises. Every class also derives from the builtin that its callers look for.

C's counterpart is `dlx_status`: `Error.status` is its number, and the message is that of
`dlx_last_error()`: "function: what is wrong (got X, expected Y)".
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    Function = TypeVar("Function", bound=Callable[..., Any])

__all__ = [
    "CopyRefusedError",
    "DeviceRefusedError",
    "DriverError",
    "Error",
    "InternalError",
    "InvalidArgumentError",
    "OutOfMemoryError",
    "ReadOnlyError",
    "UnavailableError",
    "UnsupportedError",
    "from_status",
]


class Error(Exception):
    """Base of what dlx raises for values, data and devices.

    Not of what Python itself raises for calls: TypeError for an argument of the wrong type,
    IndexError for an index that is out of range, AttributeError for an object without `__dlpack__`,
    FileNotFoundError for a name under which nothing is shared, OSError for a descriptor that is not
    open. An exception of somebody else, such as a producer's own in `__dlpack__`, passes through dlx
    unchanged.

    Attributes:
        status: the `dlx_status` of the failure (`DLX_ERROR_*` in dlx.h).
    """

    status: int = 255


class InvalidArgumentError(Error, ValueError):
    """The caller's mistake: an argument that no tensor could make right.

    The message names the argument, what came and what was expected. Also raised for a malformed
    struct, for example a producer's DLPack tensor with a negative extent.
    """

    status = 1


class OutOfMemoryError(Error, MemoryError):
    """No room: an allocator returned NULL, or shared memory is full.

    A size beyond 2^63-1 bytes is an InvalidArgumentError.
    """

    status = 2


class UnsupportedError(Error, BufferError):
    """Well-formed, but beyond what dlx or DLPack can say: a dtype, a flag, a version, a layout.

    A BufferError because the array API standard asks `__dlpack__` for one when data cannot be
    exported.
    """

    status = 3


class UnavailableError(Error, RuntimeError):
    """No driver, or no such device, on this machine.

    `dlx.raw.dlx_backend_reason` says why, and where dlx looked.
    """

    status = 4


class DriverError(Error, RuntimeError):
    """A call into a device's driver failed; the message has the call, its code and its text."""

    status = 5


class ReadOnlyError(Error, BufferError, ValueError):
    """Somebody wanted to write to read-only data, or to export it as writable.

    A BufferError because the standard asks `__dlpack__` for one; a ValueError because NumPy raises
    one for an assignment to a read-only array.
    """

    status = 6


class CopyRefusedError(Error, BufferError, ValueError):
    """A copy is needed, and the caller said `copy=False`.

    The array API standard's `from_dlpack` names BufferError in one paragraph and ValueError in the
    next; this is both.
    """

    status = 7


class DeviceRefusedError(Error, BufferError, TypeError):
    """The data lives on another device, and no transfer was asked for.

    Raised by whatever reads or moves data (`from_dlpack`, `asarray`, `convert`, `numpy`, `tolist`,
    `item`, `share` and others), never out of `__dlpack__`: there a TypeError would look like an old
    signature, so it is an UnsupportedError.
    BufferError is what the standard recommends, TypeError what NumPy raises for data on a GPU.
    """

    status = 8


class InternalError(Error, RuntimeError):
    """A bug in dlx. Please report it with the message."""

    status = 255


CLASSES: dict[int, type[Error]] = {
    cls.status: cls
    for cls in (
        InvalidArgumentError,
        OutOfMemoryError,
        UnsupportedError,
        UnavailableError,
        DriverError,
        ReadOnlyError,
        CopyRefusedError,
        DeviceRefusedError,
        InternalError,
    )
}


def from_status(status: int, message: str) -> Error:
    """The exception for a failed call of the C API.

    Args:
        status: what the call returned, not DLX_OK.
        message: the text of `dlx_last_error()`.

    Returns:
        an exception to be raised. A status that this version does not know makes a plain `Error`.
    """
    error = CLASSES.get(status, Error)(message)
    error.status = status
    return error


def int_text(value: int) -> str:
    """For a message. Python refuses to write out ints of some thousand digits."""
    return str(value) if value.bit_length() <= 128 else f"an int of {value.bit_length()} bits"


_BRIEF = (Error, TypeError, ValueError, OSError, ImportError, AttributeError, IndexError)


def brief(error: Exception) -> Exception:
    """The error without the frames of dlx from its traceback, to be raised again at once: the frame
    that does so is the only one of dlx that a user sees.

    Frames of other libraries stay. So does everything for bugs, and with `python -X dev`.
    """
    if sys.flags.dev_mode or isinstance(error, InternalError) or not isinstance(error, _BRIEF):
        return error
    frames = error.__traceback__
    while frames and frames.tb_frame.f_globals.get("__name__", "").partition(".")[0] == "dlx":
        frames = frames.tb_next
    return error.with_traceback(frames)


def with_brief_errors(function: Function) -> Function:
    """Decorate a function that is rarely called with `brief`. Others call `brief` themselves."""

    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            raise brief(error)  # noqa: B904

    wrapper: Any = call
    for name in ("__module__", "__name__", "__qualname__", "__doc__"):
        setattr(wrapper, name, getattr(function, name))
    wrapper.__wrapped__ = function
    result: Function = wrapper
    return result
