"""Arrays of dtypes that DLPack lacks: byte-swapped numbers and long doubles, where a copy is allowed."""

from __future__ import annotations

import ctypes

import pytest

import dlx

numpy = pytest.importorskip("numpy", reason="makes the arrays")

SWAPPED = {
    "ndarray": lambda array: array,
    "memoryview": memoryview,
    "array interface": lambda array: type(
        "Image", (), {"__array_interface__": array.__array_interface__, "array": array}
    )(),
    "slice": lambda array: numpy.repeat(array, 2)[::2],
}


def foreign(kind: str) -> str:
    """The dtype's string in the byte order that this machine has not."""
    return numpy.dtype(kind).newbyteorder("S").str


@pytest.mark.parametrize("name", SWAPPED)
@pytest.mark.parametrize("kind", ["f4", "f8", "i2", "u4", "i8", "c8"])
def test_a_byte_swap_loses_nothing(name, kind):
    array = numpy.array([0, 1, 2, 100], foreign(kind))
    source = SWAPPED[name](array)

    for arguments in ({}, {"copy": True}, {"dtype": array.dtype.newbyteorder("=")}):
        tensor = dlx.asarray(source, **arguments)
        assert tensor.tolist() == array.tolist()
        assert str(tensor.dtype) == array.dtype.newbyteorder("=").name
        assert not tensor.readonly
    assert str(dlx.asarray(source, dtype="complex128").dtype) == "complex128"
    with pytest.raises(
        dlx.CopyRefusedError, match=r"copy=False and a destination forbid it.*\.astype"
    ):
        dlx.asarray(source, copy=False)
    assert dlx.asarray(array.astype(array.dtype.name), copy=False).tolist() == array.tolist()


def test_types_of_ctypes_with_the_other_byte_order():
    kind = ctypes.c_float.__ctype_be__ if numpy.little_endian else ctypes.c_float.__ctype_le__
    source = (kind * 3)(1, 2, 3)

    assert dlx.asarray(source).tolist() == [1, 2, 3]
    with pytest.raises(dlx.CopyRefusedError, match="copy=False"):
        dlx.asarray(source, copy=False)


def test_every_reader_takes_them():
    array = numpy.arange(3, dtype=foreign("f4"))

    assert dlx.convert(array, "numpy").tolist() == [0, 1, 2]
    target = dlx.empty(3, dtype="float32")
    dlx.copyto(target, array)
    assert target.tolist() == [0, 1, 2]
    assert dlx.asarray([array, array]).tolist() == [[0, 1, 2]] * 2


@pytest.mark.skipif(
    numpy.dtype("longdouble").itemsize == 8, reason="long double is float64 on this machine"
)
def test_long_doubles_need_a_dtype():
    for source, dtype in ((numpy.longdouble, "float64"), (numpy.clongdouble, "complex128")):
        array = numpy.array([0, 1, 2.5], source)
        assert dlx.asarray(array, dtype=dtype).tolist() == [0, 1, 2.5]
        for copy in (None, True, False):
            with pytest.raises(
                dlx.UnsupportedError,
                match=r"`numpy\.asarray\(x\)\.astype\('(float64|complex128)'\)`",
            ):
                dlx.asarray(array, copy=copy)
        with pytest.raises(dlx.CopyRefusedError, match="copy=False"):
            dlx.asarray(array, dtype=dtype, copy=False)
    once = numpy.longdouble(1) + numpy.longdouble(2) ** -24 + numpy.longdouble(2) ** -60
    # By way of float64 it would be a tie, which rounds to even: down.
    assert dlx.asarray(numpy.array([once]), dtype="float32").item() == 1 + 2**-23


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8"])
def test_lists_of_arrays_of_several_dtypes_need_a_dtype(dtype):
    arrays = [numpy.float32([1, 2]), numpy.float64([3, 4]), numpy.int16([5, 6])]

    tensor = dlx.asarray(arrays, dtype=dtype)
    assert str(tensor.dtype) == dtype
    assert tensor.tolist() == [[1, 2], [3, 4], [5, 6]]
    with pytest.raises(dlx.UnsupportedError, match=r"float32, float64, int16.*`dtype=`"):
        dlx.asarray(arrays)


def test_a_mask_or_a_unit_is_not_dropped_on_the_way():
    masked = numpy.ma.masked_array(numpy.arange(3, dtype=foreign("f4")), [0, 1, 0])
    for arguments in ({}, {"copy": True}, {"dtype": "float32"}):
        with pytest.raises(dlx.UnsupportedError):
            dlx.asarray(masked, **arguments)


@pytest.mark.parametrize("kind", ["M8[s]", "m8[s]", "S3", "U2", "O", "V4"])
def test_what_is_no_number_stays_refused(kind):
    array = numpy.zeros(2, kind)
    for source in (array, array.astype(array.dtype.newbyteorder("S"))):
        for arguments in ({}, {"copy": True}, {"dtype": "int64"}):
            with pytest.raises(dlx.UnsupportedError):
                dlx.asarray(source, **arguments)


def test_storages_of_torch_are_memory_and_no_lists():
    torch = pytest.importorskip("torch", reason="has storages")
    tensor = torch.tensor([1.5, 2.5], dtype=torch.bfloat16)
    untyped = dlx.asarray(tensor.untyped_storage())
    with pytest.warns(UserWarning, match="TypedStorage"):
        typed = dlx.asarray(tensor.storage())

    assert str(untyped.dtype) == "uint8"
    assert untyped.shape == (4,)
    assert str(typed.dtype) == "bfloat16"
    assert typed.tolist() == [1.5, 2.5]
    assert untyped.data_ptr == typed.data_ptr == tensor.data_ptr()
    untyped[1] = 0
    assert tensor[0].item() != 1.5
    assert dlx.asarray(torch.tensor([]).untyped_storage()).shape == (0,)
    together = dlx.asarray([tensor.untyped_storage(), tensor.untyped_storage()])
    assert str(together.dtype) == "uint8"
    assert together.shape == (2, 4)

    class Subclass(torch.UntypedStorage):
        pass

    assert dlx.asarray(Subclass(4)).shape == (4,)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_storage_of_quantised_numbers_names_the_bytes():
    torch = pytest.importorskip("torch", reason="has storages")
    array = torch.quantize_per_tensor(torch.tensor([1.0, 2.0]), 0.1, 0, torch.qint8).storage()

    with pytest.raises(dlx.UnsupportedError, match=r"qint8.*`\.untyped\(\)`"):
        dlx.asarray(array)
    assert dlx.asarray(array.untyped()).tolist() == [10, 20]


def test_a_structure_without_fields_names_no_field():
    with pytest.raises(dlx.UnsupportedError, match="without fields holds no data"):
        dlx.asarray(numpy.zeros(3, []))


@pytest.mark.parametrize("source", ["complex32", "complex64", "complex128", "bcomplex32"])
@pytest.mark.parametrize("target", ["float16", "float32", "float64", "bfloat16", "int64", "uint8"])
def test_no_conversion_drops_imaginary_parts(source, target):
    pytest.importorskip("ml_dtypes", reason="has bfloat16 and two of the complex dtypes")
    tensor = dlx.asarray([1 + 2j], dtype=source)
    with pytest.raises(dlx.UnsupportedError, match="would drop the imaginary part"):
        dlx.asarray(tensor, dtype=target)


@pytest.mark.parametrize("source", ["int128", "uint128"])
def test_integers_of_128_bits_are_converted_by_value(source):
    tensor = dlx.asarray([[5, 7], [2, 100]], dtype=source)
    for target in ("int64", "uint8", "float32", "float64"):
        converted = dlx.asarray(tensor, dtype=target)
        assert str(converted.dtype) == target
        assert converted.tolist() == [[5, 7], [2, 100]]
    with pytest.raises(dlx.InvalidArgumentError, match="uint8"):
        dlx.asarray(dlx.asarray([300], dtype=source), dtype="uint8")


class OnlyArrayMethod:
    def __init__(self, array):
        self.array = array

    def __array__(self):
        return self.array


def test_objects_that_have_only_an_array_method():
    """`__array__` is asked for the values after asarray has refused their type."""
    swapped = numpy.arange(3, dtype=foreign("f4"))
    for source in (OnlyArrayMethod(swapped), swapped.flat):
        for arguments in ({}, {"copy": True}):
            assert dlx.asarray(source, **arguments).tolist() == [0, 1, 2]
            assert str(dlx.asarray(source, **arguments).dtype) == "float32"
        assert dlx.asarray(source, dtype="int32").tolist() == [0, 1, 2]
        with pytest.raises(dlx.CopyRefusedError):
            dlx.asarray(source, copy=False)
    long = OnlyArrayMethod(numpy.ones(2, "g"))
    assert dlx.asarray(long, dtype="float64").tolist() == [1, 1]
    for source in (long, OnlyArrayMethod(numpy.array(["a"]))):
        with pytest.raises(dlx.UnsupportedError, match="`__array__` of"):
            dlx.asarray(source)


def test_masks_are_refused_before_types():
    """The call for another type would drop the mask."""
    kinds = (foreign("i4"), "g", "M8[s]", "U1")
    for array in (numpy.ma.array([1, 2], mask=[0, 1], dtype=kind) for kind in kinds):
        for source in (array, [array], OnlyArrayMethod(array)):
            for arguments in ({}, {"dtype": "float64"}, {"copy": True}):
                with pytest.raises(dlx.UnsupportedError, match=r"lose its mask.*\.filled"):
                    dlx.asarray(source, **arguments)
    assert dlx.asarray(numpy.ma.array([1, 2], dtype=foreign("i4"))).tolist() == [1, 2]


def test_assignment_casts_long_doubles_as_in_place_operators_do():
    t = dlx.asarray(numpy.zeros(3))
    for value in (
        numpy.ones(3, "g"),
        [numpy.longdouble(1)] * 3,
        OnlyArrayMethod(numpy.ones(3, "g")),
    ):
        t[...] = 0
        t[...] = value
        assert t.tolist() == [1, 1, 1]
    t[1:] = numpy.full(2, 2, "g")
    t[0] = numpy.longdouble(3)
    assert t.tolist() == [3, 2, 2]
    integers = dlx.asarray([0, 0, 0], dtype="int32")
    with pytest.raises(dlx.InvalidArgumentError, match=r"got float64.*int32 can hold"):
        integers[...] = numpy.ones(3, "g")
    with pytest.raises(dlx.InvalidArgumentError, match=r"got complex128.*float64 can hold"):
        t[...] = numpy.ones(3, "G")
    with pytest.raises(dlx.UnsupportedError, match=r"astype\('float64'\)"):
        dlx.copyto(t, numpy.ones(3, "g"))  # copies bytes only
