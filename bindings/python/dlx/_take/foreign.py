"""Arrays of NumPy types that DLPack lacks, converted to types that it has: numbers of the other byte
order, and long doubles if the caller asks for another dtype."""

from __future__ import annotations

import sys

from dlx import _native, dtypes
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
    source = _dtype_of(obj)
    target = None if source is None else _target(source, dtype)
    if target is None or _means_more_than_numbers(obj):
        return None
    if copy is False:
        raise CopyRefusedError(
            f"a {name_of(obj)} of dtype {source} needs a copy, because DLPack lacks that dtype, and "
            f"copy=False forbids it: pass copy=None, or convert it by `numpy.asarray(x).astype({target.name!r})`"
        )
    return sys.modules["numpy"].asarray(obj).astype(target)


def _dtype_of(obj: Any) -> Any:
    """The numpy.dtype of an object that has one, or shows memory of one; else None."""
    numpy = loaded("numpy")
    if numpy is None or isinstance(obj, (type, _native.Tensor)):
        return None
    dtype = getattr(obj, "dtype", None)
    if isinstance(dtype, numpy.dtype):
        return dtype
    if not _shows_memory(obj):
        return None
    try:
        return numpy.asarray(obj).dtype
    except Exception:  # asarray tells why it refused the object
        return None


def _target(source: Any, dtype: Any) -> Any:
    """The numpy.dtype to convert to; None if the values would be lost, or if DLPack has `source`."""
    if source.kind not in "biufc" or source.isbuiltin == 2:
        return None
    if dtypes.explain_numpy_dtype(source) is None:
        return None
    if not source.isnative:
        native = source.newbyteorder("=")
        if dtype is None or dtypes.explain_numpy_dtype(native) is None:
            return native
    return None if dtype is None else _requested(source, dtypes.dtype_code(dtype))


def _means_more_than_numbers(obj: Any) -> bool:
    """Whether an object has a mask or a unit, which its array has not."""
    try:
        guards.guard_losses(obj)
    except UnsupportedError:
        return True
    interface = getattr(obj, "__array_interface__", None)
    return isinstance(interface, dict) and interface.get("mask") is not None


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
