"""How arrays of known libraries are made and imported: for `python -m dlx check NAME`.

Each function imports its library and returns (make, function, takes, read): `make(case)` gives an
array or None, `function` imports; either may be None.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, NamedTuple

from .consuming import LEGACY_CAPSULE, OBJECT
from .producing import DTYPES


class Library(NamedTuple):
    make: Callable[[str], Any] | None
    function: Callable[..., Any] | None
    takes: str = OBJECT
    read: Callable[[Any], Any] | None = None


def _namespace(xp: Any, cases: Callable[[str], Any] | None = None) -> Callable[[str], Any]:
    """Arrays of a library that follows the array API."""

    def make(case: str) -> Any:
        if cases is not None:
            made = cases(case)
            if made is not None:
                return made
        if case in DTYPES:
            dtype = getattr(xp, case, getattr(xp, case + "_", None))
            return None if dtype is None else xp.asarray([[0, 1, 1], [1, 0, 1]], dtype=dtype)
        plain = xp.asarray([[0, 1, 2], [3, 4, 5]], dtype=xp.float32)
        made = {
            "plain": lambda: plain,
            "empty": lambda: xp.zeros((0, 3), dtype=xp.float32),
            "scalar": lambda: xp.asarray(7, dtype=xp.float32),
            "strided": lambda: plain[:, ::2],
            "offset": lambda: plain[1:, 1:],
            "large": lambda: xp.zeros((512, 512), dtype=xp.float32),
        }.get(case)
        try:
            return made() if made else None
        except Exception:
            return None

    return make


def _numpy() -> Library:
    numpy: Any = importlib.import_module("numpy")

    def cases(case: str) -> Any:
        plain = numpy.arange(6, dtype="float32").reshape(2, 3)
        if case == "bfloat16":
            return None
        if case in ("reversed", "broadcast", "read-only", "byte-swapped", "unexportable"):
            frozen = plain.copy()
            frozen.flags.writeable = False
            writable_rows = numpy.ndarray((2, 3), "float32", plain, strides=(0, 4))
            return {
                "reversed": plain[::-1, ::-1], "broadcast": writable_rows, "read-only": frozen,
                "byte-swapped": plain.astype(">f4"), "unexportable": numpy.array([{}, None]),
            }[case]  # fmt: skip
        return numpy.zeros((2, 3), case) if case in DTYPES else None

    return Library(_namespace(numpy, cases), numpy.from_dlpack)


def _torch() -> Library:
    torch: Any = importlib.import_module("torch")

    def cases(case: str) -> Any:
        if case == "reversed":
            return None
        plain = torch.arange(6, dtype=torch.float32).reshape(2, 3)
        return {
            "broadcast": lambda: plain[:1].expand(2, 3),
            "lazy": lambda: torch.tensor([1 + 2j, 3 + 4j]).conj().imag,
            "unexportable": lambda: torch.zeros(2, 2).to_sparse(),
        }.get(case, lambda: None)()

    return Library(_namespace(torch, cases), torch.from_dlpack)


def _jax() -> Library:
    jax: Any = importlib.import_module("jax")

    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_platforms", "cpu")

    def cases(case: str) -> Any:
        return jax.numpy.arange(6.0) if case == "read-only" else None

    return Library(_namespace(jax.numpy, cases), jax.dlpack.from_dlpack)


def _tensorflow() -> Library:
    tensorflow: Any = importlib.import_module("tensorflow")

    def make(case: str) -> Any:
        if case in DTYPES:
            return tensorflow.zeros((2, 3), case)
        return {
            "plain": lambda: tensorflow.reshape(tensorflow.range(6, dtype="float32"), (2, 3)),
            "empty": lambda: tensorflow.zeros((0, 3)),
            "scalar": lambda: tensorflow.constant(7.0),
            "unexportable": lambda: tensorflow.constant(["text"]),
            "large": lambda: tensorflow.zeros((512, 512)),
        }.get(case, lambda: None)()

    return Library(make, tensorflow.experimental.dlpack.from_dlpack, LEGACY_CAPSULE,
                   tensorflow.experimental.dlpack.to_dlpack)  # fmt: skip


def _paddle() -> Library:
    paddle: Any = importlib.import_module("paddle")

    def make(case: str) -> Any:
        if case in DTYPES:
            dtype = getattr(paddle, case, None)
            return None if dtype is None else paddle.zeros((2, 3)).astype(dtype)
        plain = paddle.arange(6, dtype="float32").reshape((2, 3))
        return {
            "plain": lambda: plain,
            "empty": lambda: paddle.zeros((0, 3)),
            "scalar": lambda: paddle.to_tensor(7.0),
            "strided": lambda: plain[:, ::2],
            "offset": lambda: plain[1:, 1:],
            "large": lambda: paddle.zeros((512, 512)),
        }.get(case, lambda: None)()

    return Library(make, paddle.from_dlpack)


def _mxnet() -> Library:
    mxnet: Any = importlib.import_module("mxnet")

    def make(case: str) -> Any:
        if case == "plain":
            return _Capsules(mxnet.nd.arange(6).reshape((2, 3)))
        return _Capsules(mxnet.nd.zeros((512, 512))) if case == "large" else None

    return Library(make, mxnet.nd.from_dlpack, LEGACY_CAPSULE, _mxnet_capsule)


def _mxnet_capsule(result: Any) -> Any:
    return result.to_dlpack_for_read()


class _Capsules:
    """MXNet's arrays have no method `__dlpack__`, only a function."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def __dlpack__(self) -> Any:
        return self._array.to_dlpack_for_write()

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


def _pyarrow() -> Library:
    pyarrow: Any = importlib.import_module("pyarrow")

    def make(case: str) -> Any:
        if case in DTYPES:
            kind = getattr(pyarrow, "bool_" if case == "bool" else case, None)
            values = [False, True] if case == "bool" else [0, 1]
            return None if kind is None else pyarrow.array(values, kind())
        return {
            "plain": lambda: pyarrow.array([0, 1, 2], pyarrow.float32()),
            "read-only": lambda: pyarrow.array([0, 1, 2], pyarrow.float32()),
            "empty": lambda: pyarrow.array([], pyarrow.float32()),
            "offset": lambda: pyarrow.array([0, 1, 2], pyarrow.float32())[1:],
            "unexportable": lambda: pyarrow.array(["text"]),
            "large": lambda: pyarrow.array([0.0] * 65536, pyarrow.float32()),
        }.get(case, lambda: None)()

    return Library(make, pyarrow.Tensor.from_dlpack)


def _mlx() -> Library:
    core: Any = importlib.import_module("mlx.core")

    def make(case: str) -> Any:
        if case in DTYPES:
            dtype = getattr(core, "bool_" if case == "bool" else case, None)
            return None if dtype is None else core.zeros((2, 3)).astype(dtype)
        plain = core.arange(6).reshape(2, 3).astype(core.float32)
        return {
            "plain": lambda: plain,
            "empty": lambda: core.zeros((0, 3)),
            "scalar": lambda: core.array(7.0),
            "strided": lambda: plain[:, ::2],
            "reversed": lambda: plain[::-1, ::-1],
            "offset": lambda: plain[1:, 1:],
            "large": lambda: core.zeros((512, 512)),
        }.get(case, lambda: None)()

    return Library(make, core.from_dlpack)


def _warp() -> Library:
    numpy: Any = importlib.import_module("numpy")
    warp: Any = importlib.import_module("warp")

    warp.config.quiet = True
    warp.init()

    def make(case: str) -> Any:
        dtype = "float32"
        if case in DTYPES:
            dtype = "bool_" if case == "bool" else case
        elif case not in ("plain", "empty", "large"):
            return None
        shape = {"empty": (0, 3), "large": (512, 512)}.get(case, (2, 3))
        if not hasattr(warp, dtype):
            return None
        if case == "plain":
            return warp.array(numpy.arange(6, dtype="float32").reshape(2, 3), device="cpu")
        return warp.zeros(shape, dtype=getattr(warp, dtype), device="cpu")

    return Library(make, warp.from_dlpack)


def _tvm_ffi() -> Library:
    numpy: Any = importlib.import_module("numpy")
    tvm_ffi: Any = importlib.import_module("tvm_ffi")

    numpy_make = _numpy().make
    assert numpy_make is not None

    def make(case: str) -> Any:
        array = numpy_make(case)
        if array is None or case in ("byte-swapped", "unexportable", "read-only"):
            return None
        return tvm_ffi.from_dlpack(numpy.array(array) if case == "large" else array)

    return Library(make, tvm_ffi.from_dlpack)


def _ctypes_dlpack() -> Library:
    import ctypes

    ctypes_dlpack: Any = importlib.import_module("ctypes_dlpack")
    numpy: Any = importlib.import_module("numpy")

    from . import reading

    array = numpy.arange(6, dtype="float32").reshape(2, 3)
    kind = ctypes.POINTER(ctypes_dlpack.DLManagedTensorVersioned)

    class Again:
        """A DLPackArray exports once: each call wraps a new export of NumPy's."""

        def __dlpack__(self, **keywords: Any) -> Any:
            managed = reading.take(array.__dlpack__(max_version=(1, 0)))
            pointer = ctypes.cast(managed.address, kind)
            return ctypes_dlpack.DLPackArray(pointer).__dlpack__(**keywords)

        def __dlpack_device__(self) -> tuple[int, int]:
            return 1, 0

    return Library(lambda case: Again() if case == "plain" else None, None)


def _onnxruntime() -> Library:
    numpy: Any = importlib.import_module("numpy")
    onnxruntime: Any = importlib.import_module("onnxruntime")

    numpy_make = _numpy().make
    assert numpy_make is not None

    def make(case: str) -> Any:
        array = numpy_make(case)
        if array is None or case not in ("plain", "empty", "large", *DTYPES):
            return None
        try:
            return onnxruntime.OrtValue.ortvalue_from_numpy(numpy.ascontiguousarray(array))
        except Exception:
            return None

    return Library(make, onnxruntime.OrtValue.from_dlpack, LEGACY_CAPSULE)


def _array_api_strict() -> Library:
    array_api_strict: Any = importlib.import_module("array_api_strict")

    def cases(case: str) -> Any:
        if case == "bool":
            return array_api_strict.zeros((2, 3), dtype=array_api_strict.bool)
        return None

    return Library(_namespace(array_api_strict, cases), array_api_strict.from_dlpack)


def _dlx() -> Library:
    dlx: Any = importlib.import_module("dlx")

    def make(case: str) -> Any:
        def plain() -> Any:
            return dlx.asarray([[0, 1, 2], [3, 4, 5]], dtype="float32")

        if case in DTYPES:
            return dlx.asarray([[0, 1, 1], [1, 0, 1]], dtype=case)
        views: dict[str, Any] = {
            "plain": plain,
            "empty": lambda: plain()[:0],
            "scalar": lambda: plain()[1, 1, ...],
            "strided": lambda: plain()[:, ::2],
            "reversed": lambda: plain()[::-1, ::-1],
            "offset": lambda: plain()[1:, 1:],
            "read-only": lambda: dlx.asarray(bytes(range(24))),
            "large": lambda: dlx.asarray(bytearray(1 << 20)),
        }
        return views[case]() if case in views else None

    return Library(make, dlx.from_dlpack)


def _cupy() -> Library:
    cupy: Any = importlib.import_module("cupy")

    return Library(_namespace(cupy), cupy.from_dlpack, read=lambda result: result.get())


def _dpnp() -> Library:
    dpnp: Any = importlib.import_module("dpnp")

    return Library(_namespace(dpnp), dpnp.from_dlpack, read=_as_numpy)


def _as_numpy(result: Any) -> Any:
    method = getattr(result, "asnumpy", None)
    return method() if method else result


TABLE: dict[str, Callable[[], Library]] = {
    "dlx": _dlx, "numpy": _numpy, "torch": _torch, "jax": _jax, "tensorflow": _tensorflow,
    "pyarrow": _pyarrow, "cupy": _cupy, "paddle": _paddle, "mlx": _mlx, "warp": _warp,
    "tvm_ffi": _tvm_ffi, "ctypes_dlpack": _ctypes_dlpack, "dpnp": _dpnp,
    "array_api_strict": _array_api_strict, "mxnet": _mxnet, "onnxruntime": _onnxruntime,
}  # fmt: skip


def library(name: str) -> Library:
    """A library of the table, or any other that has `asarray` and `from_dlpack`."""
    if name in TABLE:
        return TABLE[name]()
    module = importlib.import_module(name)
    function = getattr(module, "from_dlpack", None)
    make = _namespace(module) if hasattr(module, "asarray") else None
    if make is None and function is None:
        raise LookupError(f"{name} has neither `asarray` nor `from_dlpack`: name a factory or a "
                          f"consumer of it, {name}:NAME")  # fmt: skip
    return Library(make, function)
