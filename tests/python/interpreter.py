"""What tests need to know of the Python that runs them, and of its system."""

from __future__ import annotations

import ctypes
import os
import sys
import sysconfig

import pytest

FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))


def python_api() -> ctypes.PyDLL:
    """CPython's functions. A library object of its own: argtypes that are set on the shared
    ctypes.pythonapi would reach everybody."""
    if os.name == "nt":
        name = f"python{sys.version_info[0]}{sys.version_info[1]}.dll"
        return ctypes.PyDLL(name, handle=sys.dllhandle)
    return ctypes.PyDLL(None)


def c_library(kind: type[ctypes.CDLL] = ctypes.CDLL) -> ctypes.CDLL:
    """The C library and pthreads; ctypes.PyDLL keeps the GIL during calls."""
    if os.name == "nt":
        pytest.skip("Windows has no pthreads and no one C library of the process")
    return kind(None)
