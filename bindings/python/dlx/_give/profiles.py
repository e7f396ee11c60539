"""The table of what each array library can take, by which `dlx.convert` decides.

The entries were measured with the versions in docs/matrix.md; `python -m dlx matrix` measures them
again. They describe what a library does (abort, drop an offset, ignore a flag), not what it promises.
"""

from __future__ import annotations

import sys

from dlx import _native
from dlx._access import code_of, is_packed, padded
from dlx._give import labelled
from dlx._give.demands import COLUMNS, COMPACT, DENSE, HONOURS, IMMUTABLE, POSITIVE, Profile
from dlx._lib import capi
from dlx._lib.constants import (
    CPU,
    CUDA,
    CUDA_HOST,
    CUDA_MANAGED,
    HOSTS,
    ONEAPI,
    ROCM,
    ROCM_HOST,
)
from dlx.errors import UnavailableError, UnsupportedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

    from dlx._native import Tensor


_INTS = "int8 int16 int32 int64 uint8 uint16 uint32 uint64"
_FLOATS = "float16 float32 float64"
_COMPLEX = "complex64 complex128"
_PLAIN = f"bool {_INTS} {_FLOATS} {_COMPLEX}"
_FP8_TORCH = "float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu"
_FP8_JAX = f"{_FP8_TORCH} float8_e3m4 float8_e4m3 float8_e4m3b11fnuz"


def alias(tensor: Tensor, strides: tuple[int, ...], flags: int) -> Tensor:
    """A Tensor on the same memory, which it keeps alive, with other strides and flags."""
    code, place = code_of(tensor), tensor.device
    device = place.device_type, place.device_id
    return _native._wrap(tensor.data_ptr, tensor.shape, strides, code, device, flags, tensor, None)


class Exporter:
    """A tensor for `from_dlpack` functions that take objects only; can force a copy."""

    __slots__ = ("_copied", "_tensor")

    def __init__(self, tensor: Tensor, copied: bool) -> None:
        self._tensor, self._copied = tensor, copied

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> object:
        return self._tensor.__dlpack__(
            stream=stream,
            max_version=max_version,
            dl_device=dl_device,
            copy=self._copied or bool(copy),
        )

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._tensor.__dlpack_device__()


def _versioned(tensor: Tensor, copied: bool) -> object:
    return tensor.__dlpack__(max_version=(1, 3), copy=copied)


def _legacy(tensor: Tensor, copied: bool) -> object:
    """A legacy capsule. It lacks the read-only flag, which the profile says is harmless."""
    if tensor.readonly and not copied:
        tensor = _native._unmarked(tensor)
    return tensor.__dlpack__(copy=copied)


def _object(tensor: Tensor, copied: bool) -> object:
    """For consumers that ask an object for a legacy capsule."""
    if tensor.readonly and not copied:
        tensor = _native._unmarked(tensor)
    return Exporter(tensor, True) if copied else tensor


def _numpy(module: ModuleType, tensor: Tensor, copied: bool) -> Any:
    if copied:
        tensor = padded(tensor) if is_packed(tensor) else tensor.copy()
    if tensor.device.device_type != CPU:  # pinned memory, which the CPU can read
        return module.from_dlpack(tensor)
    return tensor.numpy()


def _numpy_usual(module: ModuleType, tensor: Tensor) -> Callable[[Any], Any] | None:
    return type(tensor).numpy if isinstance(tensor.dtype, module.dtype) else None


def _from_dlpack(module: ModuleType, tensor: Tensor) -> Callable[[Any], Any]:
    function: Callable[[Any], Any] = module.from_dlpack
    return function


def _torch(module: ModuleType, tensor: Tensor, copied: bool) -> Any:
    if tensor.device.device_type != CPU:  # an object, so that torch passes its current stream
        if not module.cuda.is_available():
            raise UnavailableError(
                f"this PyTorch cannot use {tensor.device} (torch.cuda.is_available() is False): "
                "call `.to_device('cpu')` first, or pass device='cpu'"
            )
        return module.from_dlpack(Exporter(tensor, copied))
    return module.from_dlpack(tensor.__dlpack__(max_version=(1, 3), copy=copied))


_NARROW = {"int64": "int32", "uint64": "uint32", "float64": "float32", "complex128": "complex64"}


def _jax_narrows(tensor: Tensor) -> str:
    """The 32-bit type that JAX makes of a 64-bit one, silently, unless jax_enable_x64 is set; or ""."""
    if tensor.itemsize < 8:
        return ""
    if sys.modules["jax"].config.jax_enable_x64:
        return ""
    return _NARROW.get(capi.dtype_name(code_of(tensor)), "")


def _require_narrow_values(tensor: Tensor, narrow: str) -> None:
    """Refuse values that do not fit the 32-bit type. JAX's users expect rounding, but not wrapping."""
    import numpy

    problem = "they are not on the CPU, so they cannot be checked"
    if tensor.device.device_type == CPU:
        array = tensor.numpy()
        with numpy.errstate(over="ignore"):
            result = array.astype(narrow)
        if numpy.dtype(narrow).kind in "iu":
            good = bool((result == array).all())
        else:
            good = bool((numpy.isfinite(result) == numpy.isfinite(array)).all())
        if good:
            return
        problem = "some are too large for it"
    raise UnsupportedError(
        f"convert: jax would turn these {tensor.dtype} values into {narrow}, but {problem}: call "
        "`jax.config.update('jax_enable_x64', True)` first"
    )


def _jax(module: ModuleType, tensor: Tensor, copied: bool) -> Any:
    narrow = _jax_narrows(tensor)
    if narrow:
        _require_narrow_values(tensor, narrow)
    return module.from_dlpack(_object(tensor, copied))


def _jax_usual(module: ModuleType, tensor: Tensor) -> Callable[[Any], Any] | None:
    """None for 64-bit types: the configuration is checked at each call."""
    function: Callable[[Any], Any] = module.from_dlpack
    return function if tensor.itemsize < 8 else None


def _tensorflow(module: ModuleType, tensor: Tensor, copied: bool) -> Any:
    return module.experimental.dlpack.from_dlpack(_legacy(tensor, copied))


def _paddle(module: ModuleType, tensor: Tensor, copied: bool) -> Any:
    return module.utils.dlpack.from_dlpack(_versioned(tensor, copied))


def _mxnet(module: ModuleType, tensor: Tensor, copied: bool) -> Any:
    return module.nd.from_dlpack(_legacy(tensor, copied))


def _exporter(module: ModuleType, tensor: Tensor, copied: bool) -> Any:
    return module.from_dlpack(Exporter(tensor, copied))


def _arrow_array(module: ModuleType, tensor: Tensor, copied: bool) -> Any:
    """pyarrow.Array: one axis, no gaps."""
    if hasattr(module.Array, "from_dlpack"):
        return module.Array.from_dlpack(Exporter(tensor, copied))
    kind = getattr(module, capi.dtype_name(code_of(tensor)))()
    data = module.py_buffer(tensor.copy() if copied else tensor)
    return module.Array.from_buffers(kind, tensor.size, [None, data])


def _arrow_tensor(module: ModuleType, tensor: Tensor, copied: bool) -> Any:
    if hasattr(module.Tensor, "from_dlpack"):
        return module.Tensor.from_dlpack(Exporter(tensor, copied))
    return module.Tensor.from_numpy((tensor.copy() if copied else tensor).numpy())


def _tvm_ffi(module: ModuleType, tensor: Tensor, copied: bool) -> Any:
    return module.from_dlpack(_versioned(tensor, copied))


def _mlx(module: ModuleType, tensor: Tensor, copied: bool) -> Any:
    if any(stride < 0 for stride in tensor.strides):  # also on axes of length 1
        tensor = tensor.copy()
    if capi.dtype_name(code_of(tensor)) == "float64":
        # from_dlpack would turn it into float32.
        return module.array(tensor.numpy(), dtype=module.float64)
    return module.from_dlpack(_versioned(tensor, False))


def _warp(module: ModuleType, tensor: Tensor, copied: bool) -> Any:
    if not getattr(module._src.context, "runtime", None):
        module.init()  # without it the import fails
    return module.from_dlpack(_legacy(tensor, copied))


def _onnxruntime(module: ModuleType, tensor: Tensor, copied: bool) -> Any:
    return module.OrtValue.from_dlpack(_legacy(tensor, copied))


def _xarray(module: ModuleType, tensor: Tensor, copied: bool) -> Any:
    return module.DataArray(_numpy(_numpy_module(), tensor, copied))


def _pandas(module: ModuleType, tensor: Tensor, copied: bool) -> Any:
    build = _series if tensor.ndim == 1 else _frame
    return build(module, tensor, copied)


def _series(module: ModuleType, tensor: Tensor, copied: bool) -> Any:
    return module.Series(_numpy(_numpy_module(), tensor, copied), copy=False)


def _frame(module: ModuleType, tensor: Tensor, copied: bool) -> Any:
    return module.DataFrame(_numpy(_numpy_module(), tensor, copied), copy=False)


def _polars(module: ModuleType, tensor: Tensor, copied: bool) -> Any:
    return (_polars_series if tensor.ndim == 1 else _polars_frame)(module, tensor, copied)


def _polars_series(module: ModuleType, tensor: Tensor, copied: bool) -> Any:
    return module.Series(tensor.copy() if copied else tensor)


def _polars_frame(module: ModuleType, tensor: Tensor, copied: bool) -> Any:
    columns = _columns("polars", tensor.copy("F") if copied else tensor)
    # Series(name, tensor) would drop the name.
    return module.DataFrame(
        [module.Series(column).alias(f"column_{i}") for i, column in enumerate(columns)]
    )


def _duckdb(module: ModuleType, tensor: Tensor, copied: bool) -> Any:
    columns = _columns("duckdb", tensor.copy("F") if copied else tensor)
    numbers = {f"column{i}": column.numpy() for i, column in enumerate(columns)}
    # The query finds a variable of its caller by name, after tables, none of which has this name.
    name = f"dlx_{id(numbers)}"
    variables = {"sql": module.sql, "query": f"select * from {name}", name: numbers}
    return eval("sql(query)", variables)


def _columns(name: str, tensor: Tensor) -> list[Tensor]:
    if tensor.ndim == 1:
        return [tensor]
    rows, count = tensor.shape
    if not count:
        raise UnsupportedError(f"convert: {name} gets no table without columns (got {rows} rows)")
    return [tensor[:, i] for i in range(count)]


def _nanoarrow(module: ModuleType, tensor: Tensor, copied: bool) -> Any:
    return module.Array(tensor.copy() if copied else tensor)


def _numpy_module() -> ModuleType:
    import numpy

    return numpy


def _pandas_profile(deliver: Callable[[ModuleType, Tensor, bool], Any], ndim: Any) -> Profile:
    return Profile(
        "pandas", "pandas", deliver, families=labelled.PANDAS, duplicate=labelled.copy_pandas,
        makes="pandas.Series, pandas.DataFrame", readonly=HONOURS, ndim=ndim, unpacks=True,
        notes="a Series for one axis, a DataFrame for two, over a NumPy view",
    )  # fmt: skip


def _polars_profile(
    deliver: Callable[[ModuleType, Tensor, bool], Any], ndim: Any, *, strides: str, **more: Any
) -> Profile:
    return Profile(
        "polars", "polars", deliver, families=labelled.POLARS, duplicate=labelled.copy_polars,
        makes="polars.Series, polars.DataFrame", strides=strides, readonly=IMMUTABLE, align=0, tables=True,
        ndim=ndim, packs="bool", names=f"bool {_INTS} int128 uint128 {_FLOATS}",
        notes="a Series for one axis, a DataFrame for two, whose columns are compact; copies what is "
        "not aligned to its elements", **more,
    )  # fmt: skip


def _arrow_profile(
    deliver: Callable[[ModuleType, Tensor, bool], Any], *, strides: str, **more: Any
) -> Profile:
    return Profile(
        "pyarrow", "pyarrow", deliver, families=labelled.PYARROW, duplicate=labelled.copy_arrow,
        makes="pyarrow.Array or the one of the dtype, pyarrow.Tensor", strides=strides,
        readonly=HONOURS, names=f"{_INTS} {_FLOATS}", instead=_BITMAP, **more,
    )  # fmt: skip


_BITMAP = "bool is a bitmap there, which pyarrow.array(dlx.asarray(x)) makes; complex is missing"
_ARROW_ARRAY = _arrow_profile(_arrow_array, strides=COMPACT, ndim=(1, 1))
_ARROW_TENSOR = _arrow_profile(_arrow_tensor, strides=POSITIVE)
_SERIES = _pandas_profile(_series, (1, 1))
_FRAME = _pandas_profile(_frame, (1, 2))
_POLARS_SERIES = _polars_profile(_polars_series, (1, 1), strides=COMPACT)
_POLARS_FRAME = _polars_profile(_polars_frame, (1, 2), strides=COLUMNS)

_TABLE = (
    Profile(
        "numpy", "numpy", _numpy, owns="numpy.ndarray", readonly=HONOURS, ndim=(0, 64),
        devices=HOSTS, usual=_numpy_usual, unpacks=True,
        notes="has no bfloat16, fp8, fp4 or int4; those come as the dtypes of ml_dtypes",
    ),
    Profile(
        "torch", "torch", _torch, owns="torch.Tensor torch.nn.parameter.Parameter",
        makes="torch.Tensor",
        strides=POSITIVE, names=f"{_PLAIN} bfloat16 complex32 float4_e2m1fnx2 {_FP8_TORCH}",
        devices=(CPU, CUDA, ROCM), usual=_from_dlpack, by_capsule=True,
        notes="aborts the process on a negative stride; writes to read-only data",
    ),
    Profile(
        "jax", "jax.dlpack", _jax, owns="jaxlib._jax.ArrayImpl jaxlib.xla_extension.ArrayImpl",
        makes="jax.Array",
        strides=DENSE, readonly=IMMUTABLE, align=64, names=f"{_PLAIN} bfloat16 {_FP8_JAX}",
        devices=(CPU, CUDA, ROCM), narrows=_jax_narrows, usual=_jax_usual,
        notes="asks for legacy capsules, which cannot say read-only; copies below 64-byte "
        "alignment; halves 64-bit types, wrapping integers, unless jax_enable_x64 is set",
    ),
    Profile(
        "tensorflow", "tensorflow", _tensorflow,
        owns="tensorflow.python.framework.ops.EagerTensor", makes="tensorflow.Tensor",
        strides=COMPACT, readonly=IMMUTABLE, align=64, names=f"{_PLAIN} bfloat16",
        devices=(CPU, CUDA, ROCM),
        notes="aborts in its first operation on data that is not 64-byte aligned; drops lanes",
    ),
    Profile(
        "paddle", "paddle", _paddle, owns="paddle.Tensor",
        strides=POSITIVE, ndim=(0, 9), devices=(CPU, CUDA),
        names="bool int8 int16 int32 int64 uint8 uint32 uint64 float16 float32 float64 bfloat16 "
        f"{_COMPLEX} float8_e4m3fn float8_e5m2",
        instead="it takes uint16 for bfloat16",
        notes="takes uint16 for bfloat16; ignores byte_offset; writes to read-only data",
    ),
    Profile(
        "mxnet", "mxnet", _mxnet, owns="mxnet.ndarray.ndarray.NDArray", makes="mxnet.nd.NDArray",
        strides=COMPACT, names=f"int8 int32 int64 uint8 {_FLOATS}",
        notes="ignores byte_offset and read-only",
    ),
    Profile(
        "cupy", "cupy", _exporter, owns="cupy.ndarray cupy._core.core.ndarray",
        makes="cupy.ndarray",
        names=_PLAIN, devices=(CUDA, CUDA_MANAGED, ROCM), notes="has no CPU arrays",
    ),
    Profile(
        "dpnp", "dpnp", _exporter, owns="dpnp.dpnp_array.dpnp_array", makes="dpnp.ndarray",
        names=_PLAIN, devices=(ONEAPI,),
        strides=POSITIVE, readonly=HONOURS,
        notes="has arrays of oneAPI devices only; its from_dlpack makes NumPy arrays of CPU data, and "
        "fails on negative strides",
    ),
    _arrow_profile(
        _arrow_tensor, strides=POSITIVE, one_axis=_ARROW_ARRAY,
        notes="an Array for one axis, a Tensor for others; takes no bool and no complex",
    ),
    Profile(
        "tvm_ffi", "tvm_ffi", _tvm_ffi, owns="tvm_ffi.core.Tensor", makes="tvm_ffi.Tensor",
        devices=(CPU, CUDA, CUDA_HOST, 4, 7, 8, ROCM, ROCM_HOST, ONEAPI), usual=_from_dlpack,
        by_capsule=True,
        notes="takes every dtype, and writes to read-only data",
    ),
    Profile(
        "mlx", "mlx.core", _mlx, owns="mlx.core.array", strides=POSITIVE, readonly=IMMUTABLE,
        copies=True, names=f"bool {_INTS} {_FLOATS} bfloat16 complex64",
        notes="copies on the CPU, whatever it gets",
    ),
    Profile(
        "warp", "warp", _warp, owns="warp._src.types.array warp.types.array",
        makes="warp.array",
        strides=POSITIVE, ndim=(1, 4), names=f"bool {_INTS} {_FLOATS} bfloat16",
        devices=(CPU, CUDA), notes="has 1 to 4 axes; ignores byte_offset and read-only",
    ),
    Profile(
        "onnxruntime", "onnxruntime", _onnxruntime,
        owns="onnxruntime.capi.onnxruntime_inference_collection.OrtValue",
        makes="onnxruntime.OrtValue",
        strides=COMPACT, names=f"{_INTS} {_FLOATS} bfloat16",
        notes="ignores byte_offset and read-only; takes bool for uint8",
    ),
    Profile(
        "xarray", "xarray", _xarray, families=labelled.XARRAY, duplicate=labelled.copy_xarray,
        makes="xarray.DataArray", readonly=HONOURS, ndim=(0, 64), unpacks=True,
        notes="a DataArray over a NumPy view",
    ),
    _pandas_profile(_pandas, (1, 2)),
    _polars_profile(_polars, (1, 2), strides=COLUMNS, one_axis=_POLARS_SERIES),
    Profile(
        "duckdb", "duckdb", _duckdb, owns="duckdb._relation.DuckDBPyRelation "
        "_duckdb.DuckDBPyRelation duckdb.duckdb.DuckDBPyRelation", duplicate=labelled.copy_duckdb,
        makes="duckdb.DuckDBPyRelation",
        strides=POSITIVE, readonly=IMMUTABLE, ndim=(1, 2), names=f"bool {_INTS} float32 float64",
        tables=True,
        notes="a relation of the default connection; it reads the memory each time that it runs",
    ),
    Profile(
        "nanoarrow", "nanoarrow", _nanoarrow, owns="nanoarrow.array.Array", makes="nanoarrow.Array",
        strides=COMPACT, readonly=IMMUTABLE, ndim=(1, None), packs="bool",
        names=f"bool {_INTS} {_FLOATS}", notes="lists of a fixed size for two and more axes",
    ),
)  # fmt: skip

TABLE = {profile.name: profile for profile in _TABLE}
# Classes whose profile differs from their library's.
TYPES = {
    "pyarrow.lib.Array": _ARROW_ARRAY,
    "pyarrow.lib.Tensor": _ARROW_TENSOR,
    "polars.series.series.Series": _POLARS_SERIES,
    "polars.dataframe.frame.DataFrame": _POLARS_FRAME,
    "pandas.Series": _SERIES,
    "pandas.core.series.Series": _SERIES,  # before pandas 3
    "pandas.DataFrame": _FRAME,
    "pandas.core.frame.DataFrame": _FRAME,
    "xarray.core.dataarray.DataArray": TABLE["xarray"],  # for subclasses in other packages
}
ALIASES = {"np": "numpy", "tf": "tensorflow", "pa": "pyarrow", "pytorch": "torch", "ort": "onnxruntime",
           "pd": "pandas", "pl": "polars", "xr": "xarray", "apache-tvm-ffi": "tvm_ffi", "arrow": "pyarrow"}  # fmt: skip
