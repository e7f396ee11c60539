"""What makes numbers of NumPy's arrays of Python objects, for messages."""

from __future__ import annotations

import numbers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_ENOUGH = 1000  # items of an array tell what it holds


def way_of_objects(array: Any) -> str:
    """The call for an array of Python objects, or for a wrapper of one, by its first items."""
    import numpy

    found = None if array is None else numpy.asarray(array)
    if found is None or found.dtype != object:
        return "make numbers of them first"
    items = found.ravel()[:_ENOUGH].tolist()
    if items and all(isinstance(item, (numbers.Number, numpy.bool_, type(None))) for item in items):
        real = all(
            item is None or not isinstance(item, (complex, numpy.complexfloating)) for item in items
        )
        dtype = "float64" if real else "complex128"
        return f"use `numpy.asarray(x).astype('{dtype}')` or another dtype that fits"
    shapes = {_shape_of(item) for item in items}
    if found.ndim == 1 and len(shapes) == 1 and shapes.isdisjoint({None, ()}):
        return "they are arrays of one shape: use `numpy.stack(list(x))`"
    kinds = ", ".join(sorted({type(item).__name__ for item in items})[:3])
    return f"make numbers of them first (got {kinds or 'no items'})"


def _shape_of(item: Any) -> Any:
    """The shape of an array or a list of numbers; else None."""
    import numpy

    try:
        found = numpy.asarray(item)
    except Exception:  # a ragged list
        return None
    return found.shape if found.dtype.kind in "biufc" else None
