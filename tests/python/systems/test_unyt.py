"""unyt: a unit is not dropped in silence."""

from __future__ import annotations

import arrays
import pytest

import dlx

unyt = arrays.require("unyt")


@pytest.mark.parametrize(
    "take",
    [
        dlx.asarray,
        dlx.from_dlpack,
        lambda x: dlx.convert(x, "numpy"),
        lambda x: dlx.asarray(x, copy=True, force=True),
        lambda x: dlx.asarray(x[0]),
        lambda x: dlx.asarray(x[::-1]),
    ],
)
def test_a_unit_is_refused_with_the_way_out(take):
    with pytest.raises(dlx.UnsupportedError, match=r"in m would lose its unit: export `\.value`"):
        take(unyt.unyt_array(arrays.aligned(3), "m"))


@pytest.mark.parametrize("layout", arrays.LAYOUTS)
def test_values_of_every_layout_are_shared(layout):
    source = arrays.LAYOUTS[layout]()
    value = unyt.unyt_array(source, "m").value if source.shape else source
    tensor = dlx.asarray(value)

    assert tensor.tolist() == source.tolist()
    if source.size:
        assert tensor.data_ptr == value.ctypes.data


@pytest.mark.parametrize("name", ["int32", "int64", "float32", "float64", "complex128"])
def test_pure_numbers_lose_nothing(name):
    source = arrays.numpy_array(name)
    tensor = dlx.asarray(unyt.unyt_array(source, "dimensionless"))

    assert tensor.tolist() == source.tolist()


def test_an_array_with_a_unit_over_a_tensor():
    tensor = dlx.asarray(arrays.aligned(3))
    length = unyt.unyt_array(tensor.numpy(), "m")

    assert float(length.sum().to("cm").value) == 300
    assert dlx.asarray(length.to("cm").value).tolist() == [0, 100, 200]


def test_an_array_of_dask_names_ways_that_it_has():
    da = pytest.importorskip("dask.array", reason="holds the array under test")
    from unyt.dask_array import unyt_from_dask

    length = unyt_from_dask(da.ones(4, chunks=2), "m")
    ways = r"`\.compute\(\)\.value`.*`\.to\(unit\)\.compute\(\)\.value`"
    with pytest.raises(dlx.UnsupportedError, match=ways):
        dlx.asarray(length)
    assert dlx.asarray(length.compute().value).tolist() == [1] * 4
    assert dlx.asarray(length.to("cm").compute().value).tolist() == [100] * 4
