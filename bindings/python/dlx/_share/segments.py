"""Segments of shared memory: creates, maps and finds them. Linux only.

A segment is a file in memory: a memfd, or for a named segment a file in /dev/shm. Its layout:

    the elements, in C order, from byte 0 on
    zeros up to a multiple of 64
    a description in JSON: {"dtype": [code, bits, lanes], "flags": …, "shape": […]}
    its length as 8 bytes, little endian, and the 8 bytes "dlxshare"

No process owns a segment: the kernel frees it after the last descriptor and mapping are gone.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import math
import mmap
import os
import stat
import sys
import threading
import weakref

from dlx import _native
from dlx._lib.constants import PADDED, READ_ONLY, THE_CPU
from dlx.errors import InvalidArgumentError, OutOfMemoryError, UnavailableError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from dlx._native import Tensor
    from dlx.dtypes import DTypeCode

FOLDER = "/dev/shm"
KEPT_FLAGS = READ_ONLY | PADDED  # the flags of a Tensor that are stored in the segment
_MAGIC = b"dlxshare"
_TAIL = 8 + len(_MAGIC)
_ALIGNMENT = 64
# From linux/fcntl.h: Python's own constants depend on the headers it was built with.
_ADD_SEALS, _GET_SEALS = 1033, 1034
_SEAL_SEAL, _SEAL_SHRINK, _SEAL_GROW, _SEAL_WRITE = 1, 2, 4, 8


class Segment:
    """A segment mapped into this process. It lives as long as a Tensor uses it.

    Attributes:
        descriptor: of the file; closed with this object.
        readonly: whether the mapping is read-only.
        size: bytes of the whole file.
        start: address of byte 0.
        capacity: bytes before the description.
    """

    __slots__ = ("__weakref__", "_memory", "_reader", "capacity", "descriptor", "readonly", "size", "start")  # fmt: skip

    def __init__(self, descriptor: int, capacity: int, readonly: bool) -> None:
        """Map all of a file. Takes the descriptor, even if this raises."""
        self.descriptor, self._reader = descriptor, -1
        self.capacity, self.readonly = capacity, readonly
        access = mmap.PROT_READ if readonly else mmap.PROT_READ | mmap.PROT_WRITE
        # By default mmap keeps a duplicate of the descriptor.
        options: Any = {"trackfd": False} if sys.version_info >= (3, 13) else {}
        try:
            self.size = os.fstat(descriptor).st_size
            mapping = mmap.mmap(descriptor, self.size, mmap.MAP_SHARED, access, **options)
            self._memory = _native._from_buffer(mapping)
            self.start = self._memory.data_ptr
        except BaseException:  # close at once: a traceback may keep `self`
            self.descriptor = -1
            _close(descriptor)
            raise

    def __del__(self, _close: Any = os.close) -> None:  # `os` may be empty at exit
        for name in ("descriptor", "_reader"):
            descriptor = getattr(self, name, -1)  # __init__ may have been interrupted
            if descriptor >= 0:
                _close(descriptor)

    def is_frozen(self) -> bool:
        """Whether no process can write to it without changing the file's mode."""
        return not os.fstat(self.descriptor).st_mode & 0o222

    def reader(self) -> int:
        """A descriptor that cannot be mapped for writing (without /proc it can); closed with this object."""
        with _lock:  # two threads could open two descriptors, and one would never be closed
            if self._reader < 0 and not self.readonly:
                with explained():
                    self._reader = _reopen(self.descriptor)
        return self.descriptor if self._reader < 0 else self._reader

    def tensor(
        self, offset: int, shape: tuple[int, ...], strides: Any, code: DTypeCode, flags: int
    ) -> Tensor:
        """A Tensor on the memory at `offset`, which keeps the segment."""
        flags |= READ_ONLY if self.readonly else 0
        return _native._wrap(self.start + offset, shape, strides, code, THE_CPU, flags, self, None)

    def release(self) -> int:
        """Unmap the segment, which has no users, and return its descriptor."""
        descriptor, self.descriptor = self.descriptor, -1
        del self._memory
        return descriptor


_known: weakref.WeakValueDictionary[tuple[int, int, bool], Segment] = weakref.WeakValueDictionary()
_lock = threading.RLock()  # reentrant: a destructor may run while it is held, and call `find`


def mapped(descriptor: int, capacity: int, readonly: bool) -> Segment:
    """The segment of a file, which is mapped now if it is not yet. Takes the descriptor."""
    with _lock:
        try:
            status = os.fstat(descriptor)
            if not 0 <= capacity < status.st_size:  # the description comes after the data
                raise InvalidArgumentError(
                    f"the shared memory has {status.st_size} bytes, too few for {capacity} bytes of data"
                )
            key = status.st_dev, status.st_ino
            segment = _known.get((*key, False)) or (_known.get((*key, True)) if readonly else None)
            given, descriptor = descriptor, -1
            if segment is not None:
                # Handles that a process got at its start may share one number.
                if given not in (segment.descriptor, segment._reader):
                    os.close(given)
                if segment.size != status.st_size:
                    raise InvalidArgumentError(
                        f"the shared memory was resized from {segment.size} to {status.st_size} "
                        "bytes after it was mapped here"
                    )
                return segment
            segment = _known[status.st_dev, status.st_ino, readonly] = Segment(
                given, capacity, readonly
            )
        except BaseException as error:
            _close(descriptor)
            _explain(error, 0)
            raise
        return segment


def find(address: int) -> Segment | None:
    """The mapped segment that contains an address, or None."""
    with _lock:
        # A copy, unlike values(): a signal handler may run here and call dlx.share.
        for reference in _known.valuerefs():
            segment = reference()
            if segment is not None and segment.start <= address < segment.start + segment.size:
                return segment
    return None


def create(size: int, description: dict[str, Any], *, named: bool) -> Segment:
    """A new writable segment of zeros for `size` bytes of data, without a name yet.

    Raises:
        OutOfMemoryError: not enough memory. All of it is taken now: without memory to back it, the
            first write would end the process.
    """
    text = json.dumps(description, separators=(",", ":")).encode()
    capacity = -(-size // _ALIGNMENT) * _ALIGNMENT
    total = capacity + len(text) + _TAIL
    _require_room(total)
    descriptor = -1
    try:
        descriptor = _file(total, named)
        os.posix_fallocate(descriptor, 0, total)
        os.pwrite(descriptor, text + len(text).to_bytes(8, "little") + _MAGIC, capacity)
        _seal(descriptor, _SEAL_SHRINK | _SEAL_GROW)
        given, descriptor = descriptor, -1
        return Segment(given, capacity, False)
    except BaseException as error:  # also Ctrl-C: allocating takes long
        _close(descriptor)
        _explain(error, total)
        raise


def publish(segment: Segment) -> Segment:
    """Make a new segment known to `find` and `mapped`."""
    status = os.fstat(segment.descriptor)
    with _lock:
        _known[status.st_dev, status.st_ino, segment.readonly] = segment
    return segment


def freeze(segment: Segment) -> Segment:
    """Make a segment that only the caller uses read-only for all processes.

    The kernel enforces it for a memfd. A file in /dev/shm has no seals, so it gets a read-only mode.
    """
    capacity, writable = segment.capacity, segment.release()
    descriptor = -1
    try:
        _seal(writable, _SEAL_WRITE | _SEAL_SEAL)
        os.fchmod(writable, 0o400)
        descriptor = _reopen(writable)
        if descriptor < 0:
            descriptor, writable = writable, -1
        given, descriptor = descriptor, -1
        return Segment(given, capacity, True)
    except BaseException as error:
        _close(descriptor)
        _explain(error, 0)
        raise
    finally:
        _close(writable)


def describe(descriptor: int) -> tuple[int, dict[str, Any]]:
    """(capacity, description) of the segment behind a descriptor.

    Raises:
        InvalidArgumentError: not a segment made by `dlx.share`, or a damaged one.
    """
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        raise InvalidArgumentError(
            "`source` is not memory created by dlx.share (it is a pipe, a socket, a folder …)"
        )
    size = status.st_size
    try:
        tail = os.pread(descriptor, _TAIL, max(0, size - _TAIL))
    except OSError as error:
        raise InvalidArgumentError(f"`source` cannot be read: {error.strerror}") from error
    if tail[8:] != _MAGIC:
        raise InvalidArgumentError("`source` is not memory created by dlx.share")
    length = int.from_bytes(tail[:8], "little")
    capacity = size - _TAIL - length
    try:
        if capacity < 0 or length > 1 << 16:
            raise ValueError(f"{length} bytes of description in {size}")
        found = json.loads(os.pread(descriptor, length, capacity))
        shape, code = tuple(map(int, found["shape"])), tuple(map(int, found["dtype"]))
        if len(code) != 3 or not all(0 <= part < 1 << 16 for part in code):
            raise ValueError(f"dtype {code}")
        flags = int(found["flags"])
        if flags & ~KEPT_FLAGS:
            raise ValueError(f"flags {flags} (known are {KEPT_FLAGS})")
        bits = 8 if flags & PADDED and code[1] < 8 else code[1]
        if min(shape, default=0) < 0 or math.prod(shape) * bits * code[2] > capacity * 8:
            raise ValueError(f"shape {shape} in {capacity} bytes")
    except (ArithmeticError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise InvalidArgumentError(
            f"the description in shared memory is damaged: {error}"
        ) from error
    return capacity, {"shape": shape, "dtype": code, "flags": flags}


def is_writable(descriptor: int) -> bool:
    """Whether memory can be mapped for writing through a descriptor."""
    if fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDWR:
        return False
    try:
        return not fcntl.fcntl(descriptor, _GET_SEALS) & _SEAL_WRITE
    except OSError:  # a file system without seals
        return True


def _file(size: int, named: bool) -> int:
    """A descriptor of a new file without a name: a memfd, or a file in /dev/shm if it gets a name later.

    Some builds of Python lack memfd_create, and some sandboxes refuse it. Then /dev/shm is used for all
    files; its size is limited and it has no seals.
    """
    create_memfd = getattr(os, "memfd_create", None)
    if create_memfd is not None and not named:
        try:
            descriptor: int = create_memfd("dlx", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
            return descriptor
        except OSError as error:
            if error.errno not in (errno.ENOSYS, errno.EPERM, errno.EACCES):
                raise
    found = os.statvfs(FOLDER)
    free = found.f_bavail * found.f_frsize
    if found.f_blocks and free < size:  # the default of a container is 64 MiB
        raise OutOfMemoryError(
            f"not enough room for {size} bytes in {FOLDER} (free: {free}); for Docker, --shm-size "
            "sets its size"
        )
    return os.open(FOLDER, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)


def _seal(descriptor: int, seals: int) -> None:
    """Seal a file for good, if it can be sealed: a file in /dev/shm cannot."""
    try:
        fcntl.fcntl(descriptor, _ADD_SEALS, seals)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.EINVAL):
            raise


def _reopen(descriptor: int) -> int:
    """A new read-only descriptor of the file; -1 without /proc."""
    try:
        return os.open(f"/proc/self/fd/{descriptor}", os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return -1


def _close(descriptor: int) -> None:
    try:
        if descriptor >= 0:
            os.close(descriptor)
    except OSError as error:
        if error.errno != errno.EBADF:
            raise


def _require_room(size: int) -> None:
    """Raise OutOfMemoryError if the machine has less memory free: for a memfd the kernel would kill a
    process instead of failing."""
    free = 0
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            for line in file:
                name, _, value = line.partition(":")
                if name in ("MemAvailable", "SwapFree"):
                    free += int(value.split()[0]) * 1024
    except OSError:
        return
    if 0 < free < size:
        raise OutOfMemoryError(f"not enough room for {size} bytes of shared memory (free: {free})")


def _explain(error: BaseException, size: int) -> None:
    """Raise an error of dlx for some errors of system calls; return for all others."""
    if not isinstance(error, OSError):
        return
    if error.errno in (errno.ENOSPC, errno.ENOMEM, errno.EFBIG):
        raise OutOfMemoryError(
            f"not enough room for {size} bytes of shared memory: {error.strerror}"
        ) from error
    if error.errno in (errno.EMFILE, errno.ENFILE):
        raise UnavailableError(
            f"{error.strerror}: every shared tensor holds one or two descriptors while it is in use. "
            "Raise the limit (ulimit -n), or share one large Tensor and send views of it"
        ) from error


@contextlib.contextmanager
def explained() -> Iterator[None]:
    """Turn some errors of system calls into errors of dlx, see `_explain`."""
    try:
        yield
    except OSError as error:
        _explain(error, 0)
        raise


def _forget_lock() -> None:
    """After fork: the thread that held the lock does not exist in the child."""
    global _lock
    _lock = threading.RLock()


os.register_at_fork(after_in_child=_forget_lock)
