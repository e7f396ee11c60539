"""`Tensor.view` reads the dtype strings of NumPy, because it is a method of NumPy's."""

import io

import pytest

import dlx

numpy = pytest.importorskip("numpy")

ARRAY = numpy.arange(6, dtype="int32").reshape(2, 3)


@pytest.mark.parametrize(
    "name", ["b", "B", "i4", "u2", "f4", "f", "h", "<i4", "=f4", "|u1", "single", "?", "F", "c8"]
)
def test_a_name_of_numpy_means_what_numpy_means(name):
    array = ARRAY if name not in ("F", "c8") else numpy.arange(4, dtype="int32")
    tensor = dlx.asarray(array)
    viewed, expected = tensor.view(name), array.view(name)
    assert type(viewed) is dlx.Tensor
    assert viewed.dtype == expected.dtype
    assert viewed.shape == expected.shape
    assert viewed.tobytes() == expected.tobytes()
    assert viewed.data_ptr == tensor.data_ptr


def test_a_name_of_dlx_stays_what_it_was():
    tensor = dlx.asarray(ARRAY)
    assert tensor.view("uint8x4").dtype == "uint8x4"
    assert tensor.view("bfloat16").shape == (2, 6)
    assert tensor.view("int32").dtype == "int32"


@pytest.mark.parametrize("name", ["V4", ">i4", "V12", "S4", "i4,i4,i4"])
def test_a_type_that_dlpack_lacks_gives_an_ndarray_on_the_memory(name):
    array = ARRAY.copy()
    viewed, expected = dlx.asarray(array).view(name), array.view(name)
    assert type(viewed) is numpy.ndarray
    assert viewed.dtype == expected.dtype
    assert viewed.tobytes() == expected.tobytes()
    assert numpy.shares_memory(viewed, array)


DTYPES = {
    "bytes": numpy.dtype("V4"),
    "swapped": numpy.dtype("i4").newbyteorder("S"),
    "dates": numpy.dtype("M8[s]"),
    "text": numpy.dtype("S4"),
    "fields": [("a", "i2"), ("b", "i2")],
    "record": numpy.dtype("i4,i4"),
}


@pytest.mark.parametrize("name", DTYPES)
def test_a_dtype_object_does_what_its_name_does(name):
    """Advice to call `astype` would change the values, not read their bytes."""
    array = numpy.arange(4, dtype="int64")
    viewed, expected = dlx.asarray(array).view(DTYPES[name]), array.view(DTYPES[name])
    assert type(viewed) is numpy.ndarray
    assert viewed.dtype == expected.dtype
    assert viewed.tobytes() == expected.tobytes()
    assert numpy.shares_memory(viewed, array)
    with pytest.raises(ValueError, match="read-only"):
        dlx.asarray(array).as_readonly().view(DTYPES[name])[0] = viewed[1]


@pytest.mark.parametrize("dtype", [None, 3, [1], object, object()])
def test_what_is_no_dtype_is_refused(dtype):
    with pytest.raises(TypeError):
        dlx.asarray(ARRAY).view(dtype)


@pytest.mark.parametrize("name", ["nonsense", "", "int33", "b\0", "i4,nonsense"])
def test_a_name_that_nobody_knows_is_refused_as_before(name):
    with pytest.raises((dlx.InvalidArgumentError, dlx.UnsupportedError), match="dtype"):
        dlx.asarray(ARRAY).view(name)


def test_a_view_that_does_not_fit_says_so():
    with pytest.raises(ValueError, match="axis"):
        dlx.asarray(ARRAY).view("f8")


def test_what_scipys_wavfile_and_zarr_do():
    tensor = dlx.asarray(ARRAY)
    file = io.BytesIO()
    file.write(tensor.ravel().view("b").data)  # scipy.io.wavfile.write
    assert file.getvalue() == ARRAY.tobytes()
    void = f"V{tensor.dtype.itemsize}"  # zarr's comparison of a chunk with the fill value
    one, other = numpy.broadcast_arrays(tensor, numpy.asarray(0, tensor.dtype))
    assert not numpy.array_equal(one.view(void), other.view(void))
    assert numpy.array_equal(one.view(void), ARRAY.view(void))


def test_data_is_that_of_numpy():
    tensor = dlx.asarray(ARRAY)
    assert tensor.data == ARRAY.data
    assert tensor.data.shape == (2, 3)
    assert tensor.as_readonly().data.readonly
