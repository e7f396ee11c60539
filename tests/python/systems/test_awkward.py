"""Awkward Array: regular arrays are taken, ragged ones and missing values refused."""

from __future__ import annotations

import arrays
import pytest

import dlx

ak = arrays.require("awkward")


@pytest.mark.parametrize("name", arrays.NUMPY_NAMES)
def test_dtypes(name):
    source = arrays.numpy_array(name)
    array = ak.from_numpy(source)
    tensor = dlx.asarray(array)

    assert str(tensor.dtype) == name
    assert tensor.data_ptr == source.ctypes.data


@pytest.mark.parametrize("layout", ["contiguous", "column-major", "rows", "reversed", "empty"])
def test_layouts_out(layout):
    source = arrays.LAYOUTS[layout]()
    array = dlx.convert(source, "awkward")

    assert isinstance(array, ak.Array)
    assert ak.to_list(array) == source.tolist()


def test_ragged_arrays_are_refused():
    with pytest.raises((dlx.Error, ValueError, TypeError)) as caught:
        dlx.asarray(ak.Array([[1], [2, 3]]))
    assert str(caught.value)
    assert dlx.asarray(ak.flatten(ak.Array([[1], [2, 3]]))).tolist() == [1, 2, 3]


def test_missing_values_are_refused():
    array = ak.Array([1, None, 3])

    with pytest.raises((ValueError, dlx.UnsupportedError), match=r"None|null|missing"):
        dlx.asarray(array)
    assert dlx.asarray(ak.fill_none(array, 0)).tolist() == [1, 0, 3]


def test_records_are_refused():
    with pytest.raises((dlx.Error, TypeError)):
        dlx.asarray(ak.Array([{"x": 1, "y": 2.0}]))


def test_lifetimes():
    tensor = dlx.asarray(ak.from_numpy(arrays.aligned(100)))

    assert tensor.tolist() == list(range(100))
