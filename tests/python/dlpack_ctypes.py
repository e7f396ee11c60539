"""A producer and a consumer of DLPack in plain ctypes, independent of dlx's own code.

They can do what no library does on purpose: wrong versions, NULL fields, odd strides, failing
deleters. Everything that a capsule refers to is kept in `ALIVE` until its deleter has run.
"""

import ctypes
from ctypes import (
    POINTER,
    Structure,
    c_char_p,
    c_int,
    c_int32,
    c_int64,
    c_uint8,
    c_uint16,
    c_uint32,
    c_uint64,
    c_void_p,
    py_object,
)

from interpreter import python_api

python = python_api()


class DLDevice(Structure):
    _fields_ = [("device_type", c_int32), ("device_id", c_int32)]


class DLDataType(Structure):
    _fields_ = [("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16)]


class DLTensor(Structure):
    _fields_ = [
        ("data", c_void_p),
        ("device", DLDevice),
        ("ndim", c_int32),
        ("dtype", DLDataType),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("byte_offset", c_uint64),
    ]


class DLManagedTensor(Structure):
    _fields_ = [("dl_tensor", DLTensor), ("manager_ctx", c_void_p), ("deleter", c_void_p)]


class DLPackVersion(Structure):
    _fields_ = [("major", c_uint32), ("minor", c_uint32)]


class DLManagedTensorVersioned(Structure):
    _fields_ = [
        ("version", DLPackVersion),
        ("manager_ctx", c_void_p),
        ("deleter", c_void_p),
        ("flags", c_uint64),
        ("dl_tensor", DLTensor),
    ]


DELETER = ctypes.CFUNCTYPE(None, c_void_p)
DESTRUCTOR = ctypes.PYFUNCTYPE(None, c_void_p)
SET_ERROR = ctypes.CFUNCTYPE(None, c_void_p, c_char_p, c_char_p)
ALLOCATOR = ctypes.PYFUNCTYPE(
    c_int, POINTER(DLTensor), POINTER(POINTER(DLManagedTensorVersioned)), c_void_p, SET_ERROR
)
FROM_OBJECT = ctypes.PYFUNCTYPE(c_int, c_void_p, POINTER(POINTER(DLManagedTensorVersioned)))
TO_OBJECT = ctypes.PYFUNCTYPE(c_int, POINTER(DLManagedTensorVersioned), POINTER(c_void_p))
BORROW = ctypes.PYFUNCTYPE(c_int, c_void_p, POINTER(DLTensor))
STREAM = ctypes.PYFUNCTYPE(c_int, c_int32, c_int32, POINTER(c_void_p))


class ExchangeAPI(Structure):
    _fields_ = [
        ("version", DLPackVersion),
        ("prev_api", c_void_p),
        ("managed_tensor_allocator", ALLOCATOR),
        ("managed_tensor_from_py_object_no_sync", FROM_OBJECT),
        ("managed_tensor_to_py_object_no_sync", TO_OBJECT),
        ("dltensor_from_py_object_no_sync", BORROW),
        ("current_work_stream", STREAM),
    ]


READ_ONLY, IS_COPIED, PADDED = 1, 2, 4
LEGACY, VERSIONED = b"dltensor", b"dltensor_versioned"
USED_LEGACY, USED_VERSIONED = b"used_dltensor", b"used_dltensor_versioned"

_capsule_new = python.PyCapsule_New
_capsule_new.restype, _capsule_new.argtypes = py_object, [c_void_p, c_char_p, c_void_p]
_capsule_pointer = python.PyCapsule_GetPointer
_capsule_pointer.restype, _capsule_pointer.argtypes = c_void_p, [py_object, c_char_p]
_capsule_name = python.PyCapsule_GetName
_capsule_name.restype, _capsule_name.argtypes = c_void_p, [py_object]
_capsule_rename = python.PyCapsule_SetName
_capsule_rename.restype, _capsule_rename.argtypes = c_int, [py_object, c_char_p]

_by_address = python_api()
_dying_name = _by_address.PyCapsule_GetName
_dying_name.restype, _dying_name.argtypes = c_void_p, [c_void_p]
_dying_pointer = _by_address.PyCapsule_GetPointer
_dying_pointer.restype, _dying_pointer.argtypes = c_void_p, [c_void_p, c_char_p]

ALIVE = {}  # address of a managed struct -> everything that it refers to
NAMES = {name: c_char_p(name) for name in (LEGACY, VERSIONED, USED_LEGACY, USED_VERSIONED)}
KEEP = []  # callbacks that must live as long as the process


def name_of(capsule):
    """The capsule's name as bytes; None if it has none."""
    address = _capsule_name(capsule)
    return ctypes.string_at(address) if address else None


def name_address(capsule):
    """Where the capsule's name is stored."""
    return _capsule_name(capsule)


def make_capsule(pointer, name, destructor=None):
    """A capsule with any name, without a destructor unless one is given."""
    return _capsule_new(pointer, NAMES.setdefault(name, c_char_p(name)), destructor)


class Export:
    """One managed struct, and how often its deleter ran."""

    def __init__(
        self,
        data,
        shape,
        strides="compact",
        dtype=(2, 32, 1),
        *,
        versioned=True,
        version=(1, 3),
        flags=0,
        device=(1, 0),
        byte_offset=0,
        deleter=True,
        manager_ctx=1,
        ndim=None,
        shape_null=False,
    ):
        self.deleted = 0
        self.threads = []
        self.struct = (DLManagedTensorVersioned if versioned else DLManagedTensor)()
        self.name = VERSIONED if versioned else LEGACY
        tensor = self.struct.dl_tensor
        tensor.data = data
        tensor.device = DLDevice(*device)
        tensor.ndim = len(shape) if ndim is None else ndim
        tensor.dtype = DLDataType(*dtype)
        self._shape = (c_int64 * max(1, len(shape)))(*shape)
        if not shape_null:
            tensor.shape = ctypes.cast(self._shape, POINTER(c_int64))
        if strides == "compact":
            strides = compact_strides(shape)
        if strides is not None:
            self._strides = (c_int64 * max(1, len(strides)))(*strides)
            tensor.strides = ctypes.cast(self._strides, POINTER(c_int64))
        tensor.byte_offset = byte_offset
        self.struct.manager_ctx = manager_ctx
        if versioned:
            self.struct.version = DLPackVersion(*version)
            self.struct.flags = flags
        self.address = ctypes.addressof(self.struct)
        if deleter:
            self.struct.deleter = ctypes.cast(DELETE, c_void_p).value
        ALIVE[self.address] = self

    def capsule(self, destructor=True):
        return make_capsule(self.address, self.name, DESTROY if destructor else None)


def compact_strides(shape):
    strides, step = [], 1
    for extent in reversed(shape):
        strides.insert(0, step)
        step *= max(1, extent)
    return strides


@DELETER
def DELETE(address):
    import threading

    export = ALIVE.pop(address, None)
    if export is None:
        DOUBLE_FREES.append(address)
        return
    export.deleted += 1
    export.threads.append(threading.get_ident())


DOUBLE_FREES = []  # addresses whose deleter ran without a struct being there: always a bug


@DESTRUCTOR
def DESTROY(capsule_address):
    """Destructor as the specification writes it: the deleter runs for the unconsumed name only."""
    # By address: a py_object would take a reference to an object that is dying.
    place = _dying_name(capsule_address)
    name = ctypes.string_at(place) if place else None
    if name in (LEGACY, VERSIONED):
        address = _dying_pointer(capsule_address, name)
        kind = DLManagedTensorVersioned if name == VERSIONED else DLManagedTensor
        deleter = kind.from_address(address).deleter
        if deleter:
            DELETER(deleter)(address)


class Forwarding:
    """Another object's memory, by DLPack alone, of a module that takes no arrays."""

    def __init__(self, inner):
        self.inner = inner

    def __dlpack__(self, **keywords):
        return self.inner.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self.inner.__dlpack_device__()


class Producer:
    """An object with `__dlpack__` whose every answer can be chosen.

    `data` are the bytes to start with, or "NULL" for a NULL pointer; `bytes` is how much memory to
    have, if not what the shape needs. Keyword arguments beyond the producer's own go to `Export`.
    """

    def __init__(self, data=None, shape=(2, 3), dtype=(2, 32, 1), *, bytes=None, **options):
        size = max(1, (dtype[1] * dtype[2] + 7) // 8)
        count = 1
        for extent in shape:
            count *= max(0, extent)
        given = 0 if data in (None, "NULL") else len(data)
        self.memory = (c_uint8 * (bytes or max(given, count * size) + 64))()
        if given:
            ctypes.memmove(self.memory, data, given)
        self.null = data == "NULL"
        self.shape, self.dtype, self.options = shape, dtype, options
        self.calls = []
        self.exports = []

    @property
    def address(self):
        return ctypes.addressof(self.memory)

    def export(self, **extra):
        options = {**self.options, **extra}
        data = None if self.null else self.address
        made = Export(data, self.shape, dtype=self.dtype, **options)
        made.owner = self
        self.exports.append(made)
        return made

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        self.calls.append(
            {"stream": stream, "max_version": max_version, "dl_device": dl_device, "copy": copy}
        )
        return self.export().capsule()

    def __dlpack_device__(self):
        return self.options.get("device", (1, 0))

    @property
    def deleted(self):
        return sum(export.deleted for export in self.exports)


class LegacyProducer(Producer):
    """A producer from before the 2023 standard: `__dlpack__(stream=None)` and a legacy capsule."""

    def __dlpack__(self, stream=None):
        self.calls.append({"stream": stream})
        return self.export(versioned=False).capsule()


class Imported:
    """A consumer: takes a capsule over, and calls the deleter when told."""

    def __init__(self, capsule):
        self.name = name_of(capsule)
        self.versioned = self.name == VERSIONED
        if self.name not in (LEGACY, VERSIONED):
            raise ValueError(f"not a fresh DLPack capsule: {self.name!r}")
        self.address = _capsule_pointer(capsule, self.name)
        kind = DLManagedTensorVersioned if self.versioned else DLManagedTensor
        self.struct = kind.from_address(self.address)
        _capsule_rename(capsule, NAMES[USED_VERSIONED if self.versioned else USED_LEGACY])
        tensor = self.tensor = self.struct.dl_tensor
        self.shape = tuple(tensor.shape[: tensor.ndim]) if tensor.shape else ()
        self.strides = tuple(tensor.strides[: tensor.ndim]) if tensor.strides else None
        self.dtype = (tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes)
        self.device = (tensor.device.device_type, tensor.device.device_id)
        self.data = tensor.data
        self.flags = self.struct.flags if self.versioned else None
        self.version = (
            (self.struct.version.major, self.struct.version.minor) if self.versioned else None
        )

    def free(self):
        deleter = self.struct.deleter
        self.struct = self.tensor = None
        if deleter:
            DELETER(deleter)(self.address)


def borrow(capsule):
    """What a capsule holds, without taking it over."""
    name = name_of(capsule)
    address = _capsule_pointer(capsule, name)
    kind = DLManagedTensorVersioned if name == VERSIONED else DLManagedTensor
    return kind.from_address(address)


def table_of(cls):
    """The exchange table of a class, as its type attribute says."""
    capsule = cls.__dict__["__dlpack_c_exchange_api__"]
    address = _capsule_pointer(capsule, b"dlpack_exchange_api")
    return ExchangeAPI.from_address(address)
