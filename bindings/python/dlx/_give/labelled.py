"""Objects of pandas, xarray, PyArrow, Polars and DuckDB, which may have labels, units, nulls and text.

If such an object belongs to the target library already, `dlx.convert` returns the object itself, or
with `copy=True` a copy made by the library, so that nothing is lost.
"""

from __future__ import annotations

import pickle

from dlx.errors import UnsupportedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

# Classes (module.qualname); their subclasses count too.
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

POLARS = "polars.series.series.Series polars.dataframe.frame.DataFrame"


def copy_pandas(module: ModuleType, x: Any) -> Any:
    """A copy with its own memory. ExtensionArray.copy does not take `deep`."""
    if isinstance(x, module.api.extensions.ExtensionArray):
        return x.copy()
    return x.copy(deep=True)


def copy_xarray(module: ModuleType, x: Any) -> Any:
    """A copy with its own memory, including labels and attributes."""
    return x.copy(deep=True)


def copy_arrow(module: ModuleType, x: Any) -> Any:
    """A copy with its own memory; None if the object has only numbers."""
    if isinstance(x, module.Array):
        # A single array would be shared; two are copied. Of a slice only its own elements are copied.
        return module.concat_arrays([x, x.slice(0, 0)])
    if isinstance(x, module.ChunkedArray):
        return module.chunked_array([copy_arrow(module, chunk) for chunk in x.chunks], x.type)
    if isinstance(x, module.Tensor) and x.dim_names:
        return module.Tensor.from_numpy(x.to_numpy().copy("K"), dim_names=x.dim_names)
    if isinstance(x, (module.RecordBatch, module.Table)):
        if not x.num_columns:
            return x  # nothing to copy, and the number of rows would be lost
        columns = [copy_arrow(module, column) for column in x.columns]
        return type(x).from_arrays(columns, schema=x.schema)
    return None


def copy_polars(module: ModuleType, x: Any) -> Any:
    """A copy with its own memory. `clone` shares it, because Polars never writes to it."""
    return pickle.loads(pickle.dumps(x, pickle.HIGHEST_PROTOCOL))


def copy_duckdb(module: ModuleType, x: Any) -> Any:
    """The rows of a relation, which is a query, in memory of their own."""
    if not hasattr(x, "materialize"):
        raise UnsupportedError(
            "convert: a relation is a query, and before DuckDB 2 it cannot keep its rows: call "
            "`.create(name)` for a table of them"
        )
    return x.materialize()
