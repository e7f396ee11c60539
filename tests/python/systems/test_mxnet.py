"""MXNet: legacy capsules by methods of its own, compact data only."""

from __future__ import annotations

import arrays
import pytest

import dlx

mxnet = arrays.require("mxnet")

SHARED = {"contiguous", "0-d", "length 1, reversed", "half aligned", "element aligned", "unaligned",
          "5 axes"}  # fmt: skip


def address(x):
    import ctypes

    pointer = ctypes.c_void_p()
    mxnet.base.check_call(mxnet.base._LIB.MXNDArrayGetData(x.handle, ctypes.byref(pointer)))
    return pointer.value


def values(x):
    return x.asnumpy().tolist()


@pytest.mark.parametrize("layout", arrays.LAYOUTS)
def test_layouts(layout):
    arrays.check_layout(layout, "mxnet", SHARED, address, values)


@pytest.mark.parametrize(
    "name", ["int8", "int32", "int64", "uint8", "float16", "float32", "float64"]
)
def test_dtypes(name):
    result = arrays.check_dtype(name, mxnet, address)

    assert result.dtype.__name__ == name


@pytest.mark.parametrize("name", ["bool", "int16", "uint64", "complex64"])
def test_dtypes_that_mxnet_has_not_are_refused(name):
    with pytest.raises(dlx.UnsupportedError, match="mxnet takes no"):
        dlx.convert(arrays.numpy_array(name), "mxnet")


def test_both_kinds_of_its_arrays_are_imported():
    source = mxnet.nd.arange(4)
    tensor = dlx.asarray(source)
    tensor[0] = 9.0
    mxnet.nd.waitall()

    assert tensor.data_ptr == address(source)
    assert values(source) == [9, 1, 2, 3]
    assert dlx.asarray(mxnet.np.array([1.0, 2.0])).tolist() == [1, 2]
    assert dlx.convert(source, "mxnet") is source


def test_an_offset_is_not_lost():
    base = dlx.asarray(arrays.aligned(8))

    assert values(dlx.convert(base[3:], "mxnet")) == [3, 4, 5, 6, 7]


def test_lifetimes():
    arrays.check_release("mxnet", values, wait=lambda released: mxnet.nd.waitall())


@pytest.mark.heavy
def test_no_leak():
    arrays.check_no_leak(lambda x: dlx.convert(x, "mxnet", copy=True), count=200)


def test_sparse_arrays_name_the_way_out():
    """Their capsule shows the stored elements only, in another shape."""
    for kind in ("csr", "row_sparse"):
        sparse = mxnet.nd.ones((2, 2)).tostype(kind)
        with pytest.raises(dlx.UnsupportedError, match=r"sparse.*tostype\('default'\)"):
            dlx.asarray(sparse)
