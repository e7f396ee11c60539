"""What another library's object says about itself: by DLPack, its buffer, or its array interface."""

from __future__ import annotations

import re
import sys
from typing import Any, NamedTuple

from . import structs
from .outcomes import NotApplicableError, said
from .structs import LEGACY, READ_ONLY, VERSIONED, Managed

NAMES = re.compile(
    r"(?<![a-z])(bool|u?int(?:8|16|32|64)|bfloat16|float(?:16|32|64)|complex(?:64|128))(?![0-9a-z])"
)
_CODES = {"bool": 6, "int": 0, "uint": 1, "bfloat": 4, "float": 2, "complex": 5}
_KINDS = {"b": "bool", "i": "int", "u": "uint", "f": "float", "c": "complex"}
_FORMATS = {
    "?": "bool8", "b": "int8", "h": "int16", "i": "int32", "l": "int64", "q": "int64",
    "B": "uint8", "H": "uint16", "I": "uint32", "L": "uint64", "Q": "uint64",
    "e": "float16", "f": "float32", "d": "float64", "Zf": "complex64", "Zd": "complex128",
}  # fmt: skip


class View(NamedTuple):
    """Memory as an object describes it; strides in elements."""

    pointer: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: tuple[int, int, int] | None
    itemsize: int
    readonly: bool
    keep: Any

    def values(self) -> list[bytes]:
        return structs.elements(self.pointer, self.shape, self.strides, self.itemsize)


def fresh(capsule: object) -> Managed:
    """What an unconsumed capsule holds; the result keeps the capsule."""
    managed = unkept(capsule)
    managed.keep = capsule
    return managed


def unkept(capsule: object) -> Managed:
    """What an unconsumed capsule holds, as long as it is there."""
    if not structs.is_capsule(capsule):
        raise NotApplicableError("__dlpack__ gave no capsule (items 25, 40)")
    name = structs.capsule_name(capsule)
    if name not in (LEGACY, VERSIONED):
        raise NotApplicableError(f"the capsule is named {name!r} (item 25)")
    return Managed(structs.capsule_pointer(capsule, name), name == VERSIONED)


def take(capsule: object) -> Managed:
    """Take a capsule over, as a consumer does."""
    managed = unkept(capsule)
    structs.rename(capsule, USED_NAME[managed.versioned])
    return managed


USED_NAME = {True: structs.USED[VERSIONED], False: structs.USED[LEGACY]}


def named_dtype(text: str) -> tuple[int, int, int] | None:
    """The DLDataType that a dtype's text names: "float32", "torch.int8", "<dtype: 'bool'>"."""
    found = NAMES.search(text)
    if not found:
        return None
    kind, bits = re.fullmatch(r"([a-z]+)(\d*)", found[1]).groups()  # type: ignore[union-attr]
    return _CODES[kind], int(bits or 8), 1


def read(obj: Any) -> View:
    """Look at an object, or at a capsule, by the first protocol that works."""
    if structs.is_capsule(obj):
        return of_managed(fresh(obj))
    for reader in (by_dlpack, by_array_interface, by_buffer):
        view = reader(obj)
        if view is not None:
            return view
    raise NotApplicableError(
        f"an object of class {type(obj).__name__} cannot be read back by any protocol"
    )


def by_dlpack(obj: Any) -> View | None:
    if not hasattr(type(obj), "__dlpack__"):
        return None
    capsule = None
    for keywords in ({"max_version": (1, 3)}, {}):
        try:
            capsule = obj.__dlpack__(**keywords)
            break
        except Exception:
            continue
    if capsule is None or not structs.is_capsule(capsule):
        return None
    managed = fresh(capsule)
    if managed.device[0] != structs.CPU:
        return None
    return of_managed(managed, obj)


def of_managed(managed: Managed, keep: Any = None) -> View:
    """What a managed tensor on the CPU tells."""
    size = structs.element_bytes(managed.dtype)
    readonly = bool(managed.flags & READ_ONLY)
    return View(managed.pointer, managed.shape, managed.strides, managed.dtype, size, readonly,
                (keep, managed))  # fmt: skip


def by_array_interface(obj: Any) -> View | None:
    found = getattr(obj, "__array_interface__", None)
    if not isinstance(found, dict) or not isinstance(found.get("data"), tuple):
        return None
    size = int(found["typestr"][2:])
    kind = _KINDS.get(found["typestr"][1])
    dtype = named_dtype(kind + ("" if kind == "bool" else str(size * 8))) if kind else None
    shape = tuple(found["shape"])
    strides = found.get("strides")
    steps = tuple(step // size for step in strides) if strides else structs.compact_strides(shape)
    return View(found["data"][0], shape, steps, dtype, size, bool(found["data"][1]), obj)


def by_buffer(obj: Any) -> View | None:
    try:
        view = memoryview(obj)
    except Exception:
        return None
    if view.shape is None:
        return None
    text = view.format or "B"
    dtype = named_dtype(_FORMATS.get(text.lstrip("@=<|"), ""))
    steps = tuple(step // view.itemsize for step in view.strides or ())
    return View(buffer_pointer(view), tuple(view.shape), steps, dtype, view.itemsize,
                view.readonly, view)  # fmt: skip


def buffer_pointer(view: memoryview) -> int:
    """Where a buffer begins: Py_buffer.buf, the first field that PyObject_GetBuffer fills."""
    import ctypes

    room = (ctypes.c_void_p * 16)()  # a Py_buffer has 80 bytes
    PyBUF_FULL_RO = 0x11C
    get = structs.python.PyObject_GetBuffer
    get.argtypes = [ctypes.py_object, ctypes.c_void_p, ctypes.c_int]
    if get(view, ctypes.addressof(room), PyBUF_FULL_RO):
        return 0
    pointer = room[0] or 0
    release = structs.python.PyBuffer_Release
    release.argtypes, release.restype = [ctypes.c_void_p], None
    release(ctypes.addressof(room))
    return int(pointer)


def listed(obj: Any) -> list[Any] | None:
    """The object's own idea of its elements, flat; None if it has no `tolist`."""
    method = getattr(obj, "tolist", None)
    if method is None:
        return None
    try:
        value = method()
    except Exception:
        return None
    flat: list[Any] = []

    def add(part: Any) -> None:
        if isinstance(part, list):
            for inner in part:
                add(inner)
        else:
            flat.append(part)

    add(value)
    return flat


def decoded(view: View) -> list[Any] | None:
    """The elements as Python's numbers, for dtypes that `struct` knows."""
    import struct

    formats = {(0, 8): "b", (0, 16): "h", (0, 32): "i", (0, 64): "q", (1, 8): "B", (1, 16): "H",
               (1, 32): "I", (1, 64): "Q", (2, 16): "e", (2, 32): "f", (2, 64): "d",
               (6, 8): "?"}  # fmt: skip
    if view.dtype is None or view.dtype[2] != 1 or view.dtype[:2] not in formats:
        return None
    letter = ("<" if sys.byteorder == "little" else ">") + formats[view.dtype[:2]]
    return [struct.unpack(letter, element)[0] for element in view.values()]


def attribute(obj: Any, name: str) -> Any:
    """An attribute, or NotApplicableError with the reason."""
    try:
        return getattr(obj, name)
    except AttributeError:
        raise NotApplicableError(f"there is no {name}") from None
    except Exception as error:
        raise NotApplicableError(f"{name} raised {said(error)}") from error


def read_managed(managed: Managed) -> list[bytes]:
    """The elements of a managed tensor on the CPU."""
    return of_managed(managed).values()
