"""The operators of `dlx.Tensor`, and its methods for protocols of Python and other libraries.

This module is loaded with the package and has only names and signatures. The work is in `_compute`,
`_pickling` and `repr`, which the first use imports.
"""

from __future__ import annotations

import operator

from dlx import _native
from dlx._lib.constants import CPU
from dlx.errors import UnavailableError, UnsupportedError, brief

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dlx._native import Tensor

_BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul")
_BITWISE = ("and", "or", "xor", "lshift", "rshift")
_COMPARISONS = ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__")
# Methods and attributes of ndarray that code for duck arrays (dask, xarray) uses; NumPy has a function
# of the same name for each.
_FUNCTIONS = ("all", "any", "argmax", "argmin", "argsort", "clip", "conj", "conjugate", "cumprod",
              "cumsum", "max", "mean", "min", "nonzero", "prod", "ravel", "round", "searchsorted", "std",
              "sum", "swapaxes", "take", "var")  # fmt: skip
_ATTRIBUTES = ("imag", "real")
_UNARY = ("__neg__", "__pos__", "__abs__", "__invert__")
# Lower than the priority of every container of arrays (xarray, dask, numpy.ma, astropy …).
_PRIORITY = 5.0

_module: Any = None
_operate = _native._operate


def load() -> Any:
    """Module by_numpy. Raises UnavailableError if NumPy is not installed."""
    global _module
    if _module is None:
        try:
            import numpy  # noqa: F401  # if it is missing, the error says so
        except ModuleNotFoundError:
            raise UnavailableError("a Tensor computes with NumPy, which is not installed") from None
        from dlx._compute import by_numpy as module

        _module = module
    return _module


def _binary(function: Callable[..., Any], reflected: bool) -> Callable[[Tensor, Any], Any]:
    def method(self: Tensor, other: Any) -> Any:
        result = _operate(function, self, other, reflected)
        if result is None:
            result = (_module or load()).binary(self, other, function, reflected)
        return result

    return method


def _divmod(reflected: bool) -> Callable[[Tensor, Any], Any]:
    def method(self: Tensor, other: Any) -> Any:
        return (_module or load()).binary(self, other, divmod, reflected)

    return method


def _comparison(function: Callable[..., Any]) -> Callable[[Tensor, Any], Any]:
    def method(self: Tensor, other: Any) -> Any:
        result = _operate(function, self, other, False)
        if result is not None:
            return result
        if other is None:
            return NotImplemented
        try:
            module = _module or load()
        except (
            UnavailableError
        ):  # an object that is not an operand is unequal, with or without NumPy
            if isinstance(other, (int, float, complex, type(self))):
                raise
            return NotImplemented
        return module.binary(self, other, function, False)

    return method


def _in_place(function: Callable[..., Any]) -> Callable[[Tensor, Any], Any]:
    def method(self: Tensor, other: Any) -> Any:
        return (_module or load()).in_place(self, other, function)

    return method


def _unary(function: Callable[..., Any]) -> Callable[[Tensor], Any]:
    def method(self: Tensor) -> Any:
        result = _operate(function, self)
        return (_module or load()).unary(self, function) if result is None else result

    return method


def _function(name: str) -> Callable[..., Any]:
    def method(self: Tensor, /, *args: Any, **kwargs: Any) -> Any:
        try:
            return (_module or load()).method(self, name, args, kwargs)
        except Exception as error:
            raise brief(error)  # noqa: B904

    result = "a tuple of Tensors" if name == "nonzero" else "a Tensor, or `out`"
    method.__doc__ = f"""`numpy.{name}` of the Tensor, with the same arguments: {result}.

    Raises:
        TypeError: arrays of another library among the arguments, or a TypeError of NumPy's.
        ValueError: a wrong value, such as an axis that the Tensor does not have.
        BufferError: neither NumPy nor ml_dtypes has the dtype, or no library computes on the device
            (`UnsupportedError`).
        RuntimeError: NumPy, or the library that computes on a GPU, is not installed
            (`UnavailableError`).
    """
    return method


def _attribute(name: str) -> property:
    function = _function(name)
    function.__doc__ = f"`numpy.{name}` of the Tensor: a Tensor. Raises as `sum` does."
    return property(function)


def _astype(self: Tensor, /, dtype: Any, **kwargs: Any) -> Any:
    """The elements as another dtype, by NumPy's rules and with its arguments: a copy, or with
    `copy=False` the same memory if the dtype is the same. The result is an ndarray if a Tensor cannot
    hold the dtype (text, objects, dates).

    Raises:
        TypeError: not a dtype of NumPy or ml_dtypes, or a cast that `casting` forbids.
        BufferError: the new dtype would drop the imaginary part (bfloat16 and other types of
            ml_dtypes), neither NumPy nor ml_dtypes has the Tensor's dtype, or no library computes on
            the device (`UnsupportedError`).
        RuntimeError: NumPy, or the library that computes on a GPU, is not installed
            (`UnavailableError`).
    """
    try:
        return load().astype(self, dtype, kwargs)
    except Exception as error:
        raise brief(error)  # noqa: B904


def _fill(self: Tensor, value: Any) -> None:
    """Sets every element: `self[...] = value`. Raises what that raises."""
    self[...] = value


def _array_ufunc(self: Tensor, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """A universal function of NumPy, or a method of one, on Tensors (NEP 13)."""
    if method == "__call__" and not kwargs and ufunc.nout == 1 and ufunc.nin == len(inputs) <= 2:
        result = _operate(ufunc, *inputs, *(False,) * (ufunc.nin - 1))
        if result is not None:
            return result
    try:
        return load().array_ufunc(self, ufunc, method, *inputs, **kwargs)
    except Exception as error:
        raise brief(error)  # noqa: B904


def _array_function(self: Tensor, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """Another function of NumPy on Tensors (NEP 18)."""
    try:
        return load().array_function(self, func, types, args, kwargs)
    except Exception as error:
        raise brief(error)  # noqa: B904


def _array_wrap(
    self: Tensor, array: Any, context: Any = None, return_scalar: bool = False, /
) -> Any:
    """A Tensor of an array that NumPy computed from this Tensor."""
    return load().wrap(array)


def _array_namespace(self: Tensor, /, *, api_version: str | None = None) -> Any:
    """The module `dlx.xp`, whose functions take and return Tensors.

    Args:
        api_version: the version of the array API standard that it has to follow; None for any.

    Raises:
        ValueError: `dlx.xp` does not follow `api_version` (`InvalidArgumentError`).

    Source: array API standard 2025.12, `array.__array_namespace__`.
    """
    load().require_tensor(self)
    from dlx import xp

    xp.require_version(api_version)
    return xp


def _contains(self: Tensor, value: object) -> bool:
    """Whether an element equals `value`: `(self == value).any()`, as in NumPy."""
    if value is None:
        return False
    found: bool = load().contains(self, value)
    return found


def _format(self: Tensor, spec: str) -> str:
    """A 0-d tensor formats as its number. Other tensors have only the plain format, and so have elements
    that the CPU cannot read or Python has no number for."""
    if self.ndim == 0 and (spec or self.device.device_type == CPU):
        try:
            return format(self.item(), spec)
        except UnsupportedError:
            if spec:
                raise
    if spec:
        raise TypeError(
            f"a format such as {spec!r} is for one number, but the Tensor has shape {self.shape}: "
            "format `t.tolist()` item by item"
        )
    return str(self)


def _reduce_ex(self: Tensor, protocol: Any, /) -> tuple[Any, ...]:
    """Pickling; with protocol 5 the data goes out of band (PEP 574)."""
    from dlx import _pickling

    return _pickling.reduce(self, protocol)


def _dask_tokenize(self: Tensor) -> tuple[Any, ...]:
    """dask's token for equal data: dtype, shape and a hash of the bytes."""
    from dlx._compute import for_dask

    return for_dask.token(self)


def _repr_html(self: Tensor) -> str:
    """For notebooks: the facts of `repr`, and the values of up to two axes as a table."""
    from dlx._tensor import repr

    return repr.render_html(self)


def members() -> dict[str, Any]:
    """The members that this module adds to the class, by name."""
    found: dict[str, Any] = {}
    for name in _BINARY + _BITWISE:
        function = getattr(operator, f"__{name}__")
        found[f"__{name}__"] = _binary(function, False)
        found[f"__r{name}__"] = _binary(function, True)
        found[f"__i{name}__"] = _in_place(getattr(operator, f"__i{name}__"))
    found["__divmod__"] = _divmod(reflected=False)
    found["__rdivmod__"] = _divmod(reflected=True)
    found.update((name, _comparison(getattr(operator, name))) for name in _COMPARISONS)
    found.update((name, _unary(getattr(operator, name))) for name in _UNARY)
    found.update((name, _function(name)) for name in _FUNCTIONS)
    found.update((name, _attribute(name)) for name in _ATTRIBUTES)
    found.update(
        astype=_astype,
        fill=_fill,
        __dask_tokenize__=_dask_tokenize,
        __array_ufunc__=_array_ufunc,
        __array_function__=_array_function,
        __array_wrap__=_array_wrap,
        __array_namespace__=_array_namespace,
        __contains__=_contains,
        __format__=_format,
        __reduce_ex__=_reduce_ex,
        _repr_html_=_repr_html,
    )
    return found


def add_operators(cls: Any) -> None:
    """Give the class its operators. `==` compares elements, so a Tensor is not hashable."""
    for name, member in members().items():
        method: Any = member.fget if isinstance(member, property) else member
        method.__name__ = name
        method.__qualname__ = f"Tensor.{name}"
        method.__module__ = cls.__module__  # pickle finds it by these
        if method.__doc__ is None:
            method.__doc__ = f"`numpy.ndarray.{name}`: a Tensor, or the other operand's result."
        setattr(cls, name, member)
    cls.__array_priority__ = _PRIORITY
    cls.__hash__ = None
