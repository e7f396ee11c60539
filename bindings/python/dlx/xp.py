"""The array API standard on Tensors: the module that `Tensor.__array_namespace__` returns.

    xp = t.__array_namespace__()
    xp.mean(xp.exp(t), axis=0)

Almost every name is NumPy's function of that name with Tensors in and out, wrapped when it is first
used. NumPy 2.5 and newer follow the standard of 2025; for older versions array-api-compat adapts
NumPy. Without array-api-compat, NumPy 2.3 and 2.4 follow the standard of 2024, 2.1 and 2.2 that of
2023, and `__array_api_version__` says so. Names of NumPy beyond the standard work too.

Source: array API standard 2025.12.
"""

from __future__ import annotations

import functools
import importlib
import types

import numpy

from dlx import _native
from dlx._compute import by_numpy, operands
from dlx._compute.numpy_dtypes import readable
from dlx._lib.constants import CPU
from dlx.device import Device, device_code
from dlx.dtypes import dtype as _dlx_dtype
from dlx.errors import InvalidArgumentError, UnavailableError, UnsupportedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from dlx._native import Tensor

_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")
_KINDS = {
    "bool": "b",
    "signed integer": "i",
    "unsigned integer": "u",
    "integral": "iu",
    "real floating": "f",
    "complex floating": "c",
    "numeric": "iufc",
}  # kinds of dtypes, as letters of dlx.dtype.kind
_SUBMODULES = ("fft", "lib", "lib.stride_tricks", "linalg")


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """`dlx.from_dlpack`."""
    return _native.from_dlpack(x, device=device, copy=copy)


def require_version(version: str | None) -> None:
    """Raises InvalidArgumentError unless `version` is None or a version that this module follows."""
    if version is None:
        return
    followed = [known for known in _VERSIONS if known <= _version_of(_standard())]
    if version not in followed:
        raise InvalidArgumentError(
            f"`api_version` is not supported (got {version!r}, expected one of {', '.join(followed)})"
        )


def asarray(
    obj: Any, /, *, dtype: Any = None, device: Any = None, copy: bool | None = None
) -> Tensor:
    """`dlx.asarray` with the standard's arguments."""
    return _native.asarray(obj, dtype=dtype, device=device, copy=copy)


def sort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """A sorted copy. NumPy has no `descending`.

    Source: array API standard 2025.12, `sort`.
    """
    if descending and by_numpy.on_host((x,)):
        return _flip(sort(x, axis=axis, stable=stable), axis=axis)
    result: Tensor = by_numpy.call(numpy.sort, (x,), _sort_options(x, axis, descending, stable))
    return result


def argsort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """The indices that sort. NumPy has no `descending`.

    Source: array API standard 2025.12, `argsort`.
    """
    if descending and by_numpy.on_host((x,)):
        # Flipped before and after, so that equal elements keep their order.
        backwards = argsort(_flip(x, axis=axis), axis=axis, stable=stable)
        last: int = backwards.shape[axis] - 1
        return last - _flip(backwards, axis=axis)
    result: Tensor = by_numpy.call(numpy.argsort, (x,), _sort_options(x, axis, descending, stable))
    return result


def clip(x: Any, /, min: Any = None, max: Any = None, *, out: Any = None) -> Tensor:
    """The values limited to bounds, either of which may be None; NumPy needs both.

    Source: array API standard 2025.12, `clip`.
    """
    if min is None and max is None and out is None:
        return _native.asarray(x, copy=True)
    options = {} if out is None else {"out": out}
    result: Tensor = by_numpy.call(_standard().clip, (x, min, max), options)
    return result if out is None else out


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a dtype is of a kind, of one of a tuple of kinds, or equal to another dtype. Dtypes that
    NumPy lacks have kinds too: bfloat16 is real floating, int4 is integral.

    Source: array API standard 2025.12, `isdtype`.
    """
    if isinstance(kind, tuple):
        return True in [isdtype(dtype, one) for one in kind]  # `any` is a function of xp here
    if not isinstance(dtype, _dlx_dtype):
        if isinstance(kind, _dlx_dtype):
            return isdtype(kind, dtype)  # NumPy cannot read it
        answer: bool = _standard().isdtype(readable(dtype), readable(kind))
        return answer
    if not isinstance(kind, str):
        same: bool = dtype == _dlx_dtype(kind)
        return same
    if kind not in _KINDS:
        raise InvalidArgumentError(
            f"`kind` is not a kind of dtype (got {kind!r:.60}, expected one of {', '.join(_KINDS)})"
        )
    answer = dtype.lanes == 1 and dtype.kind in _KINDS[kind]
    return answer


def unique_values(x: Any, /) -> Tensor:
    """The distinct values, sorted: consumers such as scikit-learn rely on it, and array-api-compat sorts
    for every library. NumPy 2.3 does not sort, which the standard allows.

    Source: array API standard 2025.12, `unique_values`.
    """
    values: Tensor = by_numpy.call(_standard().unique_values, (x,), {})
    return sort(values) if by_numpy.on_host((values,)) else values


def _flip(x: Any, *, axis: int) -> Tensor:
    result: Tensor = by_numpy.call(numpy.flip, (x,), {"axis": axis})
    return result


def _sort_options(x: Any, axis: int, descending: bool, stable: bool) -> dict[str, Any]:
    if by_numpy.on_host((x,)):
        return {"axis": axis, "kind": "stable" if stable else None}
    return {"axis": axis, "descending": descending, "stable": stable}


def _version_of(namespace: types.ModuleType) -> str:
    """The version of the standard that a namespace follows, at most the newest known here; or ""."""
    version: str = getattr(namespace, "__array_api_version__", "")
    return version if version < _VERSIONS[-1] else _VERSIONS[-1]  # `min` is a function of xp here


@functools.cache
def _standard() -> types.ModuleType:
    """The namespace of NumPy that follows the standard."""
    if _version_of(numpy) == _VERSIONS[-1]:
        return numpy
    try:
        return importlib.import_module("array_api_compat.numpy")
    except ImportError:
        if hasattr(numpy, "__array_namespace_info__"):
            return numpy
        raise UnavailableError(
            f"NumPy {numpy.__version__} does not follow the array API standard: install NumPy 2.1 or "
            "newer, or array-api-compat"
        ) from None


def _delegate(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of NumPy, with Tensors in and Tensors out."""

    @functools.wraps(function)
    def on_tensors(*args: Any, **kwargs: Any) -> Any:
        device = kwargs.get("device")
        if device is not None:
            code = device_code(device)
            if code[0] != CPU:
                from dlx._compute import on_device

                operands.refuse_strangers(function, [*args, *kwargs.values()])
                return on_device.call_on(Device(code), function, args, kwargs)
            if code[1] != 0:
                raise UnavailableError(f"`device` cpu:{code[1]} does not exist: there is one CPU")
            kwargs["device"] = "cpu"
        if isinstance(function, type):
            return _limits(function, *[_dtype_of(value) for value in args], **kwargs)
        return by_numpy.call(function, args, kwargs)

    return on_tensors


def _dtype_of(value: Any) -> Any:
    return value.dtype if isinstance(value, _native.Tensor) else readable(value)


def _limits(function: Any, *args: Any, **kwargs: Any) -> Any:
    """finfo and iinfo; for dtypes of ml_dtypes those of ml_dtypes."""
    try:
        return function(*args, **kwargs)
    except ValueError:
        given = args[0] if args and function in (numpy.finfo, numpy.iinfo) else None
        found = getattr(given, "dtype", None) if isinstance(given, _dlx_dtype) else None
        if found is None:
            raise
        return getattr(importlib.import_module("ml_dtypes"), function.__name__)(found)


def _adapt(source: types.ModuleType, name: str, here: str) -> Any:
    """The attribute `name` of `source`, wrapped for Tensors."""
    if name.startswith("_") or not hasattr(source, name):
        raise AttributeError(f"module {here!r} has no attribute {name!r}")
    value = getattr(source, name)
    if isinstance(value, types.ModuleType):
        path = f"{here}.{name}"[len(__name__) + 1 :]
        if path in _SUBMODULES:
            return _Submodule(path, value)
        raise AttributeError(f"module {here!r} has no attribute {name!r}")
    if isinstance(value, type) and issubclass(value, (numpy.generic, numpy.dtype)):
        return value  # equal to Tensor.dtype; numpy.dtype("float64") would be equal to None too
    if value is numpy.ndarray:
        return _native.Tensor
    return _delegate(value) if callable(value) else value


class _Submodule(types.ModuleType):
    """dlx.xp.linalg, dlx.xp.fft, and the other modules of NumPy that xarray uses."""

    def __init__(self, path: str, source: types.ModuleType) -> None:
        super().__init__(f"{__name__}.{path}", f"`numpy.{path}` on Tensors.")
        self._source = source

    def __getattr__(self, name: str) -> Any:
        value = _adapt(self._source, name, self.__name__)
        setattr(self, name, value)
        return value

    def __dir__(self) -> list[str]:
        return [name for name in dir(self._source) if not name.startswith("_")]


def _computes_on(device: Device) -> bool:
    from dlx._compute import on_device

    try:
        on_device.library_for(device)
    except (UnsupportedError, UnavailableError):
        return False
    return True


class _Info:
    """The result of `__array_namespace_info__`: NumPy's answers, with the devices of Tensors."""

    def __init__(self) -> None:
        self._info = _standard().__array_namespace_info__()

    def capabilities(self) -> dict[str, Any]:
        """The optional parts of the standard that exist here."""
        answer: dict[str, Any] = self._info.capabilities()
        return answer

    def default_device(self) -> Device:
        """The device on which creation functions make Tensors."""
        return Device("cpu")

    def devices(self) -> Sequence[Device]:
        """The devices that `device=` takes: the CPU, and those that an installed library computes on.
        A tuple; a list in versions of the standard before 2025.12."""
        from dlx.device import devices

        found = (
            device for device in devices() if device.device_type == CPU or _computes_on(device)
        )
        return list(found) if _version_of(_standard()) < "2025.12" else tuple(found)

    def default_dtypes(self, *, device: Any = None) -> dict[str, Any]:
        """The default dtypes of creation functions, by kind."""
        answer: dict[str, Any] = self._info.default_dtypes()
        return answer

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, Any]:
        """The standard's dtypes by name, all or of one kind."""
        answer: dict[str, Any] = self._info.dtypes(kind=kind)
        return answer


# Those of array-api-compat hide NumPy's errors, by which `_limits` knows a dtype of ml_dtypes.
finfo: Callable[..., Any] = _delegate(numpy.finfo)
iinfo: Callable[..., Any] = _delegate(numpy.iinfo)


def __array_namespace_info__() -> _Info:
    """The abilities of this namespace. Source: array API standard 2025.12, "Inspection"."""
    return _Info()


def __getattr__(name: str) -> Any:
    if name == "__array_api_version__":
        return _version_of(_standard())
    if name.startswith("_"):  # unittest's assertWarns and others ask every module for such names
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = _adapt(_standard(), name, __name__)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    source = _standard()
    hidden = {
        name
        for name in dir(source)
        if name.startswith("_")
        or (isinstance(getattr(source, name, None), types.ModuleType) and name not in _SUBMODULES)
    }
    own = {"__array_api_version__", "__array_namespace_info__"}
    return sorted(set(dir(source)) - hidden | own)
