"""Arrays of NumPy types that DLPack lacks, converted to types that it has: numbers of the other byte
order, and long doubles if the caller asks for another dtype."""

from __future__ import annotations

from dlx import dtypes
from dlx._lib.classes import loaded, name_of
from dlx._take import guards
from dlx.errors import CopyRefusedError, UnsupportedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def converted_by_numpy(obj: Any, dtype: Any, copy: bool | None) -> Any:
    """A new array of NumPy with the values of `obj`; None if no conversion keeps what `obj` means.

    Called after `asarray` found a type that DLPack lacks. Swapping bytes loses nothing, so that happens
    wherever a copy is allowed. A long double loses digits, so that takes a `dtype`.

    Raises:
        CopyRefusedError: `copy` is False, and the conversion would work.
    """
    array = _array_of(obj)
    if array is None or array.dtype.kind not in "biufc" or array.dtype.isbuiltin == 2:
        return None
    if dtypes.explain_numpy_dtype(array.dtype) is None:
        return None  # the dtype was not why it was refused
    if not array.dtype.isnative:
        target = array.dtype.newbyteorder("=")
    elif dtype is not None:
        target = _requested(array.dtype, dtypes.dtype_code(dtype))
    else:
        return None
    if copy is False:
        raise CopyRefusedError(
            f"a {name_of(obj)} of dtype {array.dtype} needs a copy, because DLPack lacks that dtype, and "
            f"copy=False forbids it: pass copy=None, or convert it by `.astype({target.name!r})`"
        )
    return array.astype(target)


def _array_of(obj: Any) -> Any:
    """The numpy.ndarray that shows the memory of an object; None if it has a mask, a unit or no memory."""
    numpy = loaded("numpy")
    if numpy is None or isinstance(obj, type):
        return None
    try:
        guards.guard_losses(obj)
    except UnsupportedError:
        return None
    interface = getattr(obj, "__array_interface__", None)
    if isinstance(interface, dict) and interface.get("mask") is not None:
        return None
    if isinstance(getattr(obj, "dtype", None), numpy.dtype) or _shows_memory(obj):
        return numpy.asarray(obj)
    return None


def _shows_memory(obj: Any) -> bool:
    if any(hasattr(obj, name) for name in ("__array_interface__", "__array_struct__")):
        return True
    try:
        memoryview(obj)
    except (TypeError, ValueError, BufferError):
        return False
    return True


def _requested(source: Any, code: dtypes.DTypeCode) -> Any:
    """The dtype that the caller asked for, to round once; else the widest that NumPy and DLPack share."""
    import numpy

    target = dtypes.numpy_dtype(code, extended=False)
    if target is not None and (target.kind == "c" or source.kind != "c"):
        return target
    return numpy.dtype("complex128" if source.kind == "c" else "float64")
