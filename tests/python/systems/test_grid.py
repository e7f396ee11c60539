"""Every system by every dtype and every layout, in and out: one table, one test for all.

In: what a system makes of an ndarray is taken by dlx.asarray with equal values, dtype and shape, on the
system's own memory wherever it has any, with writes seen both ways, or read-only where they must not be
made. Out: the system takes the Tensor and has equal values. Neither holds memory afterwards.
"""

from __future__ import annotations

import functools
import gc
import importlib
import importlib.util
import weakref

import arrays
import nanobind_extension
import numpy
import pytest

import dlx


def _is_here(name):
    return importlib.util.find_spec(name.partition(".")[0]) is not None


def _known_to_ml_dtypes():
    return dir(importlib.import_module("ml_dtypes")) if _is_here("ml_dtypes") else []


_INTS = "int8 int16 int32 int64 uint8 uint16 uint32 uint64".split()
_FLOATS = ["float16", "float32", "float64"]
_COMPLEX = ["complex64", "complex128"]
_ALL = arrays.NUMPY_NAMES
_WIDE = ["int64", "uint64", "float64", "complex128"]  # which JAX halves by default
_FP8 = ["bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz",
        "float8_e8m0fnu"]  # fmt: skip
_FP8_JAX = ["float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz"]
# What ml_dtypes adds to NumPy, where this release of it has them; and one of each kind, for systems
# that hold whatever ndarrays hold.
_ODD = [*_FP8, *_FP8_JAX, "float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn", "int1", "int2", "int4",
        "uint1", "uint2", "uint4", "complex32", "bcomplex32"]  # fmt: skip
_ODD = [name for name in _ODD if name in _known_to_ml_dtypes()]
_HALVES = ["complex32"] if "complex32" in _ODD else []
_KINDS = [
    name
    for name in ("bfloat16", "float8_e5m2", "float4_e2m1fn", "int4", "complex32")
    if name in _ODD
]


class System:
    """How a system makes its arrays of ndarrays and of Tensors, and what is true of them.

    Args:
        make: (module, ndarray) -> its array, on the same memory where it can.
        take: (module, Tensor) -> its array.
        names: the dtypes that it has.
        layouts: arrays.LAYOUTS, or arrays.LINES for arrays of one axis.
        without: layouts that `make` has no form for.
        address: (array) -> of its first element; None if it has no memory of its own to share.
        readonly: nobody may write to its arrays.
        values: (array) -> its elements as an ndarray.
    """

    def __init__(self, make, take, *, names=_ALL, layouts=arrays.LAYOUTS, without=(),
                 address=lambda x: x.ctypes.data, readonly=False, values=numpy.asarray):  # fmt: skip
        self.make, self.take, self.names, self.layouts = make, take, names, layouts
        self.without, self.address, self.readonly, self.values = without, address, readonly, values


def _own(module, source):
    return dlx.convert(source, module)


def _dataset(module, source):
    file = module.File.in_memory() if hasattr(module.File, "in_memory") else module.File(
        "grid", "w", driver="core", backing_store=False)  # fmt: skip
    return file.create_dataset("x", data=source)


def _pixels(module, source):
    return module.fromarray(numpy.ascontiguousarray(source))


def _column(module, source):
    with module.connect() as connection:
        connection.register("frame", {"x": source})
        return connection.sql("select x from frame").fetchnumpy()["x"]


def _pint(module, source):
    return _registry(module).Quantity(source, "")


@functools.cache
def _registry(module):
    return module.UnitRegistry()


@functools.cache
def _compiled(numba):
    return numba.njit(lambda x: x)


def _torch_values(x):
    name = str(x.dtype).partition(".")[2]
    if name in _ALL:
        return numpy.asarray(x)
    import ml_dtypes
    import torch

    bits = x.view({2: torch.int16, 4: torch.int32}.get(x.itemsize, torch.uint8))
    return numpy.asarray(bits).view(getattr(ml_dtypes, name))


def _nanobind(_, source):
    wrap = nanobind_extension.load()
    writable = not source.readonly if isinstance(source, dlx.Tensor) else source.flags.writeable
    return wrap.wrap(source) if writable else wrap.wrap_read_only(source)


SYSTEMS = {
    "numpy": System(lambda np, a: a, lambda np, t: np.asarray(t)),
    "numpy.ma": System(
        lambda ma, a: ma.MaskedArray(a, copy=False), lambda ma, t: ma.asarray(t),
        names=[*_ALL, *_KINDS]),
    "ml_dtypes": System(lambda _, a: a, lambda _, t: t.numpy(), names=_ODD),
    "astropy.units": System(
        lambda u, a: u.Quantity(a, "", copy=False), lambda u, t: u.Quantity(t.numpy(), ""),
        names=[*_FLOATS, *_COMPLEX, *_KINDS]),
    "pint": System(
        _pint, lambda pint, t: _pint(pint, t.numpy()), names=[*_ALL, *_KINDS], without={"0-d"},
        address=lambda q: q.magnitude.ctypes.data, values=lambda q: q.magnitude),
    "unyt": System(
        lambda unyt, a: unyt.unyt_array(a, "dimensionless"),
        lambda unyt, t: unyt.unyt_array(t.numpy(), "dimensionless"),
        names=[*_ALL, *_KINDS], without={"0-d"}),
    "xarray": System(
        lambda xr, a: xr.DataArray(a), lambda xr, t: xr.DataArray(t.numpy()), names=[*_ALL, *_KINDS],
        address=lambda x: x.values.ctypes.data),
    "dask.array": System(
        lambda da, a: da.from_array(a, chunks=-1), lambda da, t: da.from_array(t.numpy(), chunks=-1),
        names=[*_ALL, *_KINDS], address=None, values=lambda x: x.compute()),
    "array_api_strict": System(
        lambda xp, a: xp.asarray(a, copy=False), lambda xp, t: xp.from_dlpack(t),
        names=[n for n in _ALL if n != "float16"], address=lambda x: x._array.ctypes.data,
        values=lambda x: x._array),
    "awkward": System(
        lambda ak, a: ak.from_numpy(a), lambda ak, t: ak.from_numpy(t.numpy()),
        without={"0-d"}, address=None),
    "h5py": System(_dataset, lambda h5, t: _dataset(h5, t.numpy()), address=None),
    "zarr": System(
        lambda zarr, a: zarr.array(a), lambda zarr, t: zarr.array(t.numpy()), without={"0-d", "empty"},
        address=None, values=lambda x: numpy.asarray(x[...])),
    "PIL.Image": System(
        _pixels, lambda image, t: _pixels(image, t.numpy()),
        names=["bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "float32", "float64"],
        without={"0-d", "empty", "5 axes", "permuted"}, address=None),
    "cv2": System(
        lambda cv2, a: cv2.copyMakeBorder(numpy.ascontiguousarray(a), 0, 0, 0, 0, cv2.BORDER_CONSTANT),
        lambda cv2, t: cv2.copyMakeBorder(numpy.ascontiguousarray(t.numpy()), 0, 0, 0, 0,
                                          cv2.BORDER_CONSTANT),
        names=["bool", *_INTS, *_FLOATS],
        without={"0-d", "empty", "5 axes", "permuted"}),
    "numba": System(
        lambda numba, a: _compiled(numba)(a), lambda numba, t: _compiled(numba)(t.numpy()),
        names=[n for n in _ALL if n != "float16"], without={"unaligned"}),
    "scipy.sparse": System(
        lambda sp, a: sp.csr_array(a).data, lambda sp, t: sp.csr_array(t.numpy()).toarray(),
        names=[n for n in _ALL if n != "float16"],
        without={"0-d", "permuted", "5 axes", "empty"}),
    "sparse": System(
        lambda sparse, a: sparse.COO.from_numpy(a).data,
        lambda sparse, t: sparse.COO.from_numpy(t.numpy()).todense(),
        names=[*_ALL, *_KINDS], without={"0-d"}),
    "pandas": System(
        lambda pd, a: pd.Series(a, copy=False), lambda pd, t: pd.Series(t.numpy()), layouts=arrays.LINES,
        names=[*_ALL, *_KINDS], address=lambda s: s.values.ctypes.data, readonly=True),
    "polars": System(
        lambda pl, a: pl.Series("x", a), lambda pl, t: pl.Series("x", t.numpy()), layouts=arrays.LINES,
        names=_INTS + _FLOATS, readonly=True, values=lambda s: s.to_numpy(),
        address=lambda s: s.to_numpy(allow_copy=False).ctypes.data),
    "pyarrow": System(
        lambda pa, a: pa.array(a), lambda pa, t: pa.array(t), layouts=arrays.LINES,
        names=_INTS + _FLOATS, readonly=True,
        address=lambda a: a.buffers()[1].address + a.offset * a.type.bit_width // 8),
    "duckdb": System(
        _column, lambda db, t: _column(db, t.numpy()), layouts=arrays.LINES,
        names=["bool", *_INTS, *_FLOATS], without={"empty", "reversed"}),  # std::bad_cast
    "torch": System(
        lambda torch, a: torch.from_numpy(a) if a.dtype.isbuiltin == 1 else _own(torch, a),
        lambda torch, t: torch.from_dlpack(t), names=[*_ALL, *_FP8, *_HALVES],
        without={"reversed", "length 1, reversed", "read-only"}, address=lambda x: x.data_ptr(),
        values=_torch_values),
    "jax": System(
        _own, _own, names=[*(n for n in _ALL if n not in _WIDE), *_FP8, *_FP8_JAX],
        address=lambda x: x.unsafe_buffer_pointer(), readonly=True),
    "tensorflow": System(
        _own, _own, names=[*_ALL, "bfloat16"], address=None, readonly=True,
        values=lambda x: numpy.asarray(x.numpy())),
    "tvm_ffi": System(
        _own, lambda tvm, t: tvm.from_dlpack(t), address=lambda x: x.data_ptr(),
        values=lambda x: numpy.from_dlpack(x)),
    "warp": System(
        _own, _own, names=["bool", *_INTS, *_FLOATS, "bfloat16"], without={"0-d", "5 axes"},
        address=lambda x: x.ptr, values=lambda x: x.numpy()),
    "mlx.core": System(
        _own, _own, names=["bool", *_INTS, *_FLOATS, "complex64"], address=None),
    "onnxruntime": System(
        _own, _own, names=_INTS + _FLOATS, address=lambda x: x.data_ptr(),
        values=lambda x: x.numpy()),
    "nanobind": System(
        _nanobind, _nanobind, address=lambda x: nanobind_extension.load().address(x)),
    "paddle": System(
        _own, _own, names=[n for n in _ALL if n != "uint16"], address=lambda x: x.data_ptr(),
        values=lambda x: x.numpy()),
    "mxnet": System(
        _own, _own, names=["int8", "int32", "int64", "uint8", *_FLOATS], without={"0-d", "empty"},
        address=None, values=lambda x: x.asnumpy()),
}  # fmt: skip

# What each environment of ./dev test --systems has; elsewhere, whatever is installed.
_APART = {"paddle": {"paddle"}, "mxnet": {"mxnet"}}
_EXPECTED = {"numpy2": set(SYSTEMS) - {"paddle", "mxnet"}, **_APART}


HERE = sorted(_EXPECTED.get(arrays.REQUIRED, set(filter(_is_here, SYSTEMS))))
if nanobind_extension.problem() and "nanobind" in HERE:
    HERE.remove("nanobind")  # test_nanobind.py says why
CASES = [
    pytest.param(name, dtype, layout, id=f"{name}-{dtype}-{layout}")
    for name in HERE
    for dtype in SYSTEMS[name].names
    for layout in SYSTEMS[name].layouts
    if layout not in SYSTEMS[name].without
]


def source_of(system, dtype, layout):
    if dtype in _ALL:
        return system.layouts[layout](dtype=dtype)
    import ml_dtypes

    return system.layouts[layout](dtype=getattr(ml_dtypes, dtype))


def check_equal(got, expected):
    assert got.shape == expected.shape
    numpy.testing.assert_array_equal(
        numpy.asarray(got).astype("c16"), numpy.asarray(expected).astype("c16")
    )


@pytest.fixture(autouse=True)
def _quiet(recwarn):
    """Warnings of the systems are not under test."""


@pytest.mark.parametrize(("name", "dtype", "layout"), CASES)
def test_in(name, dtype, layout):
    system = SYSTEMS[name]
    source = source_of(system, dtype, layout)
    array = system.make(importlib.import_module(name), source)
    values = system.values(array)
    tensor = dlx.asarray(array)

    assert str(dlx.dtype(tensor.dtype)) == str(dlx.dtype(values.dtype))
    check_equal(tensor.numpy(), values)
    if system.address is None or not tensor.size:
        return
    address = system.address(array)
    assert tensor.data_ptr == address
    if system.readonly:
        assert tensor.readonly
    elif not tensor.readonly and layout != "broadcast":
        tensor[...] = tensor.numpy().flat[-1].item()  # what the dtype holds for certain
        check_equal(system.values(array), tensor.numpy())
    elif layout == "read-only":
        assert tensor.readonly


@pytest.mark.parametrize(("name", "dtype", "layout"), CASES)
def test_out(name, dtype, layout):
    system = SYSTEMS[name]
    source = source_of(system, dtype, layout)
    array = system.take(importlib.import_module(name), dlx.asarray(source))

    check_equal(system.values(array), source)


def comes_true(condition, system, module, dtype):
    """Some libraries give memory back later: from another thread, or with their next call."""
    for _ in range(4):
        if condition():
            return True
        gc.collect()
        dlx.asarray(system.make(module, source_of(system, dtype, "contiguous")))
    return condition()


@pytest.mark.parametrize("name", HERE)
def test_memory_lives_as_long_as_it_is_used_and_no_longer(name):
    system, module = SYSTEMS[name], importlib.import_module(name)
    dtype = "float32" if "float32" in system.names else system.names[0]
    source = source_of(system, dtype, "contiguous")
    expected = source.copy()
    gone = weakref.ref(source)
    array = system.make(module, source)
    tensor = dlx.asarray(array)
    del source, array
    if tensor.size == expected.size:  # the data of sparse arrays are without their zeros
        check_equal(tensor.numpy(), expected)
    del tensor
    assert comes_true(lambda: gone() is None, system, module, dtype)

    released = []
    base = source_of(system, dtype, "contiguous")
    tensor = dlx.from_pointer(
        base.ctypes.data, base.shape, base.dtype, owner=base, on_release=lambda: released.append(1)
    )
    array = system.take(module, tensor)
    del tensor, array
    assert comes_true(lambda: bool(released), system, module, dtype)
    assert released == [1]


@pytest.mark.heavy
@pytest.mark.parametrize("name", HERE)
def test_no_leak(name):
    system, module = SYSTEMS[name], importlib.import_module(name)
    dtype = "float32" if "float32" in system.names else system.names[0]
    like = source_of(system, dtype, "contiguous")

    def shaped(flat):
        values = flat.view(like.dtype)
        return values if like.ndim == 1 else values.reshape(256, -1)

    arrays.check_no_leak(lambda x: dlx.asarray(system.make(module, shaped(x))), count=200)
    arrays.check_no_leak(
        lambda x: system.take(module, dlx.asarray(shaped(x), copy=True)), count=200
    )
