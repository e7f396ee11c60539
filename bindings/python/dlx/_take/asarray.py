"""The part of `dlx.asarray` that is not native: buffers, array interfaces, Arrow, `__array__`, numbers
and nested sequences.

The native code tries these first: a Tensor, an exact numpy.ndarray, DLPack's exchange table,
`__dlpack__`. They carry every dtype and device, and state ownership exactly. Then come, in this order:

1. `__cuda_array_interface__`: shares memory of a CUDA device.
2. the buffer protocol: shares memory, says whether it is read-only, and locks it against resizing;
   but it has no bfloat16 and no device.
3. `__array_interface__`, then `__array_struct__`: share memory, but the owner may resize it.
4. Arrow (`__arrow_c_device_array__`, `__arrow_c_array__`, `__arrow_c_stream__`): shares memory except
   for booleans, has devices and nulls; arrow.py lists the classes that do not use it.
5. `__jax_array__`: gives an array of JAX, which is taken in place of the object.
6. `__array__`: may copy, and needs NumPy.
7. a `__dlpack__` of the object that its class lacks, such as one from a proxy's `__getattr__`.
8. numbers and nested sequences: always copied.

MXNet's arrays and C arrays of cffi, which have no protocol, come before all of these. So do the
arrays inside objects of xarray, Dask, narwhals and pint, whose `__array__` would drop their meaning.

For classes with the bit PLAIN (generated_bits.py) the native code tries the first four itself; it also
reads numbers, lists and tuples. It calls `fallback` for other sequences, for masks, for `copy=` with
`__array__`, and for the reason why an object cannot be read.

The first protocol that an object has decides. If it fails, its error is shown: trying the next one
would hide the reason, and might copy.
"""

from __future__ import annotations

from dlx import _native, dtypes
from dlx._lib.classes import (
    ARROW_METHODS,
    an,
    derives,
    has,
    is_ctypes_pointer,
    is_synchronized,
    loaded,
    module_of,
    once_for_each_class,
    package_of,
    packages_of,
)
from dlx._take import classify, guards
from dlx.errors import (
    CopyRefusedError,
    Error,
    UnsupportedError,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dlx._native import Tensor
    from dlx.dtypes import DTypeCode

_PLAIN = (bool, int, float, complex, list, tuple)
_PROTOCOLS = ("__array_interface__", "__array_struct__", "__cuda_array_interface__", "__array__")
# Packages whose `__array__(copy=True)` copies. Others may ignore `copy`: dlx copies their result.
_COPIES_WHEN_TOLD = frozenset({"pandas", "polars", "pyarrow"})
# Packages whose objects with `__array__` are computations, and the method that gives the result.
_COMPUTATIONS = (("dask", "compute"), ("ibis", "to_pyarrow"))
# The attributes that dlx looks for in objects of every package.
_MEANINGS = (*_PROTOCOLS, *ARROW_METHODS, "__buffer__", "__getattr__", "__jax_array__", "columns",
             "dtype", "mask")  # fmt: skip


def fallback(obj: Any, dtype: Any, device: Any, copy: bool | None, force: bool | None) -> Tensor:
    """asarray for everything that the native code does not do itself.

    Args:
        obj: the object.
        dtype, device: what the caller asked for, or None.
        copy: True always, False never, None if needed.
        force: whether the data may move between devices. None means that `obj` is assigned into a
            tensor of `dtype`: numbers have to be values of it, and arrays keep their own dtype.

    Raises:
        TypeError: the object has no protocol and is not a sequence of numbers.
        UnsupportedError: a Tensor cannot hold the data; the message says what to call instead.
        CopyRefusedError: `copy` is False and the data has to be copied.
    """
    cls = type(obj)
    if cls in _PLAIN or isinstance(
        obj, type
    ):  # a class has the protocols of its objects, not its own
        return _from_sequence(obj, dtype, device, copy, force)
    plain = _says_no_more_than_items(cls) and not getattr(obj, "__dict__", None)
    if plain and copy is not False and force is not None:
        return _native.asarray([*obj], dtype=dtype, device=device, force=force)
    pandas = _is_plain_pandas(cls)
    wanted = None if force is None else dtype
    if pandas and copy is None and _is_of_numbers_of_numpy(obj):  # nothing is lost
        tensor, _ = _from_array_method(obj, None)
        return _native.asarray(tensor, dtype=wanted, device=device, force=bool(force))
    guards.guard(obj)
    problem = _explain_pointer(obj) or _explain_query(obj) or _explain(obj)
    if problem is not None:  # before the buffer protocol, where a date passes for plain bytes
        raise UnsupportedError(problem)
    # Looking for missing attributes is slow for classes of pandas.
    inside, way = (None, "") if pandas else unwrapped(obj, copy)
    if inside is not None:
        try:
            if force is None:
                return _native.asarray(inside)
            return _native.asarray(inside, dtype=dtype, device=device, copy=copy, force=force)
        except UnsupportedError as error:
            raise UnsupportedError(f"`x{way}` of {an(_name(obj))}: {error}") from error
    tensor = _from_ml_dtypes_scalar(obj, copy)
    if tensor is not None and force is None:
        return _from_sequence(tensor.item(), dtype, device, copy, force)
    for read in () if pandas else _READERS:
        if tensor is None:
            tensor = read(obj)
    if tensor is None and not pandas:
        tensor = _from_layout(obj, copy)
    fresh = False
    if tensor is None:
        code = None if wanted is None else dtypes.dtype_code(wanted)
        tensor, fresh = _from_arrow(obj, copy, code)
    if tensor is None and has(cls, "__jax_array__"):
        tensor = _native.asarray(_jax_array_of(obj))
    if tensor is None:
        tensor, fresh = _from_array_method(obj, copy)
    if tensor is None and _has_of_its_own(obj, "__dlpack__"):
        tensor, fresh = _native.from_dlpack(obj, copy=copy), bool(copy)
    if fresh and copy:
        copy = None  # it is a copy already
    if tensor is None:
        return _from_sequence(obj, dtype, device, copy, force)
    return _native.asarray(tensor, dtype=wanted, device=device, copy=copy, force=bool(force))


def _has_of_its_own(obj: Any, name: str) -> bool:
    """Whether an object has an attribute that its class lacks."""
    return not has(type(obj), name) and getattr(obj, name, None) is not None


@once_for_each_class
def _says_no_more_than_items(cls: type) -> bool:
    """Whether objects of a class (a named tuple, a deque) are read as the lists of their items: the
    class has no attribute that this module looks for."""
    from dlx._take import sequence

    return (
        sequence.is_read_like_its_base(cls)
        and not any(hasattr(cls, name) for name in _MEANINGS)
        and packages_of(cls).isdisjoint(classify.KNOWN_PACKAGES)
    )


def unwrapped(obj: Any, copy: bool | None) -> tuple[Any, str]:
    """The array inside an object of xarray, Dask, Ibis, narwhals, pint or multiprocessing, or None, and the
    attribute or call that gives it.

    It is imported in place of the object, so that its masks, nulls or wrappers are looked at as well.
    """
    cls = type(obj)
    packages = packages_of(cls)
    if "xarray" in packages and derives(cls, "xarray", "DataArray", "Variable", "NamedArray"):
        data = obj.data
        if copy is False and _is_made_anew(data, obj.data):  # it reads a file each time
            raise CopyRefusedError(
                f"{an(_name(obj))} has no memory to share, and copy=False forbids reading it into "
                "memory: call `.load()` first"
            )
        return data, ".data"
    if is_synchronized(cls):
        return obj.get_obj(), ".get_obj()"
    if "narwhals" in packages and has(cls, "to_native"):
        return obj.to_native(), ".to_native()"
    if "pint" in packages and has(cls, "magnitude"):
        return obj.magnitude, ".magnitude"  # guard() has refused those with a unit
    for package, name in _COMPUTATIONS:
        if package in packages and has(cls, "__array__"):
            if copy is False:
                raise CopyRefusedError(
                    f"{an(_name(obj))} is a computation without memory to share, and copy=False forbids "
                    f"keeping its result: call `.{name}()` first"
                )
            return getattr(obj, name)(), f".{name}()"
    return None, ""


def _is_made_anew(data: Any, again: Any) -> bool:
    """Whether two reads of one attribute gave two memories, so that writes to either are lost."""
    if data is again:
        return False
    first, second = (_native.asarray(item, copy=False) for item in (data, again))
    return bool(first.size and first.data_ptr != second.data_ptr)


def _require_lasting(what: str, data: Any, again: Any) -> None:
    if _is_made_anew(data, again):
        raise CopyRefusedError(
            f"{what} makes a new array at each call, and copy=False forbids that: load or compute it first"
        )


def _from_ml_dtypes_scalar(obj: Any, copy: bool | None) -> Tensor | None:
    """A scalar of ml_dtypes, by way of a 0-d array: the scalar's buffer does not name the dtype."""
    numpy = loaded("numpy")
    if numpy is None or not issubclass(type(obj), numpy.generic) or obj.dtype.isbuiltin != 2:
        return None
    if copy is False:
        raise CopyRefusedError(f"{an(_name(obj))} is always copied, which copy=False forbids")
    return _native.asarray(numpy.asarray(obj))


def _from_cffi(obj: Any) -> Tensor | None:
    """C arrays of cffi."""
    if module_of(type(obj)) != "_cffi_backend" or "CData" not in type(obj).__name__:
        return None
    from dlx._take import cffi_arrays

    return cffi_arrays.read(obj)


def _from_library(obj: Any) -> Tensor | None:
    """Objects of MXNet and storages of PyTorch: module by_library, imported on first need."""
    if packages_of(type(obj)).isdisjoint(("mxnet", "torch")):
        return None
    from dlx._take import by_library

    return by_library.read(obj)


_READERS = (_from_library, _from_cffi)


def _from_layout(obj: Any, copy: bool | None) -> Tensor | None:
    """A buffer or an array interface."""
    tensor = _native._from_layout(obj)
    if tensor is None or copy is not False or tensor.readonly:
        return tensor
    _require_lasting(an(_name(obj)), tensor, _native._from_layout(obj))
    return tensor


@once_for_each_class
def _is_plain_pandas(cls: type) -> bool:
    """Whether a class is from pandas itself; cudf's stand-ins for them have more protocols."""
    return package_of(cls) == "pandas" and not any(hasattr(cls, name) for name in _PROTOCOLS[:3])


def _is_of_numbers_of_numpy(column: Any) -> bool:
    """Whether a column of pandas has a dtype of NumPy, so that it has neither nulls nor categories."""
    numpy, dtype = loaded("numpy"), getattr(column, "dtype", None)
    return (
        numpy is not None
        and isinstance(dtype, numpy.dtype)
        and dtype.isbuiltin == 1
        and dtype.kind in "biufc"
    )


def _explain_pointer(obj: Any) -> str | None:
    if not is_ctypes_pointer(type(obj)):
        return None
    return (
        f"a ctypes {type(obj).__name__} is a pointer and has no length: call "
        "`dlx.from_pointer(x, shape, dtype)`"
    )


def _explain_query(obj: Any) -> str | None:
    if derives(type(obj), "numpy", "nditer"):
        return f"{an(_name(obj))} is an iterator over arrays: pass one of `.operands`"
    if not any(derives(type(obj), package, "LazyFrame") for package in ("polars", "narwhals")):
        return None
    return f"{an(_name(obj))} is a query without data: call `.collect()` first"


def _explain(obj: Any) -> str | None:
    """For an object with a numpy.dtype: why DLPack cannot carry it and what to call, or None."""
    return _explain_dtype(getattr(obj, "dtype", None), obj)


def _explain_dtype(dtype: Any, obj: Any) -> str | None:
    numpy = loaded("numpy")
    if numpy is None or not isinstance(dtype, numpy.dtype):
        return None
    return dtypes.explain_numpy_dtype(dtype, obj)


def check_dtype(dtype: Any, obj: Any) -> bool:
    """For the native code: refuse `obj`, which has this `dtype`, if its data has no DLPack form.

    Returns:
        whether the answer never changes, so that the native code may keep it.
    """
    problem = _explain_dtype(dtype, obj)
    if problem is not None:
        raise UnsupportedError(problem)
    numpy = loaded("numpy")
    if numpy is None or not isinstance(dtype, numpy.dtype):
        return False
    return dtype.isbuiltin == 1 or dtypes.is_of_ml_dtypes(dtype)


def _from_arrow(obj: Any, copy: bool | None, code: DTypeCode | None) -> tuple[Tensor | None, bool]:
    """Arrow's PyCapsule interface."""
    if not any(has(type(obj), name) for name in ARROW_METHODS):
        return None, False
    from dlx._take import arrow

    return arrow.from_arrow(obj, copy, code)


def _jax_array_of(obj: Any) -> Any:
    """What `obj.__jax_array__` returned, if it has `__dlpack__`, as every array of JAX."""
    array = obj.__jax_array__()
    if not has(type(array), "__dlpack__") or array is obj:
        raise TypeError(
            f"`__jax_array__` of {_name(obj)} did not return an array of JAX (got {_name(array)})"
        )
    return array


def _from_array_method(obj: Any, copy: bool | None) -> tuple[Tensor | None, bool]:
    """`__array__`, and whether the result is known to be a new copy."""
    method = getattr(obj, "__array__", None)
    if method is None:
        return None, False
    fresh = False
    if copy is None:
        array = method()
    elif _takes_copy(obj):
        array = _call_with_copy(obj, method, copy)
        fresh = copy and package_of(type(obj)) in _COPIES_WHEN_TOLD
    elif copy:
        array = method()
    else:
        raise CopyRefusedError(
            f"`__array__` of {_name(obj)} cannot promise not to copy, because it does not take "
            "`copy=` (NumPy 2): pass copy=None, or the array inside the object"
        )
    tensor = array_result(obj, array)
    fresh = fresh and not tensor.readonly  # such as categories in Arrow's memory
    if copy is False and tensor.size:
        again = array_result(obj, obj.__array__(copy=False))
        _require_lasting(f"`__array__` of {_name(obj)}", tensor, again)
    if not fresh and derives(type(obj), "pandas", "Index"):
        # Its array can be written to, although an Index must not change.
        tensor = tensor.as_readonly()
    return tensor, fresh


def _call_with_copy(obj: Any, method: Any, copy: bool) -> Any:
    """`__array__(copy=copy)`; a refusal of copy=False becomes CopyRefusedError.

    NumPy's protocol raises ValueError for it, Polars raises RuntimeError. Either may mean something
    else: then the message does not mention a copy.
    """
    try:
        return method(copy=copy)
    except (ValueError, RuntimeError) as error:
        if copy or isinstance(error, Error) or "copy" not in str(error):
            raise
        raise CopyRefusedError(
            f"`__array__` of {_name(obj)} needs a copy, and copy=False forbids it: {error}"
        ) from error


def array_result(obj: Any, array: Any) -> Tensor:
    """The Tensor for what `obj.__array__` returned."""
    numpy = loaded("numpy")
    if numpy is None or not isinstance(array, numpy.ndarray):
        raise TypeError(
            f"`__array__` of {_name(obj)} did not return a numpy.ndarray (got {_name(array)})"
        )
    problem = _explain(array)
    if problem is not None:
        guards.guard_losses(array)  # the call for another dtype would drop a mask
        if array.dtype.kind == "O" and has(type(obj), "columns"):
            problem = (
                "the columns hold lists, hold no numbers, or have no common dtype: export them one "
                "by one, or cast them to one dtype first"
            )
        raise UnsupportedError(f"`__array__` of {_name(obj)}: {problem}")
    return _native.asarray(array)


def _takes_copy(obj: Any) -> bool:
    """Whether `__array__` has the `copy` argument of NumPy 2."""
    import inspect

    try:
        parameters = inspect.signature(type(obj).__array__).parameters
    except (AttributeError, TypeError, ValueError):
        return False
    return "copy" in parameters


def _name(obj: object) -> str:
    cls = type(obj)
    module = module_of(cls)
    return cls.__qualname__ if module in ("", "builtins") else f"{module}.{cls.__qualname__}"


def _from_sequence(
    obj: Any, dtype: Any, device: Any, copy: bool | None, force: bool | None
) -> Tensor:
    """Numbers and nested sequences."""
    from dlx._take import sequence

    code = None if dtype is None else dtypes.dtype_code(dtype)
    if not sequence.is_number(obj) and not sequence.is_sequence(obj):
        raise TypeError(
            f"cannot make an array of `obj` (got {_name(obj)}, expected an array, a buffer, a number "
            f"or a nested sequence of numbers){_failed_protocol(obj)}"
        )
    if copy is False:
        raise CopyRefusedError(
            f"{an(_name(obj))} has no memory to share: numbers and sequences are always copied, which "
            "copy=False, a destination and a contract without `copy` forbid"
        )
    tensor, done = sequence.build(obj, code, cast_arrays=force is not None)
    if done and device is None:
        return tensor
    wanted = None if done else dtype
    return _native.asarray(tensor, dtype=wanted, device=device, force=bool(force))


def _failed_protocol(obj: Any) -> str:
    """The AttributeError of a protocol's attribute, for a message: the object cannot serve the
    protocol, or has a bug that would otherwise stay hidden."""
    if isinstance(obj, type):
        return ""
    for name in (*_PROTOCOLS, *ARROW_METHODS):
        if hasattr(type(obj), name):
            try:
                getattr(obj, name)
            except AttributeError as error:
                return f"; its `{name}` raised AttributeError: {error}"
    return ""
