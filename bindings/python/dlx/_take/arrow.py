"""Imports through the Arrow PyCapsule interface, for `dlx.asarray`.

`__arrow_c_device_array__` and `__arrow_c_array__` give one array; `__arrow_c_stream__` gives chunks,
only one of which may have elements. The import itself is native (src/arrow).

Arrow comes after the buffer protocol and the array interfaces, which have shapes (Arrow data of a
Pillow image lacks the height), and before `__array__`, which turns nulls into NaN. Two exceptions:

- PyArrow's arrays come through Arrow although they have `__dlpack__`, which takes neither booleans nor
  nested lists, and whose errors do not say what to do. (Numbers without nulls do use `__dlpack__`: the
  same memory in half the time.) classify.py makes the native code import them, and the arrays of
  nanoarrow and Polars, without this module.
- Objects of pandas and xarray, and tables (classes with `columns`), come through `__array__`, which
  shares or joins their memory. pandas' Series of Arrow and nullable dtypes in one chunk come through
  the stream.
"""

from __future__ import annotations

import sys

from dlx import _native
from dlx._lib.classes import has, name_of, package_of, packages_of
from dlx.errors import UnsupportedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dlx._native import Tensor


def from_arrow(obj: Any, copy: bool | None) -> tuple[Tensor | None, bool]:
    """The Tensor for an object with an Arrow method, and whether its memory is a new copy. The Tensor is
    None if the object has no Arrow method, or a better protocol.

    Raises:
        UnsupportedError: nulls, several chunks, or a type that tensors do not have.
        CopyRefusedError: `copy` is False, and booleans have to be unpacked.
    """
    if _is_table(obj):
        _require_plain_columns(obj)
        return None, False
    cls = type(obj)
    if has(cls, "__arrow_c_array__") or has(cls, "__arrow_c_device_array__"):
        return _native._from_arrow_object(obj, copy)
    if has(cls, "__arrow_c_stream__") and not _is_numpy_inside(obj):
        return _native._from_arrow_stream(obj, copy)
    return None, False


def _is_table(obj: Any) -> bool:
    return hasattr(type(obj), "columns") and hasattr(type(obj), "__array__")


def _require_plain_columns(table: Any) -> None:
    """Refuse a table if one of its columns would be refused: `__array__` turns nulls into NaN, also
    those inside dictionaries and runs, and extension types into plain numbers."""
    packages = packages_of(type(table))
    if "pyarrow" in packages:
        columns = table.columns
        names = table.schema.names
        nulls = sum(column.null_count for column in columns)
    elif "polars" in packages:
        columns = table.get_columns()
        names = table.columns
        nulls = sum(table.null_count().row(0))
    else:
        return
    if nulls:
        raise UnsupportedError(
            f"a {name_of(table)} with {nulls} nulls would lose them: fill or drop "
            "them first (`fill_null`, `drop_null` or `drop_nulls`)"
        )
    for name, column in zip(names, columns):
        require_plain(column, f"column {name!r} of a {name_of(table)}")


def require_exact(table: Any, array: Any) -> None:
    """Refuse the array that `__array__` made of a table of integers if it rounded some: int64 and uint64
    columns together become float64."""
    if not _is_table(table) or array.dtype.kind != "f" or not array.size:
        return
    packages = packages_of(type(table))
    if "pandas" in packages:
        integers = all(dtype.kind in "biu" for dtype in table.dtypes)
    elif "polars" in packages:
        integers = all(dtype.is_integer() for dtype in table.dtypes)
    elif "pyarrow" in packages:
        integers = all(map(sys.modules["pyarrow"].types.is_integer, table.schema.types))
    else:
        return
    if integers and bool((abs(array) >= 2**53).any()):
        raise UnsupportedError(
            f"a {name_of(table)} of signed and unsigned integers becomes {array.dtype}, which rounds "
            "some of them: cast the columns to one dtype, or export them one by one"
        )


def require_plain(column: Any, what: str) -> None:
    """Refuse a column of PyArrow or Polars that asarray would refuse, in one chunk or several.

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
    if hasattr(column, "get_chunks"):  # Polars
        plain = column.dtype.is_numeric() or str(column.dtype) == "Boolean"
        return (column.clear(),) if plain and not column.null_count() else column.get_chunks()
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
    copy, its dtype is from another library that may not support Arrow, it has several chunks, which
    only `__array__` joins, or it holds categories of numbers."""
    packages = packages_of(type(obj))
    if "xarray" in packages:
        return True
    if "pandas" not in packages:
        return False
    categories = getattr(obj.dtype, "categories", None)
    if categories is not None:
        return getattr(categories.dtype, "kind", "O") in "biufc"
    return package_of(type(obj.dtype)) != "pandas" or _is_in_chunks(obj)


def _is_in_chunks(column: Any) -> bool:
    """Whether a column of pandas holds PyArrow's numbers in several chunks with elements."""
    if type(column.dtype).__name__ != "ArrowDtype":
        return False
    chunked = column.array.__arrow_array__()
    types = sys.modules["pyarrow"].types
    return types.is_primitive(chunked.type) and sum(len(chunk) > 0 for chunk in chunked.chunks) > 1
