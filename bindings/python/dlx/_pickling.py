"""Pickling of Tensors, with the data out of band if the pickler can (protocol 5).

A pickle has the description and one block of compact bytes. A strided Tensor is packed first, and the
loaded Tensor is always in C order. It is read-only if the original was, or if its frame is read-only.

This module stays at the top of the package, because every pickle names `dlx._pickling.rebuild`.
"""

from __future__ import annotations

import sys

from dlx import _native, dtypes
from dlx._access import bytes_of, code_of, require_readable
from dlx._lib.constants import PADDED, READ_ONLY, THE_CPU
from dlx.errors import InvalidArgumentError, UnsupportedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dlx._native import Tensor
    from dlx.dtypes import DTypeCode

BIG_ENDIAN = 1 << 32  # a flag in pickles, beyond DLPack's: the byte order of the writer
_OURS = BIG_ENDIAN if sys.byteorder == "big" else 0


def reduce(self: Tensor, protocol: Any) -> tuple[Any, ...]:
    """`Tensor.__reduce_ex__`.

    Raises:
        DeviceRefusedError: the data is not on the CPU.
        UnsupportedError: the tensor holds opaque handles.
    """
    self = require_readable(self, "pickling")
    code = code_of(self)
    if code[0] == dtypes.OPAQUE:
        raise UnsupportedError(
            "a Tensor of opaque handles cannot be pickled: the handles are addresses"
        )
    compact = self.contiguous()
    raw = bytes_of(compact, READ_ONLY if self.readonly else 0)
    block: Any
    if protocol >= 5:
        from pickle import PickleBuffer

        block = PickleBuffer(raw)
    else:
        block = bytes(memoryview(raw)) if self.readonly else bytearray(memoryview(raw))
    return rebuild, (block, self.shape, code, _native._flags(compact) & PADDED | _OURS)


def rebuild(block: Any, shape: tuple[int, ...], code: DTypeCode, flags: int) -> Tensor:
    """A Tensor on the bytes of `block`, which it shares. The name of this function is in every pickle.

    Raises:
        InvalidArgumentError: the block has gaps, or a wrong size.
        UnsupportedError: a machine of the other byte order wrote elements of several bytes.
    """
    if flags & BIG_ENDIAN != _OURS and code[1] > 8:
        raise UnsupportedError(
            f"the pickled Tensor has the other byte order (this machine is {sys.byteorder}-endian)"
        )
    flags &= ~BIG_ENDIAN
    frame = _native._from_buffer(block)
    if not frame.is_contiguous():  # the pickled frame was; the caller may pass another
        raise InvalidArgumentError(
            f"the frame of a pickled Tensor is not compact (got strides {frame.strides} for shape "
            f"{frame.shape})"
        )
    flags |= READ_ONLY if frame.readonly else 0
    tensor = _native._wrap(frame.data_ptr, shape, None, code, THE_CPU, flags, frame, None)
    if tensor.nbytes != frame.nbytes:
        raise InvalidArgumentError(
            f"the frame of a pickled Tensor has {frame.nbytes} bytes (expected {tensor.nbytes})"
        )
    if "dask" in sys.modules:  # this may be a worker of `distributed`
        from dlx._compute import for_dask

        for_dask.meet()
    return tensor
