"""Dask: an array is a plan, so importing computes it; chunks keep their memory."""

from __future__ import annotations

import arrays
import numpy
import pytest

import dlx

dask = arrays.require("dask")
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


# ---- chunks that are Tensors --------------------------------------------------------------------

SOURCE = numpy.random.default_rng(3).normal(size=(6, 4))
FUNCTIONS = {
    "sum": lambda x: x.sum(),
    "mean": lambda x: x.mean(axis=0),
    "mean of exp": lambda x: numpy.mean(numpy.exp(x)),
    "std": lambda x: x.std(axis=1),
    "max": lambda x: x.max(axis=0),
    "any": lambda x: (x > 0).any(axis=1),
    "cumsum": lambda x: x.cumsum(axis=0),
    "astype": lambda x: x.astype("float32"),
    "transposed product": lambda x: x.T @ x,
    "slices": lambda x: x[1:5:2, ::-1],
    "list of rows": lambda x: x[[0, 2, 5]],
    "reshape": lambda x: x.reshape((24,)),
    "concatenate": lambda x: numpy.concatenate([x, x], axis=1),
    "stack": lambda x: numpy.stack([x, x]),
    "where": lambda x: numpy.where(x > 0, x, 0),
    "clip": lambda x: x.clip(-0.5, 0.5),
    "roll": lambda x: numpy.roll(x, 1, axis=0),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_chunks_stay_tensors(name):
    function = FUNCTIONS[name]
    lazy = da.from_array(dlx.asarray(SOURCE), chunks=(2, 3))
    result = function(lazy).compute()

    assert type(result) is dlx.Tensor
    numpy.testing.assert_allclose(result.numpy(), function(SOURCE), rtol=1e-6)


def test_argmax():
    lazy = da.from_array(dlx.asarray(SOURCE), chunks=(2, 3))

    assert int(lazy.argmax().compute()) == SOURCE.argmax()
    assert dlx.asarray(lazy.argmax(axis=0).compute()).tolist() == SOURCE.argmax(axis=0).tolist()


@pytest.mark.parametrize("dtype", ["float64", "int32"])
@pytest.mark.parametrize("method", ["linear", "lower", "nearest"])
@pytest.mark.parametrize("q", [30, [50], [0, 25, 100]])
def test_percentile(dtype, method, q):
    source = numpy.random.default_rng(1).permutation(40).astype(dtype)
    lazy, plain = (da.from_array(x, chunks=7) for x in (dlx.asarray(source), source))
    result = da.percentile(lazy, q, method=method).compute()

    assert type(result) is dlx.Tensor
    expected = da.percentile(plain, q, method=method).compute()
    assert (result.tolist(), result.dtype) == (expected.tolist(), expected.dtype)


def test_isnull():
    # pandas asks whether an object is a number before it asks whether it is an array.
    source = SOURCE.copy()
    source[1, 2] = numpy.nan
    lazy = da.from_array(dlx.asarray(source), chunks=(2, 3))

    assert da.isnull(lazy).compute().tolist() == numpy.isnan(source).tolist()
    assert da.notnull(lazy).compute().tolist() == (~numpy.isnan(source)).tolist()


OPERATIONS = [
    "t + d", "d + t", "t < d", "d < t", "t == d", "d @ t.T", "t @ d.T", "numpy.add(t, d)",
    "numpy.add(d, t)", "numpy.concatenate([t, d])", "numpy.concatenate([d, t])", "divmod(t, d)[0]",
    "operator.iadd(d, t)", "operator.iadd(t, d)", "numpy.where(d > 0, t, d)",
]  # fmt: skip


@pytest.mark.parametrize("text", OPERATIONS)
def test_dask_decides_also_when_it_never_heard_of_tensors(text):
    # A process for each: dask learns of Tensors for good when they first meet.
    arrays.run_alone(f"""
import operator, numpy, dask.array as da, dlx
source = numpy.arange(24.0).reshape(6, 4) - 7
t, d = dlx.asarray(source), da.from_array(source * 2 + 1, chunks=(2, 3))
result = {text}
assert isinstance(result, da.Array), type(result)
assert type(result.compute()) is dlx.Tensor
t, d = source.copy(), source * 2 + 1
numpy.testing.assert_allclose(numpy.asarray(result.compute()), {text})
""")


def test_equal_data_has_equal_tokens():
    from dask.base import tokenize

    tensor = dlx.asarray(SOURCE)
    same = [tensor.copy(), tensor.copy("F"), dlx.asarray(SOURCE[::-1])[::-1], tensor.as_readonly()]
    other = [tensor.reshape((4, 6)), tensor.view("int64"), tensor + 1, tensor[:, :3]]

    assert {tokenize(t) for t in same} == {tokenize(tensor)}
    assert len({tokenize(t) for t in (tensor, *other)}) == 5
    changed = tensor.copy()
    changed[5, 3] = 0.0
    assert tokenize(changed) != tokenize(tensor)
    assert tokenize(dlx.empty((0, 3))) != tokenize(dlx.empty((0, 2)))
    far = dlx.from_pointer(64, 3, "int8", device="cuda:0")
    assert tokenize(far) != tokenize(far)  # nobody read it


# ---- what a computation turns out to be ---------------------------------------------------------


def test_a_result_is_guarded_too():
    # Only the result is masked: the description that dask has of it says nothing.

    masked = dask.delayed(numpy.ma.masked_equal)([1.0, 2.0, 3.0], 2.0)
    with pytest.raises(dlx.UnsupportedError, match=r"1 masked entries.*\.filled"):
        dlx.asarray(da.from_delayed(masked, (3,), float))


def test_a_result_that_is_copied_is_the_caller_s_own():
    source = arrays.aligned(4)
    lazy = da.from_delayed(dask.delayed(source), (4,), source.dtype)
    tensor = dlx.asarray(lazy, copy=True)
    tensor[...] = 7

    assert source.tolist() == [0, 1, 2, 3]


def test_series_and_frames_of_dask_are_refused_what_pandas_ones_are():
    dd = pytest.importorskip("dask.dataframe", reason="makes the series")
    import pandas as pd

    for name in ("Int64", "boolean", "int64[pyarrow]"):
        series = dd.from_pandas(pd.Series([1, None, 1], dtype=name), npartitions=2)
        for obj in (series, series.to_frame("a")):
            with pytest.raises(dlx.UnsupportedError, match=r"1 nulls.*\.fillna"):
                dlx.asarray(obj)
    sparse = dd.from_pandas(pd.Series(pd.arrays.SparseArray([0.0, 1.0])), npartitions=1)
    with pytest.raises(dlx.UnsupportedError, match="is sparse"):
        dlx.asarray(sparse)
    plain = dd.from_pandas(pd.Series([1.0, 2.0, 3.0]), npartitions=2)
    assert dlx.asarray(plain).tolist() == [1, 2, 3]
    assert dlx.asarray(plain.to_frame("a")).tolist() == [[1], [2], [3]]
    with pytest.raises(dlx.CopyRefusedError, match=r"\.compute\(\)"):
        dlx.asarray(plain, copy=False)
