"""ml_dtypes: the dtypes that NumPy has not. It speaks neither DLPack nor the buffer protocol."""

from __future__ import annotations

import arrays
import numpy
import pytest

import dlx

ml_dtypes = arrays.require("ml_dtypes")

NAMES = ["bfloat16", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn",
         "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "float6_e2m3fn",
         "float6_e3m2fn", "float4_e2m1fn", "int1", "int2", "int4", "uint1", "uint2", "uint4"]  # fmt: skip
COMPLEX = ["complex32", "bcomplex32"]
# Not every release has them all; the pinned one has.
if not arrays.REQUIRED:
    NAMES = [name for name in NAMES if hasattr(ml_dtypes, name)]
    COMPLEX = [name for name in COMPLEX if hasattr(ml_dtypes, name)]


@pytest.mark.parametrize("name", NAMES)
def test_dtypes_go_there_and_back_without_a_copy(name):
    source = arrays.numpy_array(name)
    tensor = dlx.asarray(source)
    back = dlx.convert(tensor, "numpy", copy=False)

    assert str(tensor.dtype) == name
    assert tensor.data_ptr == source.ctypes.data == back.ctypes.data
    assert back.dtype == source.dtype
    assert repr(tensor.tolist()) == repr(source.astype("float64").tolist()).replace(
        ".0", "" if "int" in name else ".0"
    )


@pytest.mark.filterwarnings("ignore:invalid value")  # NaNs, of which there are many
@pytest.mark.parametrize("name", NAMES)
def test_every_value_is_decoded_as_ml_dtypes_does(name):
    bits = 8 if name != "bfloat16" else 16
    dtype = numpy.dtype(getattr(ml_dtypes, name))
    width = {"float4_e2m1fn": 4}.get(name, 6 if "float6" in name else bits)
    if "int" in name:
        width = int(name.lstrip("uint"))
    codes = numpy.arange(1 << width, dtype=f"uint{bits}")
    if name.startswith("int"):  # stored sign-extended
        codes = numpy.where(codes >> (width - 1), codes | (0xFF << width) & 0xFF, codes).astype(
            "uint8"
        )
    source = codes.view(dtype)

    expected = source.astype("float64").tolist()
    actual = [float(value) for value in dlx.asarray(source).tolist()]
    assert repr(actual) == repr(expected)


@pytest.mark.parametrize("layout", ["rows", "columns", "reversed", "0-d", "empty", "column-major"])
@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "int4"])
def test_layouts(name, layout):
    shape = arrays.LAYOUTS[layout]()
    source = (numpy.zeros_like(shape) + 1).astype(getattr(ml_dtypes, name))
    source = numpy.lib.stride_tricks.as_strided(
        source, source.shape, source.strides, writeable=True
    )
    tensor = dlx.asarray(source)

    assert tensor.shape == source.shape
    if source.size:
        assert tensor.data_ptr == source.ctypes.data
        source[...] = 2
        assert dlx.asarray(source).tolist() == tensor.tolist() == source.astype(float).tolist()


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_numbers(name):
    source = numpy.array([1 + 2j, -0.5j, 3, 0]).astype(getattr(ml_dtypes, name))
    tensor = dlx.asarray(source)

    assert str(tensor.dtype) == name
    assert tensor.data_ptr == source.ctypes.data
    assert tensor.tolist() == [1 + 2j, -0.5j, 3, 0]
    assert dlx.convert(tensor, "numpy", copy=False).dtype == source.dtype
    tensor[0] = 4j
    assert source[0] == 4j
    assert dlx.asarray([1j, 2, True], dtype=name).tolist() == [1j, 2, 1]


@pytest.mark.parametrize("to", [*COMPLEX, "complex64", "bool", "float32", "int4", "bfloat16"])
@pytest.mark.parametrize("name", COMPLEX)
@pytest.mark.parametrize("convert", [dlx.asarray, dlx.Tensor.astype])
def test_no_conversion_drops_the_imaginary_part(convert, name, to):
    tensor = dlx.asarray(numpy.array([1 + 2j, 3j, 0]).astype(getattr(ml_dtypes, name)))
    if "complex" in to:
        assert convert(tensor, dtype=to).tolist() == [1 + 2j, 3j, 0]
    elif to == "bool":
        assert convert(tensor, dtype=to).tolist() == [True, True, False]
    elif to == "float32" and convert is dlx.Tensor.astype:
        with pytest.warns(numpy.exceptions.ComplexWarning):  # NumPy's own, as for complex64
            convert(tensor, dtype=to)
    else:
        with pytest.raises(dlx.UnsupportedError, match=f"{name} to {to} would drop the imaginary"):
            convert(tensor, dtype=to)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("to", NAMES)
@pytest.mark.parametrize("name", NAMES)
def test_conversions_between_all_of_them(name, to):
    """Where ml_dtypes has no cast of its own, too."""
    source = numpy.array([1, 1]).astype(getattr(ml_dtypes, name))
    expected = source.astype("float64").astype(getattr(ml_dtypes, to))

    for result in (dlx.asarray(source, dtype=to), dlx.asarray(source).astype(to)):
        assert str(result.dtype) == to
        assert result.numpy().tobytes() == expected.tobytes()


def test_scalars():
    assert dlx.asarray(ml_dtypes.bfloat16(1.5)).item() == 1.5
    assert str(dlx.asarray(ml_dtypes.float8_e5m2(2)).dtype) == "float8_e5m2"
    with pytest.raises(dlx.CopyRefusedError):
        dlx.asarray(ml_dtypes.bfloat16(1.5), copy=False)
    with pytest.raises(dlx.CopyRefusedError):
        dlx.copyto(ml_dtypes.bfloat16(1.5), 2)


def test_read_only_data_stays_read_only():
    source = arrays.numpy_array("bfloat16")
    source.flags.writeable = False

    assert dlx.asarray(source).readonly
    assert not dlx.convert(dlx.asarray(source), "numpy").flags.writeable


@pytest.mark.parametrize("read", [dlx.asarray, dlx.from_dlpack, dlx.dtype])
def test_the_other_byte_order_is_refused(read):
    swapped = numpy.dtype(ml_dtypes.bfloat16).newbyteorder()
    source = numpy.array([1, 2, 3.5], ml_dtypes.bfloat16).astype(swapped)

    with pytest.raises(dlx.UnsupportedError, match=r"byte order.*astype\('bfloat16'\)"):
        read(source)
    assert dlx.asarray(source.astype("bfloat16")).tolist() == [1, 2, 3.5]
