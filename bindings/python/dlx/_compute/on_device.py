"""Computing with Tensors on other devices, by CuPy or PyTorch through array-api-compat.

There is no table of functions: a function of NumPy is replaced by the library's function of the same
name in the standard. For anything beyond the standard (methods of ufuncs, masks as keys) users call
the library: `torch.from_dlpack(t)`.
"""

from __future__ import annotations

import importlib
import sys

import numpy

from dlx import _native, dtypes
from dlx._compute.operands import tensors_in, unwrap_items
from dlx._lib.constants import CUDA, CUDA_MANAGED
from dlx.errors import DeviceRefusedError, UnavailableError, UnsupportedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dlx.device import Device

_Tensor = _native.Tensor
_CUDA_TYPES = (CUDA, CUDA_MANAGED)
_SUBMODULES = ("linalg", "fft")
_LIBRARIES = ("cupy", "torch")


class Library:
    """A library's namespace of the standard, and the conversion between its arrays and Tensors."""

    def __init__(self, name: str) -> None:
        self.namespace: Any = importlib.import_module(f"array_api_compat.{name}")
        self._library: Any = importlib.import_module(name)
        self._array = self._library.Tensor if name == "torch" else self._library.ndarray

    def is_available(self) -> bool:
        """Whether the library was built for CUDA and finds a device."""
        return bool(self._library.cuda.is_available())

    def view(self, tensor: Any) -> Any:
        """The library's array on the Tensor's memory."""
        return self._library.from_dlpack(tensor)

    def device(self, index: int) -> Any:
        """The library's object for a device."""
        if self._library.__name__ == "torch":
            return self._library.device("cuda", index)
        return self._library.cuda.Device(index)

    def unwrap(self, value: Any) -> Any:
        """`value` with the library's arrays and dtypes in place of dlx's and NumPy's."""
        cls = type(value)
        if cls is _Tensor:
            return self.view(value)
        if isinstance(value, (list, tuple)):
            return unwrap_items(value, self.unwrap)
        if isinstance(value, (numpy.dtype, dtypes.dtype)) or _is_scalar_type(value):
            return getattr(self.namespace, dtypes.make_name(dtypes.dtype_code(value)))
        if isinstance(value, numpy.generic):
            return value.item()
        if cls is numpy.ndarray:
            raise DeviceRefusedError(
                "a computation mixes data on a device with an ndarray in host memory: move the ndarray "
                "with `dlx.asarray(array).to_device(…)`"
            )
        return value

    def wrap(self, result: Any) -> Any:
        """`result` with Tensors in place of the library's arrays."""
        if isinstance(result, self._array):
            return _native.from_dlpack(result)
        if isinstance(result, tuple):
            items = [self.wrap(item) for item in result]
            return type(result)(*items) if hasattr(result, "_fields") else tuple(items)
        if isinstance(result, list):
            return [self.wrap(item) for item in result]
        return result


def _is_scalar_type(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, numpy.generic)


def library_for(device: Device) -> Library:
    """The library that computes on a device, preferably one that is imported already.

    Raises:
        UnsupportedError: dlx knows no library for this kind of device.
        UnavailableError: array-api-compat is not installed, or no library for the device is installed
            and working.
    """
    if device.device_type not in _CUDA_TYPES:
        raise UnsupportedError(
            f"dlx has no library to compute on {device}: pass the Tensor to the library that owns "
            "the device, or call `.to_device('cpu')` first"
        )
    for name in sorted(_LIBRARIES, key=lambda name: name not in sys.modules):
        try:
            library = Library(name)
        except ImportError:
            continue
        if library.is_available():
            return library
    raise UnavailableError(
        f"computing on {device} needs array-api-compat and one of {' and '.join(_LIBRARIES)}, "
        "with a driver: install them, or call `.to_device('cpu')` first"
    )


def call(func: Any, args: Any, kwargs: Any) -> Any:
    """A function of NumPy on Tensors that are on one device other than the CPU."""
    return call_on(_device_of((args, kwargs)), func, args, kwargs)


def _device_of(values: Any) -> Device:
    """The one device of all Tensors in `values`."""
    found = {tensor.device for tensor in tensors_in(values)}
    if len(found) > 1:
        names = " and ".join(sorted(str(device) for device in found))
        raise DeviceRefusedError(
            f"a computation mixes data on {names}: move it to one device with `.to_device`"
        )
    device: Device = found.pop()
    return device


def operate(function: Any, operands: tuple[Any, ...]) -> Any:
    """An operator on Tensors of one device and numbers; in place ones write into the first."""
    library = library_for(_device_of(operands))
    return library.wrap(function(*library.unwrap(operands)))


def call_on(device: Device, func: Any, args: Any, kwargs: Any) -> Any:
    """The function of the same standard name, of the library that computes on `device`."""
    out = kwargs.pop("out", None)
    library = library_for(device)
    target = _find(library.namespace, func, device)
    if kwargs.get("device") not in (None, "cpu"):
        kwargs["device"] = library.device(device.device_id)
    unwrapped = {name: library.unwrap(value) for name, value in kwargs.items()}
    result = library.wrap(target(*library.unwrap(tuple(args)), **unwrapped))
    if isinstance(out, tuple):
        out = out[0] if len(out) == 1 else out
    if out is None:
        return result
    if type(out) is not _Tensor:
        raise UnsupportedError("`out` has to be a single Tensor if the data is not on the CPU")
    _native.copyto(out, result)
    return out


def _find(namespace: Any, func: Any, device: Device) -> Any:
    """The library's function for a function of NumPy, under any of NumPy's names for it."""
    for path in ("", *_SUBMODULES):
        source = getattr(numpy, path) if path else numpy
        target = getattr(namespace, path, None) if path else namespace
        for name in _names_of(source, func, path):
            found = getattr(target, name, None)
            if found is not None:
                return found
    raise UnsupportedError(
        f"numpy.{getattr(func, '__name__', func)} has no counterpart in the array API standard, so it "
        f"cannot run on {device}: call the library that owns the device, or `.to_device('cpu')` first"
    )


def _names_of(source: Any, func: Any, path: str) -> list[str]:
    """All names of a function in a module: numpy.acos is numpy.arccos too."""
    names = [name for name, value in vars(source).items() if value is func]
    module, name = getattr(func, "__module__", None) or "", getattr(func, "__name__", "")
    if not names and module.startswith("array_api_compat"):  # its own function, on NumPy 1.x
        found = module.rpartition(".")[2]
        if path == (found if found in _SUBMODULES else ""):
            names.append(name)
    return names


def no_ufunc_method(ufunc: Any, method: str) -> UnsupportedError:
    """The error for add.reduce and other methods of ufuncs."""
    return UnsupportedError(
        f"numpy.{ufunc.__name__}.{method} runs on the CPU only: use a function such as numpy.sum, "
        "or call `.to_device('cpu')` first"
    )
