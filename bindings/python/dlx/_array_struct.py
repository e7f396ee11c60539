"""Reader of `__array_struct__`: NumPy's array interface as a C struct in a capsule."""

from __future__ import annotations

import ctypes
import sys

from dlx.errors import InvalidArgumentError, UnsupportedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_NOT_SWAPPED = 0x200
_WRITEABLE = 0x400


class _PyArrayInterface(ctypes.Structure):
    _fields_ = [
        ("two", ctypes.c_int),
        ("nd", ctypes.c_int),
        ("typekind", ctypes.c_char),
        ("itemsize", ctypes.c_int),
        ("flags", ctypes.c_int),
        ("shape", ctypes.POINTER(ctypes.c_ssize_t)),
        ("strides", ctypes.POINTER(ctypes.c_ssize_t)),
        ("data", ctypes.c_void_p),
    ]


def read(capsule: Any) -> tuple[tuple[int, ...], tuple[int, ...] | None, str, int, bool]:
    """(shape, strides in bytes, typestr, address, writable) of an `__array_struct__` capsule.

    Source: NumPy manual, "The array interface protocol", C-struct access.
    """
    # A library object of our own: argtypes set on the shared ctypes.pythonapi would reach others.
    python = ctypes.PyDLL(None)
    get = python.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    if type(capsule).__name__ != "PyCapsule":
        raise TypeError(f"`__array_struct__` is not a capsule (got {type(capsule).__name__})")
    interface = _PyArrayInterface.from_address(get(capsule, None))
    if interface.two != 2:
        raise InvalidArgumentError(
            f"`__array_struct__` is malformed (its first field is {interface.two}, expected 2)"
        )
    if not interface.flags & _NOT_SWAPPED and interface.itemsize > 1:
        raise UnsupportedError(
            "`__array_struct__` has a foreign byte order: convert the data first"
        )
    nd = interface.nd
    shape = tuple(interface.shape[:nd])
    strides = tuple(interface.strides[:nd]) if interface.strides else None
    order = "<" if sys.byteorder == "little" else ">"
    typestr = f"{order}{interface.typekind.decode()}{interface.itemsize}"
    return shape, strides, typestr, interface.data or 0, bool(interface.flags & _WRITEABLE)
