"""Computing with Tensors: operators, NumPy's functions, and keys that native indexing does not take.

NumPy computes on the CPU, and module `on_device` on other devices. Operands are passed as views of
their memory and results become Tensors, so `numpy.exp(t)` is a Tensor and `out=t` writes into its
memory.

Operands are Tensors, ndarrays of exactly that class, and scalars of NumPy and Python. For all other
objects, subclasses of ndarray included, the result is NotImplemented: a masked array or a quantity can
take a Tensor, while a Tensor would drop their mask or unit.
"""

from __future__ import annotations

import functools
import operator

import numpy

from dlx import _native, dtypes
from dlx._access import is_packed, padded, whole
from dlx._compute import for_dask, numpy_dtypes
from dlx._compute.numpy_dtypes import USUAL
from dlx._compute.operands import (
    PLAIN_OR_NONE,
    has_strangers,
    is_operand,
    refuse_strangers,
    strangers_in,
    tensors_in,
    unwrap_items,
)
from dlx._lib.classes import an
from dlx._lib.constants import HOSTS
from dlx._take import guards
from dlx.errors import (
    DeviceRefusedError,
    InvalidArgumentError,
    ReadOnlyError,
    UnsupportedError,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from dlx._native import Tensor

_Tensor = _native.Tensor
_ndarray = numpy.ndarray
_ARRAYS = frozenset({_Tensor, _ndarray})
# Functions that write into their first argument, and its name.
_WRITERS: dict[Any, str] = {
    numpy.copyto: "dst",
    numpy.fill_diagonal: "a",
    numpy.place: "arr",
    numpy.put: "a",
    numpy.put_along_axis: "arr",
    numpy.putmask: "a",
}
# The ndarray method of the same name does the same as the function, and faster. (`conj` would return
# its own memory, and `clip` without a bound would be an error.)
_AS_METHODS = frozenset(
    "all any argmax argmin argsort cumprod cumsum max mean min prod ravel round std sum var".split()
)
_AS_METHODS_WITH = frozenset(("axis", "ddof", "dtype", "keepdims"))
_SIMPLE = PLAIN_OR_NONE - {_Tensor, _ndarray}


def on_host(values: Iterable[Any]) -> bool:
    """Whether NumPy can compute with all Tensors among `values`, pinned ones included."""
    for value in values:  # a generator takes longer
        if type(value) is _Tensor and value.device.device_type not in HOSTS:
            return False
    return True


def wrap(result: Any) -> Any:
    """A result with Tensors in place of its plain arrays and NumPy scalars.

    Lists and (named) tuples keep their types. Arrays of objects, text and dates stay, and so do
    subclasses of ndarray.
    """
    cls = type(result)
    if cls is _ndarray:
        return result if _stays(result.dtype) else _native.asarray(result)
    if isinstance(result, numpy.generic):
        return result if _stays(result.dtype) else _native.asarray(numpy.asarray(result))
    if isinstance(result, tuple):
        items = [wrap(item) for item in result]
        return cls(*items) if hasattr(cls, "_fields") else cls(items)
    if cls is list:
        return [wrap(item) for item in result]
    return result


def _stays(dtype: Any) -> bool:
    """Whether a Tensor cannot have the dtype: not numbers, or a format that DLPack lacks."""
    return dtype not in USUAL and dtypes.explain_numpy_dtype(dtype) is not None


class Views:
    """The arrays that replace Tensors in one call, so that a result can be turned back into its Tensor.

    A function that returns one of its arguments (`out`, mostly) then returns the caller's object.
    """

    __slots__ = ("_arrays", "_tensors")

    def __init__(self, outputs: Any = None) -> None:
        # An ndarray that the caller passed as `out` stays an ndarray when it is returned.
        self._tensors: dict[int, Any] = {}
        if outputs is not None:
            known = outputs if isinstance(outputs, tuple) else (outputs,)
            self._tensors = {id(out): out for out in known if type(out) is _ndarray}
        self._arrays: list[Any] = []  # kept alive, so that ids stay unique

    def unwrap(self, value: Any) -> Any:
        """`value` with arrays in place of its Tensors, in nested lists, tuples and dicts too."""
        cls = type(value)
        if cls is _Tensor:
            array = value.numpy()
            self._arrays.append(array)
            self._tensors[id(array)] = value
            return array
        if cls in PLAIN_OR_NONE:
            return value
        if isinstance(value, (list, tuple)):
            return unwrap_items(value, self.unwrap)
        if cls is dict:
            return {key: self.unwrap(item) for key, item in value.items()}
        return numpy_dtypes.readable(value)

    def wrap(self, result: Any) -> Any:
        """As the function `wrap`, with the caller's own Tensors in place of their arrays."""
        known = self._tensors.get(id(result))
        if known is not None:
            return known
        if type(result) is tuple:  # a ufunc with several outputs
            return tuple(self.wrap(item) for item in result)
        return wrap(result)


def check_writable(outputs: Any) -> None:
    """Refuse a read-only Tensor as `out`; NumPy's error would not mention the Tensor."""
    for out in outputs if isinstance(outputs, tuple) else (outputs,):
        if type(out) is _Tensor and out.readonly:
            raise ReadOnlyError("`out` is a read-only Tensor")


def array_ufunc(self: Tensor, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """NumPy's universal functions and their methods, on Tensors.

    Source: NumPy's NEP 13.
    """
    if method == "__call__" and len(inputs) > ufunc.nin:  # numba passes `out` by position
        inputs, kwargs["out"] = inputs[: ufunc.nin], inputs[ufunc.nin :]
    outputs = kwargs.get("out", ())
    if not isinstance(outputs, tuple):
        outputs = kwargs["out"] = (outputs,)
    # The indices of `at` and `reduceat` may be any sequence.
    operands = inputs if method in ("__call__", "outer") else (inputs[0], *inputs[2:])
    if outputs:
        operands += tuple(out for out in outputs if out is not None)
    if not all(map(is_operand, operands)):
        if for_dask.introduce(map(type, inputs)):
            return getattr(ufunc, method)(*inputs, **kwargs)
        # A ufunc of another library may take objects that only it knows.
        own = vars(numpy).get(ufunc.__name__) is ufunc
        if own or has_strangers(operands):
            return NotImplemented
    if "where" in kwargs and has_strangers(kwargs["where"]):
        return NotImplemented
    if outputs:
        check_writable(outputs)
    if not on_host((*inputs, *outputs)):
        from dlx._compute import on_device

        if method != "__call__":
            raise on_device.no_ufunc_method(ufunc, method)
        return on_device.call(ufunc, inputs, kwargs)
    if method in ("at", "reduceat"):
        _guard_key(inputs[1])
    if method == "at" and type(inputs[0]) is _Tensor and inputs[0].readonly:
        raise ReadOnlyError(f"numpy.{ufunc.__name__}.at writes, and the Tensor is read-only")
    # Only a Tensor passed as `out` can come back as the result.
    into = outputs[0] if len(outputs) == len(kwargs) == 1 else None
    if method == "__call__" and (not kwargs or type(into) is _Tensor):
        arguments = [x.numpy() if type(x) is _Tensor else x for x in inputs]
        if into is None:
            return wrap(ufunc(*arguments))
        ufunc(*arguments, out=into.numpy())
        return into
    views = Views(outputs)
    arguments = views.unwrap(inputs)
    return views.wrap(getattr(ufunc, method)(*arguments, **views.unwrap(kwargs)))


def array_function(self: Tensor, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """NumPy's other functions on Tensors: mean, concatenate, linalg.qr, asarray(…, like=t) ….

    Source: NumPy's NEP 18 and NEP 35.
    """
    if not _ARRAYS.issuperset(types):
        if for_dask.introduce(types):
            return func(*args, **kwargs)
        return NotImplemented
    found = _Tensor in map(type, args) or next(iter(tensors_in((args, kwargs))), None) is not None
    if not found:  # like=t, or the Tensors are in a deque …
        for stranger in strangers_in((args, kwargs)):
            guards.guard_losses(stranger)  # results of any dtype stay
        return wrap(getattr(func, "_implementation", func)(*args, **kwargs))
    return call(func, args, kwargs)


def call(func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """A function of NumPy on Tensors, on the CPU or another device."""
    values = [*args, *kwargs.values()]
    tensors: Iterable[Any] = values
    if not PLAIN_OR_NONE.issuperset(map(type, values)):  # some argument has to be searched
        refuse_strangers(func, values)
        tensors = tensors_in(values)
    args, kwargs = _with_named_out(func, args, kwargs)
    if kwargs:
        check_writable(kwargs.get("out"))
    written = _WRITERS.get(func)
    if written is not None:
        target = args[0] if args else kwargs.get(written)
        if type(target) is _Tensor and target.readonly:
            raise ReadOnlyError(f"numpy.{func.__name__} writes, and the Tensor is read-only")
    if not on_host(tensors):
        from dlx._compute import on_device

        return on_device.call(func, args, kwargs)
    views = Views(kwargs.get("out"))
    return views.wrap(func(*views.unwrap(args), **views.unwrap(kwargs)))


@functools.cache
def _out_and_after(func: Callable[..., Any]) -> tuple[int, tuple[str, ...]]:
    """The position of `out`, and the names of the positional parameters from there on."""
    import inspect

    try:
        parameters = inspect.signature(func).parameters.values()
    except (TypeError, ValueError):
        return 0, ()
    names = [
        parameter.name
        for parameter in parameters
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ]
    position = names.index("out") if "out" in names else len(names)
    return position, tuple(names[position:])


def _with_named_out(func: Callable[..., Any], args: Any, kwargs: Any) -> tuple[Any, Any]:
    """The arguments with `out` and those after it passed by name."""
    if len(args) < 2:
        return args, kwargs
    position, names = _out_and_after(func)
    if not position < len(args) <= position + len(names):
        return args, kwargs
    return args[:position], {**kwargs, **dict(zip(names, args[position:]))}


def require_tensor(self: object) -> None:
    """Refuse `dlx.Tensor.__neg__(3)`, which Python passes on to the method."""
    if type(self) is not _Tensor:
        raise TypeError(f"a method of dlx.Tensor needs a Tensor (got {an(type(self).__name__)})")


def binary(self: Tensor, other: Any, function: Callable[..., Any], reflected: bool) -> Any:
    """Binary operators; NotImplemented if `other` is not an operand."""
    require_tensor(self)
    if not is_operand(other):
        if function is operator.mul and isinstance(other, (list, tuple, str, bytes, bytearray)):
            # Python would repeat the sequence as often as the number in a 0-d Tensor.
            raise TypeError(
                f"{an(type(other).__name__)} is not an operand of a Tensor: pass dlx.asarray(x), or "
                "repeat it int(t) times"
            )
        if not for_dask.introduce((type(other),)):
            return NotImplemented
        return function(*((other, self) if reflected else (self, other)))  # again, now dask knows
    if not on_host((self, other)):
        from dlx._compute import on_device

        pair = (other, self) if reflected else (self, other)
        return on_device.operate(function, pair)
    own = self.numpy()
    if type(other) is _Tensor:
        other = other.numpy()
    return wrap(function(other, own) if reflected else function(own, other))


def unary(self: Tensor, function: Callable[..., Any]) -> Any:
    """-self, +self, ~self, abs(self)."""
    require_tensor(self)
    if not on_host((self,)):
        from dlx._compute import on_device

        return on_device.operate(function, (self,))
    return wrap(function(self.numpy()))


def in_place(self: Tensor, other: Any, function: Callable[..., Any]) -> Any:
    """In-place operators: the memory changes, and the Tensor stays the same object."""
    require_tensor(self)
    if not is_operand(other):
        for_dask.introduce((type(other),))
        return NotImplemented
    if self.readonly:
        raise ReadOnlyError("an in-place operator writes, and the Tensor is read-only")
    if not on_host((self, other)):
        from dlx._compute import on_device

        on_device.operate(function, (self, other))
        return self
    array = self.numpy()
    if (
        array.dtype.isbuiltin == 2
    ):  # NumPy's in-place operator would lose values that `setitem` refuses
        plain = getattr(operator, f"__{function.__name__[1:]}__")  # iadd: add
        result = binary(self, other, plain, False)
        if result.shape != self.shape:  # `setitem` would broadcast it
            raise InvalidArgumentError(
                f"{function.__name__}: the shape of the result differs from the Tensor's (got "
                f"{result.shape}, expected {self.shape})"
            )
        self[...] = result
    else:
        function(array, other.numpy() if type(other) is _Tensor else other)
    return self


def method(self: Tensor, name: str, args: Any, kwargs: Any) -> Any:
    """Methods such as `self.sum(axis=0)`: NumPy's function of the same name."""
    require_tensor(self)
    if name == "clip" and not kwargs.keys() & {"a_min", "a_max"}:
        args, kwargs = clip(*args, **kwargs)
    if (
        name in _AS_METHODS
        and kwargs.keys() <= _AS_METHODS_WITH
        and _SIMPLE.issuperset(map(type, (*args, *kwargs.values())))
    ):
        result = _native._operate(lambda array: getattr(array, name)(*args, **kwargs), self)
        if result is not None:
            return result
    return call(getattr(numpy, name), (self, *args), kwargs)


def clip(min: Any = None, max: Any = None, *others: Any, **kwargs: Any) -> Any:
    """The arguments of the method `clip` with both bounds, which `numpy.clip` needs. (Python's errors show
    this function's name.)"""
    return (min, max, *others), kwargs


def astype(self: Tensor, dtype: Any, kwargs: dict[str, Any]) -> Any:
    """self.astype(dtype)."""
    require_tensor(self)
    if on_host((self,)):
        by_name = isinstance(dtype, (str, dtypes.dtype))
        dtype = numpy_dtypes.named(dtype) if by_name else numpy_dtypes.readable(dtype)
        views = Views()
        array = views.unwrap(whole(self) if is_packed(self) else self)
        if kwargs.get("casting", "unsafe") == "unsafe" and _casts_badly(array.dtype, dtype):
            array = views.unwrap(_native.asarray(self, dtype=dtype))
            kwargs = {**kwargs, "copy": False}
        return views.wrap(array.astype(dtype, **kwargs))
    from dlx._compute import on_device

    if not hasattr(numpy, "astype"):
        raise UnsupportedError(
            "astype of data on a device needs NumPy 2.1: call the library that owns the data"
        )
    return on_device.call(numpy.astype, (self, dtype), kwargs)


def _casts_badly(source: Any, target: Any) -> bool:
    """Whether ml_dtypes does a cast: it lacks some pairs, gives wrong values for some, and drops imaginary
    parts without NumPy's warning."""
    target = numpy.dtype(target)
    if target == source:
        return False
    return dtypes.is_of_ml_dtypes(target) or (source.isbuiltin == 2 and target.kind == "b")


def contains(self: Tensor, value: Any) -> bool:
    """value in self: whether any element equals it, as in NumPy."""
    same = self.__eq__(value)
    if same is NotImplemented:
        if isinstance(value, (list, tuple)):
            raise TypeError(
                f"`in` looks for one number (got {an(type(value).__name__)}): pass dlx.asarray(x)"
            )
        return False
    return bool(call(numpy.any, (same,), {}))


def _guard_key(key: Any) -> None:
    """Raise UnsupportedError for indices and masks with masked entries, nulls or units, which NumPy would
    ignore."""
    for stranger in strangers_in(key):
        guards.guard_losses(stranger)


def getitem(self: Tensor, key: Any) -> Tensor:
    """self[key] for masks, index arrays and other keys whose result is not a view: a new Tensor."""
    if type(key) is _Tensor:
        plain: Tensor | None = _native._operate(operator.getitem, self, key, False)
        if plain is not None:
            return plain
    _guard_key(key)
    if not on_host(tensors_in((self, key))):
        raise _no_fancy_index(self, key)
    views = Views()
    array = views.unwrap(self)
    result: Tensor = wrap(numpy.asarray(array[views.unwrap(key)]))
    return result


def setitem(self: Tensor, key: Any, value: Tensor) -> None:
    """self[key] = value for the keys of `getitem`, and for values of another dtype that NumPy's in-place
    operators would cast ("same_kind")."""
    _guard_key(key)
    if not on_host(tensors_in((self, key))):
        raise _no_fancy_index(self, key)
    if value.ndim == 0 and value.dtype != self.dtype and on_host((value,)):
        # One number has to be a value of the Tensor's dtype, as a Python number has to be.
        self[key] = value.item()
        return
    if is_packed(self):  # NumPy has no view of it
        changed = padded(self)
        changed[key] = value
        self[...] = changed
        return
    if is_packed(value):
        value = whole(value)
    views = Views()
    array, source = views.unwrap(self), views.unwrap(value)
    alike = source.dtype == array.dtype
    if not alike and not numpy.can_cast(_plain(source, value), _plain(array, self), "same_kind"):
        raise InvalidArgumentError(
            f"Tensor.__setitem__: the dtype of the value does not fit the Tensor's (got {source.dtype}, "
            f"expected one that {array.dtype} can hold): convert it first, e.g. with .astype()"
        )
    if array.dtype.isbuiltin == 2 or source.dtype.isbuiltin == 2:
        source = views.unwrap(_native.asarray(value, dtype=self.dtype))
    if numpy.may_share_memory(array, source):
        source = source.copy()  # NumPy itself copies only if it sees the overlap
    array[_apart(views.unwrap(key), array)] = source


def _apart(key: Any, array: Any) -> Any:
    """The key with copies of masks in the array's memory: NumPy reads a mask while it writes."""
    if type(key) is tuple:
        return tuple(_apart(item, array) for item in key)
    if type(key) is _ndarray and numpy.may_share_memory(key, array):
        return key.copy()
    return key


def _plain(array: Any, tensor: Tensor) -> Any:
    """The array's dtype; for a dtype of ml_dtypes NumPy's dtype of the same kind, because NumPy casts
    everything to ml_dtypes' and loses fractions and imaginary parts."""
    if array.dtype.isbuiltin != 2:
        return array.dtype
    return {"i": "int8", "u": "uint8", "c": "complex64"}.get(tensor.dtype.kind, "float32")


def _no_fancy_index(self: Tensor, key: Any) -> DeviceRefusedError:
    where = next(item.device for item in tensors_in((self, key)) if not on_host((item,)))
    return DeviceRefusedError(
        f"masks and index arrays work in host memory only (got data on {where}): index with the library "
        "that owns the device, or call `.to_device('cpu')` first"
    )
