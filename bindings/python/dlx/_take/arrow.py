"""Imports through the Arrow PyCapsule interface, for `dlx.asarray`.

`__arrow_c_device_array__` and `__arrow_c_array__` give one array; `__arrow_c_stream__` gives chunks,
which are joined in a copy if several have elements. A struct is a table, whose columns tables.py joins.
The import itself is native (src/arrow).

Arrow comes after the buffer protocol and the array interfaces, which have shapes (Arrow data of a
Pillow image lacks the height), and before `__array__`, which turns nulls into NaN. Two exceptions:

- PyArrow's arrays come through Arrow although they have `__dlpack__`, which takes neither booleans nor
  nested lists, and whose errors do not say what to do. (Numbers without nulls do use `__dlpack__`: the
  same memory in half the time.) classify.py makes the native code import them, and the arrays of
  nanoarrow and Polars, without this module.
- Objects of pandas and xarray come through `__array__` if it shares their memory. pandas' Series of Arrow
  and nullable dtypes come through the stream.
"""

from __future__ import annotations

import sys

from dlx import _native
from dlx._lib.classes import an, derives, has, name_of, package_of, packages_of
from dlx.errors import CopyRefusedError, UnsupportedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dlx._native import Tensor
    from dlx.dtypes import DTypeCode


def from_arrow(obj: Any, copy: bool | None, code: DTypeCode | None) -> tuple[Tensor | None, bool]:
    """The Tensor for an object with an Arrow method, and whether its memory is a new copy. The Tensor is
    None if the object has no Arrow method, or a better protocol. Several columns are converted to `code`.

    Raises:
        UnsupportedError: nulls, or a type that tensors do not have.
        CopyRefusedError: `copy` is False, and booleans, chunks or columns need a copy.
    """
    cls = type(obj)
    if "pandas" in packages_of(cls) and hasattr(cls, "columns"):
        from dlx._take import tables

        return tables.from_pandas(obj, copy, code)
    if "xarray" in packages_of(cls):
        return None, False
    if has(cls, "__arrow_c_stream__") and (hasattr(cls, "columns") or not _is_numpy_inside(obj)):
        if not derives(cls, "polars", "DataFrame"):
            return _native._from_arrow_stream(obj, copy, code)
        if copy is False and max(obj.n_chunks("all"), default=0) > 1:
            raise CopyRefusedError(
                f"{an(name_of(obj))} in several chunks needs a copy, and copy=False forbids it: call "
                "`.rechunk()` first"
            )
        try:  # the export joins the chunks in the frame itself
            return _native._from_arrow_stream(obj.clone(), copy, code)
        except CopyRefusedError:
            return None, False  # its `__array__` knows whether its columns are one memory
    if has(cls, "__arrow_c_array__") or has(cls, "__arrow_c_device_array__"):
        return _native._from_arrow_object(obj, copy, code)
    return None, False


def require_plain(column: Any, what: str) -> None:
    """Refuse a column of PyArrow that asarray would refuse, in one chunk or several.

    Args:
        what: the column's name, for the message.
    """
    for chunk in _telling_chunks(column):
        try:
            _native.asarray(chunk)
        except UnsupportedError as error:
            raise UnsupportedError(f"{what}: {error}") from error


def _telling_chunks(column: Any) -> Any:
    """The chunks to import to learn whether the whole column can be imported. If only the type matters, a
    chunk without elements, because booleans would be unpacked."""
    chunked = hasattr(column, "num_chunks")
    types = sys.modules["pyarrow"].types
    if column.null_count or not types.is_primitive(
        column.type
    ):  # nulls may also be in nested arrays
        return column.chunks if chunked else (column,)
    if not chunked:
        return (column.slice(0, 0),)
    return (column.chunk(0).slice(0, 0),) if column.num_chunks else ()


def _is_numpy_inside(obj: Any) -> bool:
    """Whether a column has to come through `__array__`: it shares NumPy memory that the stream would
    copy, its dtype is from another library that may not support Arrow, or it holds categories of
    numbers."""
    packages = packages_of(type(obj))
    if "xarray" in packages:
        return True
    if "pandas" not in packages:
        return False
    categories = getattr(obj.dtype, "categories", None)
    if categories is not None:
        return getattr(categories.dtype, "kind", "O") in "biufc"
    return package_of(type(obj.dtype)) != "pandas"
