"""dlx: DLPack for Python. Tensors go from one array library to another without a copy.

    import dlx
    t = dlx.asarray(anything)       # NumPy, PyTorch, JAX, PyArrow, buffers, nested lists …
    numpy.asarray(t); torch.from_dlpack(t); memoryview(t)

`Tensor` describes memory that some library owns, and keeps its owner alive. Nothing is copied
unless it has to be, and never where `copy=False` forbids it; data moves to another device only by
`device=`, `Tensor.to_device` or `force=True`. `dlx.share` puts data where other processes see it too.

The C API is in `dlx.raw` (`from dlx import raw`). `python -m dlx info` shows the library, its devices and the array
libraries that are installed; `python -m dlx demo` lets a photograph pass through several of them.
"""

from __future__ import annotations

from dlx._lib import capi
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
    from typing import Any

__version__ = capi.version()

try:
    from dlx._native import Tensor, asarray, convert, copyto, from_dlpack
    from dlx._streams import Stream, current_stream, stream
    from dlx._take.pointer import (
        attach,
        empty,
        from_pointer,
        get_export_negative_strides,
        get_num_threads,
        set_export_negative_strides,
        set_num_threads,
        share,
        shared_fd,
        unshare,
    )
    from dlx._tensor import methods as _methods
    from dlx.device import Device, device_of, devices
    from dlx.dtypes import dtype
except ImportError as error:
    if type(error).__name__ != "NotAttachable":
        raise
    # dlx.raw has to remain importable, so this module cannot fail. Its functions are not there:
    # whoever asks for one is told the reason.
    _reason = str(error)

    def __getattr__(name: str) -> Any:
        if name not in __all__:  # a submodule, perhaps, which `from dlx import …` tries next
            raise AttributeError(f"module 'dlx' has no attribute {name!r}")
        raise ImportError(f"dlx.{name} is not available: {_reason}", name="dlx")

else:
    _methods.attach(Tensor)
    del _methods
    # No __getattr__ here: CPython specialises attributes only of modules without one, and every
    # `dlx.something` would cost 20 ns more.


__all__ = [
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
    "from_dlpack",
    "from_pointer",
    "get_export_negative_strides",
    "get_num_threads",
    "set_export_negative_strides",
    "set_num_threads",
    "share",
    "shared_fd",
    "stream",
    "unshare",
]
