"""dlx: DLPack for Python. Tensors go from one array library to another without a copy.

    import dlx
    t = dlx.asarray(anything)       # NumPy, PyTorch, JAX, PyArrow, buffers, nested lists …
    numpy.asarray(t); torch.from_dlpack(t); memoryview(t)

A `Tensor` describes memory that some library owns, and keeps the owner alive. dlx copies only if it
must, and never if `copy=False` forbids it; data moves to another device only by `device=`,
`Tensor.to_device` or `force=True`.

Functions (`help(dlx.asarray)` shows one):
    asarray, from_dlpack        a Tensor of anything; of an object with `__dlpack__`
    convert                     an array of another library: dlx.convert(x, "torch")
    explain                     what convert would do, and why
    copyto                      copies data into an existing array
    empty, from_pointer         a Tensor of new memory; of memory at an address
    empty_like                  an array of the library of another one
    function                    a callable of a compiled function that takes any arrays
    share, attach               memory that other processes see; also shared_fd, unshare
    devices, device_of          the devices of this machine; the device of an address
    stream, current_stream      the stream on which dlx copies on a GPU
    set_num_threads, get_num_threads
                                how many threads one copy may use
    set_export_negative_strides, get_export_negative_strides
                                what `Tensor.__dlpack__` does with negative strides

Classes (`help(dlx.Tensor)` shows one):
    Tensor, Device, Stream, dtype
    Array                       an argument of ctypes functions
    Error, with the subclasses CopyRefusedError, DeviceRefusedError, DriverError, InternalError,
    InvalidArgumentError, OutOfMemoryError, ReadOnlyError, UnavailableError, UnsupportedError

Modules:
    dlx.xp                      the array API standard on Tensors: from dlx import xp
    dlx.raw                     the C API: from dlx import raw

Commands: `python -m dlx info` shows the library, its devices and the array libraries that are
installed, `python -m dlx demo` passes a photograph through several of them, and `python -m dlx
--help` lists the others.
"""

# The package is built in this order; nothing imports what comes after it (tests/python/test_rooms.py):
#   errors        the exceptions
#   _lib          the C library as Python values: loading, functions, constants
#   _native       the native type Tensor and the native functions
#   _raw, raw     the C API with its own names
#   dtypes, device, _streams
#   _access       what the package itself asks of a Tensor
#   _take         from other objects to a Tensor: asarray, from_pointer, empty
#   _give         from a Tensor to another library: convert
#   _compute, xp  computing with Tensors
#   _call         compiled functions; loaded when it is used
#   _pickling, _share
#   _tensor       the methods of Tensor that are written in Python
#   _hooks        the Python functions that the native code calls
#   dlx           this file
#   _cli          the command line, which uses dlx as any program does
from __future__ import annotations

import sys

from dlx import _hooks, _native
from dlx._lib import capi as _capi
from dlx._lib.capi import (
    get_export_negative_strides,
    get_num_threads,
    set_export_negative_strides,
    set_num_threads,
)
from dlx.device import Device, device_of, devices
from dlx.dtypes import dtype
from dlx.errors import (
    CopyRefusedError,
    DeviceRefusedError,
    DriverError,
    Error,
    InternalError,
    InvalidArgumentError,
    OutOfMemoryError,
    ReadOnlyError,
    UnavailableError,
    UnsupportedError,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dlx._call import Array, empty_like, function

__version__: str = _capi.version()

try:
    _native.attach(_hooks.HOOKS)
except _native.NotAttachable as _error:  # dlx.raw has to remain importable
    _reason = str(_error)
else:
    _reason = ""
    from dlx._give import explain
    from dlx._native import Tensor, asarray, convert, copyto, from_dlpack
    from dlx._share import attach, share, shared_fd, unshare
    from dlx._streams import Stream, current_stream, stream
    from dlx._take import empty, from_pointer
    from dlx._tensor import methods as _methods

    _methods.add_methods(Tensor)
    if "torch" in sys.modules:
        from dlx._take import for_torch as _for_torch

        _for_torch.extend_collate()
    for _function in (attach, empty, explain, from_pointer, share, shared_fd, unshare,
                      get_export_negative_strides, get_num_threads, set_export_negative_strides,
                      set_num_threads):  # fmt: skip
        _function.__module__ = __name__
    del _function


__all__ = [
    "Array",
    "CopyRefusedError",
    "Device",
    "DeviceRefusedError",
    "DriverError",
    "Error",
    "InternalError",
    "InvalidArgumentError",
    "OutOfMemoryError",
    "ReadOnlyError",
    "Stream",
    "Tensor",
    "UnavailableError",
    "UnsupportedError",
    "asarray",
    "attach",
    "convert",
    "copyto",
    "current_stream",
    "device_of",
    "devices",
    "dtype",
    "empty",
    "empty_like",
    "explain",
    "from_dlpack",
    "from_pointer",
    "function",
    "get_export_negative_strides",
    "get_num_threads",
    "set_export_negative_strides",
    "set_num_threads",
    "share",
    "shared_fd",
    "stream",
    "unshare",
]


def __dir__() -> list[str]:
    # help(dlx) shows the docstring above; with every method of every class it had 2,300 lines.
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__") == "inspect":
        frame = frame.f_back
    if frame.f_globals.get("__name__") == "pydoc":
        return []
    modules = ("device", "dtypes", "errors", "raw", "xp")
    return sorted([*__all__, "__version__", *(name for name in modules if name in globals())])


if not TYPE_CHECKING:  # type checkers would take any name

    def __getattr__(name):
        if _reason and name in __all__:
            raise ImportError(f"dlx.{name} is not available: {_reason}", name=__name__)
        if name in ("Array", "empty_like", "function"):
            from dlx import _call

            found = globals()[name] = getattr(_call, name)
            found.__module__ = __name__
            return found
        from dlx._hints import FUNCTIONS

        hint = f": call {FUNCTIONS[name]}" if name in FUNCTIONS else ""
        raise AttributeError(f"module 'dlx' has no attribute {name!r}{hint}")
