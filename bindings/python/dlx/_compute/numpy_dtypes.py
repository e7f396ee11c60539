"""NumPy's dtypes for the dtypes that dlx reads and NumPy does not."""

from __future__ import annotations

import numpy

from dlx import dtypes
from dlx._lib.classes import package_of
from dlx.errors import InvalidArgumentError, UnsupportedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

USUAL = frozenset(map(numpy.dtype, "?bBhHiIlLqQefdFD"))
_usual_names: dict[Any, Any] = {}  # numpy.dtype by what named() was called with


def named(dtype: Any) -> Any:
    """NumPy's dtype for a dlx.dtype or a name of dlx, or for a name that only NumPy has."""
    found = _usual_names.get(dtype)
    if found is not None:
        return found
    try:
        code = dtypes.dtype_code(dtype)
    except (InvalidArgumentError, UnsupportedError):
        found = numpy.dtype(dtype) if isinstance(dtype, str) else dtype
    else:
        found = _of_code(code)
    if found in USUAL:
        _usual_names[dtype] = found
    return found


def readable(value: Any) -> Any:
    """NumPy's dtype for a dtype of another library, which NumPy cannot read; else the value itself."""
    cls = type(value)
    if cls is numpy.ndarray or cls is dtypes.dtype:
        return value
    of_torch = cls.__name__ == "dtype" and package_of(cls) == "torch"
    if of_torch or hasattr(cls, "__dlpack_data_type__"):
        return _of_code(dtypes.dtype_code(value))
    return value


def _of_code(code: dtypes.DTypeCode) -> Any:
    found = dtypes.numpy_dtype(code, extended=True)
    if found is None:
        name, (kind, bits, lanes) = dtypes.make_name(code), code
        small = kind in (dtypes.INT, dtypes.UINT) and bits < 8 and lanes == 1  # made by native code
        way = f": call `dlx.asarray(x, dtype={name!r})`" if small else ""
        raise UnsupportedError(f"neither NumPy nor ml_dtypes (is it installed?) has {name}{way}")
    return found
