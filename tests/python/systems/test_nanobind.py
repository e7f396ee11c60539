"""nanobind: an extension compiled here takes tensors and returns arrays."""

from __future__ import annotations

import arrays
import nanobind_extension
import numpy
import pytest

import dlx

nanobind = arrays.require("nanobind")
pytestmark = pytest.mark.skipif(
    bool(nanobind_extension.problem()), reason=nanobind_extension.problem()
)


@pytest.fixture(scope="module")
def extension():
    return nanobind_extension.load()


@pytest.mark.parametrize("layout", [x for x in arrays.LAYOUTS if x not in ("reversed", "empty")])
def test_layouts(extension, layout):
    source = arrays.LAYOUTS[layout]()
    tensor = dlx.asarray(source)

    assert extension.address(tensor) == source.ctypes.data
    if source.ndim == 2:
        assert extension.sum(tensor) == source.sum()
    if layout == "read-only":
        with pytest.raises(TypeError):
            extension.writable(tensor)
    else:
        assert extension.writable(tensor) == source.ctypes.data


def test_negative_strides_are_right_whichever_protocol_it_takes(extension):
    source = arrays.LAYOUTS["reversed"]()

    assert extension.sum(dlx.asarray(source)) == source.sum()


@pytest.mark.parametrize("name", [*arrays.NUMPY_NAMES, "bfloat16", "float8_e4m3fn"])
def test_dtypes(extension, name):
    tensor = dlx.asarray(arrays.numpy_array(name))
    dtype = dlx.dtype(tensor.dtype)

    assert extension.bits(tensor) == dtype.bits * 256 + dtype.code


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn"])
def test_dtypes_that_numpy_has_not_come_back(extension, name):
    tensor = dlx.asarray(arrays.numpy_array(name))
    back = dlx.asarray(extension.wrap(tensor))

    assert (back.dtype, back.data_ptr) == (tensor.dtype, tensor.data_ptr)


def test_what_fits_no_signature_is_converted_by_hand(extension):
    tensor = dlx.asarray(numpy.arange(6.0).reshape(2, 3))

    with pytest.raises(TypeError, match="incompatible function arguments"):
        extension.sum(tensor)
    assert extension.sum(tensor.astype("float32")) == extension.sum(tensor.numpy()) == 15


def test_writes_are_seen(extension):
    tensor = dlx.empty((2, 3), dtype="float32")
    extension.fill(tensor, 4.0)

    assert tensor.tolist() == [[4] * 3] * 2


def test_arrays_that_it_makes(extension):
    tensor = dlx.asarray(extension.make(5))
    tensor[0] = 9.0

    assert tensor.tolist() == [9, 1, 2, 3, 4]
    assert dlx.convert(extension.make(5), "numpy").tolist() == [0, 1, 2, 3, 4]


def test_lifetimes(extension):
    array = extension.make(1000)
    tensor = dlx.asarray(array)
    del array

    assert tensor.tolist() == list(range(1000))


def test_functions_of_dlx_tensors_are_bound_as_they_are():
    """As docs/extensions.md has it."""
    rows = nanobind_extension.load_page()
    source = numpy.arange(6, dtype="float32").reshape(2, 3)

    for x in (source, dlx.asarray(source), memoryview(source)):
        result = rows.row_sums(x)
        assert (type(result), result.tolist()) == (dlx.Tensor, [3, 12])
    assert rows.row_sums(source[::-1].T).tolist() == [3, 5, 7]
    with pytest.raises(dlx.InvalidArgumentError, match="has 1 axes, not 2"):
        rows.row_sums(source[0])
    with pytest.raises(dlx.InvalidArgumentError, match="float64, not float32"):
        rows.row_sums([[1.0]])
    # Containers let no exception through.
    assert rows.many([source, [1, 2]]) == 2
    with pytest.raises(TypeError, match="incompatible function arguments"):
        rows.many([source, "text"])
    with pytest.raises(dlx.UnsupportedError, match="mask"):
        rows.row_sums(numpy.ma.masked_array(source, source > 2))
