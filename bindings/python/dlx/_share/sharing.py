"""Tensors in memory that processes share: `dlx.share`, `dlx.attach`, and how multiprocessing sends them.

This module registers with the pickler of `multiprocessing`: a Tensor in a shared segment is sent as the
segment's descriptor, any other by value. Other picklers, which may write to files or to other
machines, always write the bytes.
"""

from __future__ import annotations

import contextlib
import errno
import os
import weakref
from multiprocessing import context, reduction

from dlx import _native, dtypes
from dlx._access import code_of
from dlx._lib.constants import CPU, HOSTS, PADDED, READ_ONLY
from dlx._share import segments
from dlx.errors import (
    DeviceRefusedError,
    InvalidArgumentError,
    UnavailableError,
    UnsupportedError,
    int_text,
    require_bool,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dlx._native import Tensor
    from dlx._share.segments import File, Segment
    from dlx.dtypes import DTypeCode

_MAX_NAME = 255  # bytes


def share(x: Any, readonly: bool | None, name: str | None) -> Tensor:
    """See dlx.share."""
    path = None if name is None else _path(name)
    if readonly is not None:
        require_bool("readonly", readonly)
    tensor = _native.asarray(x)
    _require_shareable(tensor)
    found = _segment_of(tensor)
    wanted = tensor.readonly if readonly is None else readonly
    if found is None or path is not None:
        return _copied(tensor, wanted, path)
    if readonly is None or (found.is_frozen() if wanted else not tensor.readonly):
        return tensor
    return _copied(tensor, wanted, None)


def _copied(tensor: Tensor, readonly: bool, path: str | None) -> Tensor:
    """A compact copy in a segment of its own."""
    code, shape = code_of(tensor), tensor.shape
    flags = _native._flags(tensor) & PADDED
    described = {"dtype": code, "flags": flags | int(readonly), "shape": shape}
    segment = segments.create(tensor.nbytes, described, named=path is not None)
    _native.copyto(segment.tensor(0, shape, None, code, flags), tensor)
    if readonly:
        segment = segments.freeze(segment)
    shared = segments.publish(segment).tensor(0, shape, None, code, flags)
    if path is not None:
        with segments.explained():
            # Last, so that no process attaches an incomplete segment, and no failure leaves a name.
            _link(segment, path)
    return shared


def attach(source: Any, readonly: bool, trust: bool) -> Tensor:
    """See dlx.attach."""
    require_bool("readonly", readonly)
    require_bool("trust", trust)
    if not isinstance(source, str):
        if hasattr(source, "fileno"):
            source = source.fileno()
        if isinstance(source, bool) or not hasattr(source, "__index__"):
            raise TypeError(f"`source` is not a descriptor or a name (got {type(source).__name__})")
    with segments.explained():
        if isinstance(source, str):
            file = _open(_path(source), readonly)
        else:
            file = _duplicate(source.__index__())
    size, capacity, described = segments.describe(file, trust)
    flags = described["flags"]
    if readonly or not segments.is_writable(file):
        flags |= READ_ONLY
    segment = segments.mapped(file, capacity, bool(flags & READ_ONLY), size)
    return segment.tensor(0, described["shape"], None, described["dtype"], flags)


def shared_fd(tensor: Any) -> int:
    """See dlx.shared_fd."""
    if type(tensor) is not _native.Tensor:
        raise TypeError(f"`t` must be a Tensor (got {type(tensor).__name__}): dlx.share makes one")
    segment = _segment_of(tensor)
    if segment is None:
        raise InvalidArgumentError("`t` is not in shared memory: dlx.share makes such a Tensor")
    return segment.reader() if tensor.readonly else segment.descriptor


def unshare(name: str) -> None:
    """See dlx.unshare."""
    os.unlink(_path(name))


def _require_shareable(tensor: Tensor) -> None:
    if tensor.device.device_type not in HOSTS:
        raise DeviceRefusedError(
            f"only host memory can be shared between processes (got data on {tensor.device}): call "
            "`.to_device('cpu')` first"
        )
    if code_of(tensor)[0] == dtypes.OPAQUE:
        raise UnsupportedError(
            "a Tensor of opaque handles cannot be shared: the handles are addresses of this process"
        )
    if tensor.size and not tensor.data_ptr:
        raise UnsupportedError("the Tensor has no data to share (its address is NULL)")


def _segment_of(tensor: Tensor) -> Segment | None:
    """The mapped segment that contains all elements of a Tensor, or None."""
    address = tensor.data_ptr
    segment = segments.find(address)
    if segment is None or tensor.device.device_type != CPU:
        return None
    code = code_of(tensor)
    padded = bool(_native._flags(tensor) & PADDED)
    item = 8 if padded and code[1] < 8 else code[1]
    first, last = 0, item * code[2]  # bits, relative to the element at the address
    for extent, stride in zip(tensor.shape, tensor.strides):
        step = (extent - 1) * stride * item * code[2]
        if extent and step < 0:
            first += step
        elif extent:
            last += step
    start = (address - segment.start) * 8
    inside = start + first >= 0 and start + last <= segment.capacity * 8
    return segment if inside or not tensor.size else None


# ---- names ---------------------------------------------------------------------------------------


def _path(name: Any) -> str:
    """The file of a name."""
    if not isinstance(name, str):
        raise TypeError(f"`name` is not a str (got {type(name).__name__})")
    try:
        length = len(os.fsencode(name))
    except UnicodeEncodeError:
        length = 0
    if not 0 < length <= _MAX_NAME or "/" in name or "\0" in name or name in (".", ".."):
        raise InvalidArgumentError(
            "`name` is not a plain file name (got "
            f"{name!r}, expected no `/` and at most {_MAX_NAME} bytes)"
        )
    return f"{segments.FOLDER}/{name}"


def _link(segment: Segment, path: str) -> None:
    """Give a complete segment its name."""
    folder = segments.own(os.open, segments.FOLDER, os.O_PATH | os.O_CLOEXEC)
    try:
        # With a folder given, Python calls linkat(), which follows the link in /proc.
        source, place = f"/proc/self/fd/{segment.descriptor}", folder.fileno()
        os.link(source, os.path.basename(path), src_dir_fd=place, dst_dir_fd=place)
    except FileExistsError:
        raise InvalidArgumentError(
            f"`name` is in use (got {os.path.basename(path)!r}): dlx.unshare removes it"
        ) from None


def _open(path: str, readonly: bool) -> File:
    """A named segment's file; writable if wanted and allowed."""
    # Without O_NONBLOCK, opening a FIFO would wait for a process at its other end.
    flags = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        if not readonly:
            with contextlib.suppress(PermissionError):
                return segments.own(os.open, path, os.O_RDWR | flags)
        return segments.own(os.open, path, os.O_RDONLY | flags)
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.EISDIR, errno.ENXIO, errno.ENODEV):
            raise
        raise InvalidArgumentError(
            f"the name does not belong to memory created by dlx.share: {error}"
        ) from error


def _duplicate(descriptor: int) -> File:
    """A duplicate of a descriptor."""
    try:
        return segments.own(os.dup, descriptor)
    except OverflowError:
        got = int_text(descriptor)
        raise InvalidArgumentError(f"`source` is not a descriptor (got {got})") from None


# ---- multiprocessing -----------------------------------------------------------------------------


# For each process that is being started: descriptor -> handle.
_handles: weakref.WeakKeyDictionary[Any, dict[int, Any]] = weakref.WeakKeyDictionary()


def _handle(descriptor: int) -> Any:
    """An object that sends a descriptor to another process.

    A process that is being started inherits the descriptor, which may be registered only once.
    """
    starting = context.get_spawning_popen()
    if starting is None:
        return reduction.DupFd(descriptor)
    known = _handles.setdefault(starting, {})
    if descriptor not in known:
        known[descriptor] = reduction.DupFd(descriptor)
    return known[descriptor]


def _reduce(tensor: Tensor) -> tuple[Any, ...]:
    """How multiprocessing's pickler writes a Tensor."""
    segment = _segment_of(tensor)
    if segment is None:
        return tensor.__reduce_ex__(4)
    flags = _native._flags(tensor) & segments.KEPT_FLAGS
    descriptor = segment.reader() if flags & READ_ONLY else segment.descriptor
    place = (tensor.data_ptr - segment.start, tensor.shape, tensor.strides)
    code = code_of(tensor)
    with segments.explained():
        handle = _handle(descriptor)
    return _rebuild, (handle, segment.capacity, *place, code, flags)


def _rebuild(
    handle: Any,
    capacity: int,
    offset: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    code: DTypeCode,
    flags: int,
) -> Tensor:
    """The Tensor on a segment whose descriptor another process sends."""
    try:
        with segments.explained():
            file = segments.receive(handle.detach)
    except RuntimeError as error:  # from `recvfds`: the message came without the descriptor
        if isinstance(error, UnavailableError):
            raise
        raise UnavailableError(
            f"the descriptor of a shared Tensor did not arrive ({error}): this process may have "
            "too many open files. Raise the limit (ulimit -n)"
        ) from error
    except (OSError, EOFError) as error:
        raise UnavailableError(
            f"the descriptor of a shared Tensor did not arrive ({error!r}): the sending process has "
            "to run until the receiver has it"
        ) from error
    if not segments.is_writable(file):
        flags |= READ_ONLY
    segment = segments.mapped(file, capacity, bool(flags & READ_ONLY))
    try:
        tensor = segment.tensor(offset, shape, strides, code, flags)
    except InvalidArgumentError as error:  # a damaged message
        raise _beyond(segment, offset, shape, strides) from error
    if tensor.size and _segment_of(tensor) is not segment:
        raise _beyond(segment, offset, shape, strides)
    return tensor


def _beyond(
    segment: segments.Segment, offset: int, shape: tuple[int, ...], strides: Any
) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"the Tensor that another process sent lies beyond the {segment.capacity} bytes of the shared "
        f"memory (byte {offset}, shape {shape}, strides {strides})"
    )


reduction.ForkingPickler.register(_native.Tensor, _reduce)
