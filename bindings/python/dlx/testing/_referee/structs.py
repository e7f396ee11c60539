"""DLPack's structs and CPython's capsules, by ctypes."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_char_p, c_int, c_int32, c_int64, c_uint32, c_uint64, c_void_p
from typing import Any

from .outcomes import NotApplicableError

# Library objects of our own: argtypes set on the shared ctypes.pythonapi would reach everybody.
python = ctypes.PyDLL(None)
by_address = ctypes.PyDLL(None)
system = ctypes.CDLL(None)


class DLDevice(ctypes.Structure):
    _fields_ = [("device_type", c_int32), ("device_id", c_int32)]


class DLDataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", c_void_p),
        ("device", DLDevice),
        ("ndim", c_int32),
        ("dtype", DLDataType),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("byte_offset", c_uint64),
    ]


class DLManagedTensor(ctypes.Structure):
    _fields_ = [("dl_tensor", DLTensor), ("manager_ctx", c_void_p), ("deleter", c_void_p)]


class DLPackVersion(ctypes.Structure):
    _fields_ = [("major", c_uint32), ("minor", c_uint32)]


class DLManagedTensorVersioned(ctypes.Structure):
    _fields_ = [
        ("version", DLPackVersion),
        ("manager_ctx", c_void_p),
        ("deleter", c_void_p),
        ("flags", c_uint64),
        ("dl_tensor", DLTensor),
    ]


CPU, CUDA, ROCM, EXT_DEV, HEXAGON = 1, 2, 10, 12, 16
READ_ONLY, IS_COPIED, PADDED = 1, 2, 4
LEGACY, VERSIONED = b"dltensor", b"dltensor_versioned"
MANY = 100  # calls of a deleter: more, or the struct was overwritten
USED = {LEGACY: b"used_dltensor", VERSIONED: b"used_dltensor_versioned"}
DELETER = ctypes.CFUNCTYPE(None, c_void_p)

_names: dict[bytes, c_char_p] = {}  # names of capsules must live as long as the process

_new = python.PyCapsule_New
_new.restype, _new.argtypes = ctypes.py_object, [c_void_p, c_char_p, c_void_p]
_pointer = python.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = c_void_p, [ctypes.py_object, c_char_p]
_name = python.PyCapsule_GetName
_name.restype, _name.argtypes = c_void_p, [ctypes.py_object]
_rename = python.PyCapsule_SetName
_rename.restype, _rename.argtypes = c_int, [ctypes.py_object, c_char_p]
_destructor = python.PyCapsule_GetDestructor
_destructor.restype, _destructor.argtypes = c_void_p, [ctypes.py_object]
_append = by_address.PyUnicode_Append
_append.restype, _append.argtypes = None, [c_void_p, c_void_p]
_rand_r = system.rand_r
_rand_r.restype, _rand_r.argtypes = c_int, [c_void_p]

# A destructor that does nothing, in C: it only shows whether a consumer has removed it.
HARMLESS = ctypes.cast(python.PyCapsule_GetContext, c_void_p).value
# A deleter in C that uses no Python: each call steps the struct's first four bytes to the next
# number of a fixed sequence, so that calls can be counted from any thread and at any time.
COUNTING = ctypes.cast(system.rand_r, c_void_p).value


def kept_name(name: bytes) -> c_char_p:
    return _names.setdefault(name, c_char_p(name))


def is_capsule(obj: object) -> bool:
    return type(obj).__name__ == "PyCapsule"


def new_capsule(pointer: int, name: bytes) -> Any:
    """A capsule with any name whose destructor does nothing."""
    return _new(pointer, kept_name(name), HARMLESS)


def capsule_name(capsule: object) -> bytes | None:
    address = _name(capsule)
    return ctypes.string_at(address) if address else None


def name_address(capsule: object) -> int:
    return _name(capsule) or 0


def capsule_pointer(capsule: object, name: bytes) -> int:
    return int(_pointer(capsule, name))


def rename(capsule: object, name: bytes) -> None:
    _rename(capsule, kept_name(name))


def destructor(capsule: object) -> int | None:
    """The address of the capsule's destructor."""
    address: int | None = _destructor(capsule)
    return address


def drop_with_exception_pending(holder: list[Any]) -> bool:
    """Drop the last reference to holder[0] while an exception is set; False if it got lost.

    PyUnicode_Append(&obj, NULL) sets SystemError, and then gives its reference to `obj` back.
    """
    place = c_void_p(id(holder[0]))
    python.Py_IncRef(ctypes.py_object(holder[0]))
    del holder[0]
    try:
        _append(ctypes.addressof(place), None)
    except SystemError as error:
        return "bad argument" in str(error)
    return False


class Managed:
    """A managed tensor at an address, read in place."""

    def __init__(self, address: int, versioned: bool) -> None:
        self.address, self.versioned = address, versioned
        kind = DLManagedTensorVersioned if versioned else DLManagedTensor
        self.struct = kind.from_address(address)
        self.tensor: DLTensor = self.struct.dl_tensor
        self.keep: Any = None

    @property
    def flags(self) -> int:
        return int(self.struct.flags) if self.versioned else 0

    @property
    def version(self) -> tuple[int, int] | None:
        if not self.versioned:
            return None
        return self.struct.version.major, self.struct.version.minor

    @property
    def dtype(self) -> tuple[int, int, int]:
        dtype = self.tensor.dtype
        return dtype.code, dtype.bits, dtype.lanes

    @property
    def device(self) -> tuple[int, int]:
        return self.tensor.device.device_type, self.tensor.device.device_id

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.tensor.shape[: self.tensor.ndim]) if self.tensor.shape else ()

    @property
    def strides(self) -> tuple[int, ...]:
        if not self.tensor.strides:
            return compact_strides(self.shape)
        return tuple(self.tensor.strides[: self.tensor.ndim])

    @property
    def pointer(self) -> int:
        return (self.tensor.data or 0) + int(self.tensor.byte_offset)

    def delete(self) -> None:
        if self.struct.deleter:
            DELETER(self.struct.deleter)(self.address)


def delete_in_thread(managed: Managed) -> None:
    """Call the deleter in a thread that Python does not know, without the GIL."""
    thread = ctypes.c_ulong()
    create, join = system.pthread_create, system.pthread_join
    create.argtypes, join.argtypes = [c_void_p] * 4, [ctypes.c_ulong, c_void_p]
    if create(ctypes.addressof(thread), None, managed.struct.deleter, managed.address):
        raise NotApplicableError("no thread could be started")
    join(thread, None)


class Counter:
    """Puts the counting deleter into a managed tensor; `calls` says how often it ran."""

    def __init__(self, managed: Managed) -> None:
        self.managed, self.original = managed, managed.struct.deleter
        self._word = c_uint32.from_address(managed.address)
        self._before = self._word.value
        managed.struct.deleter = COUNTING

    @property
    def calls(self) -> int:
        word = c_uint32(self._before)
        for count in range(MANY):
            if word.value == self._word.value:
                return count
            _rand_r(ctypes.addressof(word))
        return MANY

    def undo(self) -> None:
        self._word.value = self._before
        self.managed.struct.deleter = self.original


WRITTEN = 77.0


def overwrite(pointer: int) -> None:
    """Write a float32 to the first element."""
    ctypes.c_float.from_address(pointer).value = WRITTEN


def compact_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides: list[int] = []
    step = 1
    for extent in reversed(shape):
        strides.insert(0, step)
        step *= max(1, extent)
    return tuple(strides)


def element_bytes(dtype: tuple[int, int, int]) -> int:
    return (dtype[1] * dtype[2] + 7) // 8


def elements(
    pointer: int, shape: tuple[int, ...], strides: tuple[int, ...], size: int
) -> list[bytes]:
    """The bytes of each element, in C order; strides in elements."""
    places = [0]
    for extent, stride in zip(shape, strides):
        places = [place + index * stride for place in places for index in range(extent)]
    return [ctypes.string_at(pointer + place * size, size) for place in places]
