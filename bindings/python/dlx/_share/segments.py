"""Segments of shared memory: creates, maps and finds them. Linux only.

A segment is a file in memory: a memfd, or for a named segment a file in /dev/shm. Its layout:

    the elements, in C order, from byte 0 on
    zeros up to a multiple of 64
    a description in JSON: {"dtype": [code, bits, lanes], "flags": …, "shape": […]}
    its length as 8 bytes, little endian, and the 8 bytes "dlxshare"

No process owns a segment: the kernel frees it after the last descriptor and mapping are gone.
"""

from __future__ import annotations

import errno
import fcntl
import functools
import itertools
import json
import math
import os
import select
import stat
import weakref

from dlx import _native
from dlx._lib.constants import PADDED, READ_ONLY, THE_CPU
from dlx.errors import InvalidArgumentError, OutOfMemoryError, UnavailableError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
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
_SEAL_SEAL, _SEAL_SHRINK, _SEAL_GROW, _SEAL_WRITE, _SEAL_FUTURE_WRITE = 1, 2, 4, 8, 16


# An object of this class owns a descriptor. No other class of the standard library takes a
# descriptor of any kind, closes it in C when the object is dropped, and does not warn about that.
File = select.epoll


class _Owners(dict[int, File]):
    """descriptor -> File; an item that is missing is made, in C."""

    __missing__ = File.fromfd


def own(function: Callable[..., int], *arguments: Any, owners: _Owners | None = None) -> File:
    """The descriptor that a function returns, with an owner from the start.

    Python raises KeyboardInterrupt between bytecodes. These iterators run in C, so no bytecode sees
    the bare number. Signal masks would not do: another thread may receive the signal.

    Args:
        owners: of descriptors that have one already.
    """
    owners = _Owners() if owners is None else owners
    made, kept = itertools.tee(itertools.starmap(function, [arguments]))
    try:
        return next(map(owners.__getitem__, made))
    except MemoryError:  # there is no owner, but perhaps a descriptor
        for descriptor in kept:
            if descriptor not in owners:
                os.close(descriptor)
        raise


def receive(detach: Callable[[], int]) -> File:
    """The owner of a descriptor that a handle has: the one that a segment has already, or a new one.

    Handles that a process got at its start may share one number.
    """
    files = [file for each in _mapped_now() for file in (each._file, *each._readers.values())]
    return own(detach, owners=_Owners((file.fileno(), file) for file in files))


class Segment:
    """A segment mapped into this process. It lives as long as a Tensor uses it.

    It needs no destructor: a KeyboardInterrupt could end one before its first line.

    Attributes:
        key: the file's device and number, and `readonly`.
        readonly: whether the mapping is read-only.
        size: bytes of the whole file.
        start: address of byte 0.
        capacity: bytes before the description.
    """

    __slots__ = ("__weakref__", "_file", "_memory", "_readers", "capacity", "key", "readonly", "size", "start")  # fmt: skip

    def __init__(self, file: File, size: int, capacity: int, readonly: bool) -> None:
        """Map all of a file, which must have `size` bytes, also after it is mapped."""
        self._file: File = file
        self._readers: dict[None, File] = {}  # at most one
        self.size, self.capacity, self.readonly = size, capacity, readonly
        memory = _native._map(file.fileno(), size, not readonly)
        if isinstance(memory, int):
            raise OSError(memory, os.strerror(memory))
        status = os.fstat(file.fileno())
        if status.st_size != size:
            raise _resized(size, status.st_size)
        self.key = status.st_dev, status.st_ino, readonly
        self._memory = memory
        self.start = memory.data_ptr

    @property
    def descriptor(self) -> int:
        """The descriptor of the file; closed with this object."""
        return self._file.fileno()

    def is_frozen(self) -> bool:
        """Whether no process can write to it without changing the file's mode."""
        return not os.fstat(self.descriptor).st_mode & 0o222

    def reader(self) -> int:
        """A descriptor that cannot be mapped for writing (without /proc it can); closed with this object."""
        if not self.readonly and not self._readers:
            with explained():
                file = _reopen(self._file)
            if file is not None:
                self._readers.setdefault(None, file)  # of two that two threads open, one is dropped
        return self._readers.get(None, self._file).fileno()

    def tensor(
        self, offset: int, shape: tuple[int, ...], strides: Any, code: DTypeCode, flags: int
    ) -> Tensor:
        """A Tensor on the memory at `offset`, which keeps the segment."""
        flags |= READ_ONLY if self.readonly else 0
        return _native._wrap(self.start + offset, shape, strides, code, THE_CPU, flags, self, None)

    def release(self) -> File:
        """Unmap the segment, which has no users, and return its file."""
        del self._memory
        return self._file


# The callback of each reference removes it, and nothing else does. It is in C: an interrupt in one written in
# Python is lost. There is no lock: in CPython 3.9 an interrupt at the end of a `with` keeps it for ever.
_known: dict[tuple[int, int, bool], weakref.ref[Segment]] = {}


def _mapped_now() -> Iterator[Segment]:
    for reference in list(_known.values()):  # destructors and signal handlers may change it
        segment = reference()
        if segment is not None:
            yield segment


def _get(status: os.stat_result, readonly: bool) -> Segment | None:
    reference = _known.get((status.st_dev, status.st_ino, readonly))
    return reference() if reference else None


def mapped(file: File, capacity: int, readonly: bool, size: int | None = None) -> Segment:
    """The segment of a file, which is mapped now if it is not yet.

    Args:
        size: bytes of the file, if the caller has looked at its contents already.
    """
    status = os.fstat(file.fileno())
    if size is None:
        size = status.st_size
    if not 0 <= capacity < size:  # the description comes after the data
        raise InvalidArgumentError(
            f"the shared memory has {size} bytes, too few for {capacity} bytes of data"
        )
    segment = _get(status, False) or (_get(status, True) if readonly else None)
    if segment is None:
        try:
            segment = publish(Segment(file, size, capacity, readonly))
        except OSError as error:
            _explain(error, 0)
            raise
    if not segment.size == size == status.st_size:
        raise _resized(segment.size, status.st_size)
    return segment


def _resized(size: int, found: int) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"the shared memory was resized from {size} to {found} bytes after dlx first looked at it: "
        "attach memory whose size its owner does not change, such as that of dlx.share"
    )


def find(address: int) -> Segment | None:
    """The mapped segment that contains an address, or None."""
    for segment in _mapped_now():
        if segment.start <= address < segment.start + segment.size:
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
    try:
        file = _new(total, named)
        descriptor = file.fileno()
        os.posix_fallocate(descriptor, 0, total)
        os.pwrite(descriptor, text + len(text).to_bytes(8, "little") + _MAGIC, capacity)
        _seal(file, _SEAL_SHRINK | _SEAL_GROW)
        return Segment(file, total, capacity, False)
    except OSError as error:
        _explain(error, total)
        raise


def publish(segment: Segment) -> Segment:
    """Make a new segment known to `find` and `mapped`; or the one that another thread made meanwhile."""
    reference = weakref.ref(segment, functools.partial(_known.pop, segment.key))
    while True:
        found = _known.setdefault(segment.key, reference)()
        if found is not None:  # without the GIL: it ends now, and its callback runs
            return found


def freeze(segment: Segment) -> Segment:
    """Make a segment that only the caller uses read-only for all processes.

    The kernel enforces it for a memfd. A file in /dev/shm has no seals, so it gets a read-only mode.
    """
    try:
        writable = segment.release()
        _seal(writable, _SEAL_WRITE | _SEAL_SEAL)
        os.fchmod(writable.fileno(), 0o400)
        file = _reopen(writable) or writable
        return Segment(file, segment.size, segment.capacity, True)
    except OSError as error:
        _explain(error, 0)
        raise


def describe(file: File, trust: bool) -> tuple[int, int, dict[str, Any]]:
    """(size, capacity, description) of the segment behind a descriptor.

    Args:
        trust: also take a segment that another process may shrink.

    Raises:
        InvalidArgumentError: not a segment made by `dlx.share`, or a damaged one.
    """
    descriptor = file.fileno()
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
    if not trust:
        _require_lasting(file, status)
    return size, capacity, {"shape": shape, "dtype": code, "flags": flags}


def _require_lasting(file: File, status: os.stat_result) -> None:
    """Refuse memory that another process may shrink, unless it is a file that only this user may write."""
    if _seals(file) & _SEAL_SHRINK:
        return
    risk = "and an access to a part that is gone ends this process by SIGBUS"
    advice = "if you trust its owner, call dlx.attach(source, trust=True)"
    try:
        named = status.st_dev == os.stat(FOLDER).st_dev
    except OSError:
        named = False
    if not named:
        raise InvalidArgumentError(
            "`source` is not sealed (got a file without F_SEAL_SHRINK, expected memory that dlx.share "
            f"made): another process may shrink it, {risk}; {advice}"
        )
    user = os.geteuid()
    if status.st_uid != user:
        raise InvalidArgumentError(
            f"`source` belongs to another user (got user {status.st_uid}, expected {user}), who may "
            f"shrink it, {risk}; {advice}"
        )
    mode = stat.S_IMODE(status.st_mode)
    # With an access control list, the group's bits are its mask.
    if mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise InvalidArgumentError(
            f"`source` may be written by other users (got mode {mode:04o}, expected 0600, as dlx.share "
            f"makes it), who may shrink it, {risk}; call os.chmod(path, 0o600), or, if you trust them, "
            "dlx.attach(source, trust=True)"
        )


def is_writable(file: File) -> bool:
    """Whether memory can be mapped for writing through a descriptor."""
    if fcntl.fcntl(file, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDWR:
        return False
    return not _seals(file) & (_SEAL_WRITE | _SEAL_FUTURE_WRITE)


def _seals(file: File) -> int:
    try:
        return fcntl.fcntl(file, _GET_SEALS)
    except OSError:  # a file system without seals
        return 0


def _new(size: int, named: bool) -> File:
    """A new file without a name: a memfd, or a file in /dev/shm if it gets a name later.

    Some builds of Python lack memfd_create, and some sandboxes refuse it. Then /dev/shm is used for all
    files; its size is limited and it has no seals.
    """
    create_memfd = getattr(os, "memfd_create", None)
    if create_memfd is not None and not named:
        try:
            return own(create_memfd, "dlx", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
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
    return own(os.open, FOLDER, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)


def _seal(file: File, seals: int) -> None:
    """Seal a file for good, if it can be sealed: a file in /dev/shm cannot."""
    try:
        fcntl.fcntl(file, _ADD_SEALS, seals)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.EINVAL):
            raise


def _reopen(file: File) -> File | None:
    """A new read-only descriptor of the file; None without /proc."""
    try:
        return own(os.open, f"/proc/self/fd/{file.fileno()}", os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None


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


def _explain(error: OSError, size: int) -> None:
    """Raise an error of dlx for some errors of system calls; return for all others."""
    if error.errno in (errno.ENOSPC, errno.ENOMEM, errno.EFBIG):
        raise OutOfMemoryError(
            f"not enough room for {size} bytes of shared memory: {error.strerror}"
        ) from error
    if error.errno in (errno.EMFILE, errno.ENFILE):
        raise UnavailableError(
            f"{error.strerror}: every shared tensor holds a descriptor while it is in use, and a second one "
            "if a read-only view of writable memory was sent. "
            "Raise the limit (ulimit -n), or share one large Tensor and send views of it"
        ) from error


class explained:
    """Turns some errors of system calls into errors of dlx, see `_explain`."""

    __slots__ = ()

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        if isinstance(error, OSError):
            _explain(error, 0)
