"""numpy.ma: an array with masked entries is refused, one without is shared."""

from __future__ import annotations

import arrays
import numpy
import pytest

import dlx


def masked():
    return numpy.ma.array([1.0, 2.0, 3.0], mask=[False, True, False])


@pytest.mark.parametrize(
    "take",
    [
        dlx.asarray,
        dlx.from_dlpack,
        lambda x: dlx.convert(x, "numpy"),
        lambda x: dlx.asarray(x, copy=True),
        lambda x: dlx.asarray(x, force=True),
    ],
)
def test_masked_entries_are_refused_with_the_way_out(take):
    with pytest.raises(dlx.UnsupportedError, match=r"1 masked entries.*`\.filled\(value\)`"):
        take(masked())


def test_the_ways_out_that_the_message_names():
    array = masked()

    assert dlx.asarray(array.filled(-1)).tolist() == [1, -1, 3]
    assert dlx.asarray(array.data).data_ptr == array.data.ctypes.data
    assert dlx.asarray(array.mask).tolist() == [False, True, False]


@pytest.mark.parametrize("mask", [numpy.ma.nomask, [False, False, False], False])
def test_without_a_masked_entry_nothing_is_lost(mask):
    array = numpy.ma.array(arrays.aligned(3), mask=mask, copy=False)
    tensor = dlx.asarray(array)

    assert tensor.data_ptr == array.data.ctypes.data
    assert tensor.tolist() == [0, 1, 2]


@pytest.mark.parametrize("name", arrays.NUMPY_NAMES)
def test_dtypes(name):
    array = numpy.ma.array(arrays.numpy_array(name), copy=False)

    assert dlx.asarray(array).tolist() == array.data.tolist()
    assert str(dlx.asarray(array).dtype) == name


@pytest.mark.parametrize("layout", arrays.LAYOUTS)
def test_layouts(layout):
    source = arrays.LAYOUTS[layout]()
    array = numpy.ma.array(source, copy=False)
    tensor = dlx.asarray(array)

    assert tensor.tolist() == source.tolist()
    if source.size:
        assert tensor.data_ptr == source.ctypes.data
    array = numpy.ma.masked_array(source, mask=numpy.ones(source.shape, bool), copy=False)
    if source.size:
        with pytest.raises(dlx.UnsupportedError, match="mask"):
            dlx.asarray(array)


def test_the_masked_constant_is_no_number():
    with pytest.raises(dlx.UnsupportedError, match="mask"):
        dlx.asarray(numpy.ma.masked)


def test_a_masked_array_over_a_tensor():
    tensor = dlx.asarray(arrays.aligned(4))
    array = numpy.ma.masked_greater(tensor.numpy(), 2)

    assert array.sum() == 3
    assert array.data.ctypes.data != 0
    assert tensor.tolist() == [0, 1, 2, 3]


def test_masks_inside_a_list_are_refused():
    with pytest.raises((dlx.Error, TypeError)):
        dlx.asarray([masked(), masked()])
