"""What the package itself asks of a Tensor: its dtype as numbers, and memory that Python can read."""

from __future__ import annotations

from dlx import _native, dtypes
from dlx._lib import capi
from dlx._lib.constants import COPY_NEVER, CPU, READ_ONLY, THE_CPU
from dlx.errors import CopyRefusedError, DeviceRefusedError, UnsupportedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dlx._native import Tensor
    from dlx.device import DeviceCode
    from dlx.dtypes import DTypeCode


def code_of(tensor: Tensor) -> DTypeCode:
    """(code, bits, lanes) of a Tensor; `Tensor.dtype` would import NumPy to make its object."""
    return capi.tensor_dtype(_native._handle(tensor))


def move(tensor: Tensor, device: DeviceCode, stream: int | None = None, copy: int = 0) -> Tensor:
    """The Tensor on a device; `copy` is a DLX_COPY_* number."""
    return _native._adopt(capi.to_device(_native._handle(tensor), device, stream, copy))


def in_place(tensor: Tensor) -> Tensor | None:
    """The Tensor on the CPU, on the same memory, once that is ready: pinned and managed memory. None
    if only a transfer helps."""
    if tensor.device.device_type == CPU:
        return tensor
    try:
        return move(tensor, THE_CPU, copy=COPY_NEVER)
    except CopyRefusedError:
        return None


def require_readable(tensor: Tensor, method: str) -> Tensor:
    """The Tensor in memory that Python can read, never moved there: `method` names the caller."""
    here = in_place(tensor)
    if here is None:
        raise DeviceRefusedError(
            f"{method} reads the data, which is on {tensor.device}: call `.to_device('cpu')` first"
        )
    if not here.data_ptr and here.size:
        raise UnsupportedError(
            f"{method} reads the data, but the tensor has none (its address is NULL)"
        )
    return here


def bytes_of(compact: Tensor, flags: int = READ_ONLY) -> Tensor:
    """The memory of a compact Tensor on the CPU as uint8. By address, because a packed or opaque dtype
    has no buffer format."""
    size = compact.nbytes
    return _native._wrap(
        compact.data_ptr, (size,), None, dtypes.UINT8, THE_CPU, flags, compact, None
    )
