"""Numba: compiled functions take ndarrays and buffers over a tensor's memory."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import arrays
import pytest

import dlx

ROOT = Path(__file__).parents[3]

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


def test_on_a_gpu_of_the_fake_driver():
    """The tests of numba.cuda on a GPU (tests/python/gpu), on the fake libcuda: there and back, and order."""
    fake = ROOT / "bazel-bin/tests/stubs/fake_libcuda.so"
    if not fake.exists():
        pytest.skip("the fake driver is not built (bazel build //tests/stubs:fake_libcuda.so)")
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "numba", "tests/python/gpu"],
        cwd=ROOT, env={**os.environ, "DLX_CUDA_PATH": str(fake)}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr
    assert "8 passed" in run.stdout, run.stdout


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
