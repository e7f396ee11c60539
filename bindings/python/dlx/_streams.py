"""Streams: the class `dlx.Stream`, and a thread's current stream.

Streams have the numbers of the array API standard. CUDA: 1 is the legacy default stream, 2 the
per-thread default stream, any other the driver's handle; 0 is refused, because it could mean both
defaults. ROCm: 0 is the default stream, any other a handle; 1 and 2 are refused.
"""

from __future__ import annotations

import sys
from _thread import _local  # threading.local, without importing threading

from dlx import _native
from dlx._lib import capi
from dlx._lib.classes import package_of
from dlx._lib.constants import CUDA, CUDA_HOST, CUDA_MANAGED, ROCM, ROCM_HOST
from dlx.device import Device, device_code
from dlx.errors import InvalidArgumentError, int_text, with_brief_errors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from contextlib import AbstractContextManager
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

    `Stream(device="cuda:1")` makes a new stream, which is destroyed with the object after its work is
    done. `Stream(x)` wraps an existing stream and keeps `x` alive: a stream of torch, CuPy or numba,
    any object with `__cuda_stream__`, another Stream; or a number, which needs `device`.

    A stream object of another library with the handle 0 means the legacy default stream. The bare
    number 0 is refused on CUDA, as the standard demands.

    Args:
        obj: the stream to wrap; if omitted, a new stream is made.
        device: anything that `dlx.Device` reads. If `obj` has a device, it has to be the same one.

    Raises:
        ValueError: a number that the standard does not allow, a device that has no streams, or an
            object of another device (`InvalidArgumentError`).
        TypeError: `obj` is not a stream.
        RuntimeError: this machine lacks the device of a new stream (`UnavailableError`).

    Source: array API standard 2025.12, `__dlpack__`; NVIDIA's CUDA stream protocol
    (`__cuda_stream__`).
    """

    __slots__ = ("__weakref__", "_device", "_handle", "_owner", "_owns")

    @with_brief_errors
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
                raise TypeError(
                    "`device` is missing: a stream's number does not include its device"
                )
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
        """The stream's number, for `__dlpack__(stream=…)`."""
        return self._handle

    @property
    def device(self) -> Device:
        """The device of the stream."""
        return self._device

    @with_brief_errors
    def synchronize(self) -> None:
        """Block this thread until the work now on the stream is done. Other threads keep running.

        Raises:
            RuntimeError: this machine lacks the device (`UnavailableError`), or its driver reports an
                error (`DriverError`).
        """
        capi.stream_synchronize(_code(self), self._handle)

    @with_brief_errors
    def wait(self, other: Any, /) -> None:
        """Make later work on this stream start after the work now on `other`. The host does not wait.

        Args:
            other: a stream of the same device, in any form that `Stream` takes; or a Tensor on that
                device: later work on this stream starts after its data is ready.

        Raises:
            ValueError: a stream or Tensor of another device (`InvalidArgumentError`).
        """
        if type(other) is _native.Tensor:
            _require_same_device(self, other)
            capi.tensor_wait_on_stream(_native._handle(other), self._handle)
            return
        capi.stream_wait(_code(self), self._handle, number(other, *_code(self)))

    @with_brief_errors
    def wrote(self, tensor: Tensor, /) -> None:
        """Tell dlx that the work now on this stream writes the Tensor's data.

        Later exports of the Tensor, and of every view of its memory, make the consumer wait for that
        work. Needed only after kernels of your own: dlx knows of its own copies and imports.

        Raises:
            ValueError: a Tensor of another device (`InvalidArgumentError`).
        """
        _require_same_device(self, tensor)
        capi.tensor_written_on_stream(_native._handle(tensor), self._handle)

    def __cuda_stream__(self) -> tuple[int, int]:
        """(0, handle): NVIDIA's stream protocol, version 0. Only CUDA streams have it."""
        if self._device.device_type != CUDA:
            raise AttributeError(f"a stream of {self._device} is not a CUDA stream")
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
    except TypeError:  # arrays have __index__ too, which raises
        raise _no_stream(obj) from None
    return value


def _code(stream: Stream) -> DeviceCode:
    return stream._device.device_type, stream._device.device_id


def _family(code: DeviceCode) -> DeviceCode:
    return _FAMILY.get(code[0], code[0]), code[1]


def _require_same_device(stream: Stream, tensor: Tensor) -> None:
    if type(tensor) is not _native.Tensor:
        raise TypeError(f"`tensor` is not a dlx.Tensor (got {type(tensor).__name__})")
    where = _family((tensor.device.device_type, tensor.device.device_id))
    # DLPack does not give the device of pinned and managed memory: C finds it out.
    known = where[0] == tensor.device.device_type
    if where[0] != stream.device.device_type or (known and where[1] != stream.device.device_id):
        raise InvalidArgumentError(
            f"the tensor is on {tensor.device}, but the stream is on {stream.device}"
        )


# ---- stream objects of other libraries -----------------------------------------------------------


def _read(obj: Any, wanted: DeviceCode | None) -> tuple[DeviceCode, int]:
    """(device, number) of a stream object. Its device, if it has one, has to be `wanted`."""
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
    for name in ("cuda_stream", "ptr"):  # objects that imitate torch's or CuPy's streams
        raw: Any = getattr(obj, name, None)
        if hasattr(raw, "__index__"):
            return CUDA, _device_of(obj), int(raw)
    raise _no_stream(obj)


def _torch_handle(obj: Any) -> int:
    """Of torch.cuda.Stream, or of torch.Stream, the class for every accelerator."""
    if hasattr(obj, "cuda_stream"):
        return int(obj.cuda_stream)
    if getattr(obj.device, "type", "") != "cuda":
        raise InvalidArgumentError(
            f"`stream` is a torch stream of {obj.device}, whose streams dlx does not know (expected cuda)"
        )
    return int(obj.native_handle)


def _no_stream(obj: Any) -> TypeError:
    return TypeError(
        f"`stream` is not a stream (got {type(obj).__name__}, expected an int, a dlx.Stream, a stream "
        "of torch, CuPy or numba, or an object with __cuda_stream__)"
    )


def _read_protocol(obj: Any, protocol: Any) -> int:
    """The handle in `__cuda_stream__`: a method, but a property in early implementations."""
    answer = protocol() if callable(protocol) else protocol
    try:
        version, handle = answer
        version, handle = int(version), int(handle)
    except (TypeError, ValueError):
        raise InvalidArgumentError(
            f"`__cuda_stream__` of {type(obj).__name__} is not a pair (version, handle) "
            f"(got {answer!r:.80})"
        ) from None
    if version != 0:
        raise InvalidArgumentError(
            f"`__cuda_stream__` of {type(obj).__name__} has version {version} (expected 0)"
        )
    return handle


def _device_of(obj: Any) -> int | None:
    """The ordinal in `obj.device`, under the name that the library has for it."""
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
    """The number of a stream of a device, from anything that `stream=` takes.

    Raises:
        TypeError, InvalidArgumentError: not a stream, or a stream of another device.
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
    """A `with` block that a thread is in, and the stream that was current before."""

    __slots__ = ("code", "number", "of", "stream")

    def __init__(self, of: object, code: DeviceCode, number: int | None, stream: Stream | None):
        self.of = of  # the object of the `with`
        self.code = code
        self.number = number
        self.stream = stream


class _Thread(_local):
    def __init__(self) -> None:
        self.entered: list[_Block] = []  # the innermost one last
        self.current: dict[DeviceCode, Stream] = {}  # kept alive as long as they are current


_thread = _Thread()


def _enter(of: object, stream: Stream) -> None:
    code = _code(stream)
    number = _native._swap_stream(*code, stream._handle)
    _thread.entered.append(_Block(of, code, number, _thread.current.get(code)))
    _thread.current[code] = stream


def _leave(of: object, stream: Stream) -> None:
    """Undo the latest _enter() of an object. Blocks in generators may end in any order."""
    code = _code(stream)
    entered = _thread.entered
    place = next((i for i in reversed(range(len(entered))) if entered[i].of is of), None)
    if place is None:
        raise RuntimeError(f"this thread is not in a `with` block of {stream!r}")
    block = entered.pop(place)
    inner = next((later for later in entered[place:] if later.code == code), None)
    if inner is not None:  # its stream stays current; its end restores what was before both
        inner.number, inner.stream = block.number, block.stream
        return
    _native._swap_stream(*code, block.number)
    if block.stream is None:
        _thread.current.pop(code, None)
    else:
        _thread.current[code] = block.stream


class _Current:
    """`with dlx.stream(s):`; several threads may enter the same object."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream

    def __enter__(self) -> Stream:
        _enter(self, self._stream)
        return self._stream

    def __exit__(self, *exception: Any) -> None:
        _leave(self, self._stream)


@with_brief_errors
def stream(obj: Any, /, *, device: DeviceLike | None = None) -> AbstractContextManager[Stream]:
    """Make a stream the current stream of its device, for this thread, in a `with` block.

    dlx copies on it, and imports ask their producers for data that is ready on it. The end of the
    block restores the previous stream; blocks nest.

        with dlx.stream(torch.cuda.current_stream()):
            t = dlx.from_dlpack(x)

    Args:
        obj, device: as `dlx.Stream` takes them.

    Raises:
        ValueError: as `dlx.Stream`.
        TypeError: as `dlx.Stream`.
        RuntimeError: on entry, if this machine lacks the device (`UnavailableError`).
    """
    return _Current(
        obj if isinstance(obj, Stream) and device is None else Stream(obj, device=device)
    )


@with_brief_errors
def current_stream(device: DeviceLike = "cuda", /) -> Stream:
    """The calling thread's current stream of a device.

    It is the stream of the innermost `with dlx.stream(s)`; else the current stream of the library
    whose exchange table this thread last used to import device data; else the default stream.

    Raises:
        RuntimeError: this machine lacks the device (`UnavailableError`).
        ValueError: a device without streams (`InvalidArgumentError`).
    """
    code = _family(device_code(device))
    handle = capi.stream_get_current(code)
    known = _thread.current.get(code)
    return known if known is not None and known._handle == handle else Stream(handle, device=code)


# For the id of each living Tensor: the streams whose handles it exported.
_shown: dict[int, list[Stream]] = {}


def keep(tensor: Tensor, handle: int) -> None:
    """Keep this thread's current CUDA streams of that handle alive as long as the Tensor."""
    import weakref  # time that `import dlx` does not need

    for stream in tuple(_thread.current.values()):
        if stream.handle != handle or stream.device.device_type != CUDA:
            continue
        key = id(tensor)
        if key not in _shown:
            weakref.finalize(tensor, _shown.pop, key, None).atexit = False
        kept = _shown.setdefault(key, [])
        if not any(stream is other for other in kept):  # an equal stream may not own the handle
            kept.append(stream)
