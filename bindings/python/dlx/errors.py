"""The exceptions of dlx. Every class also derives from the builtin class that callers catch.

Each belongs to a `dlx_status` of C, whose number is `Error.status`. Messages have the form
"function: what is wrong (got X, expected Y)", as in `dlx_last_error()`.
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
    """Base class of the errors about values, data and devices.

    Some errors are plain builtins: TypeError for an argument of the wrong type, IndexError for an
    index out of range, AttributeError for an object without `__dlpack__`, FileNotFoundError for a
    name that is not shared, OSError for a descriptor that is not open. Exceptions of other code, such
    as a producer's `__dlpack__`, pass through dlx unchanged.

    Attributes:
        status: the `dlx_status` of the failure (`DLX_ERROR_*` in dlx.h).
    """

    status: int = 255


class InvalidArgumentError(Error, ValueError):
    """An invalid argument: the message names it, what came and what was expected.

    Also raised for a malformed struct, for example a producer's DLPack tensor with a negative extent.
    """

    status = 1


class OutOfMemoryError(Error, MemoryError):
    """Not enough memory: an allocator returned NULL, or shared memory is full.

    A size beyond 2^63-1 bytes is an InvalidArgumentError.
    """

    status = 2


class UnsupportedError(Error, BufferError):
    """Valid, but dlx or DLPack cannot express it: a dtype, a flag, a version, a layout.

    A BufferError, because the array API standard demands it of a `__dlpack__` that cannot export.
    """

    status = 3


class UnavailableError(Error, RuntimeError):
    """This machine lacks the driver or the device.

    `dlx.raw.dlx_backend_reason` gives the reason, and the places where dlx looked.
    """

    status = 4


class DriverError(Error, RuntimeError):
    """A call to a device's driver failed; the message has the call, the code and the driver's text."""

    status = 5


class ReadOnlyError(Error, BufferError, ValueError):
    """A write to read-only data, or an export of it as writable.

    A BufferError, because the standard demands it of `__dlpack__`; a ValueError, because NumPy raises
    it for an assignment to a read-only array.
    """

    status = 6


class CopyRefusedError(Error, BufferError, ValueError):
    """A copy is needed, but `copy=False` forbids it.

    The array API standard's `from_dlpack` names BufferError in one paragraph and ValueError in the
    next, so this class is both.
    """

    status = 7


class DeviceRefusedError(Error, BufferError, TypeError):
    """The data is on another device, and the caller did not allow a transfer.

    Raised by functions that read or move data (`from_dlpack`, `asarray`, `convert`, `numpy`, `tolist`,
    `item`, `share` and others). `__dlpack__` raises UnsupportedError instead, because consumers take
    a TypeError for an old signature. A BufferError, as the standard recommends; a TypeError, as NumPy
    raises for data on a GPU.
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
        the exception, for the caller to raise. For an unknown status it is a plain `Error`.
    """
    error = CLASSES.get(status, Error)(message)
    error.status = status
    return error


def int_text(value: int) -> str:
    """An int for a message: Python refuses to print thousands of digits."""
    return str(value) if value.bit_length() <= 128 else f"an int of {value.bit_length()} bits"


def require_bool(name: str, value: object) -> None:
    """Refuse what only counts as True or False, such as "no"."""
    if not isinstance(value, bool):
        raise TypeError(f"`{name}` must be True or False (got {type(value).__name__})")


_BRIEF = (Error, TypeError, ValueError, OSError, ImportError, AttributeError, IndexError)


def brief(error: Exception) -> Exception:
    """The error without dlx's frames in its traceback. The caller raises it again at once, and its frame
    is the only one of dlx that the user sees.

    Frames of other code that dlx calls stay. With `python -X dev`, and for bugs, all frames stay.
    """
    if sys.flags.dev_mode or isinstance(error, InternalError) or not isinstance(error, _BRIEF):
        return error
    frames = error.__traceback__
    while frames and frames.tb_frame.f_globals.get("__name__", "").partition(".")[0] == "dlx":
        frames = frames.tb_next
    return error.with_traceback(frames)


def with_brief_errors(function: Function) -> Function:
    """Decorator that applies `brief`, for functions that may take 100 ns more; others call `brief`."""

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
