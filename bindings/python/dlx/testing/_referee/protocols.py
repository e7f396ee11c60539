"""The checks of a producer's other protocols: buffer, array interface, CUDA's, and Arrow's."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

from . import growth, reading, structs
from .outcomes import FindingError, LeakError, NotApplicableError, check, said
from .producing import ROLE, Producers
from .structs import CPU, IS_COPIED, READ_ONLY

_CASES = ("plain", "strided", "reversed", "scalar", "empty", "read-only")


def _same_memory(ctx: Producers, obj: Any, other: reading.View, what: str) -> str:
    capsule, managed = ctx.export(obj)
    if managed.device[0] != CPU:
        raise NotApplicableError("the data is not on the CPU")
    if other.shape != managed.shape:
        raise FindingError(f"{what} has shape {other.shape}, __dlpack__ {managed.shape}")
    if 0 in other.shape:
        return "no elements"
    size = structs.element_bytes(managed.dtype)
    if other.itemsize != size:
        raise FindingError(f"{what} has elements of {other.itemsize} bytes, __dlpack__ of {size}")
    again = ctx.export(obj)[1]
    if again.pointer != managed.pointer or managed.flags & IS_COPIED:
        return "__dlpack__ gives a copy"
    if other.pointer != managed.pointer:
        raise FindingError(f"{what} is at another address than __dlpack__")
    longer = [axis for axis, extent in enumerate(other.shape) if extent > 1]
    if [other.strides[axis] for axis in longer] != [managed.strides[axis] for axis in longer]:
        raise FindingError(f"{what} has strides {other.strides}, __dlpack__ {managed.strides}")
    if managed.versioned:
        readonly = bool(managed.flags & READ_ONLY)
        if other.readonly and not readonly:
            raise FindingError(f"{what} is read-only, and __dlpack__ does not say so")
    del capsule
    return "the same memory"


def _buffer(ctx: Producers, case: str) -> str:
    obj = ctx.make(case)
    view = reading.by_buffer(obj)
    if view is None:
        raise NotApplicableError("there is no buffer")
    return _same_memory(ctx, obj, view, "the buffer")


def _interface(ctx: Producers, case: str) -> str:
    obj = ctx.make(case)
    found = reading.attribute(obj, "__array_interface__")
    for name, kinds in (("version", int), ("shape", tuple), ("typestr", str)):
        if not isinstance(found.get(name), kinds):
            raise FindingError(f"__array_interface__[{name!r}] is {found.get(name)!r}")
    if found["version"] < 3:
        raise FindingError(f"__array_interface__ has version {found['version']}")
    view = reading.by_array_interface(obj)
    if view is None:
        raise NotApplicableError("the data is not an address")
    return _same_memory(ctx, obj, view, "__array_interface__")


def _add() -> None:
    for case in _CASES:

        def buffer(ctx: Producers, case: str = case) -> str:
            return _buffer(ctx, case)

        def interface(ctx: Producers, case: str = case) -> str:
            return _interface(ctx, case)

        check(94, ROLE, case)(buffer)
        check(95, ROLE, case)(interface)


_add()


@check(92, ROLE, "CUDA array interface")
def _cuda(ctx: Producers) -> str:
    found = reading.attribute(ctx.make(), "__cuda_array_interface__")
    data = found.get("data")
    if not isinstance(found.get("shape"), tuple) or not isinstance(found.get("typestr"), str):
        raise FindingError("shape is not a tuple, or typestr not a string")
    if not isinstance(data, tuple) or len(data) != 2 or not isinstance(data[0], int):
        raise FindingError(f"data is {data!r}, not (address, read-only)")
    if found.get("version", 0) < 2:
        raise FindingError(f"version is {found.get('version')!r}")
    if found.get("stream") == 0 and found.get("stream") is not None:
        raise FindingError("stream is 0, which is ambiguous")
    if 0 in found["shape"] and data[0]:
        raise FindingError("data is not 0 although there are no elements")
    return f"version {found['version']}"


class _Schema(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in (
        "format", "name", "metadata", "flags", "n_children", "children", "dictionary", "release",
        "private_data")]  # fmt: skip


class _Array(ctypes.Structure):
    _fields_ = [("length", ctypes.c_int64), ("null_count", ctypes.c_int64),
                ("offset", ctypes.c_int64), ("n_buffers", ctypes.c_int64),
                ("n_children", ctypes.c_int64), ("buffers", ctypes.c_void_p),
                ("children", ctypes.c_void_p), ("dictionary", ctypes.c_void_p),
                ("release", ctypes.c_void_p), ("private_data", ctypes.c_void_p)]  # fmt: skip


class _DeviceArray(ctypes.Structure):
    _fields_ = [("array", _Array), ("device_id", ctypes.c_int64),
                ("device_type", ctypes.c_int32), ("sync_event", ctypes.c_void_p)]  # fmt: skip


def _capsules(ctx: Producers, method: str, name: bytes) -> Any:
    """What an Arrow method gives, with the names of its capsules checked."""
    obj = ctx.make()
    reading.attribute(obj, method)
    try:
        pair = getattr(obj, method)()
    except Exception as error:
        raise NotApplicableError(f"{method} raised {said(error)}") from error
    if not isinstance(pair, tuple) or len(pair) != 2:
        raise FindingError(f"{method} gives {type(pair).__name__}, not a pair of capsules")
    names = [structs.capsule_name(part) if structs.is_capsule(part) else None for part in pair]
    if names != [b"arrow_schema", name]:
        raise FindingError(f"{method} gives capsules named {names}")
    schema = _Schema.from_address(structs.capsule_pointer(pair[0], b"arrow_schema"))
    if not schema.release or not schema.format:
        raise FindingError("the schema has no release function, or no format")
    return pair


@check(93, ROLE, "__arrow_c_array__")
def _arrow(ctx: Producers) -> str:
    pair = _capsules(ctx, "__arrow_c_array__", b"arrow_array")
    array = _Array.from_address(structs.capsule_pointer(pair[1], b"arrow_array"))
    if not array.release or array.length < 0:
        raise FindingError("the array has no release function, or a negative length")
    return f"{array.length} elements"


@check(93, ROLE, "__arrow_c_device_array__")
def _arrow_device(ctx: Producers) -> str:
    pair = _capsules(ctx, "__arrow_c_device_array__", b"arrow_device_array")
    place = structs.capsule_pointer(pair[1], b"arrow_device_array")
    array = _DeviceArray.from_address(place)
    if not array.array.release:
        raise FindingError("the array has no release function")
    if array.device_type == CPU and array.device_id != -1:
        raise FindingError(f"the device id of the CPU is {array.device_id}, not -1")
    return f"device {array.device_type}, {array.device_id}"


@check(93, ROLE, "dropped capsules")
def _arrow_dropped(ctx: Producers) -> str:
    obj = ctx.make()
    method = reading.attribute(obj, "__arrow_c_array__")
    try:
        method()
    except Exception as error:
        raise NotApplicableError(f"__arrow_c_array__ raised {said(error)}") from error
    before = sys.getrefcount(obj)
    for _ in range(20):
        method()
    if sys.getrefcount(obj) >= before + 20:
        raise LeakError("capsules that nobody imports keep the object alive")
    return growth.require_none(method, "Arrow capsules")
