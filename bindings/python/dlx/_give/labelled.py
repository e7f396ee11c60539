"""Objects of pandas, xarray and PyArrow that say more than their numbers: labels, units, nulls, text.

Where `dlx.convert` meets one that is the target library's own already, it hands back the object, or,
with `copy=True`, a copy made by the library itself, so that nothing of it is lost.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

# Classes (module.qualname) that count with all that derive from them.
PANDAS = (
    "pandas.Series pandas.DataFrame pandas.Index pandas.api.extensions.ExtensionArray "
    # before pandas 3
    "pandas.core.series.Series pandas.core.frame.DataFrame pandas.core.indexes.base.Index "
    "pandas.core.arrays.base.ExtensionArray"
)
XARRAY = (
    "xarray.core.dataarray.DataArray xarray.core.variable.Variable xarray.core.dataset.Dataset "
    "xarray.core.datatree.DataTree xarray.namedarray.core.NamedArray"
)
PYARROW = (
    "pyarrow.lib.Array pyarrow.lib.ChunkedArray pyarrow.lib.RecordBatch pyarrow.lib.Table "
    "pyarrow.lib.Tensor"
)


def copy_pandas(module: ModuleType, x: Any) -> Any:
    """A copy with its own memory; an ExtensionArray's method has no `deep`."""
    if isinstance(x, module.api.extensions.ExtensionArray):
        return x.copy()
    return x.copy(deep=True)


def copy_xarray(module: ModuleType, x: Any) -> Any:
    """A copy with its own memory, labels and attributes included."""
    return x.copy(deep=True)


def copy_arrow(module: ModuleType, x: Any) -> Any:
    """A copy with its own memory; None for what is numbers only."""
    if isinstance(x, module.Array):
        # One array alone would be shared; this copies a slice, and not what it is a slice of.
        return module.concat_arrays([x, x.slice(0, 0)])
    if isinstance(x, module.ChunkedArray):
        return module.chunked_array([copy_arrow(module, chunk) for chunk in x.chunks], x.type)
    if isinstance(x, module.Tensor) and x.dim_names:
        return module.Tensor.from_numpy(x.to_numpy().copy("K"), dim_names=x.dim_names)
    if isinstance(x, (module.RecordBatch, module.Table)):
        if not x.num_columns:
            return x  # no memory to copy, and without columns it could not be told its rows
        columns = [copy_arrow(module, column) for column in x.columns]
        return type(x).from_arrays(columns, schema=x.schema)
    return None
