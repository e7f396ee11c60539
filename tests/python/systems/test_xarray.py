"""xarray: labelled arrays over the memory of others."""

from __future__ import annotations

import arrays
import numpy
import pytest

import dlx

xr = arrays.require("xarray")


@pytest.mark.parametrize("layout", arrays.LAYOUTS)
def test_layouts(layout):
    source = arrays.LAYOUTS[layout]()
    result = dlx.convert(source, "xarray", copy=False)

    assert isinstance(result, xr.DataArray)
    assert result.values.tolist() == source.tolist()
    back = dlx.asarray(result)
    assert back.tolist() == source.tolist()
    if source.size:
        assert result.values.ctypes.data == source.ctypes.data == back.data_ptr
    if source.size and source.flags.writeable and 0 not in source.strides:
        back[...] = 4
        assert float(result.values.flat[0]) == 4
    copy = dlx.convert(source, "xarray", copy=True)
    if source.size:
        assert copy.values.ctypes.data != source.ctypes.data


@pytest.mark.parametrize("name", arrays.NUMPY_NAMES)
def test_dtypes(name):
    source = arrays.numpy_array(name)
    for obj in (xr.DataArray(source), xr.Variable("x", source), xr.DataArray(source, dims="x")[:]):
        tensor = dlx.asarray(obj)
        assert str(tensor.dtype) == name
        assert tensor.data_ptr == source.ctypes.data


def test_labels_are_not_data_but_their_values_are():
    array = xr.DataArray(arrays.aligned(2, 3), dims=("y", "x"), coords={"x": [10, 20, 30]})

    assert dlx.asarray(array).shape == (2, 3)
    assert dlx.asarray(array.coords["x"]).tolist() == [10, 20, 30]
    assert dlx.asarray(array.sel(x=20)).tolist() == [1, 4]


def test_a_dataset_holds_many_arrays_and_is_refused():
    dataset = xr.Dataset({"a": ("x", [1.0]), "b": ("x", [2.0])})

    with pytest.raises((TypeError, dlx.Error)) as caught:
        dlx.asarray(dataset)
    assert str(caught.value)
    assert dlx.asarray(dataset["a"]).tolist() == [1]


def test_computing_on_a_view_of_a_tensor():
    tensor = dlx.asarray(arrays.aligned(2, 3))
    array = dlx.convert(tensor, "xarray")

    assert float(array.mean()) == 2.5
    array[0, 0] = 6.0
    assert tensor[0, 0].item() == 6
    assert float(numpy.asarray(tensor)[0, 0]) == 6


def test_what_is_inside_is_guarded():
    pint = pytest.importorskip("pint", reason="gives the array a unit")
    quantity = xr.DataArray(pint.UnitRegistry().Quantity(arrays.aligned(3), "meter"))

    with pytest.raises(dlx.UnsupportedError, match=r"unit.*\.magnitude"):
        dlx.asarray(quantity)
    sparse = pytest.importorskip("sparse", reason="makes the array sparse")
    with pytest.raises(dlx.UnsupportedError, match="todense"):
        dlx.asarray(xr.DataArray(sparse.COO(arrays.aligned(3))))


def test_xarray_keeps_the_tensor_inside():
    source = numpy.random.default_rng(0).normal(size=(4, 2, 3))
    source[0, 0, 0] = numpy.nan
    mine = xr.DataArray(dlx.asarray(source), dims=("a", "b", "c"))
    theirs = xr.DataArray(source, dims=("a", "b", "c"))

    def both(function):
        result, expected = function(mine), function(theirs)
        assert type(result.data) is dlx.Tensor
        assert result.dims == expected.dims
        numpy.testing.assert_allclose(result.data.numpy(), expected.values)

    both(lambda x: x.mean("a"))  # skips the NaN, as it does for NumPy
    both(lambda x: x.sum())
    both(lambda x: x.transpose("c", "a", "b"))
    both(lambda x: x.where(x > 0))
    both(lambda x: x.isel(a=1))
    both(lambda x: x.isel(a=[0, 2], b=0))
    both(lambda x: numpy.exp(x) + x * 2)
    both(lambda x: xr.concat([x, x], "a"))
    both(lambda x: x.fillna(0.0).std("b"))
    both(lambda x: x.rolling(a=2).mean())
    both(lambda x: x.rolling(a=2).construct("window"))
    both(lambda x: x.fillna(0.0).argsort(axis=0))
    both(lambda x: (x * 1j).conj().imag)
    both(lambda x: xr.cov(x.fillna(0.0), x.fillna(1.0)))
    assert type((dlx.asarray(source) + mine).data) is dlx.Tensor


class Derived(xr.DataArray):
    __slots__ = ()


class DerivedVariable(xr.Variable):
    __slots__ = ()


def test_classes_that_users_derive_are_taken_and_guarded():
    source = arrays.aligned(2, 3)
    for obj in (Derived(source), DerivedVariable(("y", "x"), source)):
        assert dlx.asarray(obj).data_ptr == source.ctypes.data
    assert dlx.asarray(Derived(arrays.aligned(3))).tolist() == [0, 1, 2]
    pint = pytest.importorskip("pint", reason="gives the array a unit")
    quantity = pint.UnitRegistry().Quantity(arrays.aligned(3), "meter")
    for obj in (Derived(quantity), DerivedVariable("x", quantity)):
        with pytest.raises(dlx.UnsupportedError, match=r"unit.*\.magnitude"):
            dlx.asarray(obj)


def test_wrappers_inside_wrappers_are_guarded():
    pint = pytest.importorskip("pint", reason="is one of the wrappers")
    da = pytest.importorskip("dask.array", reason="is one of the wrappers")
    delayed = pytest.importorskip("dask", reason="is one of the wrappers").delayed
    source = numpy.ma.masked_equal(arrays.aligned(3), 1)
    lazy = da.from_delayed(delayed(source), (3,), source.dtype)
    pure = pint.UnitRegistry().Quantity
    for inside in (pure(source, ""), lazy, pure(lazy, "")):
        for obj in (xr.DataArray(inside), xr.Variable("x", inside)):
            with pytest.raises(dlx.UnsupportedError, match="1 masked entries"):
                dlx.asarray(obj)
            with pytest.raises(dlx.UnsupportedError, match="1 masked entries"):
                dlx.convert(obj, "numpy")


def test_a_plan_inside_has_no_memory_to_share():
    da = pytest.importorskip("dask.array", reason="makes the plan")
    plan = xr.DataArray(da.from_array(arrays.aligned(4), chunks=2))

    assert dlx.asarray(plan).tolist() == [0, 1, 2, 3]
    with pytest.raises(dlx.CopyRefusedError, match=r"\.compute\(\)"):
        dlx.asarray(plan, copy=False)


def test_a_tensor_inside_comes_out_as_it_is():
    tensor = dlx.asarray([1.0, 2.0], dtype="bfloat16")

    assert str(dlx.asarray(xr.DataArray(tensor)).dtype) == "bfloat16"


def of_a_file():
    """A DataArray that is read whenever its values are asked for."""
    from xarray.backends import BackendArray
    from xarray.core import indexing

    class Reader(BackendArray):
        shape, dtype = (3,), numpy.dtype("float64")

        def __getitem__(self, key):
            support = indexing.IndexingSupport.BASIC
            read = numpy.zeros(3).__getitem__
            return indexing.explicit_indexing_adapter(key, self.shape, support, read)

    return xr.DataArray(indexing.LazilyIndexedArray(Reader()), dims="x")


def cached(lazy):
    """What `open_dataset` makes of it: it reads once."""
    from xarray.core import indexing

    return xr.DataArray(indexing.MemoryCachedArray(lazy.variable._data), dims="x")


def over_dask():
    return xr.DataArray(pytest.importorskip("dask.array", reason="computes").zeros(3), dims="x")


@pytest.mark.parametrize("make", [of_a_file, over_dask])
@pytest.mark.parametrize("part", [lambda array: array, lambda array: array.variable])
def test_what_holds_no_memory_is_not_written_to_in_vain(make, part):
    lazy = part(make())

    for refused in (
        lambda: dlx.copyto(lazy, numpy.ones(3)),
        lambda: dlx.asarray(lazy, copy=False),
        lambda: dlx.convert(lazy, "numpy", copy=False),
    ):
        with pytest.raises(dlx.CopyRefusedError, match=r"\.compute\(\)|\.load\(\)"):
            refused()
    assert dlx.asarray(lazy).tolist() == [0, 0, 0]
    loaded = lazy.load()
    dlx.copyto(loaded, numpy.ones(3))
    assert loaded.values.tolist() == [1, 1, 1]


def test_a_new_view_at_each_call_shares_memory_all_the_same():
    array = xr.DataArray(numpy.ones(3), coords=[("x", [1.0, 2, 3])])
    pd = pytest.importorskip("pandas")  # xarray itself needs it
    read = cached(of_a_file())
    ranges = xr.DataArray(numpy.ones(3), coords=[("x", pd.RangeIndex(3))])
    empty = xr.DataArray(numpy.ones(0), coords=[("x", numpy.ones(0))])

    for source in (array.x, array.x.variable, array.indexes["x"], ranges.x, read, empty.x):
        tensor = dlx.asarray(source, copy=False)
        assert tensor.data_ptr == dlx.asarray(source, copy=False).data_ptr or not tensor.size
        assert tensor.tolist() == numpy.asarray(source).tolist()
    assert dlx.asarray(array.x, copy=False).readonly


def test_copyto_writes_into_what_holds_memory():
    array = xr.DataArray(numpy.zeros(3), dims="x")
    for target in (array, array.variable, xr.DataArray(dlx.asarray(array.values))):
        dlx.copyto(target, numpy.ones(3))
        assert array.values.tolist() == [1, 1, 1]
        array[:] = 0


class Field(xr.DataArray):
    """What others derive."""

    __slots__ = ()


@pytest.mark.parametrize("to", ["xarray", xr, "class"])
@pytest.mark.parametrize(
    "make",
    [
        lambda array: array,
        lambda array: Field(array),
        lambda array: array.variable,
        lambda array: array.coords["x"].variable,
        lambda array: array.to_dataset(),
    ],
)
def test_what_is_xarrays_own_comes_back_with_all_that_it_says(make, to):
    labels = {"x": [10, 20, 30]}
    source = make(xr.DataArray(numpy.arange(3.0), labels, "x", name="q", attrs={"units": "m"}))
    copy = arrays.check_own(source, type(source) if to == "class" else to)
    assert copy.identical(source)


def test_a_copy_of_a_labelled_array_has_its_own_memory():
    source = xr.DataArray(numpy.arange(3.0), dims="x")
    copy = dlx.convert(source, xr.DataArray, copy=True)
    copy[0] = 9

    assert source.values.tolist() == [0, 1, 2]


def test_a_class_that_xarray_makes_of_no_data_is_refused():
    for to in (xr.Dataset, xr.Variable, Field):
        with pytest.raises(dlx.UnsupportedError, match=rf"{to.__name__}.*xarray\.DataArray"):
            dlx.convert(arrays.aligned(3), to)
    assert type(dlx.convert(arrays.aligned(3), xr.DataArray, copy=False)) is xr.DataArray
