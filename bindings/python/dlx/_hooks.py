"""The Python functions that the native code calls, by their names in src/python/hooks.inc."""

from __future__ import annotations

from dlx import device, dtypes, errors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def _late(load: Callable[[], Any], name: str) -> Callable[..., Any]:
    """A function of a module that the first call imports. An import statement would cost half a
    microsecond in every call."""
    function: Any = None

    def call(*args: Any) -> Any:
        nonlocal function
        if function is None:
            function = getattr(load(), name)
        try:
            return function(*args)
        except Exception as error:
            raise errors.brief(error)  # noqa: B904

    return call


# Import statements, because PyInstaller, cx_Freeze and Nuitka follow only these.
def _asarray() -> Any:
    from dlx._take import asarray

    return asarray


def _cast() -> Any:
    from dlx._take import cast

    return cast


def _tables() -> Any:
    from dlx._take import tables

    return tables


def _classify() -> Any:
    from dlx._take import classify

    return classify


def _foreign() -> Any:
    from dlx._take import foreign

    return foreign


def _guards() -> Any:
    from dlx._take import guards

    return guards


def _torch_internals() -> Any:
    from dlx._take import torch_internals

    return torch_internals


def _convert() -> Any:
    from dlx._give import convert

    return convert


def _streams() -> Any:
    from dlx import _streams as module

    return module


def _methods() -> Any:
    from dlx._tensor import methods

    return methods


def _by_numpy() -> Any:
    from dlx._tensor import operators

    return operators.load()


HOOKS = {
    "errors": errors.CLASSES,
    "make_dtype": dtypes.make_dtype,
    "dtype_code": dtypes.requested_code,
    "make_device": device.make_device,
    "device_code": device.device_code,
    "classify": _late(_classify, "classify"),
    "guard": _late(_guards, "guard"),
    "torch_mode_functions": _late(_torch_internals, "mode_functions"),
    "torch_samples": _late(_torch_internals, "samples"),
    "legacy_signature": _late(_classify, "legacy_signature"),
    "stream_number": _late(_streams, "number"),
    "keep_stream": _late(_streams, "keep"),
    "asarray_fallback": _late(_asarray, "fallback"),
    "check_dtype": _late(_asarray, "check_dtype"),
    "array_result": _late(_asarray, "array_result"),
    "taken_otherwise": _late(_foreign, "taken_otherwise"),
    "join_columns": _late(_tables, "join"),
    "convert_dtype": _late(_cast, "convert_dtype"),
    "convert_slowly": _late(_convert, "convert"),
    "convert_result": _late(_convert, "convert_result"),
    "getitem": _late(_by_numpy, "getitem"),
    "setitem": _late(_by_numpy, "setitem"),
    "numpy_slowly": _late(_methods, "numpy_array"),
    "scalar_slowly": _late(_methods, "scalar"),
    "bytes_slowly": _late(_methods, "bytes_in_place"),
    "view_slowly": _late(_methods, "view_by_name"),
}
