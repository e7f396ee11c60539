"""NumPy, 1.26 and 2: every dtype and layout, every protocol, and the examples of its manual's page
"Interoperability with NumPy"."""

from __future__ import annotations

import re

import arrays
import numpy
import pytest

import dlx

SHARED = set(arrays.LAYOUTS)
NUMPY_2 = int(numpy.__version__.partition(".")[0]) >= 2


def address(x):
    return x.ctypes.data


@pytest.mark.parametrize("layout", arrays.LAYOUTS)
def test_layouts(layout):
    source = arrays.LAYOUTS[layout]()
    result = dlx.convert(dlx.asarray(source), "numpy", copy=False)

    assert type(result) is numpy.ndarray
    assert result.tolist() == source.tolist()
    assert result.flags.writeable == source.flags.writeable
    if source.size:
        assert address(result) == address(source)
    if source.size and source.flags.writeable:
        result[...] = 9
        assert source.tolist() == result.tolist()
        assert float(source.flat[0]) == 9


@pytest.mark.parametrize("name", arrays.NUMPY_NAMES)
def test_dtypes(name):
    source = arrays.numpy_array(name)
    result = dlx.convert(dlx.asarray(source), "numpy")

    assert result.dtype == source.dtype
    assert address(result) == address(source)


@pytest.mark.parametrize(
    "protocol", ["__array_interface__", "__array_struct__", "__array__", "buffer", "__dlpack__"]
)
def test_each_protocol_of_an_ndarray(protocol):
    source = arrays.aligned(3, 4)

    class Only:
        def __getattr__(self, name):
            if name == protocol:
                return getattr(source, name)
            raise AttributeError(name)

    if protocol == "__array__":
        Only.__array__ = lambda self, dtype=None, copy=None: source
    if protocol == "__dlpack__":
        Only.__dlpack__ = lambda self, **keywords: source.__dlpack__()
        Only.__dlpack_device__ = lambda self: (1, 0)
    tensor = dlx.asarray(memoryview(source) if protocol == "buffer" else Only())

    assert tensor.data_ptr == address(source)
    assert tensor.shape == (3, 4)


@pytest.mark.parametrize(
    ("make", "way_out"),
    [
        (lambda: numpy.array([None, 1]), ".astype('float64')"),
        (lambda: numpy.array(["ab"]), "numpy.frombuffer(numpy.asarray(x).tobytes(), 'uint8')"),
        (lambda: numpy.array(["2020-01-01"], "M8[D]"), "numpy.asarray(x).astype('int64')"),
        (lambda: numpy.zeros(2, [("a", "f4"), ("b", "i4")]), "x['a']"),
        (lambda: numpy.zeros(2, numpy.longdouble), ".astype('float64')"),
    ],
)
def test_what_dlpack_has_no_form_for_is_refused_with_the_way_out(make, way_out):
    with pytest.raises(dlx.UnsupportedError, match=re.escape(way_out)):
        dlx.convert(make(), "dlx")


def test_memmap_is_shared_both_ways(tmp_path):
    mapped = numpy.memmap(tmp_path / "data", dtype="float32", mode="w+", shape=(4,))
    tensor = dlx.asarray(mapped)
    tensor[1] = 5.0

    assert tensor.data_ptr == mapped.ctypes.data
    assert mapped.tolist() == [0, 5, 0, 0]


def test_scalars_are_read_only_0d_tensors():
    for scalar in (numpy.float32(2.5), numpy.int8(-3), numpy.bool_(True), numpy.complex64(1j)):
        tensor = dlx.asarray(scalar)
        assert tensor.shape == ()
        assert tensor.item() == scalar
        assert tensor.dtype == scalar.dtype


def test_lifetimes():
    def make():
        class Watched(numpy.ndarray):
            pass

        array = arrays.aligned(8).view(Watched)
        return array, array

    arrays.check_lifetimes(make, lambda tensor: dlx.convert(tensor, "numpy"))


# ---- the page's examples ------------------------------------------------------------------------


def test_example_the_array_interface_shares_the_buffer():
    class Wrapper:
        pass

    arr = numpy.array([1, 2, 3, 4])
    buf = arr.__array_interface__
    buf["shape"] = (2, 2)
    w = Wrapper()
    w.__array_interface__ = buf
    new_arr = dlx.asarray(w, copy=False)

    assert new_arr.tolist() == [[1, 2], [3, 4]]
    new_arr[0, 0] = 1000
    assert new_arr.tolist() == [[1000, 2], [3, 4]]
    assert arr.tolist() == [1000, 2, 3, 4]


def test_example_a_tensor_has_the_same_interface():
    x = numpy.array([1, 2, 5.0, 8])
    interface = dlx.asarray(x).__array_interface__

    assert interface["data"] == x.__array_interface__["data"]
    assert interface["typestr"] == "<f8"
    assert interface["shape"] == (4,)
    assert interface["version"] == 3


def test_example_numpy_s_order_of_protocols_finds_a_tensor():
    source = arrays.aligned(4)
    tensor = dlx.asarray(source)

    for result in (numpy.asarray(tensor), numpy.array(tensor, copy=False), tensor.__array__()):
        assert type(result) is numpy.ndarray
        assert result.ctypes.data == source.ctypes.data


def test_example_read_only_arrays_are_exported_with_the_mark():
    """The page's last example fails: a read-only array has no legacy capsule. A Tensor has both."""
    x_np = numpy.arange(5)
    x_np.flags.writeable = False
    tensor = dlx.asarray(x_np)

    assert tensor.readonly
    assert tensor.data_ptr == x_np.ctypes.data
    with pytest.raises(dlx.ReadOnlyError, match="copy"):
        tensor.__dlpack__()
    tensor.__dlpack__(copy=True)
    if NUMPY_2:
        assert not numpy.from_dlpack(tensor).flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        tensor[1] = 1


@pytest.mark.skipif(
    not hasattr(getattr(numpy, "dtypes", None), "register_dlpack_dtype"),
    reason=f"NumPy {numpy.__version__} has no registry of DLPack's dtypes (2.5 has)",
)
@pytest.mark.parametrize(
    ("key", "code", "values"),
    [
        ((7, 8), "float8_e3m4", numpy.array([b"a", b"b", b"c"], "S1")),
        ((2, 128), "float128", numpy.array([b"a", b"b", b"c"], "S16")),
    ],
    ids=["S1", "S16"],
)
def test_dtypes_that_numpy_was_told_of(key, code, values):
    registry = numpy._core._multiarray_umath
    with pytest.raises(dlx.UnsupportedError):
        dlx.asarray(values)
    before = registry._dlpack_registry_replace({}, {})
    registry._dlpack_registry_replace(*map(dict, before))
    try:
        numpy.dtypes.register_dlpack_dtype(key, values.dtype)
        for tensor in (dlx.asarray(values), dlx.from_dlpack(values)):
            assert str(tensor.dtype) == code
            assert tensor.data_ptr == address(values)
            back = tensor.numpy()
            assert back.dtype == values.dtype
            assert back.tolist() == values.tolist()
            assert address(back) == address(values)
        assert dlx.dtype(values.dtype) == code
        assert dlx.convert(values[::2], "numpy", copy=True).tolist() == values[::2].tolist()
    finally:
        registry._dlpack_registry_replace(*before)
    with pytest.raises(dlx.UnsupportedError):
        dlx.asarray(values)
