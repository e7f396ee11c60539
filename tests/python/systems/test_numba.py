"""Numba: compiled functions take ndarrays and buffers over a tensor's memory."""

from __future__ import annotations

import arrays
import pytest

import dlx

numba = arrays.require("numba")


@numba.njit
def double(x):
    for i in range(x.size):
        x.flat[i] *= 2


@numba.njit
def total(x):
    result = 0.0
    for value in x.flat:
        result += value
    return result


@pytest.mark.parametrize("name", ["int8", "int64", "uint16", "float32", "float64"])
def test_compiled_code_writes_to_a_tensor(name):
    source = arrays.aligned(4, dtype=name)
    tensor = dlx.asarray(source)
    double(dlx.convert(tensor, "numpy", copy=False))

    assert tensor.tolist() == [0, 2, 4, 6]
    assert source.tolist() == [0, 2, 4, 6]


@pytest.mark.parametrize(
    "layout", ["contiguous", "column-major", "rows", "columns", "reversed", "read-only", "empty"]
)
def test_layouts(layout):
    source = arrays.LAYOUTS[layout]()

    assert total(dlx.asarray(source).numpy()) == source.sum()


def test_memoryviews():
    @numba.njit
    def first(view):
        return view[0]

    assert first(memoryview(dlx.asarray(arrays.aligned(4) + 3))) == 3


def test_typed_arrays_come_back():
    result = numba.njit(lambda x: x + x)(arrays.aligned(3))
    assert dlx.asarray(result).data_ptr == result.ctypes.data
    assert dlx.asarray(result).tolist() == [0, 2, 4]
