"""The CUDA array interface, version 3, of numba, PyCUDA, cuDF and others: import and export.

Source: numba's documentation, "CUDA Array Interface (Version 3)".
"""

from __future__ import annotations

import contextlib
import itertools
import weakref

from dlx import _native, _streams
from dlx._access import code_of
from dlx._lib import capi
from dlx._lib.constants import CPU, CUDA, CUDA_HOST, CUDA_MANAGED, MAX_NDIM, READ_ONLY
from dlx.errors import Error, InvalidArgumentError, UnsupportedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from dlx._native import Tensor
    from dlx._streams import Stream
    from dlx.dtypes import DTypeCode

_ON_DEVICE = (CUDA, CUDA_MANAGED, CUDA_HOST)  # kernels can use pinned memory too
# For the id of each living Tensor: the streams whose handles it exported.
_shown: dict[int, list[Stream]] = {}


def export(tensor: Tensor) -> dict[str, Any]:
    """`Tensor.__cuda_array_interface__`.

    `stream` is dlx's current stream of the device. It waits for the pending work on the data, so that
    later work of the consumer on it finds the data ready. The Tensor keeps a `dlx.Stream` alive, as
    the interface demands.

    Raises:
        AttributeError: a dtype without typestr.
    """
    typestr = capi.dtype_typestr(code_of(tensor))
    if typestr is None:
        raise AttributeError(
            f"this Tensor has no __cuda_array_interface__: no typestr for {tensor.dtype}"
        )
    empty = tensor.size == 0
    size = tensor.itemsize
    compact = tensor.is_contiguous()
    return {
        "version": 3,
        "shape": tensor.shape,
        "typestr": typestr,
        "data": (0 if empty else tensor.data_ptr, tensor.readonly),
        "strides": None if compact else tuple(stride * size for stride in tensor.strides),
        # None means that the data is ready.
        "stream": None if empty else _stream_for(tensor),
    }


def _stream_for(tensor: Tensor) -> int:
    handle = _native._ready_on_current(tensor)
    for stream in _streams.entered():
        if stream.handle == handle and stream.device.device_type == CUDA:
            _keep(stream, tensor)
    return handle


def _keep(stream: Stream, tensor: Tensor) -> None:
    """Keep the stream alive as long as the Tensor."""
    key = id(tensor)
    if key not in _shown:
        weakref.finalize(tensor, _shown.pop, key, None).atexit = False
    kept = _shown.setdefault(key, [])
    if not any(stream is other for other in kept):  # an equal stream may not own the handle
        kept.append(stream)


def read(obj: Any) -> Tensor:
    """The Tensor on an object's memory. It keeps the object and its interface dict alive.

    Raises:
        InvalidArgumentError: the interface is inconsistent, or the address is not CUDA memory.
        UnsupportedError: a mask, or a dtype or strides that DLPack lacks.
        TypeError: fields of the wrong type.
    """
    interface = obj.__cuda_array_interface__
    name = f"`__cuda_array_interface__` of {type(obj).__name__}"
    if not isinstance(interface, dict):
        raise TypeError(f"{name} is not a dict (got {type(interface).__name__})")
    _check(interface, name)
    with _about(name):
        code = capi.dtype_parse_typestr(interface["typestr"])
    shape = _integers(interface["shape"], f"{name}: `shape`", f"{name}: an extent")
    strides = _strides(interface.get("strides"), shape, code, name)
    pointer, readonly = _data(interface["data"], name)
    empty = 0 in shape
    if not pointer and not empty:
        raise InvalidArgumentError(f"{name} has elements but no memory (its address is 0)")
    device = _device(pointer, empty, name)
    flags = READ_ONLY if readonly else 0
    owner = (obj, interface)
    with _about(name):
        tensor = _native._wrap(pointer, shape, strides, code, device, flags, owner, None)
    stream = interface.get("stream")
    if stream is not None and not empty:
        # Every later use of the data waits for the work now on that stream.
        capi.tensor_written_on_stream(_native._handle(tensor), _stream(stream, name))
    return tensor


def _check(interface: dict[str, Any], name: str) -> None:
    missing = [key for key in ("shape", "typestr", "data", "version") if key not in interface]
    if missing:
        raise InvalidArgumentError(f"{name} lacks {missing[0]!r}")
    version = _integer(interface["version"], f"{name}: the version")
    if not 0 <= version <= 3:
        raise UnsupportedError(f"{name} has version {version} (expected 0 to 3)")
    if interface.get("mask") is not None:
        raise UnsupportedError(f"{name} has a mask that would be lost: fill it first")


def _integer(value: Any, what: str) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{what} is not an integer (got {value!r:.60})")
    number: int = value.__index__()
    return number


def _integers(values: Any, what: str, each: str) -> tuple[int, ...]:
    try:
        iterator = iter(values)
    except TypeError:
        raise TypeError(f"{what} is not a tuple of integers (got {values!r:.60})") from None
    # At most one more than allowed, which is refused later: the iterable may be infinite.
    return tuple(_integer(value, each) for value in itertools.islice(iterator, MAX_NDIM + 1))


@contextlib.contextmanager
def _about(name: str) -> Iterator[None]:
    """Name the interface in errors that are raised further down."""
    try:
        yield
    except (Error, TypeError) as error:
        raise type(error)(f"{name}: {error}") from None


def _data(data: Any, name: str) -> tuple[int, bool]:
    if not isinstance(data, tuple) or len(data) != 2:
        raise TypeError(f"{name}: `data` is not a pair (address, read-only) (got {data!r:.60})")
    pointer = 0 if data[0] is None else _integer(data[0], f"{name}: the address")
    if not 0 <= pointer < 1 << 64:
        raise InvalidArgumentError(f"{name}: `data` does not hold an address (got {pointer})")
    return pointer, bool(data[1])


def _strides(
    strides: Any, shape: tuple[int, ...], code: DTypeCode, name: str
) -> tuple[int, ...] | None:
    """The strides of the interface, which are in bytes, in elements."""
    if strides is None:
        return None
    size = code[1] * code[2] // 8
    steps = _integers(strides, f"{name}: `strides`", f"{name}: a stride")
    if len(steps) != len(shape):
        raise InvalidArgumentError(
            f"{name} has {len(steps)} strides (expected {len(shape)}, one for each axis)"
        )
    if any(step % size for step, extent in zip(steps, shape) if extent > 1):
        raise UnsupportedError(
            f"{name} has strides that are not multiples of the element size, which DLPack cannot "
            f"express (got {steps} bytes for elements of {size}): copy the data first"
        )
    return tuple(step // size for step in steps)


def _device(pointer: int, empty: bool, name: str) -> tuple[int, int]:
    """The device of the memory, which the driver knows and the interface does not give. Without elements
    any address is allowed, for example the end of an allocation."""
    device = capi.device_of_pointer(pointer) if pointer else (CPU, 0)
    if device[0] in _ON_DEVICE:
        return device
    if empty:
        return CUDA, _native._current_device(CUDA)
    reason = capi.device_reason(CUDA)
    raise InvalidArgumentError(
        f"{name} has the address {pointer:#x}, which the CUDA driver does not know"
        + (f": {reason}" if reason else "")
    )


def _stream(stream: Any, name: str) -> int:
    number = _integer(stream, f"{name}: the stream")
    if number <= 0:
        raise InvalidArgumentError(
            f"{name} has the stream {number}, which the interface does not allow (1 is the legacy "
            "default stream, 2 the per-thread one)"
        )
    return number
