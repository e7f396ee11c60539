"""The checks of a type's exchange table: `__dlpack_c_exchange_api__`."""

from __future__ import annotations

import ctypes
import gc
import sys
from ctypes import POINTER, c_char_p, c_int, c_int32, c_void_p
from typing import Any

from . import growth, reading, structs
from .outcomes import FindingError, NotApplicableError, check, in_threads, said
from .sources import Source
from .structs import (
    CPU,
    DLDataType,
    DLDevice,
    DLPackVersion,
    DLTensor,
    Managed,
)

ROLE = "exchange"
UNSET = 1
_NAME = b"dlpack_exchange_api"
_SET_ERROR = ctypes.CFUNCTYPE(None, c_void_p, c_char_p, c_char_p)
_OUT = POINTER(c_void_p)
_ALLOCATOR = ctypes.PYFUNCTYPE(c_int, POINTER(DLTensor), _OUT, c_void_p, _SET_ERROR)
_FROM_OBJECT = ctypes.PYFUNCTYPE(c_int, c_void_p, _OUT)
_TO_OBJECT = ctypes.PYFUNCTYPE(c_int, c_void_p, _OUT)
_BORROW = ctypes.PYFUNCTYPE(c_int, c_void_p, POINTER(DLTensor))
_STREAM = ctypes.PYFUNCTYPE(c_int, c_int32, c_int32, _OUT)


class Table(ctypes.Structure):
    _fields_ = [
        ("version", DLPackVersion),
        ("prev_api", c_void_p),
        ("allocator", c_void_p),
        ("from_object", c_void_p),
        ("to_object", c_void_p),
        ("borrow", c_void_p),
        ("stream", c_void_p),
    ]


class Exchange:
    """A type and its table; the type is that of the factory's objects if there is a factory."""

    def __init__(self, cls: type | None, make: Any = None) -> None:
        self._cls, self._make = cls, make

    @property
    def cls(self) -> type:
        return self._cls or type(self._make())

    @property
    def optional(self) -> bool:
        return self._cls is None

    def capsule(self) -> Any:
        capsule = getattr(self.cls, "__dlpack_c_exchange_api__", None)
        if not structs.is_capsule(capsule) or structs.capsule_name(capsule) != _NAME:
            raise NotApplicableError("there is no exchange table (item 78)")
        return capsule

    def table(self) -> Table:
        """The table of major version 1."""
        address: int | None = structs.capsule_pointer(self.capsule(), _NAME)
        while address:
            table = Table.from_address(address)
            if table.version.major == 1:
                return table
            address = table.prev_api
        raise NotApplicableError("no table has major version 1 (item 82)")

    def function(self, name: str) -> Any:
        kinds = {"allocator": _ALLOCATOR, "from_object": _FROM_OBJECT, "to_object": _TO_OBJECT,
                 "borrow": _BORROW, "stream": _STREAM}  # fmt: skip
        place = getattr(self.table(), name)
        if not place:
            raise NotApplicableError("the function is NULL (item 81)")
        return kinds[name](place)

    def make(self) -> Any:
        """An object of exactly the type: the factory's, or made by the table."""
        if self._make is not None:
            obj = self._make()
            if type(obj) is self.cls:
                return obj
        return self.wrap(Source())

    def wrap(self, source: Source) -> Any:
        place = c_void_p()
        exported = source.export()
        try:
            status = self.function("to_object")(exported.managed.address, ctypes.byref(place))
        except Exception as error:
            raise NotApplicableError(f"to_py_object raised {said(error)} (item 87)") from error
        if status or not place.value:
            raise NotApplicableError("to_py_object failed (item 87)")
        obj = ctypes.cast(place, ctypes.py_object).value
        structs.python.Py_DecRef(ctypes.py_object(obj))
        return obj

    def export(self, obj: Any) -> Managed:
        place = c_void_p()
        try:
            status = self.function("from_object")(id(obj), ctypes.byref(place))
        except Exception as error:
            raise NotApplicableError(f"from_py_object raised {said(error)}") from error
        if status or not place.value:
            raise NotApplicableError("from_py_object failed")
        return Managed(place.value, True)


@check(78, ROLE, "the capsule", gate=True)
def _capsule(ctx: Exchange) -> str:
    found = getattr(ctx.cls, "__dlpack_c_exchange_api__", None)
    if found is None and ctx.optional:
        raise NotApplicableError("the type has no exchange table")
    if found is None:
        raise FindingError("the type has no __dlpack_c_exchange_api__")
    if not structs.is_capsule(found):
        raise FindingError(
            f"__dlpack_c_exchange_api__ is of class {type(found).__name__}, not a capsule"
        )
    if structs.capsule_name(found) != _NAME:
        raise FindingError(f"the capsule is named {structs.capsule_name(found)!r}")
    return "a capsule dlpack_exchange_api"


@check(79, ROLE, "one address")
def _static(ctx: Exchange) -> str:
    places = {structs.capsule_pointer(ctx.capsule(), _NAME) for _ in range(3)}
    places.add(structs.capsule_pointer(type(ctx.make()).__dlpack_c_exchange_api__, _NAME))
    if len(places) != 1:
        raise FindingError("the table is at another address each time")
    return "one table"


@check(82, ROLE, "version", gate=True)
def _version(ctx: Exchange) -> str:
    address: int | None = structs.capsule_pointer(ctx.capsule(), _NAME)
    versions = []
    while address:
        table = Table.from_address(address)
        versions.append((table.version.major, table.version.minor))
        address = table.prev_api
    if not any(major == 1 for major, _ in versions):
        raise FindingError(f"the tables have versions {versions}")
    return f"versions {versions}"


@check(81, ROLE, "functions")
def _functions(ctx: Exchange) -> str:
    table = ctx.table()
    missing = [name for name in ("allocator", "from_object", "to_object", "stream")
               if not getattr(table, name)]  # fmt: skip
    if missing:
        raise FindingError(f"NULL: {', '.join(missing)}")
    return "all are there" if table.borrow else "all but dltensor_from_py_object_no_sync"


@check(85, ROLE, "the CPU's stream")
def _stream(ctx: Exchange) -> str:
    place = c_void_p(UNSET)
    try:
        status = ctx.function("stream")(CPU, 0, ctypes.byref(place))
    except NotApplicableError:
        raise
    except Exception as error:
        raise FindingError(f"current_work_stream(kDLCPU, 0) raises {said(error)}") from error
    if status:
        raise FindingError(f"current_work_stream(kDLCPU, 0) gives {status} without an exception")
    if place.value == UNSET:
        raise FindingError("current_work_stream(kDLCPU, 0) gives 0, and leaves the stream unset")
    if place.value:
        raise FindingError(f"the CPU's stream is {place.value:#x}")
    return "NULL"


@check(7, ROLE, "from an object")
def _from_object(ctx: Exchange) -> str:
    obj = ctx.make()
    for _ in range(20):
        ctx.export(obj).delete()
    before = sys.getrefcount(obj)
    text = growth.require_none(lambda: ctx.export(obj).delete(), "exported by the table")
    if sys.getrefcount(obj) > before:
        raise FindingError("references to the object stay behind")
    return text


@check(34, ROLE, "a foreign thread")
def _foreign(ctx: Exchange) -> str:
    for _ in range(3):
        structs.delete_in_thread(ctx.export(ctx.make()))
    return "deleted by a thread that Python does not know"


@check(86, ROLE, "borrowed")
def _borrows(ctx: Exchange) -> str:
    obj = ctx.make()
    managed = ctx.export(obj)
    tensor = DLTensor()
    before = sys.getrefcount(obj)
    try:
        status = ctx.function("borrow")(id(obj), ctypes.byref(tensor))
    except NotApplicableError:
        raise
    except Exception as error:
        raise FindingError(f"raises {said(error)}") from error
    if status:
        raise FindingError(f"gives {status} without an exception")
    if sys.getrefcount(obj) != before:
        raise FindingError("takes a reference, which nobody gives back")
    if (tensor.data or 0) + tensor.byte_offset != managed.pointer:
        raise FindingError("points to other memory than the managed tensor")
    if tuple(tensor.shape[: tensor.ndim]) != managed.shape:
        raise FindingError("has another shape than the managed tensor")
    managed.delete()
    return "the same memory, no reference"


@check(87, ROLE, "to an object")
def _to_object(ctx: Exchange) -> str:
    source = Source()
    exported = source.export()
    place = c_void_p()
    try:
        status = ctx.function("to_object")(exported.managed.address, ctypes.byref(place))
    except NotApplicableError:
        raise
    except Exception as error:
        raise FindingError(f"a plain float32 tensor raises {said(error)}") from error
    if status or not place.value:
        raise FindingError(f"gives {status}, and no object")
    obj = ctypes.cast(place, ctypes.py_object).value
    structs.python.Py_DecRef(ctypes.py_object(obj))
    if type(obj) is not ctx.cls:
        raise FindingError(f"makes an object of class {type(obj).__name__}")
    if exported.deleted > 0:
        raise FindingError("the deleter is called while the object is alive")
    try:
        if reading.read(obj).values() != source.values:
            raise FindingError("the object has other values")
    except NotApplicableError:
        pass
    del obj
    gc.collect()
    if exported.deleted != 1:
        raise FindingError(f"the deleter is called {exported.deleted} times")
    return "taken over, deleted once"


@check(88, ROLE, "a tensor that is refused")
def _fails(ctx: Exchange) -> str:
    exported = Source(dtype=(99, 32, 1)).export()
    place = c_void_p()
    try:
        status = ctx.function("to_object")(exported.managed.address, ctypes.byref(place))
    except NotApplicableError:
        raise
    except SystemError as error:
        raise FindingError(f"fails without a reason: {said(error)}") from error
    except Exception as error:
        return f"-1 and {said(error)}"
    if status:
        raise FindingError(f"gives {status} and sets no exception")
    raise FindingError("a tensor of an unknown dtype is accepted")


@check(89, ROLE, "the table and the method")
def _same(ctx: Exchange) -> str:
    obj = ctx.make()
    managed = ctx.export(obj)
    try:
        other = reading.fresh(obj.__dlpack__(max_version=(1, 3)))
    except Exception as error:
        raise NotApplicableError(f"__dlpack__ raised {said(error)}") from error
    for name in ("pointer", "shape", "strides", "dtype", "device"):
        if getattr(managed, name) != getattr(other, name):
            raise FindingError(
                f"{name}: {getattr(managed, name)} by the table, {getattr(other, name)} by the method"
            )
    managed.delete()
    return "the same tensor"


def _prototype(dtype: tuple[int, int, int]) -> tuple[DLTensor, Any]:
    extents = (ctypes.c_int64 * 2)(2, 3)
    tensor = DLTensor()
    tensor.device, tensor.dtype = DLDevice(CPU, 0), DLDataType(*dtype)
    tensor.ndim, tensor.shape = 2, ctypes.cast(extents, POINTER(ctypes.c_int64))
    return tensor, extents


def _allocate(ctx: Exchange, dtype: tuple[int, int, int]) -> tuple[int, Any, list[Any]]:
    messages: list[Any] = []
    callback = _SET_ERROR(lambda context, kind, message: messages.append((kind, message)))
    tensor, keep = _prototype(dtype)
    place = c_void_p()
    try:
        status = ctx.function("allocator")(
            ctypes.byref(tensor), ctypes.byref(place), None, callback
        )
    except NotApplicableError:
        raise
    except Exception as error:
        raise FindingError(f"raises {said(error)} instead of calling SetError") from error
    del keep
    return status, place.value, messages


@check(38, ROLE, "allocated")
def _allocator(ctx: Exchange) -> str:
    status, place, messages = _allocate(ctx, (2, 32, 1))
    if status or not place:
        raise FindingError(f"a float32 tensor on the CPU is refused: {messages}")
    if messages:
        raise FindingError("SetError is called although the allocator succeeds")
    managed = Managed(place, True)
    if managed.shape != (2, 3) or managed.dtype != (2, 32, 1) or not managed.tensor.data:
        raise FindingError("the allocated tensor is not what was asked for")
    managed.delete()
    return "allocated and deleted"


@check(38, ROLE, "refused")
def _allocator_fails(ctx: Exchange) -> str:
    status, place, messages = _allocate(ctx, (99, 32, 1))
    if not status:
        if place:
            Managed(place, True).delete()
        raise NotApplicableError("any dtype is allocated")
    if len(messages) != 1:
        raise FindingError(f"fails and calls SetError {len(messages)} times")
    return f"SetError: {messages[0][1]!r}"


@check(99, ROLE, "four threads")
def _threads(ctx: Exchange) -> str:
    obj = ctx.make()
    problems: list[str] = []

    def work() -> None:
        for _ in range(50):
            try:
                ctx.export(obj).delete()
                ctx.wrap(Source())
            except Exception as error:
                problems.append(said(error))

    in_threads([work] * 4, problems)
    return "200 exports and imports by 4 threads"
