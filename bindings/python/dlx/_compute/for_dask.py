"""What dask needs for Tensors in its arrays: sizes, tokens, and registration of the class.

dask loads the entry point `register_sizeof` (group `dask.sizeof`). The rest runs when a Tensor first
meets an array of dask's.
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
    """Tell dask how large a Tensor is; its default counts only the object, about 50 bytes.

    Args:
        sizeof: the dispatch `dask.sizeof.sizeof`.

    Source: dask's documentation, "Extend sizeof".
    """
    sizeof.register(_native.Tensor)(size_of)


def meet() -> None:
    """Register Tensors for dask functions that take registered classes only, once dask.array is loaded.

    Called when a Tensor reaches dask: in a graph, from another process, or by an operator.
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
    """The bytes of the elements; repeated elements (stride 0) count once."""
    meet()
    repeated = [i for i, step in enumerate(tensor.strides) if step == 0 and tensor.shape[i] > 1]
    if not repeated:
        return tensor.nbytes
    return tensor[
        tuple(slice(1) if i in repeated else slice(None) for i in range(tensor.ndim))
    ].nbytes


def token(tensor: Tensor) -> tuple[Any, ...]:
    """What `Tensor.__dask_tokenize__` returns: equal for equal dtype, shape and bytes.

    For memory that the CPU cannot read, and for opaque handles, the token is unique, as dask's is for
    unknown objects.
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
    hashing = importlib.import_module("dask.hashing")  # the caller is dask
    compact = tensor.contiguous()
    flags = _native._flags(compact)
    digest = hashing.hash_buffer_hex(memoryview(bytes_of(compact)))
    return "dlx.Tensor", tensor.shape, code, flags & PADDED, digest


def introduce(types: Iterable[type]) -> bool:
    """If one of the types is dask's, register Tensors as chunks and operands of dask arrays, once.

    Before that, dask leaves an operation to the Tensor and the Tensor leaves it to dask.

    Returns:
        whether this call registered it, so that a retry of the operation may succeed.
    """
    global _known
    if _known or not any(package_of(cls) == "dask" for cls in types):
        return False
    importlib.import_module("dask.array").register_chunk_type(_native.Tensor)
    meet()
    _known = True
    return True
