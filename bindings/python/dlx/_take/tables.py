"""Tables: joins columns of numbers in one Tensor of shape (rows, columns).

Each column is imported separately, so that errors name the column, and converted to the dtype that the
caller asked for; otherwise NumPy's rules of promotion give the common dtype. Tables of PyArrow and Polars,
relations of DuckDB and other Arrow streams of structs are read natively (src/arrow/array_stream.h);
columns of pandas come through `asarray`.
"""

from __future__ import annotations

from dlx import _native, dtypes
from dlx._access import code_of
from dlx._lib.classes import an, loaded, name_of
from dlx._lib.constants import THE_CPU
from dlx.errors import CopyRefusedError, Error, UnavailableError, UnsupportedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dlx._native import Tensor
    from dlx.dtypes import DTypeCode

    Columns = Sequence[tuple[str, Tensor]]

_EXACT_IN_FLOAT64 = 2**53


def from_pandas(
    frame: Any, copy: bool | None, code: DTypeCode | None
) -> tuple[Tensor | None, bool]:
    """The Tensor of a DataFrame, and whether its memory is a new copy. The Tensor is None if `__array__`
    suffices, because NumPy has the common dtype of the columns."""
    found = set(frame.dtypes)
    kinds = {_kind(dtype) for dtype in found}
    if code is None or len(found) == 1:
        # "i" beside "u" may be rounded.
        if any(kinds <= set(plain) for plain in ("ifc", "ufc", "b")):
            return None, False
        if len(found) == 1 and not kinds <= set("OSUTMm") | {""}:  # one dtype of ml_dtypes
            return None, False
    columns = [_column(frame, i, copy, code) for i in range(frame.shape[1])]
    return join(columns, copy, code)


def _kind(dtype: Any) -> str:
    """The kind of a NumPy dtype; "" for a dtype of another library."""
    numpy = loaded("numpy")
    return dtype.kind if numpy is not None and isinstance(dtype, numpy.dtype) else ""


def _column(
    frame: Any, index: int, copy: bool | None, code: DTypeCode | None
) -> tuple[str, Tensor]:
    name = str(frame.columns[index])
    try:
        return name, _native.asarray(frame.iloc[:, index], dtype=code, copy=None if copy else copy)
    except Error as error:
        raise type(error)(f"column {name!r} of {an(name_of(frame))}: {error}") from error


def join(columns: Columns, copy: bool | None, code: DTypeCode | None = None) -> tuple[Tensor, bool]:
    """The columns in one Tensor, of dtype `code` or else their common one, and whether it is a new copy.

    A single column is shared. Several are always copied, even if they are adjacent in memory: sharing
    must not depend on the allocator.

    Raises:
        CopyRefusedError: `copy` is False, but there are several columns.
        UnsupportedError: a column of lists, no columns, or integers that promotion would round.
    """
    if not columns:
        raise UnsupportedError("a table without columns has no dtype: select a column first")
    for name, column in columns:
        if column.ndim != 1:
            raise UnsupportedError(
                f"column {name!r} holds lists (of shape {column.shape[1:]} each): export the columns one by "
                "one"
            )
    tensors = [column for _, column in columns]
    if len(tensors) == 1 and not copy:  # the caller converts it
        return tensors[0][:, None], False
    if code is None:
        code = _common_dtype(columns)
    if copy is False:
        raise CopyRefusedError(
            f"joining the {len(tensors)} columns of a table needs a copy, and copy=False forbids it: "
            "export the columns one by one"
        )
    rows = tensors[0].shape[0]
    table = _native._empty((len(tensors), rows), code, THE_CPU)
    for i, (name, tensor) in enumerate(columns):
        try:
            _native.copyto(table[i], _native.asarray(tensor, dtype=code))
        except Error as error:
            raise type(error)(f"column {name!r}: {error}") from error
    return table.permute_dims((1, 0)), True


def _common_dtype(columns: Columns) -> DTypeCode:
    codes = {code_of(column) for _, column in columns}
    if len(codes) == 1:
        return codes.pop()
    try:
        import numpy
    except ImportError:
        raise UnavailableError(
            "columns of several dtypes need NumPy, which is not installed, for the common dtype: cast the "
            "columns to one dtype first"
        ) from None
    known = [dtypes.numpy_dtype(code, extended=True) for code in codes]
    try:
        if any(dtype is None for dtype in known):  # int128 … NumPy would take it for float64
            raise TypeError("NumPy lacks one of the dtypes")
        common = dtypes.dtype_code(numpy.result_type(*known))
    except TypeError as error:
        names = ", ".join(sorted(map(dtypes.make_name, codes)))
        raise UnsupportedError(
            f"columns of {names} have no common dtype: cast them to one dtype, or export them one by one"
        ) from error
    if common[0] == dtypes.FLOAT and all(
        code[0] in (dtypes.INT, dtypes.UINT, dtypes.BOOL) for code in codes
    ):
        _require_exact(columns, dtypes.make_name(common))
    return common


def _require_exact(columns: Columns, common: str) -> None:
    """Refuse columns of int64 and uint64 with values that float64, their common dtype, cannot hold."""
    for name, column in columns:
        values = column.numpy()
        if not values.size or values.dtype.itemsize < 8:
            continue
        if int(values.max()) > _EXACT_IN_FLOAT64 or int(values.min()) < -_EXACT_IN_FLOAT64:
            raise UnsupportedError(
                f"a table of signed and unsigned integers becomes {common}, which rounds some of column "
                f"{name!r}: cast the columns to one dtype, or export them one by one"
            )
