"""What the errors of dlx advise works: no call that a message names raises on the very object.

A call is code between backticks: "`.call()`" is one of the object, others name it `x`. Advice "in PyArrow"
or "in Polars" is for objects of that library. `value`, `unit`, `size`, `type`, `shape` stand for the user's.
"""

from __future__ import annotations

import importlib
import re
import warnings

import arrays
import pytest
import refused

import dlx

# The function of refused.py, and the module that it needs.
LIBRARIES = {
    "numpy": "numpy", "python": "numpy", "pandas": "pandas", "pyarrow": "pyarrow", "polars": "polars",
    "narwhals": "narwhals", "torch": "torch", "jax": "jax", "tensorflow": "tensorflow", "scipy": "scipy",
    "sparse": "sparse", "astropy": "astropy", "pint": "pint", "unyt": "unyt", "xarray": "xarray",
    "dask": "dask", "awkward": "awkward", "h5py": "h5py", "zarr": "zarr", "pillow": "PIL",
    "warp": "warp", "nanoarrow": "nanoarrow", "duckdb": "duckdb", "mlx": "mlx",
}  # fmt: skip
CALLS = {
    "asarray": dlx.asarray,
    "asarray, copy=False": lambda x: dlx.asarray(x, copy=False),
    "asarray, dtype": lambda x: dlx.asarray(x, dtype="float64"),
    "copyto": lambda x: dlx.copyto(dlx.empty(2, dtype="float64"), x),
    "share": dlx.share,
    "numpy": lambda x: dlx.convert(x, "numpy"),
    "torch": lambda x: dlx.convert(x, "torch", copy=False),
    "pyarrow": lambda x: dlx.convert(x, "pyarrow"),
    "pandas": lambda x: dlx.convert(x, "pandas"),
}
MODULES = {"numpy": "numpy", "pyarrow": "pyarrow", "pa": "pyarrow", "polars": "polars", "pl": "polars",
           "tf": "tensorflow", "torch": "torch", "jax": "jax", "dlx": "dlx"}  # fmt: skip
VALUES = (0, 1, True, "a", "")  # categories take only one of theirs

_CALL = re.compile(r"`((?:\.|x\b|numpy\.|pyarrow\.|polars\.|pl\.|tf\.|torch\.|jax\.|dlx\.)[^`]*)`")
_OF_A_LIBRARY = re.compile(r"in (PyArrow|Polars): ((?:`[^`]*`(?:, | or | and )?)+)")


def inner_object(message, x):
    """The object that the rest of a message is about: inside a wrapper, at an index, or a column."""
    found = re.search(r"(?:^|: )`(x\.\w+(?:\(\))?)` of an? ", message)
    if found:
        x, message = eval(found[1], {"x": x}), message[: found.start()] + message[found.end() :]
    found = re.search(r"`obj`((?:\[\d+\])+): ", message)
    if found:
        return message[found.end() :], eval("x" + found[1], {"x": x})
    found = re.search(r"(?:^|: )column '([^']*)'", message)  # else the calls name the column
    if found and hasattr(x, "to_arrow_table"):  # a relation of DuckDB
        x = x.to_arrow_table()
    if found and hasattr(x, "columns"):
        names = list(getattr(x, "column_names", x.columns))
        last = len(names) - 1 - [str(name) for name in names][::-1].index(found[1])
        if hasattr(x, "column"):  # PyArrow
            x = x.column(last)
        elif type(x).__module__.startswith("pandas"):  # names may repeat
            x = x.iloc[:, last]
        else:
            x = x[names[last]]
    return message, x


def advised(message, x):
    """The expressions in a message, for an object called `x`."""
    library = type(x).__module__.partition(".")[0]
    message = _OF_A_LIBRARY.sub(
        lambda found: found[0] if found[1].lower() == library else "", message
    )
    for found in _CALL.finditer(message):
        yield "x" + found[1] if found[1].startswith(".") else found[1]


def run(expression, x):
    """The error of the expression, or None."""
    names = {name: importlib.import_module(module) for name, module in MODULES.items()
             if re.search(rf"\b{name}\.", expression)}  # fmt: skip
    for submodule in ("pyarrow.compute", "numpy.lib.recfunctions"):
        if submodule in expression:
            importlib.import_module(submodule)
    if "pa." in expression:
        names["type"] = names["pa"].int64()
    names["unit"] = getattr(x, "unit", None) or getattr(x, "units", None)
    problem = None
    for value in VALUES:
        for size in (2, 1):
            given = {"x": x, "value": value, "size": size, "shape": (1,), "dtype": "float64"}
            try:
                eval(expression, {**names, **given})
            except Exception as error:
                problem = error
            else:
                return None
    return problem


def advice_that_fails(label, x):
    """A line for each call that a message names and that raises."""
    tried = set()
    for call in CALLS.values():
        try:
            call(x)
        except dlx.Error as error:
            message, subject = inner_object(str(error), x)
        except Exception:  # of the object's own library
            continue
        else:
            continue
        for expression in advised(message, subject):
            if expression in tried:
                continue
            tried.add(expression)
            problem = run(expression, subject)
            if problem is not None:
                yield f"{label}: {expression} raises {problem!r:.100}; from {message:.200}"


@pytest.mark.parametrize("library", LIBRARIES)
def test_every_call_that_a_message_names_works(library):
    if arrays.REQUIRED == "numpy2":
        importlib.import_module(LIBRARIES[library])
    else:
        pytest.importorskip(LIBRARIES[library])
    if library in ("dask", "xarray", "narwhals"):  # which wrap arrays of other libraries
        pytest.importorskip("polars", reason="inside of some of these objects")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        objects = {label: make() for label, make in getattr(refused, f"of_{library}")().items()}
        failures = [line for label, x in objects.items() for line in advice_that_fails(label, x)]

    assert failures == []


def test_the_calls_in_a_message_are_found():
    message = (
        "column 'a': use `.cast(1)` (in Polars: `.f()`, in PyArrow: `.g(h(x))`), `numpy.stack(x)`"
    )

    assert list(advised(message, [])) == ["x.cast(1)", "numpy.stack(x)"]
    assert list(advised("`obj`[0]: the `dtype` of `__array__`", [])) == []
    assert inner_object("`obj`[1][0]: bad", [[1], [2]]) == ("bad", 2)
    assert inner_object("asarray: `x.real` of an int: bad", 3)[1] == 3
