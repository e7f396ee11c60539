"""From objects of other libraries, and from memory, to a Tensor: asarray, from_pointer, empty.

The last two are here, because `import dlx` needs them; the first call imports what asarray needs.
"""

from __future__ import annotations

import operator
import sys

from dlx import _native, dtypes
from dlx._lib.classes import is_ctypes_pointer
from dlx._lib.constants import READ_ONLY
from dlx.device import device_code
from dlx.errors import InvalidArgumentError, int_text, require_bool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, SupportsIndex

    from dlx._native import Tensor
    from dlx._take.releases import Functions, Release
    from dlx.device import DeviceLike

_on_release: Functions | None = None


def from_pointer(
    ptr: Any,
    shape: SupportsIndex | Sequence[SupportsIndex],
    dtype: Any,
    *,
    strides: Sequence[SupportsIndex] | None = None,
    device: DeviceLike = "cpu",
    readonly: bool = False,
    owner: object = None,
    on_release: Callable[[], object] | None = None,
) -> Tensor:
    """A Tensor on memory at an address. Nothing is copied, and the address is not checked.

    Args:
        ptr: address of element [0, …, 0]: an int, None (0), or a pointer of ctypes or cffi.
        shape: the extents; an int for one axis.
        dtype: anything that `dlx.dtype` reads.
        strides: elements from one index to the next, for each axis; may be negative or 0. None
            means compact in C order.
        device: where the memory is; anything that `dlx.Device` reads.
        readonly: refuse writes through the Tensor and through everything made of it.
        owner: an object that stays alive as long as the memory has a user: the Tensor, its views,
            and arrays of other libraries on them.
        on_release: called without arguments when the last user is gone, with the GIL held, on the
            thread where that happens. An exception in it goes to `sys.unraisablehook`. It is not
            called after the interpreter's end, nor for threads without the GIL during the exit.

    Raises:
        ValueError: a negative extent, a NULL address with elements, strides of the wrong length …
            (`InvalidArgumentError`).
        TypeError: an argument of the wrong type.
        BufferError: a dtype that DLPack cannot express (`UnsupportedError`).
    """
    code = dtypes.dtype_code(dtype)
    where = device_code(device)
    if on_release is not None and not callable(on_release):
        raise TypeError(f"`on_release` is not callable (got {type(on_release).__name__})")
    require_bool("readonly", readonly)
    flags = READ_ONLY if readonly else 0
    address = _address(ptr)
    release = None if on_release is None else _kept(on_release)
    try:
        return _native._wrap(address, shape, strides, code, where, flags, owner, release)
    except BaseException:
        if release is not None:
            release.take()
        raise


def _kept(on_release: Callable[[], object]) -> Release:
    global _on_release
    if _on_release is None:
        from dlx._take.releases import Functions

        _on_release = Functions()
    return _on_release.keep(on_release)


def _address(ptr: Any) -> int:
    """The address in an int, None, or a pointer of ctypes or cffi."""
    if ptr is None:
        return 0
    for read in (_integer, _ctypes_address, _cffi_address):
        value: int | None = read(ptr)
        if value is not None:
            break
    else:
        raise TypeError(
            f"`ptr` is not an address (got {type(ptr).__name__}, expected an int, None or a pointer "
            "of ctypes or cffi); for an array call dlx.asarray(x)"
        )
    if not 0 <= value < 1 << 64:
        raise InvalidArgumentError(f"`ptr` is not an address (got {int_text(value)})")
    return value


def _integer(ptr: Any) -> int | None:
    try:
        return None if isinstance(ptr, bool) else operator.index(ptr)
    except TypeError:  # arrays have `__index__` too, which raises
        return None


def _ctypes_address(ptr: Any) -> int | None:
    """The address in a ctypes pointer; None if `ptr` is something else."""
    if not is_ctypes_pointer(type(ptr)):
        return None
    import ctypes  # imported already: `ptr` comes from it

    return ctypes.cast(ptr, ctypes.c_void_p).value or 0


def _cffi_address(ptr: Any) -> int | None:
    """The address in a cffi pointer; None if `ptr` is something else."""
    cffi = sys.modules.get("_cffi_backend")
    if cffi is None or not isinstance(ptr, cffi._CDataBase) or cffi.typeof(ptr).kind != "pointer":
        return None
    return int(cffi.cast(cffi.new_primitive_type("uintptr_t"), ptr))


def empty(
    shape: SupportsIndex | Sequence[SupportsIndex],
    *,
    dtype: Any = "float32",
    device: DeviceLike = "cpu",
) -> Tensor:
    """A new, compact Tensor with uninitialised elements.

    Args:
        shape: the extents; an int for one axis.
        dtype: anything that `dlx.dtype` reads.
        device: where to allocate; anything that `dlx.Device` reads.

    Raises:
        ValueError: a negative extent, more than 2^63-1 bytes or 4096 axes, or an unknown name of a
            dtype or device (`InvalidArgumentError`).
        TypeError: an argument of the wrong type.
        MemoryError: not enough memory (`OutOfMemoryError`).
        RuntimeError: this machine lacks the device, or dlx cannot allocate on it
            (`UnavailableError`).
        BufferError: a dtype that DLPack does not have (`UnsupportedError`).
    """
    return _native._empty(shape, dtype, device)
