"""What DLPack refused, taken in another way. Arrays of NumPy types that DLPack lacks are converted to types
that it has: numbers of the other byte order, long doubles if the caller asks for another dtype, and
structured arrays whose fields are one more axis. Arrays whose negative strides their library exports wrongly
(CuPy) show them right in their CUDA array interface."""

from __future__ import annotations

import contextlib
import sys

from dlx import _native, dtypes
from dlx._lib.classes import ARROW_METHODS, an, has, is_torch_tensor, loaded, name_of, packages_of
from dlx._take import guards, structured
from dlx.errors import (
    CopyRefusedError,
    InvalidArgumentError,
    UnavailableError,
    UnsupportedError,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_BEFORE_ARRAY = ("__dlpack__", "__cuda_array_interface__", "__jax_array__")


def taken_otherwise(obj: Any, dtype: Any, copy: bool | None) -> Any:
    """An array with the values of `obj`, after DLPack lacked its type or its layout; else None.

    Raises:
        CopyRefusedError: `copy` is False, and a conversion would work.
        UnsupportedError: fields that are no axis; the message has the calls for them.
    """
    if not _has_negative_cuda_strides(obj):
        return converted_by_numpy(obj, dtype, copy)
    tensor = _native._from_layout(obj)
    return _native.asarray(tensor, copy=True) if copy else tensor


def _has_negative_cuda_strides(obj: Any) -> bool:
    if isinstance(obj, (type, _native.Tensor)) or not has(type(obj), "__cuda_array_interface__"):
        return False
    if is_torch_tensor(type(obj)):  # has none; a function mode would see the question
        return False
    interface = None
    with contextlib.suppress(Exception):  # the refusal of DLPack is the better reason
        interface = obj.__cuda_array_interface__
    strides = interface.get("strides") if isinstance(interface, dict) else None
    return isinstance(strides, tuple) and any(
        isinstance(step, int) and step < 0 for step in strides
    )


def converted_by_numpy(obj: Any, dtype: Any, copy: bool | None) -> Any:
    """An array with the values of `obj`; None if no conversion keeps what `obj` means.

    Called after `asarray` found a type that DLPack lacks. Swapping bytes loses nothing, so that happens
    wherever a copy is allowed. A long double loses digits, so that takes a `dtype`. The fields of a
    structured array are shared, unless `copy` is True.

    Raises:
        CopyRefusedError: `copy` is False, and the conversion would work.
        UnsupportedError: fields that are no axis; the message has the calls for them.
    """
    name, source = name_of(obj), _dtype_of(obj)
    if source is None and _came_by_array_method(obj) and not _means_more_than_numbers(obj):
        with contextlib.suppress(Exception):  # the refusal of asarray is the better reason
            obj = obj.__array__()
            source = _dtype_of(obj)
    if source is None:
        return None
    empty_fields = source.names and not source.itemsize  # as JAX's float0: no field is a way out
    if source.names is not None and not empty_fields:
        return None if _means_more_than_numbers(obj) else _fields_of(obj, source, dtype, copy)
    target = _target(source, dtype)
    if target is None or _means_more_than_numbers(obj):
        return None
    if copy is False:
        raise CopyRefusedError(
            f"{an(name)} of dtype {source} needs a copy, because DLPack lacks that dtype; copy=False and "
            f"a destination forbid it: convert it first, `numpy.asarray(x).astype({target.name!r})`"
        )
    return structured.array_of_memory(obj).astype(target)


def _fields_of(obj: Any, source: Any, dtype: Any, copy: bool | None) -> Any:
    """The fields of a structured array as one more axis, in a type that DLPack has."""
    from dlx._take import asarray

    inside, _ = asarray.unwrapped(obj, copy)
    if inside is not None:
        return _native.asarray(inside, copy=copy)
    numpy = sys.modules["numpy"]
    in_memory = isinstance(obj, (numpy.ndarray, numpy.void)) or _shows_memory(obj)
    array = structured.array_of_memory(obj)
    fields = structured.with_fields_as_axis(array)
    if fields is None:
        raise UnsupportedError(dtypes.explain_structured(source, structured.name_of_array(obj)))
    if copy is False and not in_memory:
        raise CopyRefusedError(
            f"{an(name_of(obj))} of dtype {source} has no memory to share, and copy=False forbids "
            "reading it into memory: pass copy=None"
        )
    if dtypes.explain_numpy_dtype(fields.dtype) is not None:
        return converted_by_numpy(fields, dtype, copy)
    return _native.asarray(fields, copy=True) if copy else fields


def _dtype_of(obj: Any) -> Any:
    """The numpy.dtype of an object that has one, or shows memory of one; else None."""
    if isinstance(obj, (type, _native.Tensor)) or is_torch_tensor(type(obj)):
        return None
    numpy = _imported_numpy(obj) if structured.is_of_ctypes(obj) else loaded("numpy")
    if numpy is None:
        return None
    dtype = getattr(obj, "dtype", None)
    if isinstance(dtype, numpy.dtype):
        return dtype
    if not _shows_memory(obj):
        return None
    try:
        return getattr(structured.array_of_memory(obj), "dtype", None)
    except InvalidArgumentError:
        raise
    except Exception:  # asarray tells why it refused the object
        return None


def _came_by_array_method(obj: Any) -> bool:
    """Whether asarray reads an object by `__array__`, and no other object in its place."""
    cls = type(obj)
    if isinstance(obj, (type, _native.Tensor)) or not has(cls, "__array__") or _shows_memory(obj):
        return False
    packages = packages_of(cls)
    ways = _BEFORE_ARRAY if "pandas" in packages else (*_BEFORE_ARRAY, *ARROW_METHODS)
    return "dask" not in packages and not any(has(cls, name) for name in ways)


def _imported_numpy(obj: Any) -> Any:
    """NumPy, which describes the classes of ctypes; None if it is not installed."""
    try:
        import numpy
    except ImportError:
        if not memoryview(obj).format.startswith("T{"):
            return None
        raise UnavailableError(
            f"the fields of {an(name_of(obj))} need NumPy, which is not installed"
        ) from None
    return numpy


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
    except Exception:  # whatever an exporter raises
        return False
    return True


def _requested(source: Any, code: dtypes.DTypeCode) -> Any:
    """The dtype that the caller asked for, to round once; else the widest that NumPy and DLPack share."""
    import numpy

    target = dtypes.numpy_dtype(code, extended=False)
    if target is not None and (target.kind == "c" or source.kind != "c"):
        return target
    return numpy.dtype("complex128" if source.kind == "c" else "float64")
