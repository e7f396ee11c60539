"""The measuring half of `python -m dlx matrix`: runs in a process of its own, which may die.

Each cell hands one array of one library to another by `dlx.convert` and looks at what came of it.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import sys
import warnings

import dlx
from dlx._give import convert, profiles
from dlx._lib import constants

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, TextIO

SHARED, COPIED, REFUSED, NONE, WRONG, DIED = "shared", "copied", "refused", "none", "WRONG", "DIED"

DTYPES = [
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "bfloat16", "float32", "float64",
    "complex32", "complex64", "complex128", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn",
    "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "float4_e2m1fn", "int4", "uint4",
]  # fmt: skip
_ALIGNMENT = 64
_SHAPE = (4, 8)


def _numpy_array(name: str, shift: int = 0) -> Any:
    """The values in a dtype of NumPy or ml_dtypes, `shift` bytes beyond an aligned address."""
    import numpy

    if hasattr(numpy, name) or name == "bool":
        dtype = numpy.dtype(name)
    else:
        import ml_dtypes

        dtype = numpy.dtype(getattr(ml_dtypes, name))
    count = _SHAPE[0] * _SHAPE[1]
    raw = numpy.zeros(count * dtype.itemsize + 2 * _ALIGNMENT, numpy.uint8)
    start = -raw.ctypes.data % _ALIGNMENT + shift
    array = raw[start : start + count * dtype.itemsize].view(dtype).reshape(_SHAPE)
    array[...] = _pattern(name).astype(dtype)
    return array


def _pattern(name: str) -> Any:
    """The values: 1 and 2 in turn, which every dtype has; of bool 0 and 1."""
    import numpy

    return numpy.arange(_SHAPE[0] * _SHAPE[1]).reshape(_SHAPE) % 2 + (name != "bool")


def _import(name: str) -> Any:
    return importlib.import_module(name)


def _torch(name: str) -> Any:
    torch = _import("torch")
    return torch.from_numpy(_pattern(name)).to(getattr(torch, name))


def _jax(name: str) -> Any:
    return _import("jax").numpy.array(_numpy_array(name))


def _tensorflow(name: str) -> Any:
    return _import("tensorflow").constant(_numpy_array(name))


def _pyarrow(name: str) -> Any:
    return _import("pyarrow").Tensor.from_numpy(_numpy_array(name))


def _tvm_ffi(name: str) -> Any:
    return _import("tvm_ffi").from_dlpack(dlx.asarray(_numpy_array(name)))


def _mlx(name: str) -> Any:
    return _import("mlx.core").array(_numpy_array(name))


def _warp(name: str) -> Any:
    return _import("warp").from_numpy(_numpy_array(name))


def _onnxruntime(name: str) -> Any:
    return _import("onnxruntime").OrtValue.ortvalue_from_numpy(_numpy_array(name))


def _paddle(name: str) -> Any:
    paddle = _import("paddle")
    return paddle.to_tensor(_numpy_array(name), place=paddle.CPUPlace())


def _mxnet(name: str) -> Any:
    return _import("mxnet").nd.array(_numpy_array(name), dtype=name)


def _cupy(name: str) -> Any:
    return _import("cupy").asarray(_numpy_array(name))


def _dpnp(name: str) -> Any:
    return _import("dpnp").asarray(_numpy_array(name))


def _xarray(name: str) -> Any:
    return _import("xarray").DataArray(_numpy_array(name))


def _pandas(name: str) -> Any:
    return _import("pandas").DataFrame(_numpy_array(name), copy=False)


def _polars(name: str) -> Any:
    return _import("polars").Series(_numpy_array(name))


def _duckdb(name: str) -> Any:
    columns = {f"column{i}": column for i, column in enumerate(_numpy_array(name).T)}
    assert columns  # the query finds the variable by its name
    return _import("duckdb").sql("select * from columns")


def _nanoarrow(name: str) -> Any:
    return _import("nanoarrow").Array(dlx.asarray(_numpy_array(name)))


# Every library as a producer: (name of a dtype) -> its array of shape (4, 8).
PRODUCERS: dict[str, Callable[[str], Any]] = {
    "dlx": lambda name: dlx.asarray(_numpy_array(name)),
    "numpy": _numpy_array,
    "torch": _torch,
    "jax": _jax,
    "tensorflow": _tensorflow,
    "pyarrow": _pyarrow,
    "tvm_ffi": _tvm_ffi,
    "mlx": _mlx,
    "warp": _warp,
    "onnxruntime": _onnxruntime,
    "paddle": _paddle,
    "mxnet": _mxnet,
    "cupy": _cupy,
    "dpnp": _dpnp,
    "xarray": _xarray,
    "pandas": _pandas,
    "polars": _polars,
    "duckdb": _duckdb,
    "nanoarrow": _nanoarrow,
}


def _shifted(x: Any) -> Any:
    shifted = _numpy_array("float32", 16)
    return shifted if type(x) is type(shifted) else dlx.asarray(shifted)


def _read_only(x: Any) -> Any:
    if hasattr(x, "as_readonly"):
        return x.as_readonly()
    x.flags.writeable = False
    return x


def _broadcast(x: Any) -> Any:
    if hasattr(x, "broadcast_to"):
        return x[0].broadcast_to(_SHAPE)
    if hasattr(x, "expand"):
        return x[0].expand(*_SHAPE)
    import numpy

    if not isinstance(x, numpy.ndarray):
        raise TypeError("no strides of 0")
    return numpy.lib.stride_tricks.as_strided(x, _SHAPE, (0, x.itemsize))


# Every layout, of float32: (array) -> the same library's array in that layout. An exception means that
# the library lacks the layout.
LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "transposed": lambda x: x.T,
    "columns cut out": lambda x: x[:, 1:5],
    "every second row": lambda x: x[::2],
    "reversed": lambda x: x[::-1],
    "broadcast": _broadcast,
    "16-byte aligned": _shifted,
    "read-only": _read_only,
    "one axis": lambda x: x.iloc[0] if hasattr(x, "iloc") else x[0],
    "0-d": lambda x: x[0, 1, ...],
    "5 axes": lambda x: x.reshape((1, 4, 1, 8, 1)),
}
# Layouts that only some libraries can make.
_ONLY = {"16-byte aligned": ("numpy", "dlx"), "read-only": ("numpy", "dlx")}


def cases() -> list[tuple[str, str]]:
    """(dtype, layout) of all cases: every dtype compact, and every layout of float32."""
    return [(name, "compact") for name in DTYPES] + [("float32", layout) for layout in LAYOUTS]


def keys(producers: list[str], consumers: list[str]) -> Iterator[tuple[str, str, str, str]]:
    """(producer, dtype, layout, consumer) of every cell, in the order of measuring."""
    for producer in producers:
        for dtype, layout in cases():
            for consumer in consumers:
                yield producer, dtype, layout, consumer


def make(producer: str, dtype: str, layout: str) -> Any:
    """The array of a case at an aligned address, or None if the library cannot make it.

    If the library does not align its memory, arrays are made until one is aligned, so that the result
    does not depend on chance.
    """
    if layout in _ONLY and producer not in _ONLY[layout]:
        return None
    keep = []
    for _ in range(200):
        try:
            source = PRODUCERS[producer](dtype)
            tensor = dlx.asarray(source)
            if str(dlx.dtype(tensor.dtype)) != dtype:
                return None
            aligned = tensor.device.device_type != 1 or tensor.data_ptr % _ALIGNMENT == 0
            if aligned:
                break
        except Exception:
            return None
        keep.append(source)
    if layout == "compact":
        return source
    try:
        result = LAYOUTS[layout](source)
        same = dlx.asarray(result).shape == _expected_array(dtype, layout).shape
    except Exception:
        return None
    return result if same else None  # MXNet's elements have one axis, say


def measure(source: Any, consumer: str, expected: Any) -> tuple[str, str]:
    """The outcome of converting `source` to `consumer`: (one of the words above, why).

    Args:
        expected: the values, made by NumPy alone.
    """
    refusal = ""
    try:
        tensor = dlx.asarray(source)
        try:
            result = dlx.convert(source, consumer, copy=False)
        except dlx.CopyRefusedError as error:
            refusal = _first_line(error)
            result = dlx.convert(source, consumer)
    except Exception as error:
        return REFUSED, _first_line(error)
    profile = profiles.TABLE[consumer]
    back = dlx.asarray(result)
    joined = profile.tables and back.ndim == 2  # in a copy, whatever the library did
    if joined and tensor.ndim == 1:
        back = back[:, 0]
    if _values(back, result) != expected or (back.dtype != tensor.dtype and "makes" not in refusal):
        return WRONG, f"{_describe(back)} instead of {_describe(tensor)}"
    same = result is source or back.data_ptr == tensor.data_ptr
    if same or (joined and not refusal):
        return SHARED, refusal and f"but copy=False is refused: {refusal}"
    if not refusal:
        return WRONG, "copied in spite of copy=False"
    reasons = "; ".join(
        convert.why_copy(
            tensor, profile.one_axis if profile.one_axis and tensor.ndim == 1 else profile
        )
    )
    return COPIED, re.sub(r" \(the address is .*?\)", "", reasons) or refusal


def _values(tensor: Any, owner: Any) -> Any:
    """The values. Data on other devices is copied by the library that owns it."""
    on_cpu = tensor.device.device_type == constants.CPU
    return (tensor if on_cpu else dlx.asarray(owner, device="cpu")).tolist()


def _describe(tensor: Any) -> str:
    on_cpu = tensor.device.device_type == constants.CPU
    return f"{tensor.dtype}{list(tensor.shape)} {tensor.tolist() if on_cpu else ''}"[:80]


def _expected_array(dtype: str, layout: str) -> Any:
    array = _pattern(dtype)
    return array if layout in _ONLY or layout == "compact" else LAYOUTS[layout](array)


def expected_values(dtype: str, layout: str) -> Any:
    """A case's values as nested lists."""
    array = _expected_array(dtype, layout)
    return array.astype("bool" if dtype == "bool" else "float64").tolist()


def _first_line(error: Exception) -> str:
    text = str(error).partition("\n")[0]
    text = re.sub(r"^convert: | \(it takes .*?\)", "", text).partition(": convert the values")[0]
    return f"{text}"[:200]


def work(producers: list[str], consumers: list[str], start: int, out: TextIO) -> None:
    """Measure all cells from number `start` on; a line of JSON each."""
    warnings.simplefilter("ignore")
    for name in consumers:
        importlib.import_module(profiles.TABLE[name].module)
    if "jax" in consumers:
        _import("jax").config.update("jax_enable_x64", True)
    case, source, expected = None, None, None
    for number, (producer, dtype, layout, consumer) in enumerate(keys(producers, consumers)):
        if number < start:
            continue
        if case != (producer, dtype, layout):
            case, source = (producer, dtype, layout), make(producer, dtype, layout)
            expected = expected_values(dtype, layout)
        outcome = (NONE, "") if source is None else measure(source, consumer, expected)
        out.write(json.dumps(outcome) + "\n")
        out.flush()


if __name__ == "__main__":
    job = json.loads(sys.argv[1])
    with open(job["out"], "a", encoding="utf-8") as stream:
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
        work(job["producers"], job["consumers"], job["start"], stream)
