"""Refuses objects whose meaning would be lost if only their numbers were imported.

Nothing here imports a library: the library of an object at hand is imported already.
"""

from __future__ import annotations

import sys

from dlx._lib.classes import an, derives, has, is_torch_tensor, loaded, name_of, packages_of
from dlx._take.classify import GUARDED_PACKAGES, PROXIES
from dlx.dtypes import explain_numpy_dtype
from dlx.errors import UnsupportedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Callable


def guard(obj: Any, /) -> None:
    """Refuse an object whose meaning would be lost if only its numbers were imported.

    No flag forces the import: the message names the call that says what is dropped.

    Raises:
        UnsupportedError: masked entries, a unit, a sparse layout, a torch tensor without plain
            memory, a NumPy dtype that DLPack does not have, or a weak reference.
    """
    if type(obj) in PROXIES:
        raise UnsupportedError(
            "a weakref.proxy keeps no memory alive: pass the array that it stands for"
        )
    _guard_library(obj, _BY_PACKAGE)  # first: the calls for another dtype drop masks and units
    numpy = loaded("numpy")
    if numpy is not None and issubclass(type(obj), numpy.ndarray):
        dtype = numpy.ndarray.dtype.__get__(obj)  # a subclass's own may be anything
        problem = explain_numpy_dtype(dtype, obj)
        if problem is not None:
            raise UnsupportedError(problem)


def guard_losses(obj: Any) -> None:
    """As `guard`, for a caller that keeps every dtype (text, dates, records …)."""
    _guard_library(obj, _LOSSES_BY_PACKAGE)


def _guard_library(obj: Any, by_package: dict[str, Callable[[Any], None]]) -> None:
    # type() in place of isinstance(): proxies (wrapt, unittest.mock) report their target's class.
    if is_torch_tensor(type(obj)):
        from dlx._take import guard_torch

        guard_torch.guard(obj, sys.modules["torch"])
        return
    _guard_mask(obj)
    packages = packages_of(type(obj))
    for package, check in by_package.items():
        if package in packages:
            check(obj)
    numpy = loaded("numpy")
    if numpy is not None and issubclass(type(obj), numpy.ndarray):
        fields = numpy.ndarray.dtype.__get__(obj).names  # attributes of a recarray
        if fields is None and packages.isdisjoint(by_package):
            _guard_unit(obj)


def _guard_mask(obj: Any) -> None:
    """Masked entries in arrays of numpy.ma and astropy, also behind a proxy."""
    mask: Any = getattr(obj, "mask", None) if hasattr(obj.__class__, "mask") else None
    if not hasattr(mask, "any"):
        return
    if getattr(getattr(mask, "dtype", None), "names", None):
        mask = mask.ravel().view(bool)  # a mask of records: one bool per field
    fills = hasattr(obj, "filled")
    if (fills or derives(type(obj), "astropy", "NDData")) and bool(mask.any()):
        way = _first_of(obj, "unmasked", "data")
        if hasattr(getattr(obj, way, None), "filled"):
            way = "data.data"  # a column of astropy holds an array of numpy.ma
        fill = "call `.filled(value)` to replace them, or " if fills else ""
        raise UnsupportedError(
            f"{an(name_of(obj))} with {int(mask.sum())} masked entries would lose its mask: "
            f"{fill}export `.{way}` and `.mask` separately"
        )


def _guard_unit(obj: Any) -> None:
    """Quantities of astropy (`unit`), unyt and pint (`units`), and of other subclasses of ndarray.
    Dimensionless ones pass."""
    unit = getattr(obj, "units", None)  # before `unit`: pint's error for that prints the numbers
    if unit is None:
        unit = getattr(obj, "unit", None)
    if _is_pure(unit):
        return
    way = _first_of(obj, "magnitude", "value", "array", "data", "compute().value")
    via = f"to(unit).{way}", f"convert_unit_to(unit).{way}", "quantity.to(unit).value"
    _refuse_unit(obj, unit, way, _first_of(obj, *via, ""))


def _refuse_unit(obj: Any, unit: Any, way: str, converted: str) -> None:
    raise UnsupportedError(
        f"{an(name_of(obj))} in {unit} would lose its unit: export `.{way}`"
        + (f", or convert first with `.{converted}`" if converted else "")
    )


def _guard_astropy(obj: Any) -> None:
    """The unit; and the columns of a table or of a row, whose `__array__` drops their masks and units."""
    _guard_unit(obj)
    if derives(type(obj), "astropy", "Row"):
        columns = obj.table[obj.index : obj.index + 1].columns
    elif derives(type(obj), "astropy", "Table"):
        columns = obj.columns
    else:
        return
    for name, column in columns.items():
        try:
            guard_losses(column)
        except UnsupportedError as error:
            raise UnsupportedError(f"column {name!r} of {an(name_of(obj))}: {error}") from error


def _is_pure(unit: Any) -> bool:
    pure = ("", "1", "1.00e+00", "NoUnit()", "dimensionless", "no-dimension")
    return unit is None or str(unit) in pure


def _unit_in(attribute: str, way: str, converted: str = "") -> Callable[[Any], None]:
    """A guard for one library: the attribute with the unit, and the calls that give plain numbers."""

    def guard(obj: Any) -> None:
        unit = getattr(obj, attribute, None)
        if not _is_pure(unit):
            _refuse_unit(obj, unit, way, converted)

    return guard


def _first_of(obj: Any, *ways: str) -> str:
    """The first of some calls that an object has, else the last; for a message."""
    for way in ways[:-1]:
        if hasattr(obj, way.partition(".")[0].partition("(")[0]):
            return way
    return ways[-1]


def _guard_pint(obj: Any) -> None:
    """The unit; then the magnitude, which may be masked or sparse."""
    _guard_unit(obj)
    if has(type(obj), "magnitude"):
        guard(obj.magnitude)


def _guard_scipy(obj: Any) -> None:
    if not hasattr(obj, "nnz") or not hasattr(obj, "toarray"):
        return
    parts = [n for n in ("data", "indices", "indptr", "row", "col", "offsets") if hasattr(obj, n)]
    listed = ", ".join(f"`.{part}`" for part in parts)
    raise UnsupportedError(
        f"{an(name_of(obj))} is sparse: export its parts ({listed or '`.tocsr()` has them'}) one "
        "by one, or call `.toarray()` to make it dense"
    )


def _guard_pydata_sparse(obj: Any) -> None:
    if hasattr(obj, "todense"):
        parts = [name for name in ("coords", "indices", "indptr") if hasattr(obj, name)]
        listed = ", ".join(f"`.{part}`" for part in ("data", *parts))
        raise UnsupportedError(  # the `data` of a DOK is a dict
            f"{an(name_of(obj))} is sparse: export its parts "
            f"({listed if parts else '`.to_coo()` has them'}) one by one, or call `.todense()`"
        )


def _guard_paddle(obj: Any) -> None:
    if hasattr(obj, "is_sparse") and obj.is_sparse():
        raise UnsupportedError(
            f"a sparse {name_of(obj)} is not one block of memory: export `.values()` and "
            "`.indices()` (or `.crows()` and `.cols()`) one by one, or call `.to_dense()`"
        )


def _guard_pyarrow(obj: Any) -> None:
    if type(obj).__name__.startswith("Sparse"):  # these classes cannot be subclassed
        raise UnsupportedError(
            f"{an(name_of(obj))} is sparse: export the parts that `.to_numpy()` returns one by one, "
            "or call `.to_tensor()` to make it dense"
        )


def _guard_tensorflow(obj: Any, every_dtype: bool = False) -> None:
    """Sparse and ragged tensors, dtypes that are not numbers, and symbolic tensors."""
    if derives(type(obj), "tensorflow", "SparseTensor", "RaggedTensor"):
        ragged = hasattr(obj, "flat_values")
        parts = "`.flat_values`" if ragged else "`.values` and `.indices`"
        dense = "`.to_tensor()`" if ragged else "`tf.sparse.to_dense(x)`"
        raise UnsupportedError(
            f"{an(name_of(obj))} is not one block of memory: export {parts} one by one, or make it dense "
            f"with {dense}"
        )
    if every_dtype:
        return
    dtype = getattr(getattr(obj, "dtype", None), "name", "")
    if dtype in ("string", "resource", "variant"):
        raise UnsupportedError(
            f"{an(name_of(obj))} of dtype {dtype} does not hold numbers: "
            + (
                "decode it first, with tf.strings.to_number or tf.io.decode_raw"
                if dtype == "string"
                else "read what it stands for first"
            )
        )
    if dtype.startswith(("qint", "quint")):
        raise UnsupportedError(
            f"{an(name_of(obj))} of dtype {dtype} has no DLPack form: call `tf.bitcast(x, "
            f"tf.{dtype[1:]})` for its numbers, without their scale"
        )
    if dtype.startswith(("float8", "float4", "int2", "int4", "uint2", "uint4")):
        raise UnsupportedError(
            f"TensorFlow cannot export {an(name_of(obj))} of dtype {dtype}: pass `x.numpy()`"
        )
    if derives(type(obj), "tensorflow", "SymbolicTensor"):
        raise UnsupportedError(
            f"{an(name_of(obj))} has no data yet: convert outside the `tf.function`, or inside a "
            "`tf.py_function`"
        )


def _guard_jax(obj: Any, every_dtype: bool = False) -> None:
    """Tracers, sparse arrays, arrays without memory, and dtypes that JAX cannot export."""
    if derives(type(obj), "jax", "Tracer"):
        raise UnsupportedError(
            f"{an(name_of(obj))} has no data yet: convert outside the function that JAX transforms, "
            "or inside a `jax.pure_callback`"
        )
    if hasattr(obj, "todense"):
        names = ("data", "indices", "indptr", "row", "col")
        parts = ", ".join(f"`.{name}`" for name in names if hasattr(obj, name))
        raise UnsupportedError(
            f"{an(name_of(obj))} is sparse: export its parts ({parts}) one by one, or call `.todense()`"
        )
    if hasattr(obj, "is_deleted") and obj.is_deleted():
        raise UnsupportedError(
            f"{an(name_of(obj))} that has been deleted has no data: `.delete()` was called, or it was "
            "donated to a jitted function, whose result to use instead"
        )
    dtype = str(getattr(obj, "dtype", ""))
    if dtype in ("int2", "int4", "uint2", "uint4") and not every_dtype:
        raise UnsupportedError(
            f"JAX cannot export {an(name_of(obj))} of dtype {dtype}: call `.astype('{dtype[:-1]}8')`"
        )


def _guard_dask(obj: Any) -> None:
    """Chunks that would be refused, before anything is computed. The result is checked later."""
    if not hasattr(obj, "_meta"):
        return
    meta = type(obj._meta)
    if packages_of(meta) & GUARDED_PACKAGES or derives(meta, "numpy", "MaskedArray"):
        raise UnsupportedError(
            f"{an(name_of(obj))} with chunks of {meta.__module__}.{meta.__qualname__} would lose "
            "everything but their numbers: import `.compute()`"
        )


def _guard_pandas(obj: Any, every_dtype: bool = False) -> None:
    """Columns of extension types: `__array__` makes sparse ones dense and turns nulls into NaN."""
    if derives(type(obj), "pandas", "MultiIndex"):
        raise UnsupportedError(
            f"{an(name_of(obj))} has a column for each level: export them one by one, "
            "`.get_level_values(0)` and so on"
        )
    for where, at, column in _extension_columns(obj):
        what = f"{an(name_of(obj))} of dtype {column.dtype}{where}"
        parts = None if every_dtype else _parts_of(column, at)
        if parts is not None:
            raise UnsupportedError(f"{what} holds no plain numbers: export {parts}")
        if derives(type(column.dtype), "pandas", "SparseDtype"):
            way = _first_of(column, "sparse.to_dense", "to_dense", "array.to_dense")
            raise UnsupportedError(f"{what} is sparse: call `{at}.{way}()` to make it dense")
        if not _is_pure(getattr(column.dtype, "units", None)):  # pint_pandas
            way = _first_of(column, "quantity.magnitude", "array.quantity.magnitude")
            raise UnsupportedError(f"{what} would lose its unit: export `{at}.{way}`")
        if not _makes_numbers(column.dtype):
            if not every_dtype:
                _guard_arrow(column, what)
            continue
        # From the array inside: a Series is 20 times slower.
        nulls = int(getattr(column, "array", column).isna().sum())
        if nulls:
            raise UnsupportedError(
                f"{what} with {nulls} nulls would lose them: call `{at}.fillna(value)`, or "
                f"`{at}.to_numpy(dtype, na_value=value)`, to replace them, and export `{at}.isna()` "
                "separately"
            )


def _parts_of(column: Any, at: str) -> str | None:
    """The calls for the numbers in a column of pandas whose elements are not numbers; None for other
    columns. `at` is the expression for it, "" for the object itself."""
    dtype = type(column.dtype)
    inner = "array." if hasattr(column, "array") else ""
    if derives(dtype, "pandas", "CategoricalDtype") and not _makes_numbers(column.dtype):
        codes = "cat.codes" if hasattr(column, "cat") else "codes"
        return f"`{at}.{codes}` and the categories separately"
    if derives(dtype, "pandas", "IntervalDtype"):
        return f"`{at}.{inner}left` and `{at}.{inner}right`"
    if derives(dtype, "pandas", "DatetimeTZDtype", "PeriodDtype"):
        return f"`{at}.astype('int64')`, and keep the unit beside it"
    return None


def _extension_columns(obj: Any) -> Iterator[tuple[str, str, Any]]:
    """The columns of an object of pandas whose dtype is not NumPy's, each with its place, and the
    expression for it."""
    if derives(type(obj), "pandas", "DataFrame"):
        for i, (label, dtype) in enumerate(obj.dtypes.items()):
            if not _is_plain(dtype):
                by_label = isinstance(label, (str, int)) and obj.columns.is_unique
                at = f"x[{label!r}]" if by_label else f"x.iloc[:, {i}]"
                yield f" in column {label!r}", at, obj.iloc[:, i]
    elif hasattr(obj, "isna") and not _is_plain(obj.dtype):
        yield "", "", obj


def _is_plain(dtype: Any) -> bool:
    """Whether a dtype is NumPy's, bare or in pandas' wrapper; a NaN is a number there."""
    plain = sys.modules["numpy"].dtype
    return isinstance(dtype, plain) or derives(type(dtype), "pandas", "NumpyEADtype", "PandasDtype")


def _guard_arrow(column: Any, what: str) -> None:
    """Arrow's dictionaries and extension types, which pandas would turn into numbers."""
    if derives(type(column.dtype), "pandas", "ArrowDtype"):
        from dlx._take import arrow

        arrow.require_plain(getattr(column, "array", column).__arrow_array__(), what)


def _makes_numbers(dtype: Any) -> bool:
    """Whether a dtype of pandas describes numbers."""
    categories = getattr(dtype, "categories", None)
    return (dtype if categories is None else categories.dtype).kind in "biufc"


_BY_PACKAGE: dict[str, Callable[[Any], None]] = {
    "scipy": _guard_scipy,
    "sparse": _guard_pydata_sparse,
    "paddle": _guard_paddle,
    "pyarrow": _guard_pyarrow,
    "tensorflow": _guard_tensorflow,
    "jax": _guard_jax,
    "jaxlib": _guard_jax,
    "dask": _guard_dask,
    "pandas": _guard_pandas,
    "astropy": _guard_astropy,
    "unyt": _guard_unit,
    "pint": _guard_pint,
    "brian2": _unit_in("dim", "view(numpy.ndarray)"),
    "openmm": _unit_in("unit", "value_in_unit(unit)"),
    "physipy": _unit_in("dimension", "value"),
    "pynbody": _unit_in("units", "view(numpy.ndarray)", "in_units(unit).view(numpy.ndarray)"),
    "quantities": _unit_in("dimensionality", "magnitude", "rescale(unit).magnitude"),
}
# For callers that keep every dtype: the same without the refusals of dtypes.
_LOSSES_BY_PACKAGE: dict[str, Callable[[Any], None]] = {
    **_BY_PACKAGE,
    "tensorflow": lambda obj: _guard_tensorflow(obj, every_dtype=True),
    "jax": lambda obj: _guard_jax(obj, every_dtype=True),
    "jaxlib": lambda obj: _guard_jax(obj, every_dtype=True),
    "pandas": lambda obj: _guard_pandas(obj, every_dtype=True),
}
