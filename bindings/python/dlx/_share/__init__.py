"""Tensors in memory that several processes see: `dlx.share`, `attach`, `shared_fd` and `unshare`.

The work is in module `sharing`, which the first call imports.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dlx._native import Tensor


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
