"""The operands that a Tensor computes with, and the search for Tensors in arguments."""

from __future__ import annotations

import numpy

from dlx import _native
from dlx._lib.classes import an, has

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

_PLAIN = frozenset({_native.Tensor, numpy.ndarray, bool, int, float, complex})
PLAIN_OR_NONE = _PLAIN | {str, type(None)}
# NumPy's classes that hold an array, which may be a quantity.
_CARRIERS: dict[type, Callable[[Any], Any]] = {
    numpy.poly1d: lambda polynomial: polynomial.coeffs,
    numpy.flatiter: lambda iterator: iterator.base,
}
# NumPy reads objects with one of these as arrays, and drops everything but the numbers.
_PROTOCOLS = (
    "__array__",
    "__array_interface__",
    "__array_struct__",
    "__array_ufunc__",
    "__array_function__",
    "__cuda_array_interface__",
    "__dlpack__",
)


def is_operand(value: object) -> bool:
    """Whether a Tensor computes with `value`, instead of leaving that to `value`."""
    cls = type(value)
    if cls in _PLAIN or isinstance(value, numpy.generic):
        return True
    # Subclasses of numbers (IntEnum) are operands, unless they have their own arithmetic.
    return isinstance(value, (int, float, complex)) and not hasattr(cls, "__array_ufunc__")


def strangers_in(value: Any) -> Iterable[Any]:
    """The arrays in nested lists, tuples and dicts that are not operands: masked arrays, quantities,
    arrays of other libraries."""
    if isinstance(value, (list, tuple)):
        for item in value:
            if type(item) not in PLAIN_OR_NONE:
                yield from strangers_in(item)
    elif type(value) is dict:
        yield from strangers_in(list(value.values()))
    elif type(value) in _CARRIERS:
        yield from strangers_in(_CARRIERS[type(value)](value))
    elif not is_operand(value) and any(has(type(value), name) for name in _PROTOCOLS):
        yield value


def has_strangers(value: Any) -> bool:
    return any(True for _ in strangers_in(value))


def refuse_strangers(func: Callable[..., Any], arguments: list[Any]) -> None:
    """Raise TypeError for arrays that are not operands, as NumPy does if no operand can take the others.
    NumPy itself sees ndarrays in place of the Tensors, and would accept every array."""
    for stranger in strangers_in(arguments):
        cls = type(stranger)
        raise TypeError(
            f"{getattr(func, '__name__', func)}: {an(cls.__module__)}.{cls.__qualname__} is not an "
            "operand of a Tensor: pass dlx.asarray(x), which says what would be lost, or call the "
            "function of its own library"
        )


def tensors_in(value: Any) -> Iterable[Any]:
    """The Tensors in nested lists, tuples and dicts."""
    cls = type(value)
    if cls is _native.Tensor:
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            if type(item) is _native.Tensor:
                yield item
            elif isinstance(item, (list, tuple, dict)):  # a generator for each number would be slow
                yield from tensors_in(item)
    elif cls is dict:
        yield from tensors_in(list(value.values()))


def unwrap_items(value: list[Any] | tuple[Any, ...], unwrap: Callable[[Any], Any]) -> Any:
    """A list or tuple with unwrap(item) for each item; plain, because NumPy takes no named tuples."""
    items = [unwrap(item) for item in value]
    return items if isinstance(value, list) else tuple(items)
