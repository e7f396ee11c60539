"""Devices: the class `dlx.Device`, which devices there are, and where a pointer lives."""

from __future__ import annotations

import operator
import sys

from dlx import _native
from dlx._lib import capi
from dlx._lib.classes import loaded, package_of
from dlx._lib.constants import CUDA, CUDA_HOST, CUDA_MANAGED, ROCM, ROCM_HOST
from dlx.errors import InvalidArgumentError, int_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Protocol, SupportsIndex, Union

    class _OnDevice(Protocol):
        def __dlpack_device__(self) -> tuple[Any, Any]: ...

    class _DeviceOfTorch(Protocol):
        @property
        def type(self) -> str: ...
        @property
        def index(self) -> Any: ...

    DeviceCode = tuple[int, int]
    DeviceLike = Union["Device", str, tuple[int, int], _OnDevice, _DeviceOfTorch]

__all__ = ["Device", "device_of", "devices"]

_GPUS = (CUDA, ROCM)
_WITHOUT_INDEX = 255  # the id of torch's "cuda", by __dlpack_device__ and dl_device
_MEMORIES = (CUDA_HOST, ROCM_HOST, CUDA_MANAGED)  # kinds of memory, not devices


class Device:
    """A device: where memory lives.

    `Device(x)` reads a name ("cpu", "cuda", "cuda:1", "rocm:0"), a pair (DLPack device type, id),
    another Device, a `torch.device`, or any object with `__dlpack_device__` or a `device` that is
    one of these. "cuda" means "cuda:0"; torch.device("cuda"), which has no index, means the thread's
    current device, as in torch.

    Unpacks into (device_type, device_id). Equal if both numbers are; a Device also equals its name.
    Immutable and hashable. A Device may name one that this machine does not have.

    Attributes:
        device_type: DLPack's number (1 cpu, 2 cuda, 10 rocm, …).
        device_id: the ordinal; of an imported tensor the one that its producer gave, except that
            the CPU's is always 0.
        type: the type's name alone, as in torch: "cuda".
        id: the same as device_id.
        name: "cpu", "cuda:0".

    Raises:
        TypeError: the object names no device.
        ValueError: no such device name (`InvalidArgumentError`).

    Source: DLPack 1.3, DLDevice.
    """

    __slots__ = ("device_id", "device_type", "name")

    device_type: int
    device_id: int
    name: str

    def __init__(self, obj: Any, /) -> None:
        device_type, device_id = device_code(obj)
        put = object.__setattr__  # the class's own refuses, because devices are immutable
        put(self, "device_type", device_type)
        put(self, "device_id", device_id)
        put(self, "name", capi.device_name(device_type, device_id))

    def __setattr__(self, field: str, value: object) -> None:
        raise AttributeError(f"dlx.Device is immutable (tried to set {field!r})")

    def __delattr__(self, field: str) -> None:
        raise AttributeError(f"dlx.Device is immutable (tried to delete {field!r})")

    @property
    def type(self) -> str:
        """The type's name alone: "cpu", "cuda", "rocm"."""
        return self.name.partition(":")[0]

    @property
    def id(self) -> int:
        """The ordinal, as in `device_id`."""
        return self.device_id

    @property
    def description(self) -> str:
        """The maker's name for it.

        Raises:
            RuntimeError: this machine has no such device (`UnavailableError`).
        """
        return str(self._properties["name"])

    @property
    def architecture(self) -> str:
        """What kernels are compiled for: "sm_90", "gfx942:sramecc+:xnack-"; "" where unknown. Raises
        as `description` does, and so do the following."""
        return str(self._properties["architecture"])

    @property
    def memory_total(self) -> int | None:
        """Bytes of memory, or None where unknown."""
        total: int | None = self._properties["memory_total"]
        return total

    @property
    def memory_free(self) -> int | None:
        """Bytes free at this moment, or None where unknown, as where nobody uses the device yet:
        asking starts nothing on it."""
        free: int | None = self._properties["memory_free"]
        return free

    @property
    def pci_id(self) -> str:
        """ "0000:3b:00.0"; "" where unknown. Slices of one GPU (MIG) share it."""
        return str(self._properties["pci_id"])

    @property
    def uuid(self) -> str:
        """ "GPU-…", "MIG-…" as the maker's tools print it; "" where unknown."""
        return str(self._properties["uuid"])

    @property
    def driver_version(self) -> str:
        """ "12.4"; "" where unknown."""
        return str(self._properties["driver_version"])

    @property
    def unified_memory(self) -> bool:
        """Whether the CPU may use managed memory while the device works."""
        return bool(self._properties["unified_memory"])

    @property
    def count(self) -> int:
        """How many devices of this type there are on this machine; 0 is no error."""
        return capi.device_count(self.device_type)

    @property
    def _properties(self) -> dict[str, Any]:
        return capi.device_properties(self.device_type, self.device_id)

    def synchronize(self) -> None:
        """Wait until all work that dlx was given for this device is done.

        Raises:
            RuntimeError: no such device here (`UnavailableError`), or its driver reports an error
                (`DriverError`).
        """
        capi.device_synchronize(self.device_type, self.device_id)

    def __iter__(self) -> Iterator[int]:
        return iter((self.device_type, self.device_id))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Device):
            return self.name == other.name
        if isinstance(other, str):
            return self.name == other
        return NotImplemented

    def __hash__(self) -> int:
        return hash(self.name)

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"dlx.Device({self.name!r})"

    def __reduce__(self) -> tuple[Any, tuple[tuple[int, int]]]:
        return Device, ((self.device_type, self.device_id),)


def make_device(device_type: int, device_id: int) -> Device:
    """The Device for two numbers; called by the native code, once per device."""
    return Device((device_type, device_id))


def device_code(obj: Any, /) -> DeviceCode:
    """(device type, id) of any device-like object; the rules are those of the class `Device`."""
    if isinstance(obj, Device):
        return obj.device_type, obj.device_id
    if isinstance(obj, str):
        return _code_of_name(obj)
    if isinstance(obj, (tuple, list)):
        if len(obj) == 2:
            return _resolved(_number(obj[0]), _number(obj[1]))
        raise TypeError(f"`device` is not a pair (got {len(obj)} items, expected (type, id))")
    if package_of(type(obj)) == "torch" and type(obj).__name__ == "device":
        return _torch_device(obj)
    numpy = loaded("numpy")
    # A class has no device, and a number of NumPy, which has one, is an index in the wrong place.
    bare = isinstance(obj, type) or (numpy is not None and isinstance(obj, numpy.generic))
    pair = None if bare else getattr(obj, "__dlpack_device__", None)
    if pair is not None:
        device_type, device_id = pair()
        return _resolved(_number(device_type), _number(device_id))
    inner = None if bare else getattr(obj, "device", None)
    if inner is None or inner is obj:
        raise TypeError(
            f"`device` is not a device (got {type(obj).__name__}, expected a dlx.Device, a name "
            'such as "cpu" or "cuda:0", or a pair (type, id))'
        )
    return device_code(inner)


def _code_of_name(name: str) -> DeviceCode:
    try:
        return capi.device_parse(name)
    except InvalidArgumentError:
        raise InvalidArgumentError(
            f'`device` is not a device (got {name!r:.60}, expected a name such as "cpu", "cuda:0" or '
            '"2:0")'
        ) from None


def _torch_device(obj: Any) -> DeviceCode:
    """Of a torch.device, whose types carry names that dlx reads. torch calls AMD's GPUs cuda, too."""
    torch = sys.modules.get("torch")
    hip = getattr(getattr(torch, "version", None), "hip", None)
    name = "rocm" if obj.type == "hip" or (hip and obj.type == "cuda") else obj.type
    if obj.index is not None:
        return _code_of_name(f"{name}:{obj.index}")
    device_type, device_id = _code_of_name(name)
    return _resolved(device_type, _WITHOUT_INDEX if device_type in _GPUS else device_id)


def _resolved(device_type: int, device_id: int) -> DeviceCode:
    """The pair, with the thread's current device for a GPU without an index."""
    if device_id == _WITHOUT_INDEX and device_type in _GPUS:
        return device_type, _native._current_device(device_type)
    return device_type, device_id


def _number(obj: Any) -> int:
    """An int of a pair; members of any Enum, as the standard has them, count too."""
    value = getattr(obj, "value", obj)
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"`device` is a pair that holds no number (got {obj!r}, expected an int)")
    return int(value)


def devices() -> tuple[Device, ...]:
    """Every device of this machine that dlx can use, the CPU first.

    Finding out loads the drivers that are installed (once a process); a driver that is missing is
    a fact and not an error: `python -m dlx info` tells the reason.
    """
    return tuple(
        Device((device_type, device_id))
        for device_type in _device_types()
        for device_id in range(capi.device_count(device_type))
    )


def missing_devices() -> dict[str, str]:
    """For each device type that this machine lacks, the reason in words, with the paths tried."""
    return {
        capi.device_name(device_type, 0).partition(":")[0]: capi.device_reason(device_type)
        for device_type in _device_types()
        if capi.device_count(device_type) == 0
    }


def _device_types() -> list[int]:
    """What DLPack has names for, and what was registered; but for mere kinds of memory."""
    return [number for number in _native._device_types() if number not in _MEMORIES]


def device_of(ptr: SupportsIndex, /) -> Device:
    """The device on which the memory at address `ptr` lives.

    No driver is initialised to find out: one that nobody uses yet owns no memory, and the answer
    is then the CPU.

    Args:
        ptr: an address, as an integer.

    Raises:
        TypeError: `ptr` is not an integer.
        ValueError: `ptr` is 0, negative or beyond 64 bits (`InvalidArgumentError`).
    """
    try:
        address = operator.index(ptr)
    except TypeError:  # arrays have an `__index__`, too, and refuse
        raise TypeError(
            f"`ptr` is not an address (got {type(ptr).__name__}, expected an int)"
        ) from None
    if not 0 <= address < 2**64:
        raise InvalidArgumentError(
            f"`ptr` is not an address (got {int_text(address)}, expected 64 bits)"
        )
    return Device(capi.device_of_pointer(address))
