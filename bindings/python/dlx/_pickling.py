"""Pickling of Tensors, with the data out of band where the pickler can do that (protocol 5).

What is written is the description and one block of compact bytes. A strided Tensor is packed first;
what comes back is always in C order. A read-only Tensor, and one whose frame is read-only memory,
comes back read-only, because nobody promised that its bytes may change.
"""

from __future__ import annotations

import sys

from dlx import _capi, _native, dtypes
from dlx.errors import DeviceRefusedError, InvalidArgumentError, UnsupportedError
from dlx.tensor import in_place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dlx._native import Tensor
    from dlx.dtypes import DTypeCode

_CPU = (1, 0)
_UINT8 = (dtypes.UINT, 8, 1)
_READ_ONLY, _PADDED = 1, 4  # bits of _native._wrap's flags
_OPAQUE = 3  # kDLOpaqueHandle


def reduce(self: Tensor, protocol: Any) -> tuple[Any, ...]:
    """What `Tensor.__reduce_ex__` returns.

    Raises:
        DeviceRefusedError: the data is on another device than the CPU.
        UnsupportedError: the tensor has no data, or opaque handles, which mean nothing elsewhere.
    """
    here = in_place(self)
    if here is None:
        raise DeviceRefusedError(
            f"pickling reads the data, which is on {self.device}: call `.to_device('cpu')` first"
        )
    self = here
    code = _capi.tensor_dtype(self)
    if code[0] == _OPAQUE:
        raise UnsupportedError("a Tensor of opaque handles cannot be pickled: they are addresses")
    if self.size and not self.data_ptr:
        raise UnsupportedError("the Tensor has no data to pickle (its address is NULL)")
    compact = self.contiguous()
    flags = int(self.readonly)
    size = compact.nbytes
    raw = _native._wrap(compact.data_ptr, (size,), None, _UINT8, _CPU, flags, compact, None)
    block: Any
    if protocol >= 5:
        from pickle import PickleBuffer

        block = PickleBuffer(raw)
    else:
        block = bytes(memoryview(raw)) if self.readonly else bytearray(memoryview(raw))
    return rebuild, (block, self.shape, code, _native._flags(compact) & _PADDED)


def rebuild(block: Any, shape: tuple[int, ...], code: DTypeCode, flags: int) -> Tensor:
    """The Tensor on the bytes of `block`, which it shares. Its name is part of every pickle.

    Raises:
        InvalidArgumentError: the block has gaps, or is not as large as the Tensor.
    """
    frame = _native._from_buffer(block)
    if not frame.is_contiguous():  # the pickler's was; who loads may pass another
        raise InvalidArgumentError(
            f"the frame of a pickled Tensor is not compact (got strides {frame.strides} for shape "
            f"{frame.shape})"
        )
    flags |= _READ_ONLY if frame.readonly else 0
    tensor = _native._wrap(frame.data_ptr, shape, None, code, _CPU, flags, frame, None)
    if tensor.nbytes != frame.nbytes:
        raise InvalidArgumentError(
            f"the frame of a pickled Tensor has {frame.nbytes} bytes (expected {tensor.nbytes})"
        )
    if "dask" in sys.modules:  # this may be a worker of `distributed`
        from dlx import _dask

        _dask.meet()
    return tensor
