"""Dask: an array is a plan, so importing computes it; chunks keep their memory."""

from __future__ import annotations

import arrays
import numpy
import pytest

import dlx

da = arrays.require("dask.array")


@pytest.mark.parametrize("name", arrays.NUMPY_NAMES)
def test_dtypes(name):
    source = arrays.numpy_array(name)
    result = dlx.asarray(da.from_array(source, chunks=2))

    assert str(result.dtype) == name
    assert result.tolist() == source.tolist()


@pytest.mark.parametrize("layout", arrays.LAYOUTS)
def test_layouts(layout):
    source = arrays.LAYOUTS[layout]()
    lazy = da.from_array(source, chunks=2)

    assert dlx.asarray(lazy).tolist() == source.tolist()


def test_a_plan_has_no_memory_to_share():
    lazy = da.from_array(arrays.aligned(4, 4), chunks=2)

    with pytest.raises(dlx.CopyRefusedError):
        dlx.asarray(lazy + 1, copy=False)


def test_one_chunk_is_handed_over_as_it_is():
    source = arrays.aligned(4, 4)
    computed = da.from_array(source, chunks=4, asarray=False).compute()

    assert dlx.asarray(computed).data_ptr == computed.ctypes.data


def test_a_tensor_becomes_chunks():
    source = arrays.aligned(4, 4)
    tensor = dlx.asarray(source)
    lazy = da.from_array(tensor.numpy(), chunks=(2, 2))

    assert (lazy + 1).sum().compute() == source.sum() + 16
    blocks = lazy.to_delayed().ravel()
    first = dlx.asarray(blocks[0].compute())
    assert first.tolist() == source[:2, :2].tolist()


def test_what_is_inside_is_guarded():
    masked = da.ma.masked_greater(da.from_array(arrays.aligned(4), chunks=4), 2)

    with pytest.raises(dlx.UnsupportedError, match=r"MaskedArray.*\.compute\(\)"):
        dlx.asarray(masked)
    with pytest.raises(dlx.UnsupportedError, match=r"\.filled"):
        dlx.asarray(masked.compute())


def test_lifetimes():
    tensor = dlx.asarray(da.arange(10, chunks=3))
    assert tensor.tolist() == list(range(10))


# ---- the example of NumPy's page "Interoperability with NumPy" ----------------------------------


def test_example_computing_and_then_converting():
    x = da.random.default_rng(1).normal(1, 0.1, size=(20, 20), chunks=(10, 10))
    lazy = numpy.mean(numpy.exp(x))

    assert isinstance(lazy, da.Array)
    assert dlx.asarray(lazy.compute()).item() == lazy.compute()
    assert abs(dlx.asarray(lazy).item() - float(numpy.exp(numpy.asarray(x)).mean())) < 1e-9
