"""Public functions that are not the native ones: tensors of pointers and of fresh memory, and the
process's settings."""

from __future__ import annotations

import operator
import sys

from dlx import _native, dtypes
from dlx._lib import capi
from dlx._lib.classes import is_ctypes_pointer
from dlx._lib.constants import (
    NEGATIVE_STRIDES_COPY,
    NEGATIVE_STRIDES_ERROR,
    NEGATIVE_STRIDES_SHARE,
    READ_ONLY,
)
from dlx.device import device_code
from dlx.errors import InvalidArgumentError, int_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, SupportsIndex

    from dlx._native import Tensor
    from dlx._take.releases import Functions, Release
    from dlx.device import DeviceLike

_POLICIES = {
    "copy": NEGATIVE_STRIDES_COPY,
    "share": NEGATIVE_STRIDES_SHARE,
    "error": NEGATIVE_STRIDES_ERROR,
}
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
        strides: elements from one index to the next, for each axis; may be negative or 0. None:
            compact, the last axis fastest.
        device: where the memory is; anything that `dlx.Device` reads.
        readonly: refuse writes through the Tensor and whatever is made of it.
        owner: an object to keep alive as long as the memory has a user: the Tensor, its views, and
            what other libraries made of them.
        on_release: called without arguments when the last user is gone, with the GIL held, on
            whichever thread that happens; the Tensor itself does not hold it. An exception in it
            goes to `sys.unraisablehook`. It is not called after the interpreter's end, nor for
            threads without the GIL while it exits.

    Raises:
        ValueError: a negative extent, a NULL address with elements, strides of another length, …
            (`InvalidArgumentError`).
        TypeError: an argument of the wrong type.
        BufferError: a dtype that DLPack cannot express (`UnsupportedError`).
    """
    code = dtypes.dtype_code(dtype)
    where = device_code(device)
    if on_release is not None and not callable(on_release):
        raise TypeError(f"`on_release` is not callable (got {type(on_release).__name__})")
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
    """An address of whatever a caller has: int, None, or a pointer of ctypes or cffi."""
    if ptr is None:
        return 0
    for read in (_integer, _ctypes_address, _cffi_address):
        value: int | None = read(ptr)
        if value is not None:
            break
    else:
        raise TypeError(
            f"`ptr` is not an address (got {type(ptr).__name__}, expected an int, None or a pointer "
            "of ctypes or cffi); what is an array already goes to dlx.asarray"
        )
    if not 0 <= value < 1 << 64:
        raise InvalidArgumentError(f"`ptr` is not an address (got {int_text(value)})")
    return value


def _integer(ptr: Any) -> int | None:
    try:
        return None if isinstance(ptr, bool) else operator.index(ptr)
    except TypeError:  # arrays have an `__index__`, too, and refuse
        return None


def _ctypes_address(ptr: Any) -> int | None:
    """The address in a ctypes pointer; None if `ptr` is none."""
    if not is_ctypes_pointer(type(ptr)):
        return None
    import ctypes  # there already, as `ptr` is

    return ctypes.cast(ptr, ctypes.c_void_p).value or 0


def _cffi_address(ptr: Any) -> int | None:
    """The address in a cffi pointer; None if `ptr` is none."""
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
    """A new, compact Tensor whose elements are whatever the memory held.

    Args:
        shape: the extents; an int for one axis.
        dtype: anything that `dlx.dtype` reads.
        device: where to allocate; anything that `dlx.Device` reads.

    Raises:
        ValueError: a negative extent, more than 2^63-1 bytes or 4096 axes, or a name that is none of
            a dtype or a device (`InvalidArgumentError`).
        TypeError: an argument of the wrong type.
        MemoryError: no room (`OutOfMemoryError`).
        RuntimeError: no such device on this machine, or none that dlx can allocate on
            (`UnavailableError`).
        BufferError: a dtype that DLPack does not have (`UnsupportedError`).
    """
    return _native._empty(shape, dtype, device)


def set_num_threads(num_threads: int, /) -> None:
    """Set how many threads one copy may use, for the whole process.

    Args:
        num_threads: 1 keeps a copy on the calling thread; 0 restores the default: DLX_NUM_THREADS
            from the environment, or else the cores that this process may run on.

    Raises:
        TypeError: not an int.
        ValueError: a negative number (`InvalidArgumentError`).
    """
    capi.set_num_threads(operator.index(num_threads))


def get_num_threads() -> int:
    """How many threads one copy may use; at least 1."""
    return capi.get_num_threads()


def set_export_negative_strides(policy: str, /) -> None:
    """Set what `Tensor.__dlpack__` does with negative strides when `copy=None`.

    DLPack allows them, but PyTorch aborts the process on them.

    Args:
        policy: "copy" exports a compact copy, marked as copied (the policy at start); "share"
            exports them as they are; "error" raises. `copy=False` shares under the first two,
            `copy=True` always copies; `numpy.asarray(t)` and `memoryview(t)` share whatever the
            policy.

    Raises:
        ValueError: no such policy (`InvalidArgumentError`).
    """
    if policy not in list(_POLICIES):  # what has no hash, too
        got = f"{policy!r:.60}" if isinstance(policy, str) else type(policy).__name__
        raise InvalidArgumentError(
            f"`policy` is unknown (got {got}, expected 'copy', 'share' or 'error')"
        )
    capi.set_export_negative_strides(_POLICIES[policy])


def get_export_negative_strides() -> str:
    """The policy that `set_export_negative_strides` set."""
    number = capi.get_export_negative_strides()
    return next(name for name, value in _POLICIES.items() if value == number)


def share(x: Any, /, *, readonly: bool | None = None, name: str | None = None) -> Tensor:
    """`x` in memory that other processes can have too: a compact copy, or `x` itself if it is there.

    Through `multiprocessing` (arguments of a Process, queues, pipes, pools; any start method) such a
    Tensor, and every view of it, goes as a descriptor: the receiver's Tensor is on the same memory,
    and each side sees what the other writes. Nothing orders or locks these accesses. To a process
    of another kind send `shared_fd(t)`, or give a name.

    The memory lives until the last process has let it go. No name is left behind, and no process
    frees it for others. Without a name it cannot be resized: the kernel enforces it, as it does
    `readonly`. The sender has to run until the receiver has it.

    Args:
        x: anything that `dlx.asarray` takes, in host memory.
        readonly: True: nobody will be able to write to it, this process included (of memory with a
            name: unless its owner changes the file's mode). False: all can. None: as `x` is. Send
            `t.as_readonly()` where you write and others only read.
        name: a name for it, by which any process of this user can `attach` it, and which stays,
            with the memory, until `unshare(name)`. It is an ordinary file of the user in /dev/shm,
            which nothing seals: a process of the user can change its mode and truncate it, and the
            next use of what is gone ends the others by SIGBUS. Share no such memory with processes
            that you do not trust.

    Raises:
        MemoryError: no room (`OutOfMemoryError`); the room is taken at once.
        TypeError: the data is on another device (`DeviceRefusedError`).
        BufferError: opaque handles, which mean nothing elsewhere (`UnsupportedError`).
        ValueError: the name is in use, or is no name (`InvalidArgumentError`).
        RuntimeError: too many open files (`UnavailableError`).
    """
    from dlx._share import sharing

    return sharing.share(x, readonly, name)


def attach(source: Any, /, *, readonly: bool = False) -> Tensor:
    """The Tensor that another process shared, on the same memory.

    Args:
        source: a descriptor, as an int or an object with `fileno()`, which stays yours; or the name
            that `share` was given. What a stranger sends may be other memory than `share` makes,
            which they truncate later: the next use of it is a SIGBUS.
        readonly: refuse to write through the result; it is read-only in any case where the sharer
            allowed no more.

    Raises:
        FileNotFoundError: no memory has this name.
        OSError: the descriptor is not open, or the file may not be read.
        ValueError: the descriptor or the name is of something else (`InvalidArgumentError`).
        TypeError: `source` is neither.
        RuntimeError: too many open files (`UnavailableError`).
    """
    from dlx._share import sharing

    return sharing.attach(source, readonly)


def shared_fd(t: Tensor, /) -> int:
    """The descriptor of the memory that a shared Tensor, or a view of one, lies in.

    For `socket.send_fds`, `subprocess.Popen(pass_fds=…)` and the like; `attach` in the other process
    gives the whole Tensor that was shared. It stays open as long as a Tensor of this process is on
    the memory, and belongs to dlx: do not close it. Of a read-only Tensor it cannot be written through.

    Raises:
        TypeError: `t` is no Tensor.
        ValueError: it is not in shared memory (`InvalidArgumentError`).
        RuntimeError: too many open files (`UnavailableError`).
    """
    from dlx._share import sharing

    return sharing.shared_fd(t)


def unshare(name: str, /) -> None:
    """Remove a name that `share` gave. Processes that have the memory keep it.

    Raises:
        FileNotFoundError: no memory has this name.
        ValueError, TypeError: `name` is none that `share` gives.
    """
    from dlx._share import sharing

    sharing.unshare(name)
