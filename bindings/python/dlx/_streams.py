"""Streams: the class `dlx.Stream`, and the stream that a thread's work runs on.

The numbers are those of the array API standard. CUDA: 1 is the legacy default stream, 2 the per-thread
default one, any other the driver's handle; 0 is refused, because it could be either. ROCm: 0 is the
default stream, any other a handle; 1 and 2 are refused.
"""

from __future__ import annotations

import sys
from _thread import _local  # threading.local, without the time to import that

from dlx import _native
from dlx._lib import capi
from dlx._lib.classes import package_of
from dlx._lib.constants import CUDA, CUDA_HOST, CUDA_MANAGED, ROCM, ROCM_HOST
from dlx.device import Device, device_code
from dlx.errors import InvalidArgumentError, int_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from typing_extensions import Self

    from dlx._native import Tensor
    from dlx.device import DeviceCode, DeviceLike

__all__ = ["Stream", "current_stream", "stream"]

# Managed and pinned memory is worked on by the streams of its kind of device.
_FAMILY = {CUDA_HOST: CUDA, CUDA_MANAGED: CUDA, ROCM_HOST: ROCM}
_LEGACY = {CUDA: 1, ROCM: 0}  # what a stream object of another library means by a handle of 0


class Stream:
    """A queue of work of one device.

    `Stream(device="cuda:1")` makes a new one, which is destroyed with the object (the work that it
    has is done all the same). `Stream(x)` wraps one that exists, and keeps `x` alive: a stream of
    torch, CuPy or numba, any object with `__cuda_stream__`, another Stream; or a handle by its
    number, which needs `device`.

    A library's own stream object with the handle 0 means the legacy default stream. The bare number
    0 is refused on CUDA, as everywhere in the standard.

    Args:
        obj: what to wrap; left out: a new stream.
        device: anything that `dlx.Device` reads; for an object that knows its device, it has to be
            the same one.

    Raises:
        ValueError: a number that the standard does not allow, a device that has no streams, or an
            object of another device (`InvalidArgumentError`).
        TypeError: `obj` is no stream.
        RuntimeError: no such device on this machine, for a new stream (`UnavailableError`).

    Source: array API standard 2025.12, `__dlpack__`; NVIDIA's CUDA stream protocol
    (`__cuda_stream__`).
    """

    __slots__ = ("__weakref__", "_device", "_handle", "_owner", "_owns")

    def __init__(self, obj: Any = None, /, *, device: DeviceLike | None = None) -> None:
        self._owns = False
        self._owner = obj
        wanted = None if device is None else _family(device_code(device))
        if obj is None:
            if wanted is None:
                raise TypeError("Stream() needs a stream to wrap, or `device=` to make one on")
            code = wanted
            self._handle = capi.stream_create(code)
            self._owns = True
        elif _is_number(obj):
            if wanted is None:
                raise TypeError("`device` is missing: a handle alone does not say where it belongs")
            code, self._handle = wanted, _index(obj)
            _native._check_stream(code[0], self._handle)
        else:
            code, self._handle = _read(obj, wanted)
        self._device = Device(code)

    @classmethod
    def create(cls, device: DeviceLike = "cuda") -> Self:
        """A new stream that does not wait for the legacy default stream: `Stream(device=device)`."""
        return cls(device=device)

    @property
    def handle(self) -> int:
        """The stream's number, as `__dlpack__(stream=…)` takes it."""
        return self._handle

    @property
    def device(self) -> Device:
        """The device whose work it orders."""
        return self._device

    def synchronize(self) -> None:
        """Wait on the host until the work that the stream has now is done. Other threads run
        meanwhile.

        Raises:
            RuntimeError: no such device here (`UnavailableError`), or its driver reports an error
                (`DriverError`).
        """
        capi.stream_synchronize(_code(self), self._handle)

    def wait(self, other: Any, /) -> None:
        """Work given to this stream from now on starts after what `other` has now. Nothing waits on
        the host.

        Args:
            other: a stream of the same device, in any form that `Stream` takes; or a Tensor there,
                whose data work on this stream finds ready from now on.

        Raises:
            ValueError: a stream, or a Tensor, of another device (`InvalidArgumentError`).
        """
        if type(other) is _native.Tensor:
            _require_same_device(self, other)
            capi.tensor_wait_on_stream(_native._handle(other), self._handle)
            return
        capi.stream_wait(_code(self), self._handle, number(other, *_code(self)))

    def wrote(self, tensor: Tensor, /) -> None:
        """Say that the work which this stream has now writes the Tensor's data.

        Whoever is handed the Tensor, or any view of the same memory, from now on waits for it. Needed
        only after kernels of your own: what dlx itself copies, and what it imports, it knows.

        Raises:
            ValueError: a Tensor of another device (`InvalidArgumentError`).
        """
        _require_same_device(self, tensor)
        capi.tensor_written_on_stream(_native._handle(tensor), self._handle)

    def __cuda_stream__(self) -> tuple[int, int]:
        """(0, handle): NVIDIA's stream protocol, version 0. Streams of CUDA have it."""
        if self._device.device_type != CUDA:
            raise AttributeError(f"a stream of {self._device} is no CUDA stream")
        return 0, self._handle

    def __enter__(self) -> Self:
        _enter(self, self)
        return self

    def __exit__(self, *exception: Any) -> None:
        _leave(self, self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Stream):
            return NotImplemented
        return (self._device, self._handle) == (other._device, other._handle)

    def __hash__(self) -> int:
        return hash((self._device, self._handle))

    def __repr__(self) -> str:
        return f"dlx.Stream({self._handle:#x}, device={self._device.name!r})"

    def __del__(self) -> None:
        if getattr(self, "_owns", False):
            self._owns = False
            capi.stream_abandon(_code(self), self._handle)


def _is_number(obj: Any) -> bool:
    return hasattr(obj, "__index__") and not isinstance(obj, (bool, type))


def _index(obj: Any) -> int:
    try:
        value: int = obj.__index__()
    except TypeError:  # arrays have it too, and refuse
        raise _no_stream(obj) from None
    return value


def _code(stream: Stream) -> DeviceCode:
    return stream._device.device_type, stream._device.device_id


def _family(code: DeviceCode) -> DeviceCode:
    return _FAMILY.get(code[0], code[0]), code[1]


def _require_same_device(stream: Stream, tensor: Tensor) -> None:
    if type(tensor) is not _native.Tensor:
        raise TypeError(f"`tensor` is no dlx.Tensor (got {type(tensor).__name__})")
    where = _family((tensor.device.device_type, tensor.device.device_id))
    # Of pinned and managed memory DLPack does not say the device: C knows.
    known = where[0] == tensor.device.device_type
    if where[0] != stream.device.device_type or (known and where[1] != stream.device.device_id):
        raise InvalidArgumentError(
            f"the tensor is on {tensor.device}, and the stream is one of {stream.device}"
        )


# ---- stream objects of other libraries -----------------------------------------------------------


def _read(obj: Any, wanted: DeviceCode | None) -> tuple[DeviceCode, int]:
    """(device, number) of a stream object. Its device has to be `wanted`, if both are known."""
    if isinstance(obj, Stream):
        code, handle = _code(obj), obj._handle
    else:
        kind, index, raw = _foreign(obj)
        if index is None:
            index = _native._current_device(kind) if wanted is None else wanted[1]
        code = kind, index
        handle = raw if raw != 0 else _LEGACY[kind]
        _native._check_stream(kind, handle)
    if wanted is not None and code != wanted:
        raise InvalidArgumentError(
            f"`stream` belongs to {Device(code)} (expected one of {Device(wanted)})"
        )
    return code, handle


def _foreign(obj: Any) -> tuple[int, int | None, int]:
    """(device type, id or None for the current one, raw handle) of another library's stream."""
    package = package_of(type(obj))
    if isinstance(obj, type):
        raise _no_stream(obj)
    if package == "torch" and "Stream" in type(obj).__name__:
        return _kind_of_torch(), obj.device.index, _torch_handle(obj)
    if package == "cupy" and hasattr(obj, "ptr"):
        device = int(getattr(obj, "device_id", -1))
        return _kind_of_cupy(), None if device < 0 else device, int(obj.ptr)
    protocol = getattr(obj, "__cuda_stream__", None)
    if protocol is not None:
        return CUDA, _device_of(obj), _read_protocol(obj, protocol)
    handle = getattr(obj, "handle", None)
    if package == "numba" and handle is not None:
        return CUDA, None, int(getattr(handle, "value", handle) or 0)
    for name in ("cuda_stream", "ptr"):  # whatever looks like torch's or CuPy's
        raw: Any = getattr(obj, name, None)
        if hasattr(raw, "__index__"):
            return CUDA, _device_of(obj), int(raw)
    raise _no_stream(obj)


def _torch_handle(obj: Any) -> int:
    """Of torch.cuda.Stream, and of torch.Stream, which any accelerator has."""
    if hasattr(obj, "cuda_stream"):
        return int(obj.cuda_stream)
    if getattr(obj.device, "type", "") != "cuda":
        raise InvalidArgumentError(
            f"`stream` is torch's stream of {obj.device}, of which dlx knows none (expected cuda)"
        )
    return int(obj.native_handle)


def _no_stream(obj: Any) -> TypeError:
    return TypeError(
        f"`stream` is no stream (got {type(obj).__name__}, expected an int, a dlx.Stream, a stream "
        "of torch, CuPy or numba, or an object with __cuda_stream__)"
    )


def _read_protocol(obj: Any, protocol: Any) -> int:
    """The handle of `__cuda_stream__`, a method; a property in its first users."""
    answer = protocol() if callable(protocol) else protocol
    try:
        version, handle = answer
        version, handle = int(version), int(handle)
    except (TypeError, ValueError):
        raise InvalidArgumentError(
            f"`__cuda_stream__` of {type(obj).__name__} is no pair (version, handle) "
            f"(got {answer!r:.80})"
        ) from None
    if version != 0:
        raise InvalidArgumentError(
            f"`__cuda_stream__` of {type(obj).__name__} is of version {version} (expected 0)"
        )
    return handle


def _device_of(obj: Any) -> int | None:
    """The ordinal in `obj.device`, by the names that libraries have for it."""
    device: Any = getattr(obj, "device", None)
    names = ("device_id", "index", "id", "ordinal")  # cuda.core's, torch's, CuPy's, Warp's
    for value in (device, *(getattr(device, name, None) for name in names)):
        if _is_number(value):
            return int(value)
    return None


def _kind_of_torch() -> int:
    version = getattr(sys.modules.get("torch"), "version", None)
    return ROCM if getattr(version, "hip", None) else CUDA


def _kind_of_cupy() -> int:
    runtime = getattr(getattr(sys.modules.get("cupy"), "cuda", None), "runtime", None)
    return ROCM if getattr(runtime, "is_hip", False) else CUDA


def number(obj: Any, device_type: int, device_id: int) -> int:
    """The number of a stream of that device, of anything that is one: what `stream=` takes.

    Raises:
        TypeError, InvalidArgumentError: no stream, or one of another device.
    """
    if _is_number(obj):
        value = _index(obj)
        if not -(2**63) <= value < 2**63:
            got = int_text(value)
            raise InvalidArgumentError(f"`stream` is out of range (got {got}, beyond 64 bits)")
        return value
    wanted = _family((device_type, device_id))
    pinned_or_managed = wanted[0] != device_type
    code, handle = _read(obj, None if pinned_or_managed else wanted)
    if code[0] != wanted[0]:
        raise InvalidArgumentError(
            f"`stream` belongs to {Device(code)} (expected one of {Device(wanted)})"
        )
    return handle


# ---- the current stream --------------------------------------------------------------------------


class _Block:
    """A `with` block that a thread is in, and what was current before it."""

    __slots__ = ("code", "number", "of", "stream")

    def __init__(self, of: object, code: DeviceCode, number: int | None, stream: Stream | None):
        self.of = of  # the object of the `with`
        self.code = code
        self.number = number
        self.stream = stream


class _Thread(_local):
    def __init__(self) -> None:
        self.entered: list[_Block] = []  # the innermost one last
        self.current: dict[DeviceCode, Stream] = {}  # kept alive while they are current


_thread = _Thread()


def _enter(of: object, stream: Stream) -> None:
    code = _code(stream)
    number = _native._swap_stream(*code, stream._handle)
    _thread.entered.append(_Block(of, code, number, _thread.current.get(code)))
    _thread.current[code] = stream


def _leave(of: object, stream: Stream) -> None:
    """Undo the latest _enter() of the same object; blocks of generators may end in any order."""
    code = _code(stream)
    entered = _thread.entered
    place = next((i for i in reversed(range(len(entered))) if entered[i].of is of), None)
    if place is None:
        raise RuntimeError(f"this thread is in no `with` block of {stream!r}")
    block = entered.pop(place)
    inner = next((later for later in entered[place:] if later.code == code), None)
    if inner is not None:  # its stream stays current, until it goes back to what was before both
        inner.number, inner.stream = block.number, block.stream
        return
    _native._swap_stream(*code, block.number)
    if block.stream is None:
        _thread.current.pop(code, None)
    else:
        _thread.current[code] = block.stream


class _Current:
    """`with dlx.stream(s):`; several threads may be in a block of the same one."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream

    def __enter__(self) -> Stream:
        _enter(self, self._stream)
        return self._stream

    def __exit__(self, *exception: Any) -> None:
        _leave(self, self._stream)


def stream(obj: Any, /, *, device: DeviceLike | None = None) -> _Current:
    """Make a stream the current one of its device, for this thread, in a `with` block.

    dlx's copies run there, and imports ask their producers for data that is safe there. The stream
    that was current before is so again after the block; blocks nest.

        with dlx.stream(torch.cuda.current_stream()):
            t = dlx.from_dlpack(x)

    Args:
        obj, device: as `dlx.Stream` takes them.

    Raises:
        as `dlx.Stream`; RuntimeError on entry, if the device is not there (`UnavailableError`).
    """
    return _Current(
        obj if isinstance(obj, Stream) and device is None else Stream(obj, device=device)
    )


def current_stream(device: DeviceLike = "cuda", /) -> Stream:
    """The calling thread's current stream of a device.

    It is the one of the innermost `with dlx.stream(s)`; else the one on which the library works whose
    exchange table this thread imported device data from last; else the default stream.

    Raises:
        RuntimeError: no such device on this machine (`UnavailableError`).
        ValueError: a device without streams (`InvalidArgumentError`).
    """
    code = _family(device_code(device))
    handle = capi.stream_get_current(code)
    known = _thread.current.get(code)
    return known if known is not None and known._handle == handle else Stream(handle, device=code)


def entered() -> tuple[Stream, ...]:
    """The streams that are the calling thread's current ones by a `with`."""
    return tuple(_thread.current.values())
