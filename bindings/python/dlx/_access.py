"""What the package itself asks of a Tensor: its dtype as numbers, and memory that Python can read."""

from __future__ import annotations

from dlx import _native, dtypes
from dlx._lib import capi
from dlx._lib.constants import COPY_NEVER, CPU, PADDED, READ_ONLY, THE_CPU
from dlx.errors import CopyRefusedError, DeviceRefusedError

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
    return here


def bytes_of(compact: Tensor, flags: int = READ_ONLY) -> Tensor:
    """The memory of a compact Tensor on the CPU as uint8. By address, because a packed or opaque dtype
    has no buffer format."""
    size = compact.nbytes
    return _native._wrap(
        compact.data_ptr, (size,), None, dtypes.UINT8, THE_CPU, flags, compact, None
    )


def is_packed(tensor: Tensor) -> bool:
    """Whether elements of less than a byte share bytes, which NumPy cannot describe."""
    return code_of(tensor)[1] < 8 and not _native._flags(tensor) & PADDED


def empty_padded(shape: tuple[int, ...], code: DTypeCode) -> Tensor:
    """A new tensor with one byte for each sub-byte lane."""
    import math  # a fifth of a millisecond that `import dlx` does not need

    memory = _native._empty(math.prod(shape) * code[2], dtypes.UINT8, THE_CPU)
    return _native._wrap(memory.data_ptr, shape, None, code, THE_CPU, PADDED, memory, None)


def padded(tensor: Tensor) -> Tensor:
    """A copy with one byte for each sub-byte lane."""
    return _filled(empty_padded(tensor.shape, code_of(tensor)), tensor)


def whole_code(code: DTypeCode) -> DTypeCode:
    """The dtype into which native code converts a sub-byte one: int8, uint8 or float32."""
    kind, _, lanes = code
    return (kind, 8, lanes) if kind in (dtypes.INT, dtypes.UINT) else (dtypes.FLOAT, 32, lanes)


def whole(tensor: Tensor) -> Tensor:
    """A copy of a sub-byte tensor on the CPU, with its values as int8, uint8 or float32."""
    return _filled(_native._empty(tensor.shape, whole_code(code_of(tensor)), THE_CPU), tensor)


def narrowed(tensor: Tensor, code: DTypeCode) -> Tensor:
    """A padded copy of an int8 or uint8 tensor as integers of fewer bits, the lowest ones of each."""
    return _filled(empty_padded(tensor.shape, code), tensor)


def _filled(copy: Tensor, tensor: Tensor) -> Tensor:
    _native.copyto(copy, tensor)
    return copy


def unpacking_call(tensor: Tensor) -> str:
    """For messages: the call that gives the elements of a sub-byte tensor one by one, in a dtype that
    NumPy has if they have a single lane."""
    kind, bits, lanes = code = code_of(tensor)
    if lanes == 1:
        return f"`dlx.asarray(x, dtype='{dtypes.make_name(whole_code(code))}')`"
    if is_packed(tensor) and tensor.ndim:
        return f"`dlx.asarray(x).contiguous().view('{dtypes.make_name((kind, bits, 1))}')`"
    return "`dlx.asarray(x).tolist()`"
