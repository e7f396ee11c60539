"""array-api-strict: the standard to the letter, on NumPy's memory."""

from __future__ import annotations

import arrays
import numpy
import pytest

import dlx

strict = arrays.require("array_api_strict")

NAMES = [n for n in arrays.NUMPY_NAMES if n != "float16"]


@pytest.mark.parametrize("name", NAMES)
def test_dtypes(name):
    source = arrays.numpy_array(name)
    array = dlx.convert(source, strict)
    tensor = dlx.asarray(array)

    assert type(array).__module__.startswith("array_api_strict")
    assert str(tensor.dtype) == name
    assert tensor.data_ptr == source.ctypes.data
    assert dlx.dtype(array.dtype) == name


@pytest.mark.parametrize("layout", [x for x in arrays.LAYOUTS if x != "reversed"])
def test_layouts(layout):
    source = arrays.LAYOUTS[layout]()
    array = dlx.convert(source, "array_api_strict")
    tensor = dlx.asarray(array)

    assert tensor.tolist() == source.tolist()
    if source.size:
        assert tensor.data_ptr == source.ctypes.data


def test_copy_and_negative_strides():
    source = arrays.LAYOUTS["reversed"]()

    assert dlx.asarray(dlx.convert(source, strict)).tolist() == source.tolist()
    copy = dlx.convert(source, strict, copy=True)
    assert dlx.asarray(copy).tolist() == source.tolist()
    assert dlx.asarray(copy).data_ptr != source.ctypes.data


def test_the_standard_s_from_dlpack_with_its_keywords():
    tensor = dlx.asarray(arrays.aligned(3, 4))

    assert dlx.asarray(strict.from_dlpack(tensor)).data_ptr == tensor.data_ptr
    assert dlx.asarray(strict.from_dlpack(tensor, copy=True)).data_ptr != tensor.data_ptr
    assert dlx.from_dlpack(strict.asarray(numpy.ones(2)), copy=True).tolist() == [1, 1]
