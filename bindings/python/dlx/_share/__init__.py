"""Tensors in memory that several processes see: `dlx.share`, `attach`, `shared_fd` and `unshare`.

The work is in module `sharing`, which the first call imports.
"""

from __future__ import annotations

import sys

from dlx.errors import UnavailableError, with_brief_errors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

    from dlx._native import Tensor


@with_brief_errors
def share(x: Any, /, *, readonly: bool | None = None, name: str | None = None) -> Tensor:
    """`x` in memory that other processes can map: a compact copy, or `x` itself if it is shared already.

    `multiprocessing` (arguments of a Process, queues, pipes, pools; any start method) sends such a
    Tensor, and every view of it, as a descriptor: the receiver's Tensor is on the same memory, and
    each side sees what the other writes. These accesses are not ordered or locked. For any other
    process send `shared_fd(t)`, or give a name.

    The memory lives until the last process has released it, and leaves no name behind. The kernel
    enforces `readonly` and, for memory without a name, that it is not resized. The sender has to run
    until the receiver has the Tensor.

    Args:
        x: anything that `dlx.asarray` takes, in host memory.
        readonly: True: no process can write to it, this one included (a named file's owner can change
            its mode). False: all can write. None: as `x` is. If you write and others only read, send
            `t.as_readonly()`.
        name: a name by which any process of this user can `attach` the memory. The name and the
            memory stay until `unshare(name)`. It is an ordinary file in /dev/shm, which only this
            user may open (mode 0600, or 0400 if read-only), without seals: a
            process of the user can change its mode or truncate it, and the next access to the lost
            part ends the other processes by SIGBUS. Do not share named memory with processes that
            you do not trust.

    Raises:
        MemoryError: not enough memory (`OutOfMemoryError`); all of it is taken at once.
        TypeError: the data is on another device (`DeviceRefusedError`).
        BufferError: opaque handles, which mean nothing elsewhere (`UnsupportedError`).
        ValueError: the name is in use, or is not a file name (`InvalidArgumentError`).
        RuntimeError: too many open files (`UnavailableError`).
    """
    tensor: Tensor = _module().share(x, readonly, name)
    return tensor


@with_brief_errors
def attach(source: Any, /, *, readonly: bool = False, trust: bool = False) -> Tensor:
    """The Tensor that another process shared, on the same memory.

    Args:
        source: a descriptor, as an int or an object with `fileno()`, which stays yours; or the name
            given to `share`.
        readonly: refuse writes through the result; it is always read-only if the sharer allows only
            reading (by the file's mode, F_SEAL_WRITE or F_SEAL_FUTURE_WRITE).
        trust: True: also take memory that an untrusted process may shrink, after which the next
            access to the lost part ends this process by SIGBUS. False: take memory that is sealed
            against that (all that `share` makes without a name, where the system has memfd), and files
            in /dev/shm that only this user may write (all that `share` makes with a name); refuse
            other files, another user's, and those that a group or others may write.

    Raises:
        FileNotFoundError: no memory has this name.
        OSError: the descriptor is not open, or the file cannot be read.
        ValueError: the descriptor or name is not of shared memory, or needs `trust=True`
            (`InvalidArgumentError`).
        TypeError: `source` is not a descriptor or a name, or a flag is no bool.
        RuntimeError: too many open files (`UnavailableError`).
    """
    tensor: Tensor = _module().attach(source, readonly, trust)
    return tensor


@with_brief_errors
def shared_fd(t: Tensor, /) -> int:
    """The descriptor of the memory of a shared Tensor, or of a view of one.

    Send it by `socket.send_fds`, `subprocess.Popen(pass_fds=…)` and the like; `attach` in the other
    process gives the whole Tensor that was shared. It belongs to dlx, which keeps it open as long as
    a Tensor of this process is on the memory: do not close it. For a read-only Tensor it is
    read-only.

    Raises:
        TypeError: `t` is not a Tensor.
        ValueError: it is not in shared memory (`InvalidArgumentError`).
        RuntimeError: too many open files (`UnavailableError`).
    """
    descriptor: int = _module().shared_fd(t)
    return descriptor


@with_brief_errors
def unshare(name: str, /) -> None:
    """Remove a name given to `share`. Processes that have the memory keep it.

    Raises:
        FileNotFoundError: no memory has this name.
        ValueError, TypeError: `name` is not a name that `share` takes.
    """
    _module().unshare(name)


def _module() -> ModuleType:
    if sys.platform != "linux":
        raise UnavailableError(
            f"dlx shares memory between processes on Linux only (this is {sys.platform}): use dlx.asarray on "
            "the `buf` of a multiprocessing.shared_memory.SharedMemory, which is no copy"
        )
    from dlx._share import sharing

    return sharing
