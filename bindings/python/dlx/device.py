"""Devices: the class `dlx.Device`, the devices of this machine, the device of a pointer."""

from __future__ import annotations

import operator
import sys

from dlx import _native
from dlx._lib import capi
from dlx._lib.classes import loaded, package_of
from dlx._lib.constants import CUDA, CUDA_HOST, CUDA_MANAGED, ROCM, ROCM_HOST
from dlx.errors import InvalidArgumentError, brief, int_text, with_brief_errors

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
    one of these. "cuda" means "cuda:0"; torch.device("cuda"), without an index, means the thread's
    current device, as in torch.

    Unpacks into (device_type, device_id). Two are equal if both numbers are; a Device also equals its
    name. Immutable and hashable. This machine may lack the device.

    Attributes:
        device_type: DLPack's number (1 cpu, 2 cuda, 10 rocm, …).
        device_id: the ordinal; for an imported tensor its producer's, but always 0 for the CPU.
        type: the type's name alone, as in torch: "cuda".
        id: the same as device_id.
        name: "cpu", "cuda:0".

    Raises:
        TypeError: the object does not name a device.
        ValueError: an unknown name (`InvalidArgumentError`).

    Source: DLPack 1.3, DLDevice.
    """

    __slots__ = ("device_id", "device_type", "name")

    device_type: int
    device_id: int
    name: str

    def __init__(self, obj: Any, /) -> None:
        device_type, device_id = device_code(obj)
        put = object.__setattr__  # the class's own __setattr__ raises: devices are immutable
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
        """The manufacturer's name of the device.

        Raises:
            RuntimeError: this machine lacks the device (`UnavailableError`).
        """
        return str(self._properties["name"])

    @property
    def architecture(self) -> str:
        """The architecture for compilers: "sm_90", "gfx942:sramecc+:xnack-"; "" if unknown. Raises as
        `description` does, and so do the properties below."""
        return str(self._properties["architecture"])

    @property
    def memory_total(self) -> int | None:
        """Bytes of memory, or None if unknown."""
        total: int | None = self._properties["memory_total"]
        return total

    @property
    def memory_free(self) -> int | None:
        """Bytes free at this moment, or None if unknown, for example while the process does not use
        the device yet: this property does not initialise it."""
        free: int | None = self._properties["memory_free"]
        return free

    @property
    def pci_id(self) -> str:
        """ "0000:3b:00.0"; "" if unknown. Slices of one GPU (MIG) share it."""
        return str(self._properties["pci_id"])

    @property
    def uuid(self) -> str:
        """ "GPU-…", "MIG-…" as the manufacturer's tools print it; "" if unknown."""
        return str(self._properties["uuid"])

    @property
    def driver_version(self) -> str:
        """ "12.4"; "" if unknown."""
        return str(self._properties["driver_version"])

    @property
    def unified_memory(self) -> bool:
        """Whether the CPU may use managed memory while the device works."""
        return bool(self._properties["unified_memory"])

    @property
    def count(self) -> int:
        """How many devices of this type the machine has; may be 0."""
        return capi.device_count(self.device_type)

    @property
    @with_brief_errors
    def _properties(self) -> dict[str, Any]:
        return capi.device_properties(self.device_type, self.device_id)

    @with_brief_errors
    def synchronize(self) -> None:
        """Wait until all work that dlx started on this device is done.

        Raises:
            RuntimeError: this machine lacks the device (`UnavailableError`), or its driver reports an
                error (`DriverError`).
        """
        capi.device_synchronize(self.device_type, self.device_id)

    def __dlpack_device__(self) -> tuple[int, int]:
        """(device_type, device_id): other libraries read a Device by it. It has no `__dlpack__`."""
        return self.device_type, self.device_id

    def __iter__(self) -> Iterator[int]:
        return iter(self.__dlpack_device__())

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
        return Device, (self.__dlpack_device__(),)


def make_device(device_type: int, device_id: int) -> Device:
    """The Device for two numbers; called by the native code, once per device."""
    return Device((device_type, device_id))


def device_code(obj: Any, /) -> DeviceCode:
    """(device type, id) of any object that the class `Device` reads."""
    try:
        return _code_of(obj)
    except Exception as error:
        raise brief(error)  # noqa: B904


def _code_of(obj: Any) -> DeviceCode:
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
    # A class is not on a device. NumPy's scalars have `device`, but here they are a wrong argument.
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
    return _code_of(inner)


def _code_of_name(name: str) -> DeviceCode:
    try:
        return capi.device_parse(name)
    except InvalidArgumentError:
        raise InvalidArgumentError(
            f'`device` is not a device (got {name!r:.60}, expected a name such as "cpu", "cuda:0" or '
            '"2:0")'
        ) from None


def _torch_device(obj: Any) -> DeviceCode:
    """Of a torch.device. Its types have dlx's names, but torch calls AMD's GPUs cuda."""
    torch = sys.modules.get("torch")
    hip = getattr(getattr(torch, "version", None), "hip", None)
    name = "rocm" if obj.type == "hip" or (hip and obj.type == "cuda") else obj.type
    if obj.index is not None:
        return _code_of_name(f"{name}:{obj.index}")
    device_type, device_id = _code_of_name(name)
    return _resolved(device_type, _WITHOUT_INDEX if device_type in _GPUS else device_id)


def _resolved(device_type: int, device_id: int) -> DeviceCode:
    """The pair; for a GPU without an index, the thread's current device."""
    if device_id == _WITHOUT_INDEX and device_type in _GPUS:
        return device_type, _native._current_device(device_type)
    return device_type, device_id


def _number(obj: Any) -> int:
    """An int of a pair; or the member of an Enum, as the standard has it."""
    value = getattr(obj, "value", obj)
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"`device` is not a pair of numbers (got {obj!r}, expected an int)")
    return int(value)


def devices() -> tuple[Device, ...]:
    """Every device of this machine that dlx can use, the CPU first.

    The first call loads the installed drivers. A missing driver is not an error: `python -m dlx info`
    shows the reason.
    """
    return tuple(
        Device((device_type, device_id))
        for device_type in _device_types()
        for device_id in range(capi.device_count(device_type))
    )


def missing_devices() -> dict[str, str]:
    """For each device type that this machine lacks, the reason, with the paths tried."""
    return {
        capi.device_name(device_type, 0).partition(":")[0]: capi.device_reason(device_type)
        for device_type in _device_types()
        if capi.device_count(device_type) == 0
    }


def _device_types() -> list[int]:
    """The types that DLPack names or that were registered, without those that are kinds of memory."""
    return [number for number in _native._device_types() if number not in _MEMORIES]


@with_brief_errors
def device_of(ptr: SupportsIndex, /) -> Device:
    """The device of the memory at address `ptr`.

    No driver is initialised to find out: a driver that the process does not use yet owns no memory.

    Args:
        ptr: an address, as an integer.

    Raises:
        TypeError: `ptr` is not an integer.
        ValueError: `ptr` is 0, negative or beyond 64 bits (`InvalidArgumentError`).
    """
    try:
        address = operator.index(ptr)
    except TypeError:  # arrays have `__index__` too, which raises
        raise TypeError(
            f"`ptr` is not an address (got {type(ptr).__name__}, expected an int)"
        ) from None
    if not 0 <= address < 2**64:
        raise InvalidArgumentError(
            f"`ptr` is not an address (got {int_text(address)}, expected 64 bits)"
        )
    return Device(capi.device_of_pointer(address))
