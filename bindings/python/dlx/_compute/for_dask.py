"""What dask asks of an array that it computes with: its size, its token, and to be known to it.

Nothing here is a hook on `import dask`. `register_sizeof` is the entry point "dlx" of the group
`dask.sizeof`, which dask itself loads; the rest runs when a Tensor first meets an array of dask's.
"""

from __future__ import annotations

import importlib
import sys

from dlx import _native, dtypes
from dlx._access import bytes_of, code_of
from dlx._lib.classes import package_of
from dlx._lib.constants import CPU, PADDED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from dlx._native import Tensor

_known = _met = False


def register_sizeof(sizeof: Any) -> None:
    """Tell dask how large a Tensor is; by itself it sees the description only, of some 50 bytes.

    Args:
        sizeof: the dispatch `dask.sizeof.sizeof`.

    Source: dask's documentation, "Extend sizeof".
    """
    sizeof.register(_native.Tensor)(size_of)


def meet() -> None:
    """In a process that has dask.array, once: what dask has for classes that it knows only.

    Called where a Tensor comes to dask: into a graph, from another process, by an operator.
    """
    global _met
    if _met or "dask.array.core" not in sys.modules:
        return
    dispatch = importlib.import_module("dask.array.dispatch")
    numpy = sys.modules["numpy"]
    dispatch.percentile_lookup.register(_native.Tensor)(
        dispatch.percentile_lookup.dispatch(numpy.ndarray)
    )
    _met = True


def size_of(tensor: Tensor) -> int:
    """The bytes of the elements, each place in memory counted once."""
    meet()
    repeated = [i for i, step in enumerate(tensor.strides) if step == 0 and tensor.shape[i] > 1]
    if not repeated:
        return tensor.nbytes
    return tensor[
        tuple(slice(1) if i in repeated else slice(None) for i in range(tensor.ndim))
    ].nbytes


def token(tensor: Tensor) -> tuple[Any, ...]:
    """What `Tensor.__dask_tokenize__` returns: equal for equal dtype, shape and bytes.

    Memory that the CPU cannot read, and addresses (opaque handles), give a token that is never
    equal to another, as dask does for objects that it does not know.
    """
    meet()
    code = code_of(tensor)
    if (
        tensor.device.device_type != CPU
        or code[0] == dtypes.OPAQUE
        or (tensor.size and not tensor.data_ptr)
    ):
        import uuid

        return "dlx.Tensor", uuid.uuid4().hex
    hashing = importlib.import_module("dask.hashing")  # it is dask that asks
    compact = tensor.contiguous()
    flags = _native._flags(compact)
    digest = hashing.hash_buffer_hex(memoryview(bytes_of(compact)))
    return "dlx.Tensor", tensor.shape, code, flags & PADDED, digest


def introduce(types: Iterable[type]) -> bool:
    """If there is a class of dask's among the types: tell dask that its arrays may have Tensors
    as chunks and operands, once for the process.

    dask leaves operations with types that it does not know to them, and so do Tensors.

    Returns:
        whether dask learns it only now, so that an operation that it has left may succeed.
    """
    global _known
    if _known or not any(package_of(cls) == "dask" for cls in types):
        return False
    importlib.import_module("dask.array").register_chunk_type(_native.Tensor)
    meet()
    _known = True
    return True
