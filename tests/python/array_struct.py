"""What `__array_struct__` is: NumPy's PyArrayInterface in a capsule."""

from __future__ import annotations

import ctypes

from interpreter import python_api

_new_capsule = python_api().PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class ArrayStruct(ctypes.Structure):
    _fields_ = [
        ("two", ctypes.c_int),
        ("nd", ctypes.c_int),
        ("typekind", ctypes.c_char),
        ("itemsize", ctypes.c_int),
        ("flags", ctypes.c_int),
        ("shape", ctypes.POINTER(ctypes.c_ssize_t)),
        ("strides", ctypes.POINTER(ctypes.c_ssize_t)),
        ("data", ctypes.c_void_p),
        ("descr", ctypes.c_void_p),
    ]

    def capsule(self, name: bytes | None = None) -> object:
        """It does not keep the struct."""
        return _new_capsule(ctypes.addressof(self), name, None)
